# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is made of a corpus once and kept: under a name that says all that it was made from, whole or not at all."""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.tokenizer import Tokenizer, Trainer
from saccade.types import Part, UserError

# Part of a tokenizer's key: another number wherever its training changes.
_FORMAT = 1
# Characters tokenised at a time; an encoding takes some hundred bytes of memory a character.
_GROUP = 1 << 21


def trained(tokenizer: Part[Trainer], texts: Callable[[], Iterable[str]], corpus: str, cache: Path) -> Tokenizer:
    """Train a tokenizer, or find that done in the cache.

    Args:
        texts: gives them where it must be trained.
        corpus: the digest of the texts.

    Raises:
        UserError: it cannot be trained on them.
    """
    trainer = tokenizer()
    read = [trainer.digest] if hasattr(trainer, 'digest') else []  # of a file that it reads
    path = cache / f'tokenizer-{digest(_FORMAT, corpus, spec(tokenizer), *read)}.json'
    if not path.is_file():
        trainer.train(texts()).save(path)
    return Tokenizer.load(path)


def each(documents: Sequence[Any]) -> Iterator[Any]:
    """Documents one after another, each read when its turn comes."""
    return (documents[number] for number in range(len(documents)))


def groups(documents: Sequence[Any], size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Documents as many at a time as are to be tokenised together, by their size in characters."""
    group, total = [], 0
    for document in each(documents):
        group.append(document)
        total += size(document)
        if total >= _GROUP:
            yield group
            group, total = [], 0
    yield group


def spec(value: Any) -> Any:
    """Turn a part back into what a config would hold."""
    if isinstance(value, Part):
        return {'use': value.name, **{key: spec(item) for key, item in value.arguments}}
    return [spec(item) for item in value] if isinstance(value, tuple) else value


def digest(*values: Any) -> str:
    """A name that no other values have."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Give a folder to write in that becomes `folder` at the end, unless another process was first."""
    staging = folder.with_name(f'.draft-{uuid.uuid4().hex}')
    staging.mkdir()
    try:
        yield staging
        _publish(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, folder: Path) -> None:
    try:
        os.rename(staging, folder)
    except OSError:
        if not folder.is_dir():
            raise


def write_arrays(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays into a folder, each into a file of its name."""
    folder.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f'{name}.npy', array)


def read_arrays(folder: Path) -> dict[str, np.ndarray]:
    """Map the arrays of a folder into memory."""
    return {path.stem: np.load(path, mmap_mode='r') for path in folder.glob('*.npy')}


@contextmanager
def explained(cache: Path) -> Iterator[None]:
    """Make the cache folder, and say in one line what goes wrong in it.

    Raises:
        UserError: something cannot be written or read.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UserError(f'preparing the data in {cache} failed: {error}') from error
