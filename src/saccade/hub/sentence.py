# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pooling of a sentence encoder in a Hugging Face folder, in the layout of sentence-transformers.

Reimers and Gurevych 2019, "Sentence-BERT", https://arxiv.org/abs/1908.10084. modules.json lists the modules, and
1_Pooling/config.json names the pooling of the last layer over the tokens. A module that normalises has no effect on a
cosine. Without modules.json the pooling is the mean. A pooler such as BERT's, which was trained to tell whether one
sentence follows another, is not used.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxtyping import Array

from saccade.ops import pool
from saccade.paths import read_text
from saccade.types import UserError

MODULES, POOLING = 'modules.json', '1_Pooling/config.json'
_MODES = 'pooling_mode'
_POOLS = {'mean': pool.mean, 'cls': pool.first, 'max': pool.maximum, 'lasttoken': pool.last}


def pooling_in(folder: Path) -> Callable[..., Array]:
    """Return the pooling of a text's vector in a folder: a function of `ops.pool`.

    Raises:
        UserError: a file cannot be read, or names a module or a pooling that is not supported.
    """
    file = folder / MODULES
    if not file.is_file():
        return pool.mean
    found = _read(file, list)
    modules = [str(each.get('type')).rpartition('.')[2] if isinstance(each, dict) else str(each) for each in found]
    if modules[:2] != ['Transformer', 'Pooling'] or {*modules[2:]} - {'Normalize'}:
        raise UserError(
            f'{file}: {", ".join(modules) or "no module"}: not supported; only Transformer, Pooling and Normalize, in '
            'this order, are'
        )
    config = {f'{_MODES}_mean_tokens': True, **_read(folder / POOLING, dict)}
    flags = [key for key, value in config.items() if key.startswith(f'{_MODES}_') and value]
    names = [key.removeprefix(f'{_MODES}_').removesuffix('_tokens').removesuffix('_token') for key in flags]
    modes = config.get(_MODES, names)  # newer files have names in place of flags
    modes = modes if isinstance(modes, list) else [modes]
    if len(modes) != 1 or str(modes[0]) not in _POOLS:
        raise UserError(
            f'{folder / POOLING}: pooling by {" and ".join(map(str, modes)) or "none"} is not supported; only by one '
            f'of {", ".join(_POOLS)} is'
        )
    return _POOLS[modes[0]]


def _read(file: Path, kind: type) -> Any:
    try:
        found = json.loads(read_text(file))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f'{file}: cannot be read as JSON: {error}') from None
    if not isinstance(found, kind):
        raise UserError(f'{file}: must hold a JSON {"list" if kind is list else "object"}')
    return found
