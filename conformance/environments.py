# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Environments of the libraries, one each in `.conformance/`, with the requirements of their adapters."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / '.conformance'


def declared(library: str, name: str, default: Any) -> Any:
    """Read a constant of an adapter without importing it."""
    for node in ast.parse((HERE / 'libraries' / f'{library}.py').read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == name:
            return ast.literal_eval(node.value)
    return default


def python_of(library: str) -> Path:
    """Interpreter of a library's environment."""
    return ENVIRONMENTS / library / 'bin' / 'python'


def make(library: str) -> None:
    """Make the environment of a library, with the Python that it names in `PYTHON`, and install what it requires.

    Raises:
        CalledProcessError: something cannot be installed.
        FileNotFoundError: this machine does not have that Python.
    """
    version = declared(library, 'PYTHON', '')
    python = f'python{version}' if version else sys.executable
    subprocess.run([python, '-m', 'venv', '--clear', ENVIRONMENTS / library], check=True)
    install = [python_of(library), '-m', 'pip', 'install', '--quiet', *declared(library, 'REQUIRES', ())]
    subprocess.run(install, check=True)
