# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a run takes of the weights of another, what it draws anew, and what it leaves."""

from pathlib import Path

import jax
import numpy as np
import pytest
from flax.traverse_util import flatten_dict

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.init.partial import body, nothing, only
from saccade.train.initial import param_shapes
from saccade.train.loop import train
from saccade.train.start import start_from
from saccade.train.trained import open_run
from saccade.types import Part, UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments/masked_lm'
BYTES = "data.tokenizer={'use': 'data.tokenizer.byte:Byte', 'specials': ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']}"
SIZES = ('vocabulary=264', 'width=16', 'layers=1', 'context_length=16', 'block.mixer.heads=2')
SMALL = (BYTES, *(f'model.{size}' for size in SIZES))
TANH, NORM = {'use': 'jax.numpy:tanh'}, {'use': 'norm.layer:LayerNorm'}
OUTPUT = ['pooled_head/output', 'pooled_head/output_bias']
MASKED = [f'masked_head/{name}' for name in ('bias', 'hidden', 'hidden_bias', 'norm/bias', 'norm/scale')]
HIDDEN = ['pooled_head/hidden', 'pooled_head/hidden_bias']


@pytest.fixture(scope='module')
def pretrained(untrained_run):
    """The folder of a run of masked tokens and pairs of sentences."""
    return untrained_run('masked_lm/quickstart.py', *SMALL)


def wanted(*fields, classes=3, activation=TANH):
    """The initial weights, all nought, of the same encoder with one head that reads a whole row."""
    pooled = {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:first'}, 'classes': classes}
    heads = {'pooled': pooled | {'activation': activation}}
    fields = (*SMALL, f'model.heads={heads}', *fields)
    config = load_config(str(EXPERIMENTS / 'quickstart.py'), [f'--config.{field}' for field in fields])
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), param_shapes(Experiment.of(config)))


def flat(params):
    return flatten_dict(params, sep='/')


def begun(path, adapt, initial, part=''):
    axes = {'pooled_head/output': 'D -> C', 'pooled_head/output_bias': 'C'}
    return start_from((path, part), initial, axes, adapt)


def assert_taken(start, there, new):
    """All are those of the run, but for the new ones, which are as they were."""
    for name, leaf in flat(start.params).items():
        np.testing.assert_array_equal(leaf, np.zeros_like(leaf) if name in new else there[name])
    assert start.new == new
    assert sorted(start.taken) == sorted(flat(start.params).keys() - set(new))


@pytest.mark.long
@pytest.mark.parametrize('classes', [2, 3])
def test_the_body_and_the_hidden_layer_of_the_pooled_head_are_taken_and_its_output_never(pretrained, classes):
    start = begun(pretrained, Part(body), wanted(classes=classes))
    assert_taken(start, flat(open_run(pretrained).params), OUTPUT)
    assert set(HIDDEN) <= set(start.taken)
    assert sorted(start.left) == MASKED + OUTPUT


@pytest.mark.long
def test_a_head_without_a_hidden_layer_leaves_that_of_the_run(pretrained):
    start = begun(pretrained, Part(body), wanted(activation=None))
    assert_taken(start, flat(open_run(pretrained).params), OUTPUT)
    assert sorted(start.left) == MASKED + HIDDEN + OUTPUT


@pytest.mark.long
def test_a_hidden_layer_that_the_run_has_not_is_new(untrained_run):
    heads = {'masked': {'use': 'head.masked:Masked', 'activation': {'use': 'jax.nn:gelu'}, 'norm': NORM}}
    path = untrained_run('masked_lm/quickstart.py', *SMALL, f'model.heads={heads}')
    start = begun(path, Part(body), wanted())
    assert_taken(start, flat(open_run(path).params), HIDDEN + OUTPUT)
    assert sorted(start.left) == MASKED


@pytest.mark.long
def test_only_what_a_regex_finds_is_taken(pretrained):
    initial = wanted()
    start = begun(pretrained, Part(only, (('match', '^embedding$'),)), initial)
    assert_taken(start, flat(open_run(pretrained).params), [path for path in flat(initial) if path != 'embedding'])
    assert start.taken == ['embedding']


