# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of the benchmark of a large text."""

import hashlib
import itertools
import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory_watch import MemoryWatch
from saccade.build import build
from saccade.data.corpus.corpus import open_corpus
from saccade.data.pipeline import train_batches
from saccade.data.tokenizer.bpe import BPE

PROCESSES = 2  # that resume
_CONTEXT, _ROWS = 1024, 16


class Corpora:
    """A mixture of the JSON lines in a folder, by name and weight."""

    def __init__(self, folder: str, weights: Mapping[str, float]) -> None:
        """Store the arguments, and begin to watch the memory."""
        self._folder, self._weights = Path(folder), weights
        self._watch = MemoryWatch()

    def make_tokenizer(self, vocabulary: int) -> None:
        """Train a tokenizer on installed documentation, and save it in the folder."""
        corpus = open_corpus('pydocs', None, self._folder / 'cache')
        texts = (document.text for document in corpus.splits['train'])
        BPE(vocabulary=vocabulary).train(texts).save(self._folder)

    def prepare(self) -> float:
        """Prepare the mixture; return the seconds."""
        source = 'data.text.mixture:TextSource'
        spec = dict(
            use='data.text.mixture:TextMixture',
            sources=[
                dict(use=source, path=str(self._folder / f'{name}.jsonl'), weight=weight)
                for name, weight in self._weights.items()
            ],
            context_length=_CONTEXT,
            validation=0.001,
            tokenizer=dict(use='data.tokenizer.file:TokenizerFile', path=str(self._folder / 'tokenizer.json')),
            pack=dict(use='data.rows.pack:Packed'),
        )
        start = time.perf_counter()
        self._train = build(spec)().prepare(self._folder / 'cache').splits['train']
        return time.perf_counter() - start

    def memory(self) -> dict[str, int]:
        """Return the peaks so far [bytes]."""
        return self._watch.peaks()

    def read(self, batches: int) -> dict[str, Any]:
        """Read batches; return the speed and the documents in a row, and save digests of the last quarter's shares."""
        start, seen, digests = time.perf_counter(), Counter(), [hashlib.sha256() for _ in range(PROCESSES)]
        rows = train_batches(self._train, _ROWS, 0, 0)
        for number, batch in enumerate(itertools.islice(rows, batches)):
            seen.update(batch['segments'].max(axis=1).tolist())
            if number >= batches * 3 // 4:
                for digest, share in zip(digests, np.split(batch['tokens'], PROCESSES), strict=True):
                    digest.update(share.tobytes())
        seconds = time.perf_counter() - start
        (self._folder / 'digests.json').write_text(json.dumps([digest.hexdigest() for digest in digests]))
        documents = sum(count * rows for count, rows in seen.items()) / seen.total()
        return {'tokens/s': round(batches * _ROWS * _CONTEXT / seconds), 'pieces in a row': round(documents, 2)}

    def resumed(self, batch: int, process: int) -> bool:
        """Read the share of a process from a batch on, to the end of what `read` read; True if the tokens are equal."""
        digest, rows = hashlib.sha256(), train_batches(self._train, _ROWS, 0, batch, process, PROCESSES)
        for share in itertools.islice(rows, batch // 3):
            digest.update(share['tokens'].tobytes())
        return digest.hexdigest() == json.loads((self._folder / 'digests.json').read_text())[process]
