# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a sentence encoder in a Hugging Face folder, in the layout of sentence-transformers.

Reimers and Gurevych 2019, "Sentence-BERT", https://arxiv.org/abs/1908.10084. modules.json lists the modules, and
1_Pooling/config.json names the pooling of the last layer over the tokens. A module that normalises has no effect on a
cosine. Without modules.json the pooling is the mean. A pooler such as BERT's, which was trained to tell whether one
sentence follows another, is not used. sentence_bert_config.json or tokenizer_config.json has the number of tokens at
which a text is cut, and config_sentence_transformers.json has texts to put before a query or a document.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import Array

from saccade.data.tokenizer.tokenizer import CONFIG
from saccade.ops import pool
from saccade.paths import read_text
from saccade.types import UserError

_LOG = logging.getLogger(__name__)
_MODULES, _POOLING, _PROMPTS = 'modules.json', '1_Pooling/config.json', 'config_sentence_transformers.json'
# The first is written today; the others are in older folders.
_LENGTHS = tuple(
    f'sentence_{name}_config.json'
    for name in ('bert', 'roberta', 'distilbert', 'camembert', 'albert', 'xlm-roberta', 'xlnet')
)
FILES = (_MODULES, _POOLING, _PROMPTS, *_LENGTHS)
_MODES = 'pooling_mode'
POOLS = {'mean': pool.mean, 'cls': pool.first, 'max': pool.maximum, 'lasttoken': pool.last}
_FLAGS = {'mean': 'mean_tokens', 'cls': 'cls_token', 'max': 'max_tokens', 'lasttoken': 'lasttoken'}


@dataclass(frozen=True)
class SentenceSettings:
    """Settings of a sentence encoder.

    Attributes:
        pool: of the last layer over the tokens, a function of `ops.pool`; None for the head of a run, or its default.
        length: tokens of a text at most, with special ones; None for the context of the model.
        unit: whether texts are compared by the cosine of their vectors; otherwise by the dot product.
    """

    pool: Callable[..., Array] | None = None
    length: int | None = None
    unit: bool = True

    @classmethod
    def of_folder(cls, folder: Path) -> 'SentenceSettings':
        """Read the settings of a folder; warn of those that are not applied.

        Raises:
            UserError: a file cannot be read, or names a module, a pooling or a length that is not supported.
        """
        if any((folder / name).is_file() and _read(folder / name, dict).get('do_lower_case') for name in _LENGTHS):
            _LOG.warning('%s: do_lower_case: texts are not changed; give them in lower case', folder)
        told = _read(folder / _PROMPTS, dict) if (folder / _PROMPTS).is_file() else {}
        prompts, compared = told.get('prompts'), told.get('similarity_fn_name') or 'cosine'
        if compared not in ('cosine', 'dot'):
            raise UserError(
                f'{folder / _PROMPTS}: similarity_fn_name is {compared!r}; only cosine and dot are supported'
            )
        if isinstance(prompts, dict) and any(prompts.values()):
            texts = ', '.join(f'{name} {text!r}' for name, text in prompts.items() if text)
            _LOG.warning('%s: prompts are not added; write them before the texts: %s', folder / _PROMPTS, texts)
        pooling, normalised = _pooling_in(folder)
        return cls(pooling, _length_in(folder), normalised or compared == 'cosine')

    def files(self, width: int) -> dict[str, str]:
        """Return the files, by name, with which sentence-transformers makes the same unit vectors. Args: width, D."""
        (mode,) = (name for name, pool in POOLS.items() if pool is self.pool)
        kinds = {'Transformer': '', 'Pooling': str(Path(_POOLING).parent), 'Normalize': '2_Normalize'}
        modules = [
            {'idx': at, 'name': str(at), 'path': path, 'type': f'sentence_transformers.models.{kind}'}
            for at, (kind, path) in enumerate(kinds.items())
        ]
        flags = {f'{_MODES}_{key}': name == mode for name, key in _FLAGS.items()}
        contents = {
            _MODULES: modules,
            _POOLING: {'word_embedding_dimension': width, **flags},
            _LENGTHS[0]: {'max_seq_length': self.length, 'do_lower_case': False},
        }
        return {name: json.dumps(content, indent=2) + '\n' for name, content in contents.items()}


def _length_in(folder: Path) -> int | None:
    for name, key in (*((name, 'max_seq_length') for name in _LENGTHS), (CONFIG, 'model_max_length')):
        length = _read(folder / name, dict).get(key) if (folder / name).is_file() else None
        if length is None:
            continue
        if isinstance(length, bool) or not isinstance(length, int | float) or not length >= 1:
            raise UserError(f'{folder / name}: {key} must be a positive number, not {length!r}')
        return int(min(length, 1 << 30))  # transformers writes 1e30 for no maximum
    return None


def _pooling_in(folder: Path) -> tuple[Callable[..., Array], bool]:
    """Return the pooling, and whether a module normalises its vectors."""
    file = folder / _MODULES
    if not file.is_file():
        return pool.mean, False
    found = _read(file, list)
    modules = [str(each.get('type')).rpartition('.')[2] if isinstance(each, dict) else str(each) for each in found]
    if modules[:2] != ['Transformer', 'Pooling'] or {*modules[2:]} - {'Normalize'}:
        raise UserError(
            f'{file}: {", ".join(modules) or "no module"}: not supported; only Transformer, Pooling and Normalize, in '
            'this order, are'
        )
    config = {f'{_MODES}_mean_tokens': True, **_read(folder / _POOLING, dict)}
    flags = [key for key, value in config.items() if key.startswith(f'{_MODES}_') and value]
    names = [key.removeprefix(f'{_MODES}_').removesuffix('_tokens').removesuffix('_token') for key in flags]
    modes = config.get(_MODES, names)  # newer files have names in place of flags
    modes = modes if isinstance(modes, list) else [modes]
    if len(modes) != 1 or str(modes[0]) not in POOLS:
        raise UserError(
            f'{folder / _POOLING}: pooling by {" and ".join(map(str, modes)) or "none"} is not supported; only by one '
            f'of {", ".join(POOLS)} is'
        )
    return POOLS[modes[0]], 'Normalize' in modules


def _read(file: Path, kind: type) -> Any:
    try:
        found = json.loads(read_text(file))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f'{file}: cannot be read as JSON: {error}') from None
    if not isinstance(found, kind):
        raise UserError(f'{file}: must hold a JSON {"list" if kind is list else "object"}')
    return found
