# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of the data, which are reported before a model is traced, compiled or read from its checkpoint."""

import json
from pathlib import Path

import flax.linen as nn
import pytest

from saccade.inside.inspection import inspect_config, inspect_run
from saccade.train import loop
from saccade.train.config import load_config
from saccade.train.evaluate import EvaluationOptions, evaluate_run
from saccade.types import UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
WORDS = ('the', 'model', 'reads', 'a', 'token', 'and', 'writes', 'another', 'after', 'every', 'word', 'of', 'this')
TEXT, CLASSIFY, PAIRS = 'causal_lm/quickstart', 'finetune/classify', 'translation/multi30k'
HEAD = "{'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:mean'}, 'classes': 2, 'dropout': 0.0}"
BYTE = "{'use': 'data.tokenizer.byte:Byte', 'end': None}"
BYTES = "{'use': 'data.tokenizer.byte:Byte'}"
CHARACTER = "{'use': 'data.tokenizer.character:Character'}"
WORDS_OF_BERT = "{'use': 'data.tokenizer.word_piece:WordPiece', 'vocabulary': 90}"
DIFFUSION = 'masked_lm/diffusion_tiny'
SMALL = dict(data__path='my.txt', data__tokenizer=BYTES, data__context_length=16, model__vocabulary=300)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder to work in, with a cache of its own, where no model can be traced and no step compiled."""

    def refuse(*_, **__):
        raise AssertionError('traced or compiled before the data were checked')

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setattr(loop, 'make_backend', refuse)
    monkeypatch.setattr(nn.Module, 'init', refuse)
    monkeypatch.setattr(nn.Module, 'apply', refuse)
    return tmp_path


def config(experiment, **changes):
    overrides = [f'--config.{name.replace("__", ".")}={value}' for name, value in changes.items()]
    return load_config(str(EXPERIMENTS / f'{experiment}.py'), overrides)


def text(count):
    return '\n\n'.join(' '.join(WORDS[: 3 + number % 11]) for number in range(count))


def rows(*labels, header='sentence,label'):
    return '\n'.join([header, *(f'{WORDS[number % 13]} reads,{label}' for number, label in enumerate(labels))])


def refused(experiment, **changes):
    with pytest.raises(UserError) as error:
        loop.Run(config(experiment, **changes), 'run', loop.Options(quiet=True))
    assert not Path('run').exists()
    return str(error.value)


FAULTS = {
    'wrong path': (TEXT, {}, dict(data__path='none.txt'), 'none.txt: there is no such file or folder in /'),
    'empty file': (TEXT, {'my.txt': ''}, dict(data__path='my.txt'), 'my.txt: has no text'),
    'wrong header': (
        CLASSIFY,
        {'my.csv': rows(0, 1, 0, 1, header='text,label')},
        dict(data__path='my.csv'),
        "my.csv: has no column 'sentence'; it has text, label: set --config.data.text to one of its columns",
    ),
    'unknown label': (
        CLASSIFY,
        {'my.csv': rows(0, 1, 0, 1, 'maybe so')},
        dict(data__path='my.csv'),
        "my.csv, line 6: 'maybe so' is not a class of the training split, which has 0, 1",
    ),
    'fewer classes than the data have': (
        CLASSIFY,
        {'my.csv': rows(*'abc' * 9)},
        dict(data__path='my.csv'),
        'config.data.classes',
    ),
    'a head of fewer classes than the data': (
        CLASSIFY,
        {},
        dict(data__path='none.csv', data__classes=3, model__heads__pooled=HEAD),
        'config.model.heads.pooled.classes: must be at least 3, as config.data.classes',
    ),
    'sides of unequal length': (
        PAIRS,
        {'my.en': 'a dog\na cat\nthree\n', 'my.de': 'ein hund\neine katze\n'},
        dict(data__path='my', data__tokenizer=BYTE),
        'my.en has 3 lines, but my.de has 2: they are not aligned',
    ),
    'a split too small': (
        TEXT,
        {'my.txt': text(3)},
        dict(data__path='my.txt', data__tokenizer=BYTE, model__vocabulary=300),
        'the train split has',
    ),
    'a split too small for a length to evaluate at': (
        TEXT,
        {'my.txt': text(40)},
        dict(
            data__path='my.txt',
            data__tokenizer=BYTE,
            model__vocabulary=300,
            data__context_length=16,
            eval_lengths='(16, 100000)',
        ),
        'a context of 100000 needs at least 100001',
    ),
    'a tokenizer larger than the vocabulary of the model': (
        TEXT,
        {'my.txt': text(400)},
        dict(data__path='my.txt', data__tokenizer=BYTE, data__context_length=16, model__vocabulary=200),
        'config.model.vocabulary: 200',
    ),
    'a prompt that the tokenizer cannot encode': (
        TEXT,
        {'my.txt': text(400)},
        dict(SMALL, data__tokenizer=CHARACTER, sample__prompt='É'),
        "config.sample: the tokenizer cannot encode 'É' (U+00C9): it is not among its 20 tokens; set "
        '--config.sample.prompt to another text or --config.sample=None',
    ),
    'a prompt longer than the context': (
        TEXT,
        {'my.txt': text(400)},
        dict(SMALL, sample__prompt=40 * 'a'),
        'config.sample: a prompt of 40 tokens leaves no room in the context of 16; shorten it to 15 tokens at most',
    ),
    'a prompt of a masked diffusion model longer than the context': (
        DIFFUSION,
        {'my.txt': text(400)},
        dict(SMALL, data__tokenizer=WORDS_OF_BERT, sample__prompt='the model reads a token and writes another ' * 4),
        'config.sample: 32 tokens of the prompt and 1 new ones do not fit the context, which has room for 14; set '
        '--config.sample.prompt to another text',
    ),
    'a text to fill in without a mask': (
        'masked_lm/quickstart',
        {'my.txt': text(400)},
        dict(SMALL, data__tokenizer=WORDS_OF_BERT, sample__text='the model reads'),
        'config.sample: the text has no [MASK], so there is nothing to fill in',
    ),
    'a sample of another kind of model': (
        TEXT,
        {'my.txt': text(400)},
        dict(SMALL, sample="{'use': 'decode.translator:Translated', 'text': 'a b'}"),
        'config.sample: model.decoder:Decoder',
    ),
    'a sample of data without a tokenizer': (
        'diagnostics/parity',
        {},
        dict(sample="{'use': 'decode.sample:Sample'}"),
        'config.sample: the data have no tokenizer; set --config.sample=None',
    ),
    'a text to translate longer than the context': (
        PAIRS,
        {'my.en': text(400).replace('\n\n', '\n'), 'my.de': text(400).replace('\n\n', '\n')},
        dict(
            data__path='my',
            data__tokenizer=BYTES,
            data__source_context_length=90,
            model__decoder__vocabulary=300,
            sample__text='a' * 90,
        ),
        'config.sample: text 1: it has 90 tokens, and the model reads at most 89; split it into sentences; set '
        '--config.sample.text to another text or --config.sample=None',
    ),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_training_reports_faults_of_the_data_before_it_traces_or_compiles(fault, folder):
    experiment, files, changes, message = FAULTS[fault]
    for name, content in files.items():
        (folder / name).write_text(content)
    assert message in refused(experiment, **changes)


@pytest.mark.parametrize('fault', ['wrong path', 'wrong header', 'unknown label', 'a split too small'])
def test_evaluating_and_looking_inside_report_faults_of_the_data_before_they_read_the_model(fault, folder):
    experiment, files, changes, message = FAULTS[fault]
    for name, content in files.items():
        (folder / name).write_text(content)
    made = config(experiment, **changes)
    (folder / 'run').mkdir()
    (folder / 'run/config.json').write_text(json.dumps(made))  # and no checkpoint, as would be said if it were read
    for work in (
        lambda: evaluate_run('run', EvaluationOptions()),
        lambda: evaluate_run('run', EvaluationOptions(data=(f'--config.data.path={changes["data__path"]}',))),
        lambda: inspect_run('run'),
        lambda: inspect_config(made, 'experiment'),
    ):
        with pytest.raises(UserError) as error:
            work()
        assert message in str(error.value)
