# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training on pairs, judging and translating from the command line, from a folder of files to a picture."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
SMALL = (
    'model.decoder.width=16', 'model.decoder.layers=1', 'model.decoder.block.mixer.heads=2', 'batch_size=8', 'steps=3',
    'eval_every=2', 'checkpoint_every=0', 'log_every=1', 'data.source_context_length=64', 'data.context_length=24',
    'data.buckets=(16,)',
)  # fmt: skip


@pytest.fixture(scope='module')
def translating(runner, tmp_path_factory):
    """The folder of a run on line-aligned files, and what it printed."""
    folder = tmp_path_factory.mktemp('translating')
    for split, start in (('train', 0), ('val', 3), ('test', 5)):
        texts = [[WORDS[(start + 3 * row + at) % 10] for at in range(1 + row % 6)] for row in range(12)]
        (folder / f'{split}.en').write_text('\n'.join(map(' '.join, texts)))
        (folder / f'{split}.de').write_text('\n'.join(' '.join(reversed(text)) for text in texts))
    arguments = [f'--config.{each}' for each in SMALL]
    done = runner.run(
        'train',
        f'--config={ROOT}/experiments/translation/multi30k.py',
        f'--workdir={folder}/run',
        f'--config.data.path={folder}',
        '--config.model.decoder.vocabulary=300',
        '--config.task.search.beams=2',
        *arguments,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def translate(runner, folder, *arguments, given=None):
    return runner.run('translate', f'--workdir={folder}/run', *arguments)


@pytest.mark.long
def test_training_prints_bleu_with_its_signature_and_a_sample(translating):
    _, printed = translating
    assert re.search(r'^bleu +\d+\.\d{4} \[', printed, re.MULTILINE)
    assert re.search(r'^bleu +nrefs:1\|case:mixed\|eff:no\|tok:13a\|', printed, re.MULTILINE)
    assert re.search(r'^chrf +nrefs:1\|.*\|nc:6\|nw:0\|', printed, re.MULTILINE)
    assert 'Two young men are outside near many bushes.  =>  ' in printed


@pytest.mark.long
def test_a_test_split_is_judged_when_it_is_asked_for(runner, translating):
    done = runner.run('evaluate', f'--workdir={translating[0]}/run', '--split=test', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['split'] == 'test'
    assert 'tok:13a' in found['signatures']['bleu']
    done = runner.run('evaluate', f'--workdir={translating[0]}/run', '--split=tests')
    assert done.returncode == 2
    assert "--split='tests': the splits are train, validation, test" in done.stderr


@pytest.mark.long
def test_a_file_is_translated_line_by_line_in_its_order(runner, translating):
    folder, _ = translating
    sources = (folder / 'val.en').read_text().split('\n')
    done = translate(runner, folder, f'--file={folder}/val.en', '--json', '--batch=5')
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)['source'] for line in done.stdout.splitlines()] == sources
    plain = translate(runner, folder, f'--file={folder}/val.en', '--batch=12', '--beams=1')
    assert len(plain.stdout.split('\n')) == len(sources) + 1


@pytest.mark.long
def test_a_file_and_standard_input_of_the_same_bytes_are_translated_alike(runner, translating, tmp_path):
    content = 'one\u2028two\r\n\nthree\x0c four \rfive\nsix'.encode()
    (tmp_path / 'a.txt').write_bytes(content)
    of_file = translate(runner, translating[0], f'--file={tmp_path}/a.txt', '--json')
    command = [sys.executable, str(ROOT / 'launch' / 'translate.py'), f'--workdir={translating[0]}/run', '--json']
    done = subprocess.run(command, input=content, capture_output=True, env=runner.environment, check=True, timeout=240)
    assert done.stdout.decode() == of_file.stdout
    sources = [json.loads(line)['source'] for line in of_file.stdout.splitlines()]
    assert sources == ['one\u2028two', '', 'three\x0c four \rfive', 'six']


@pytest.mark.long
def test_a_text_is_translated_with_a_picture_of_where_the_model_looked(runner, translating, tmp_path):
    picture = tmp_path / 'map.png'
    done = translate(runner, translating[0], '--text=one two three', f'--alignment={picture}', '--head=1', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['alignment']['what'].endswith('.heads.1')
    assert picture.read_bytes().startswith(b'\x89PNG')
    coarse = translate(
        runner, translating[0], '--text=one two three', f'--alignment={picture}', '--json', '--dtype=bfloat16'
    )
    assert json.loads(coarse.stdout)['source'] == found['source'], coarse.stderr
    rows = found['alignment']['weights']
    assert len(rows) == len(found['alignment']['written'])
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in rows)
    page = tmp_path / 'map.html'
    done = translate(runner, translating[0], '--text=one two three', f'--alignment={page}')
    assert done.returncode == 0, done.stderr
    title = re.search('<title>(.*?)</title>', page.read_text(), re.DOTALL)[1]
    assert title.startswith('Attention: one two three \N{RIGHTWARDS ARROW} ')
    assert title.endswith(f'{translating[0]}/run, step 3')


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--text=a', '--file=b'), 'give --text=TEXT or --file=FILE'),
        (('--file=/no/such',), '/no/such: cannot be read'),
        (('--file=x', '--alignment=map.png'), '--alignment draws one text'),
        (('--text=' + 40 * 'one two ',), 'text 1: it has'),
        (('--text=one', '--alignment=map.txt'), 'ends in .html, .pdf, .png, .svg, .npz'),
        (('--text=one', '--start=[MASK]'), '--start has no effect: the data of the run define'),
    ],
)
def test_what_cannot_be_is_said_in_one_line(runner, translating, arguments, message):
    done = translate(runner, translating[0], *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line


@pytest.mark.long
def test_a_run_of_another_task_is_refused(runner, finished):
    done = runner.run('translate', f'--workdir={finished}', '--text=a')
    assert done.returncode == 2
    assert 'is not a Seq2Seq' in done.stderr
