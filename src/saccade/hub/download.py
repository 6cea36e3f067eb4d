# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Models of huggingface.co by name, `hf:ORG/NAME` or `hf:ORG/NAME@REVISION`, through the extra `hub`."""

import functools
import re

from saccade import extras
from saccade.data.tokenizer.file import FILES, NEIGHBOURS
from saccade.data.tokenizer.tokenizer import TEMPLATE
from saccade.hub import sentence
from saccade.hub.tensors import ADAPTER, INDEX
from saccade.types import UserError

SCHEME = 'hf:'
# Weights, and everything else that a folder is read for; `model*` leaves out a second copy in another layout.
_FILES = ('model*.safetensors', INDEX, *FILES, *NEIGHBOURS, TEMPLATE, ADAPTER, *sentence.FILES)
_NAME = re.compile(r'[\w.-]+(/[\w.-]+)?')


def local(path: str) -> str:
    """Return a path; for `hf:ORG/NAME`, the folder of the cache with the model's files, downloaded at the first use.

    The cache is that of huggingface_hub (`HF_HOME`). A process asks for each name once.

    Raises:
        UserError: the name is not valid; huggingface_hub is not installed; the model does not exist, may not be read,
            or is not in the cache and the network does not answer.
    """
    return _downloaded(path) if path.startswith(SCHEME) else path


def name_of(path: str) -> tuple[str, str | None]:
    """Return the name of a model and its revision; of another path than `hf:ORG/NAME@REVISION`, the path and None."""
    if not path.startswith(SCHEME):
        return path, None
    name, _, revision = path.removeprefix(SCHEME).partition('@')
    return name, revision or None


def advice(path: str) -> str:
    """Return the command that downloads a model, for a path that does not exist but may name one; '' otherwise."""
    if not _NAME.fullmatch(path) or path.startswith('.'):
        return ''
    named = path if '/' in path else f'ORG/{path}'
    return f'for a model of huggingface.co write hf:{named}, or first run {_command(named)}'


def _command(name: str, revision: str | None = None) -> str:
    return f'hf download {name}{f" --revision {revision}" if revision else ""} --local-dir DIR'


@functools.cache
def _downloaded(path: str) -> str:
    from saccade.data.image.processor import HUGGING_FACE  # loads Pillow

    name, revision = name_of(path)
    if not re.fullmatch(r'[\w.-]+/[\w.-]+', name):
        raise UserError(f'{path}: write {SCHEME}ORG/NAME or {SCHEME}ORG/NAME@REVISION')
    command = _command(name, revision)
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        words = extras.lacks('hub', 'this') or 'huggingface_hub is not installed'
        raise UserError(f'{path}: {words}; or use the folder of {command}') from None
    try:
        return snapshot_download(name, revision=revision, allow_patterns=[*_FILES, *HUGGING_FACE])
    except Exception as error:  # of its own, of the file system, or of the HTTP library, which differs by its version
        first, *_ = str(error).strip().splitlines() or [type(error).__name__]
        raise UserError(
            f'{path}: cannot be downloaded: {first.rstrip(".")}; with a network, run {command}, and give DIR'
        ) from None
