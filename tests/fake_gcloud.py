# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tells a gcloud that hires nothing what to answer, and reads what it was asked: see fake_gcloud_program.py."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fake_gcloud_program
from fake_gcloud_program import ANSWERS, CALLS, asked, home

GCLOUD = f'#!/usr/bin/env bash\nexec {sys.executable} -IS {fake_gcloud_program.__file__} "$@"\n'
# What stands in for a host's Python and for gcsfuse: nothing is installed, and no bucket is mounted.
PYTHON = f"""#!/usr/bin/env bash
case "$1 $2" in
  '-c '*) ;;
  '-m venv') mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  '-m pip') echo "$@" >> "$HOME/pip" ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
GCSFUSE = '#!/usr/bin/env bash\necho "$@" >> "$HOME/gcsfuse"\n'


@dataclass(frozen=True)
class FakeGcloud:
    """Attributes: its folder, where its answers, its calls and the hosts' home folders lie."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> 'FakeGcloud':
        """Put one into a folder."""
        programs = folder / 'bin'
        programs.mkdir(parents=True)
        for name, text in (('gcloud', GCLOUD), ('python3.13', PYTHON), ('gcsfuse', GCSFUSE)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (folder / ANSWERS).write_text('{}')
        return cls(folder)

    @property
    def environment(self) -> dict[str, str]:
        """What finds it."""
        path = f'{self.folder / "bin"}{os.pathsep}{os.environ["PATH"]}'
        return {'PATH': path, 'FAKE_GCLOUD': str(self.folder)}

    def answer(self, **answers: Sequence[Any]) -> None:
        """Give answers to calls, by what is asked: one after another, and the last from then on.

        A state is that of a TPU that is described, or None where there is none; a number is an exit status; a dict has
        `status`, `out` and `err`, and `before`, shell that is run on the first host; `True` runs what is for the hosts.
        """
        path = self.folder / ANSWERS
        path.write_text(json.dumps({**json.loads(path.read_text()), **answers}))

    def calls(self) -> list[list[str]]:
        """Every call, in order, save that what was repeated at once stands once."""
        path = self.folder / CALLS
        calls = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [call for number, call in enumerate(calls) if number == 0 or call != calls[number - 1]]

    def asked(self) -> list[str]:
        """What the calls ask, as `answer` names it."""
        return [asked(call[1:]) for call in self.calls()]

    def home(self, host: int = 0) -> Path:
        return Path(home(str(self.folder), host))
