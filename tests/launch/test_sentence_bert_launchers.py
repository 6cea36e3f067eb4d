# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sentence-BERT from the command line: trained, judged, searched by; eight devices give the losses of one."""

import json
import os
import random
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).parents[2]
SAME_NUMBERS = 1e-5  # relative difference, of losses that are the same but for the order of sums
WORDS = ('read', 'write', 'open', 'close', 'file', 'folder', 'line', 'word', 'page', 'book')
SMALL = (
    '--config.model.width=16',
    '--config.model.layers=1',
    '--config.model.block.mixer.heads=2',
    '--config.model.vocabulary=300',
    '--config.model.context_length=10',
    '--config.model.**.dropout=0.0',
    '--config.batch_size=8',
    '--config.steps=4',
    '--config.log_every=1',
    '--config.eval_every=2',
    '--config.checkpoint_every=2',
)
COLUMNS = ('--config.data.text=first', '--config.data.pair=second')
TRIPLETS = ("--config.task={'use': 'task.triplet:Triplet'}", '--config.data.negative=third')
RUNS = {
    'ranking': ('sentence_bert', ()),
    'triplet': ('sentence_bert', TRIPLETS),
    'similarity': ('similarity', ('--config.data.value=value',)),
    'entailment': ('entailment', ('--config.data.label=label', '--config.data.classes=2')),
}
MEASURED = {
    'ranking': {'recall_at_1', 'recall_at_5', 'recall_at_10', 'mrr'},
    'triplet': {'accuracy'},
    'similarity': {'pearson', 'spearman', 'mean_squared_error'},
    'entailment': {'accuracy', 'f1', 'matthews'},
}


@pytest.fixture(scope='module')
def pairs(tmp_path_factory):
    """Triplets of sentences: the second has the words of the first in another order, the third has others."""
    generator, folder = random.Random(0), tmp_path_factory.mktemp('pairs')
    for name, count in (('train', 60), ('dev', 21)):
        lines = []
        for _ in range(count):
            first, third = generator.sample(WORDS, 4), generator.sample(WORDS, 4)
            second = generator.sample(first, 4)
            texts = dict(zip(('first', 'second', 'third'), map(' '.join, (first, second, third)), strict=True))
            lines.append({**texts, 'value': generator.uniform(0, 5), 'label': generator.choice(['yes', 'no'])})
        (folder / f'{name}.jsonl').write_text(''.join(f'{json.dumps(line)}\n' for line in lines))
    return folder


def given(name, pairs):
    experiment, own = RUNS[name]
    config = ROOT / f'experiments/pairs/{experiment}.py'
    return [str(config), *SMALL, f'--config.data.path={pairs}', *COLUMNS, *own]


def trained(runner, name, pairs, workdir):
    config, *overrides = given(name, pairs)
    done = runner.run('train', f'--config={config}', f'--workdir={workdir}', *overrides)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope='module')
def ranking(runner, pairs, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('runs') / 'ranking'
    trained(runner, 'ranking', pairs, workdir)
    return workdir


@pytest.mark.long
@pytest.mark.parametrize('name', RUNS)
def test_a_run_is_trained_and_judged_as_it_is_evaluated(runner, pairs, tmp_path, name):
    done = trained(runner, name, pairs, tmp_path)
    assert 'launch/search.py' in done.stdout
    shown = runner.run('evaluate', f'--workdir={tmp_path}', '--json')
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found['intervals'].keys() == MEASURED[name]
    for metric, (low, high) in found['intervals'].items():
        assert low <= found[metric] <= high
    searched = runner.run(
        'search', f'--workdir={tmp_path}', f'--corpus={pairs / "dev.jsonl"}', '--query=read', '--json'
    )
    assert searched.returncode == 0, searched.stderr
    assert len(json.loads(searched.stdout)['found']) == 5


@pytest.mark.long
@pytest.mark.parametrize('name', RUNS)
def test_eight_devices_give_the_losses_of_one(runner, pairs, tmp_path, name):
    flags = f'{os.environ["XLA_FLAGS"]} --xla_force_host_platform_device_count=8'
    output = [tmp_path / 'out', tmp_path / 'err']
    arguments = [str(ROOT / 'tests/launch/contrastive.py'), *given(name, pairs)]
    status = forked.run(arguments, runner.folder, {**runner.environment, 'XLA_FLAGS': flags}, output)
    assert status == 0, output[1].read_text()
    one, mesh, replicas = json.loads(output[0].read_text())
    assert mesh == pytest.approx(one, rel=SAME_NUMBERS)
    assert replicas == pytest.approx(one, rel=SAME_NUMBERS)
    assert len(set(one)) == len(one)


@pytest.mark.long
def test_a_corpus_is_encoded_once_and_found_by_its_own_lines(runner, ranking, tmp_path):
    corpus = tmp_path / 'corpus.txt'
    corpus.write_text('read file\n\nclose book page\nopen folder word\n')
    queries = ['--query=close book page', '--query=read file']
    first, again = (
        runner.run('search', f'--workdir={ranking}', f'--corpus={corpus}', *queries, '--top=1', '--json')
        for _ in range(2)
    )
    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout
    found = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(each['query'], each['found'][0]['line']) for each in found] == [('close book page', 3), ('read file', 1)]
    assert [each['found'][0]['score'] for each in found] == pytest.approx([1.0, 1.0], abs=1e-5)
    files = f'--workdir={ranking}', f'--corpus={corpus}', f'--index={tmp_path}/index'
    coarse = runner.run('search', *files, *queries, '--top=1', '--json', '--dtype=bfloat16')
    assert coarse.stdout != first.stdout
    assert [json.loads(line)['found'][0]['line'] for line in coarse.stdout.splitlines()] == [3, 1]
    assert (ranking / 'search' / 'corpus.txt' / 'vectors.npy').is_file()


@pytest.mark.long
def test_labelled_pairs_are_measured(runner, ranking, tmp_path):
    corpus, labelled = tmp_path / 'corpus.txt', tmp_path / 'pairs.tsv'
    corpus.write_text('read file\nclose book page\nopen folder word\n')
    labelled.write_text('read file\t1\nopen folder word\topen folder word\n')
    arguments = f'--corpus={corpus}', f'--pairs={labelled}', f'--index={tmp_path / "index"}'
    done = runner.run('search', f'--workdir={ranking}', *arguments, '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found['queries'], found['texts'], found['mrr'], found['recall_at_1']) == (2, 3, 1.0, 1.0)


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ((), 'give --corpus=FILE'),
        (('--corpus={empty}',), 'has no text to search'),
        (('--corpus={text}', '--query=a', '--pairs=x'), 'give one of'),
        (('--corpus={text}', '--index={folder}', '--query=a'), 'is not an index'),
        (('--corpus={text}', '--query=a', '--config.steps=3'), 'reads with its training config'),
    ],
)
def test_what_cannot_be_searched_is_refused_in_one_line(runner, ranking, tmp_path, arguments, words):
    (tmp_path / 'empty.txt').write_text('\n')
    places = {'empty': tmp_path / 'empty.txt', 'text': runner.text, 'folder': tmp_path}
    done = runner.run('search', f'--workdir={ranking}', *(each.format(**places) for each in arguments))
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
