# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluation from the command line."""

import json
import math

import pytest

from saccade.train.log import read

SAME_NUMBERS = 1e-6


def test_a_run_is_evaluated_over_the_whole_split_as_at_its_end(runner, finished):
    done = runner.run('evaluate', f'--workdir={finished}', '--json', '--windows=16')
    assert done.returncode == 0, done.stderr
    found, logged = json.loads(done.stdout), read(finished / 'metrics.jsonl')[-1]
    assert found['step'] == logged['step'] == 20
    assert found['loss'] == pytest.approx(logged['loss'], rel=SAME_NUMBERS)
    assert found['perplexity'] == pytest.approx(math.exp(logged['loss']), rel=SAME_NUMBERS)
    assert found['bits_per_byte'] == pytest.approx(logged['bits_per_byte'], rel=SAME_NUMBERS)
    assert found['baseline'] > 0
    assert found['estimate'] == pytest.approx(found['loss'], rel=0.2)


def test_a_folder_that_is_no_run_is_refused(runner, tmp_path):
    (tmp_path / 'letter.txt').write_text('Dear reader')
    for folder, words in ((tmp_path / 'absent', 'no such folder'), (tmp_path, 'not a Saccade run')):
        done = runner.run('evaluate', f'--workdir={folder}')
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count('\n') == 1
