# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of the benchmark of a large text."""

import hashlib
import itertools
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.memory_watch import MemoryWatch
from saccade.build import build
from saccade.data.corpus.corpus import open_corpus
from saccade.data.pipeline import train_batches
from saccade.data.tokenizer.bpe import BPE

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
        texts = (document['text'] for document in corpus.splits['train'])
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
        """Read batches; return the speed, the rows of each source and a digest of the last quarter."""
        start, seen, digest = time.perf_counter(), Counter(), hashlib.sha256()
        rows = train_batches(self._train, _ROWS, 0, 0)
        for number, batch in enumerate(itertools.islice(rows, batches)):
            seen.update(batch['segments'].max(axis=1).tolist())
            if number >= batches * 3 // 4:
                digest.update(batch['tokens'].tobytes())
        seconds = time.perf_counter() - start
        (self._folder / 'digest').write_text(digest.hexdigest())
        documents = sum(count * rows for count, rows in seen.items()) / seen.total()
        return {'tokens/s': round(batches * _ROWS * _CONTEXT / seconds), 'pieces in a row': round(documents, 2)}

    def resumed(self, batch: int) -> bool:
        """Read from a batch on, to the end of what `read` read; True if the tokens are equal."""
        digest = hashlib.sha256()
        for rows in itertools.islice(train_batches(self._train, _ROWS, 0, batch), batch // 3):
            digest.update(rows['tokens'].tobytes())
        return digest.hexdigest() == (self._folder / 'digest').read_text()
