# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Start `benchmarks.accelerate` on a Python as one finds it on a machine with an accelerator. Standard library alone.

JAX is used as it is there. What else is missing is installed into an environment on top of that Python, if a registry
answers; if not, the rows run with what there is, and what they go without is said. The package itself is not installed.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT, LINKS = ROOT / '.venv-accelerator', ROOT / 'build' / 'accelerator'
PYTHON = ENVIRONMENT / 'bin' / 'python'
PLACES = {'experiments': ROOT / 'experiments', 'launch': ROOT / 'launch'}  # packages that lie outside src
PEERS = ('torch', 'transformers')  # gigabytes, which are never installed
_LOOK = """
import importlib.metadata, sys
for name in sys.argv[1:]:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        continue
    print(name)
"""
ANSWER, INSTALL = 5, 900  # seconds that a registry has to answer, and all of an installation


def main(arguments: Sequence[str]) -> None:
    """Prepare what can be prepared, say what is left out, and become the launcher."""
    needed, python = requirements(), str(PYTHON) if PYTHON.exists() else sys.executable
    if lacking := lacks(python, [*needed['core'], *needed['train']]):
        python = installed(lacking)
        lacking = lacks(python, lacking)
    if core := [each for each in lacking if each in needed['core']]:
        sys.exit(f'error: this Python lacks {", ".join(core)}, and no registry gave them: nothing can run')
    if lacking:
        print(f'left out, as no registry gave it: {", ".join(lacking)}; rows that need it say so', file=sys.stderr)
    if peers := lacks(python, PEERS):
        print(f'left out, as it is not here: {", ".join(peers)}; its rows too', file=sys.stderr)
    path = os.pathsep.join(filter(None, [str(linked()), str(ROOT), os.environ.get('PYTHONPATH')]))
    command = [python, '-m', 'benchmarks.accelerate', *arguments]
    os.chdir(ROOT)
    os.execve(python, command, {**os.environ, 'PYTHONPATH': path})


def requirements() -> dict[str, list[str]]:
    """Requirements of the package and of its extra `train`, as in pyproject.toml."""
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    return {
        group: [each.partition(';')[0].strip() for each in given]
        for group, given in (('core', project['dependencies']), ('train', project['optional-dependencies']['train']))
    }


def name_of(requirement: str) -> str:
    """The distribution that a requirement names."""
    return re.match(r'[\w.-]+', requirement)[0]


def lacks(python: str, needed: Sequence[str]) -> list[str]:
    """The requirements whose distribution a Python has not, whatever its version."""
    names = [name_of(each) for each in needed]
    found = subprocess.run([python, '-c', _LOOK, *names], capture_output=True, text=True, check=True).stdout.split()
    return [each for each, name in zip(needed, names, strict=True) if name not in found]


def installed(lacking: Sequence[str]) -> str:
    """Install requirements on top of this Python, if a registry answers; return the Python to go on with."""
    chosen = [_for_the_device(each) for each in lacking]
    print(f'installing, if a registry answers: {", ".join(chosen)}', file=sys.stderr)
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as kept:
        # Another JAX might not know this accelerator.
        there = [name for name in ('jax', 'jaxlib') if not lacks(sys.executable, [name])]
        kept.writelines(f'{name}=={importlib.metadata.version(name)}\n' for name in there)
        kept.flush()
        pip = [str(PYTHON), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries=0']
        steps = (
            [sys.executable, '-m', 'venv', '--system-site-packages', str(ENVIRONMENT)],
            [*pip, f'--timeout={ANSWER}', f'--constraint={kept.name}', *chosen],
        )
        for step in steps:
            try:
                done = subprocess.run(step, capture_output=True, text=True, timeout=INSTALL)
                failed = done.returncode and (done.stderr or done.stdout).strip().rpartition('\n')[2]
            except subprocess.TimeoutExpired:
                failed = f'it took more than {INSTALL} s'
            if failed:
                print(f'not installed: {failed}', file=sys.stderr)
                break
    return str(PYTHON) if PYTHON.exists() else sys.executable


def linked() -> Path:
    """Return a folder from which the package can be imported as it would be installed, experiments included."""
    shutil.rmtree(LINKS, ignore_errors=True)
    (LINKS / 'saccade').mkdir(parents=True)
    for place in (ROOT / 'src' / 'saccade').iterdir():
        (LINKS / 'saccade' / place.name).symlink_to(place)
    for name, place in PLACES.items():
        (LINKS / 'saccade' / name).symlink_to(place)
    return LINKS


def _for_the_device(requirement: str) -> str:
    """JAX with what it needs for an NVIDIA GPU, where there is one."""
    return 'jax[cuda12]' if name_of(requirement) == 'jax' and shutil.which('nvidia-smi') else requirement


if __name__ == '__main__':
    main(sys.argv[1:])
