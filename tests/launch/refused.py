# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a launcher does with a mistake of the user's."""

from subprocess import CompletedProcess


def assert_refused(done: CompletedProcess, words: str) -> None:
    """One line that says what is wrong, status 2, and nothing else."""
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert done.stderr.startswith('error: ')
    assert done.stderr.count('\n') == 1, done.stderr
    assert done.stdout == ''
