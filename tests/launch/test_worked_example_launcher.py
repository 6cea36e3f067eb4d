# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The command of the worked example trains its file, as a reader would save it."""

import re
import shlex
from pathlib import Path

import pytest
from watched import STEPS, losses

PAGE = (Path(__file__).parents[2] / 'docs/guides/worked_example.md').read_text()


@pytest.mark.long
def test_the_worked_example_is_trained_by_its_command(runner, tmp_path):
    (runner.folder / 'my_sticks.py').write_text(re.search(r'```python\n(.*?)```', PAGE, re.S)[1])
    command = re.search(r'^python launch/train\.py (?:.*\\\n)*.*$', PAGE, re.M)[0].replace('\\\n', ' ')
    done = runner.train(tmp_path / 'run', *(part for part in shlex.split(command) if part.startswith('--config.')))
    assert done.returncode == 0, done.stderr
    trained = losses(tmp_path / 'run')
    assert trained[STEPS, 'train'] < trained[1, 'train']