@pytest.mark.long
def test_nothing_is_taken(pretrained):
    initial = wanted()
    start = begun(pretrained, Part(nothing), initial)
    assert_taken(start, {}, list(flat(initial)))


@pytest.mark.long
def test_a_part_of_the_run_is_taken_by_its_name(untrained_run):
    sizes = (*SIZES, 'embedding_width=16')
    parts = (f'model.{part}.{size}' for part in ('discriminator', 'generator') for size in sizes)
    path = untrained_run('masked_lm/electra_small.py', BYTES, 'data.context_length=16', *parts)
    there = open_run(path).params
    initial = jax.tree.map(np.zeros_like, there['discriminator'])
    assert_taken(begun(path, None, initial, 'discriminator'), flat(there['discriminator']), [])
    with pytest.raises(UserError, match=r"^config\.init_part: .* no part 'student'; it has discriminator, generator$"):
        begun(path, None, initial, 'student')


@pytest.mark.parametrize(
    ('adapt', 'fields', 'words'),
    [
        (Part(body), ('model.width=24',), r'another architecture: embedding is \(264, 16\) in it, \(264, 24\) in this'),
        (Part(body), ('model.types=0',), r'another architecture: types is \(2, 16\) in it, absent in this model'),
        (Part(only, (('match', 'types'),)), ('model.types=0',), 'finds no parameter of the model in init_from'),
        (Part(only, (('match', '('),)), (), r"config.adapt: '\(' is not a regular expression"),
        (Part(body, (('heads', '('),)), (), r"config.adapt: '\(' is not a regular expression"),
        (None, (), r'masked_head/bias is \(264,\) in it, absent in this model; --config.adapt=.*partial:body'),
        (None, ('model.width=24',), r'embedding is .* in this model; --config.inherit=model'),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(pretrained, adapt, fields, words):
    with pytest.raises(UserError, match=f'^[^\n]*{words}[^\n]*$'):
        begun(pretrained, adapt, wanted(*fields))


@pytest.mark.long
def test_a_run_prints_what_it_took(pretrained, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path / 'cache'))
    (tmp_path / 'text').mkdir()
    for number in range(20):
        (tmp_path / f'text/{number}.txt').write_text(f'A {number}. Then {number + 1}. It ends.')
    adapt = {'use': 'train.init.partial:body'}
    fields = (*SMALL, f'data.path={tmp_path}/text', f'init_from={pretrained}', f'adapt={adapt}', 'batch_size=2')
    fields += ('steps=1', 'schedule.warmup=0', 'sample=None', 'baseline=None', 'eval_batches=1')
    train(
        load_config(str(EXPERIMENTS / 'quickstart.py'), [f'--config.{field}' for field in fields]),
        str(tmp_path / 'run'),
    )
    printed = capsys.readouterr().out.splitlines()
    count = len(flat(open_run(pretrained).params)) - len(OUTPUT)
    at = printed.index(f'weights     {count} parameters loaded')
    kinds = ('newly initialised', 'ignored')
    assert printed[at + 1 : at + 3] == [f'            {kind}: {", ".join(OUTPUT)}' for kind in kinds]


@pytest.mark.long
@pytest.mark.parametrize('adapt', [None, {'use': 'train.init.partial:body'}])
def test_another_architecture_is_refused_before_compiling_without_a_folder(pretrained, tmp_path, monkeypatch, adapt):
    (tmp_path / 'text').mkdir()
    for number in range(20):
        (tmp_path / f'text/{number}.txt').write_text(f'A {number}. Then {number + 1}. It ends.')
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setattr('saccade.train.setup._compiled', lambda asked: pytest.fail('compiled'))
    fields = (*SMALL, 'model.width=24', f'data.path={tmp_path}/text', f'init_from={pretrained}', f'adapt={adapt}')
    config = load_config(str(EXPERIMENTS / 'quickstart.py'), [f'--config.{field}' for field in fields])
    with pytest.raises(UserError, match=r'another architecture: embedding is \(264, 16\) in it, \(264, 24\) in this'):
        train(config, str(tmp_path / 'run'))
    assert not (tmp_path / 'run').exists()
