# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Probes from the command line: an encoder and a decoder on the same labelled texts."""

import itertools
import json

import pytest

pytestmark = pytest.mark.long

WORDS = ['the', 'model', 'reads', 'a', 'token', 'and']


@pytest.fixture(scope='module')
def texts(tmp_path_factory):
    """A folder of texts with classes: whether the word `model` is among four words."""
    folder = tmp_path_factory.mktemp('labelled')
    rows = [(' '.join(each), 'with' if 'model' in each else 'without') for each in itertools.permutations(WORDS, 4)]
    dev = rows[::4]
    for name, part in (('train', [row for row in rows if row not in dev]), ('dev', dev)):
        (folder / f'{name}.csv').write_text('\n'.join(['words,kind', *(f'{text},{kind}' for text, kind in part)]))
    return folder


def test_the_word_that_makes_the_class_is_found_in_the_embedding_of_each_model(runner, encoder, finished, texts):
    models = f'--workdir={encoder}', f'--workdir={finished}'
    done = runner.run('probe', *models, f'--data={texts}', '--text=words', '--label=kind', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['classes'] == ['with', 'without']
    assert found['train'] + found['validation'] == 360
    assert [each['model'] for each in found['models']] == [str(encoder), str(finished)]
    for model in found['models']:
        assert model['layers']['0']['accuracy'][0] > 0.95
    assert found['majority'] < 0.8


def test_people_see_a_table_by_layer_and_one_of_differences(runner, encoder, finished, texts):
    models = f'--workdir={encoder}', f'--workdir={finished}'
    done = runner.run('probe', *models, f'--data={texts}', '--text=words', '--task=swapped')
    assert done.returncode == 0, done.stderr
    title, *_ = done.stdout.splitlines()
    assert title.startswith("Task 'swapped': ")
    assert 'Layers chosen on the texts held out of training' in done.stdout
