# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The side of Hugging Face `datasets` of the benchmark of a large text."""

import time
from collections.abc import Mapping
from pathlib import Path

import datasets
import tokenizers

from benchmarks.memory_watch import MemoryWatch


class Corpora:
    """The JSON lines in a folder, by name."""

    def __init__(self, folder: str, weights: Mapping[str, float]) -> None:
        """Store the arguments, and begin to watch the memory."""
        self._folder, self._names = Path(folder), list(weights)
        self._watch = MemoryWatch()

    def prepare(self) -> float:
        """Load and tokenise the files; return the seconds."""
        tokenizer = tokenizers.Tokenizer.from_file(str(self._folder / 'tokenizer.json'))
        start = time.perf_counter()
        files = [str(self._folder / f'{name}.jsonl') for name in self._names]
        cache = str(self._folder / 'datasets')
        rows = datasets.load_dataset('json', data_files=files, split='train', cache_dir=cache)

        def encode(batch: dict[str, list]) -> dict[str, list]:
            return {'ids': [found.ids for found in tokenizer.encode_batch(batch['text'])]}

        rows.map(encode, batched=True, remove_columns=rows.column_names)
        return time.perf_counter() - start

    def memory(self) -> dict[str, int]:
        """Return the peaks so far [bytes]."""
        return self._watch.peaks()
