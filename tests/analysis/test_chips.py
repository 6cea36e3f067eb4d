# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chips that are not there: several processes compile for them at once, and without libtpu none does."""

import importlib.util
import os
import subprocess
import sys

import pytest

from saccade.analysis.preflight.chips import Chips
from saccade.types import UserError

HOLD = """
import sys
from saccade.analysis.preflight.chips import Chips
print(Chips.of_slice('v5e:4x4').name, flush=True)
sys.stdin.read()
"""


def test_without_libtpu_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(UserError, match=r"libtpu: pip install -e '\.\[tpu\]'$"):
        Chips.of_slice('v5e:4x4')


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec('libtpu') is None, reason='libtpu is not installed')
def test_two_processes_compile_for_a_slice_at_once():
    quiet = {name: value for name, value in os.environ.items() if name != 'XLA_FLAGS' and not name.startswith('TPU_')}
    quiet.pop('ALLOW_MULTIPLE_LIBTPU_LOAD', None)
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=quiet)
    processes = [subprocess.Popen([sys.executable, '-c', HOLD], **pipes) for _ in range(2)]
    names = [process.stdout.readline().strip() for process in processes]
    for process in processes:
        process.communicate(timeout=60)
    assert names == ['16 x TPU v5 lite, v5e:4x4'] * 2
