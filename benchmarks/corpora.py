# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of a large text: three sources in JSON lines, prepared, mixed and read, next to Hugging Face `datasets`.

The text is drawn: documents of 2 to 8 kB from the lines of the documentation of the Python that runs this. It is
deleted in the end. Both sides use one tokenizer and one thread, so speeds are of a core, in bytes of the files. Ours
has all that a run does before its first batch: the digests, the tokens, the packing and the check of the result. The
peer's is `load_dataset('json')` and `map` of the tokenizer, without packing. Peak memory is of the whole process, with
JAX; mapped pages of files are counted apart, since the system may drop them. In the end each of two processes resumes
from the middle, and its share of the batches must be equal to the one that was read without a stop.
"""

import json
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.our_corpora import PROCESSES
from benchmarks.process import Worker, require
from saccade.analysis.report.figures import MeasurementReport, Table

OURS, PEER = 'saccade', 'datasets'
WEIGHTS = {'web': 3.0, 'books': 2.0, 'code': 1.0}
VOCABULARY = 8192
_ONE_THREAD = {'RAYON_NUM_THREADS': '1', 'TOKENIZERS_PARALLELISM': 'false'}


class OneThread(Worker):
    """Worker whose tokenizer has one thread."""

    environment: Mapping[str, str] = {**Worker.environment, **_ONE_THREAD}


def corpora(gigabytes: float, with_peer: bool = True) -> MeasurementReport:
    """Measure seconds and memory for a text of this size [GB].

    Raises:
        UserError: datasets is missing, or a side fails.
    """
    sides = {PEER: 'benchmarks.datasets_corpora'} if with_peer else {}
    if sides:
        require('datasets')
    with tempfile.TemporaryDirectory() as folder:
        with OneThread(OURS, 'benchmarks.our_corpora:Corpora', folder=folder, weights=WEIGHTS) as ours:
            ours.ask('make_tokenizer', vocabulary=VOCABULARY)
        sizes = {name: _write(Path(folder, f'{name}.jsonl'), gigabytes * 1e9 / len(WEIGHTS)) for name in WEIGHTS}
        found = {}
        for name, target in {**sides, OURS: 'benchmarks.our_corpora'}.items():
            with OneThread(name, f'{target}:Corpora', folder=folder, weights=WEIGHTS) as worker:
                found[name] = {'seconds': worker.ask('prepare'), **worker.ask('memory')}
                if name == OURS:
                    read = worker.ask('read', batches=2000)
                    found[name] |= {'after reading': worker.ask('memory')}
        for process in range(PROCESSES):
            with OneThread(OURS, 'benchmarks.our_corpora:Corpora', folder=folder, weights=WEIGHTS) as again:
                read |= {'seconds to open again': again.ask('prepare')}
                read |= {f'resumed equal, process {process}': again.ask('resumed', batch=1500, process=process)}
    return _report(sum(sizes.values()), found, read)


def _write(path: Path, size: float) -> int:
    """Write documents until the file has this size [bytes]; return its size."""
    from saccade.data.corpus import pydocs

    lines = [
        line for item in pydocs.documents(pydocs.installed_modules()) for line in item.text.splitlines(keepends=True)
    ]
    drawn, written = random.Random(path.name), 0
    with path.open('w', encoding='utf-8') as file:
        while written < size:
            start = drawn.randrange(len(lines) - 200)
            text = ''.join(lines[start : start + drawn.randrange(50, 200)])
            written += file.write(json.dumps({'text': text, 'source': path.stem}) + '\n')
    return path.stat().st_size


def _report(size: int, found: dict, read: dict) -> MeasurementReport:
    speeds = {name: size / 1e6 / each['seconds'] for name, each in found.items()}
    prepared = Table(
        f'Preparing {size / 1e9:.1f} GB, one thread',
        ('variant', 'seconds', 'MB/s', f'of {PEER}', 'peak memory, MiB', 'of it without pages of files, MiB'),
        [
            (
                name,
                f'{each["seconds"]:.0f}',
                f'{speeds[name]:.1f}',
                f'{speeds[name] / speeds[PEER]:.2f}' if PEER in speeds else '',
                f'{each["peak"] / 2**20:,.0f}',
                f'{each["own_peak"] / 2**20:,.0f}',
            )
            for name, each in found.items()
        ],
    )
    after = found[OURS]['after reading']
    rows = [(name, str(value)) for name, value in read.items()]
    rows += [(f'memory, {name}, MiB', f'{after[name] / 2**20:,.0f}') for name in ('peak', 'own_peak')]
    figures = {'bytes': size, 'prepared': found, 'read': read}
    return MeasurementReport(
        'corpora', figures, (prepared, Table('Reading batches of 16 rows', ('what', 'value'), rows))
    )
