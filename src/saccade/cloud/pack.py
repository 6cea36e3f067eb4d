# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Archive of the working tree: files that git tracks or does not ignore, committed or not.

python -m saccade.cloud.pack FOLDER ARCHIVE
"""

import subprocess
import sys
import tarfile
from pathlib import Path

# Of a folder that is not under git: what a run needs, without what Python makes of it.
_NEEDED = ('pyproject.toml', 'setup.py', 'README.md', 'LICENSE', 'src', 'launch', 'experiments')
_MADE = '__pycache__'


def files_of(folder: Path) -> list[Path]:
    """Return the archived files, relative to the folder."""
    listing = ('git', '-C', str(folder), 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
    try:
        listed = subprocess.run(listing, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        tops = [folder / name for name in _NEEDED]
        files = [file for top in tops for file in ([top] if top.is_file() else top.rglob('*')) if file.is_file()]
        return sorted(file.relative_to(folder) for file in files if _MADE not in file.parts)
    paths = {Path(name) for name in listed.split('\0') if name}
    return sorted(path for path in paths if (folder / path).is_file())  # git also lists deleted files


def pack(folder: Path, archive: Path) -> None:
    """Write the archive of a folder."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, 'w:gz') as tar:
        for path in files_of(folder):
            tar.add(folder / path, arcname=str(path))


if __name__ == '__main__':
    try:
        pack(*map(Path, sys.argv[1:]))
    except OSError as error:
        sys.exit(f'error: {error}')
