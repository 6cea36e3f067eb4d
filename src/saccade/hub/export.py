# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Export of a model as a Hugging Face folder: config.json, tensors, generation_config.json and the tokenizer."""

import functools
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.hub.adapter import FILE, Adapter, adapter_tensors
from saccade.hub.describe import Description, describe
from saccade.hub.family import Shapes
from saccade.hub.store import tensors_of, write_file, write_tensors
from saccade.hub.tensors import ADAPTER
from saccade.hub.tokenizer import special_ids, write_tokenizer
from saccade.types import Params, Part, UserError

DTYPES = ('float32', 'bfloat16', 'float16')


@dataclass(frozen=True)
class Source:
    """Model to export.

    Attributes:
        model: as under config.model.
        params: its parameters.
        tokenizer: of its texts; None where it reads none.
        ending: of its architecture's name where several fit, as 'ForQuestionAnswering'.
        settings: further settings of config.json, as the names of the classes.
        ends: tokens that end a text, in addition to the tokenizer's.
    """

    model: Part
    params: Params
    tokenizer: Tokenizer | None = None
    ending: str = ''
    settings: Mapping[str, Any] = field(default_factory=dict)
    ends: tuple[int, ...] = ()


@dataclass(frozen=True)
class Format:
    """Format of the folder. Attributes: family, None for any that fits; dtype of tensors; bytes of a file at most."""

    family: str | None = None
    dtype: str = 'float32'
    shard: int = 5 * 10**9

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise UserError(f'dtype must be one of {", ".join(DTYPES)}, not {self.dtype!r}')


def export(source: Source, out: Path, form: Format = Format(), files: Mapping[str, str] | None = None) -> Description:
    """Write a model as a Hugging Face folder, whole or not at all.

    Args:
        out: the folder, which must be missing or empty.
        files: further files by name, which may be in a folder, with their text.

    Raises:
        UserError: no family can hold the model; the folder exists and is not empty, or cannot be written; a weight is
            not finite, or not in the range of the type.
    """
    params = flatten_dict(source.params, sep='/')
    shapes = {path: tuple(leaf.shape) for path, leaf in params.items()}
    ids = special_ids(source.tokenizer, source.model) if source.tokenizer else {}
    description = describe(source.model, shapes, ids, form.family, source.ending)
    with _draft(out) as draft:
        held = params | _tables(source.model, description, shapes)
        write_tensors(draft, tensors_of(held, description), form.dtype, form.shard)
        _write(draft / 'config.json', {**description.config, **source.settings, 'dtype': form.dtype})
        if source.tokenizer:
            if generation := {key: value for key, value in ids.items() if value is not None and '.' not in key}:
                if source.ends and 'eos_token_id' in generation:
                    generation['eos_token_id'] = [generation['eos_token_id'], *source.ends]
                _write(draft / 'generation_config.json', generation)
            write_tokenizer(draft, source.tokenizer, source.model, description.config)
        for name, text in (files or {}).items():
            file = draft / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
    return description


def export_adapter(source: Source, adapter: Adapter, out: Path, form: Format, card: str) -> Description:
    """Write the trained part of a LoRA run as a folder of PEFT, whole or not at all.

    Args:
        source: the merged model.
        out: the folder, which must be missing or empty.
        card: text of README.md.

    Raises:
        UserError: as for `export`; or PEFT has no update of a kernel.
    """
    shapes = {path: tuple(leaf.shape) for path, leaf in flatten_dict(source.params, sep='/').items()}
    description = describe(source.model, shapes, {}, form.family, source.ending)
    config, tensors = adapter_tensors(adapter, description)
    with _draft(out) as draft:
        write_file(draft / FILE, tensors, form.dtype)
        _write(draft / ADAPTER, config)
        (draft / 'README.md').write_text(card)
    return description


@contextmanager
def _draft(out: Path) -> Iterator[Path]:
    """Context that yields a new folder, which is renamed to `out` at the end and deleted on an error.

    Raises:
        UserError: `out` exists and is not an empty folder, or cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f'{out}: exists and is not an empty folder; name a new one')
    draft = out.with_name(f'.{out.name}.draft')
    try:
        draft.mkdir(parents=True)
    except FileExistsError:
        raise UserError(f'{draft}: exists; delete it, unless another export is writing it') from None
    except OSError as error:
        raise UserError(f'{out}: cannot be written: {error.strerror}') from None
    try:
        yield draft
        if out.exists():
            out.rmdir()
        draft.rename(out)
    except OSError as error:
        raise UserError(f'{out}: cannot be written: {error.strerror}') from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _tables(model: Part, description: Description, shapes: Shapes) -> dict[str, np.ndarray]:
    """Return tables of positions that the family stores and we compute. Args: shapes, of our parameters."""
    tables = {}
    for path in description.shapes.keys() - shapes.keys():
        *towers, place, name = path.split('/')
        if (place, name) == ('position', 'positions'):
            tower = functools.reduce(Part.__getitem__, towers, model)
            length, width = description.shapes[path]
            table = tower['position']().apply({}, jnp.zeros((1, length, width)), jnp.arange(length)[None])
            tables[path] = np.asarray(table[0])
    return tables


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + '\n')
