# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The user's text as a TFDS dataset, from a plan of `data.corpus.text_files`."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from saccade.data.corpus.document import features
from saccade.data.corpus.text_files import Piece, Plan
from saccade.progress import counted

_SHARD = 1 << 28  # bytes; TFDS holds one shard in memory while writing


class TextFiles(tfds.core.ShardBasedBuilder, skip_registration=True):
    """Documents of a plan, in order.

    A GeneratorBasedBuilder sorts more than 1 GB through TensorFlow's files; this builder needs no TensorFlow.
    """

    VERSION = tfds.core.Version('1.0.1')  # increase it when the text of a file changes, so that it is prepared again

    def __init__(self, plan: Plan, data_dir: Path):
        self._plan = plan
        super().__init__(data_dir=data_dir)

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(builder=self, description=__doc__, features=features(), disable_shuffling=True)

    def _shard_iterators_per_split(self, dl_manager: Any) -> dict[str, list[Callable[[], Iterator]]]:
        plan = self._plan.items()
        return {split: [partial(_examples, shard) for shard in shards_of(pieces)] for split, pieces in plan}


def shards_of(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Divide a list of documents into shards at the maximum size in bytes."""
    shards, size = [[]], 0
    for piece in pieces:
        if shards[-1] and size + piece.size > _SHARD:
            shards, size = [*shards, []], 0
        shards[-1].append(piece)
        size += piece.size
    return shards


def _examples(pieces: Sequence[Piece]) -> Iterator[tuple[str, dict[str, str]]]:
    for piece in counted(pieces, 'writing text', len(pieces), 'documents'):
        yield piece.id, {'id': piece.id, 'text': piece.read()}
