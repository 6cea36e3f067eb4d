# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every command that a finished run prints under 'What to try next' works, on every kind of experiment."""

import json
import random
import shlex
from pathlib import Path

import pytest

from saccade.train.log.log import read

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
BRIEF = ('steps=4', 'log_every=1', 'eval_every=2', 'eval_batches=1', 'checkpoint_every=2', 'batch_size=8')
LAYER = ('model.width=16', 'model.layers=1', 'model.block.mixer.heads=2')
TEXT = ('data.context_length=32', 'model.vocabulary=300')
SEQ2SEQ = ('data.train=200', 'data.validation=16')
MODES = (
    "[{'use': 'ops.denoising:Spans', 'rate': 0.15, 'mean': 3.0, 'mode': '[R]'},"
    " {'use': 'ops.denoising:Sequential', 'mode': '[S]'}]"
)
DENOISED = (
    'data.context_length=32',
    'model.decoder.vocabulary=400',
    'model.decoder.width=16',
    'model.decoder.layers=1',
)
SMALL_PAIR = tuple(
    f'model.{part}.{field}'
    for part in ('generator', 'discriminator')
    for field in ('layers=1', 'width=16', 'vocabulary=300', 'context_length=32')
)
# What makes each kind small, and whether it reads the records of sentences in place of the text.
KINDS = {
    'causal_lm/quickstart.py': ((*LAYER, *TEXT), False),
    'causal_lm/linear_lm.py': ((*LAYER, *TEXT, 'model.position.length=64'), False),
    'causal_lm/mixtral_tiny.py': (('model.width=16', 'model.layers=1', *TEXT), False),
    'masked_lm/quickstart.py': ((*LAYER, *TEXT, "data.pairing={'use': 'data.encoder.pairing:OnePassage'}"), False),
    'masked_lm/electra_small.py': ((*SMALL_PAIR, 'data.context_length=32', 'schedule.warmup=1'), False),
    'denoising/t5.py': (DENOISED, False),
    'denoising/ul2.py': ((*DENOISED, f'task.denoisers={MODES}'), False),
    'denoising/prefix_lm.py': (DENOISED, False),
    'embedding/skip_gram.py': (('data.context_length=32', 'model.vocabulary=64', 'model.width=16'), False),
    'translation/dates.py': (SEQ2SEQ, None),
    'translation/dates_recurrent.py': (SEQ2SEQ, None),
    'finetune/sort.py': ((*LAYER, 'data.train=50', 'data.validation=20'), None),
    'finetune/classify.py': ((*LAYER, 'model.vocabulary=300', 'data.label=verdict'), True),
    'finetune/regress.py': ((*LAYER, 'model.vocabulary=300', 'data.pair=None'), True),
    'finetune/tag.py': ((*LAYER, 'model.vocabulary=300', 'data.classes=2'), True),
    'finetune/answer.py': (LAYER, True),
}


@pytest.fixture(scope='module')
def records(tmp_path_factory):
    """A folder of sentences with a class, a number and tags; and one of questions."""
    generator, folder = random.Random(0), tmp_path_factory.mktemp('records')
    for name, count in (('train', 60), ('dev', 21)):
        lines = [json.dumps(_record(generator)) for _ in range(count)]
        (folder / f'{name}.jsonl').write_text('\n'.join(lines))
    questions = tmp_path_factory.mktemp('questions')
    context = 'The number of Ann is 7. Bo has none.'
    question = {'id': 'a', 'question': 'Which number?', 'answers': [{'text': '7', 'answer_start': context.index('7')}]}
    for name in ('train', 'dev'):
        paragraphs = [{'context': context, 'qas': [question]}]
        (questions / f'{name}.json').write_text(json.dumps({'data': [{'title': name, 'paragraphs': paragraphs}]}))
    return {True: folder, 'finetune/answer.py': questions}


def _record(generator):
    words, label = generator.choices(['this', 'that', 'film', 'is'], k=9), generator.choice(['good', 'bad'])
    texts = {'sentence': ' '.join([*words, label]), 'sentence1': words[0], 'tokens': [*words, label]}
    return {**texts, 'verdict': label, 'label': generator.randrange(9), 'tags': ['O'] * len(words) + ['B-X']}


def commands(printed):
    """The commands under 'What to try next', by the words before them."""
    lines = printed.partition('What to try next:\n')[2].splitlines()
    return {line[2:17].strip(): shlex.split(line[17:]) for line in lines}


@pytest.mark.long
@pytest.mark.parametrize('name', KINDS)
def test_every_command_that_a_run_prints_works(runner, records, tmp_path, name):
    small, on_records = KINDS[name]
    where = {None: (), False: (f'data.path={runner.text}',)}.get(on_records)
    where = (f'data.path={records.get(name, records[True])}',) if where is None else where
    overrides = [f'--config.{each}' for each in (*small, *BRIEF, *where)]
    workdir = tmp_path / 'a run'
    done = runner.run('train', f'--config={EXPERIMENTS / name}', f'--workdir={workdir}', *overrides)
    assert done.returncode == 0, done.stderr
    found = commands(done.stdout)
    assert {'continue it', 'evaluate it'} <= found.keys()
    for words, (_, script, *arguments) in found.items():
        again = runner.run(Path(script).stem, *arguments)
        assert again.returncode == 0, f'{words}: {again.args}: {again.stderr}'
    rates = [line['learning_rate'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']
    assert len(rates) == 8
