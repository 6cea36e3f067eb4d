# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generating from the command line: samples as JSON, a conversation, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

LAUNCHER = Path(__file__).parents[2] / 'launch' / 'generate.py'


def generate(runner, *arguments, said=''):
    return subprocess.run(
        [sys.executable, str(LAUNCHER), *arguments],
        input=said,
        capture_output=True,
        text=True,
        env=runner.environment,
        check=False,
        timeout=240,
    )


def test_samples_come_as_one_json_object(runner, finished):
    done = generate(runner, f'--workdir={finished}', '--prompt=the model ', '--samples=2', '--max_tokens=3', '--json')
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed['prompt'] == 'the model '
    assert [set(sample) for sample in printed['samples']] == 2 * [{'text', 'tokens'}]
    assert all(0 < len(sample['tokens']) <= 3 and sample['text'] for sample in printed['samples'])


def test_text_follows_the_prompt_and_stops_at_the_context(runner, finished):
    done = generate(runner, f'--init_from={finished}', '--prompt=the model ', '--greedy')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('the model ')
    assert len(done.stdout) > len('the model \n')


def test_a_conversation_answers_line_by_line(runner, finished):
    done = generate(runner, f'--workdir={finished}', '--chat', '--max_tokens=4', said='the model\nand another\n')
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2


def test_what_does_not_fit_the_context_is_one_line(runner, finished):
    done = generate(runner, f'--workdir={finished}', '--prompt=the', '--max_tokens=99')
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith('error: a prompt of')
    assert 'max_tokens of 99 do not fit the context of 16' in line


def test_an_encoder_is_refused_with_a_pointer_to_what_it_can_do(runner, encoder):
    done = generate(runner, f'--workdir={encoder}', '--prompt=the model')
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert 'an encoder sees what follows a token' in line
    assert 'launch/fill_mask.py --turns=4' in line
