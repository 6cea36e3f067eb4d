# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of samples of one prompt: our KV cache in pages, our plain one, and `num_return_sequences` of transformers.

Seconds of a whole generation, prompt included, at temperature 1 without an end token; and bytes of the cache after it.
"""

import tempfile
from contextlib import ExitStack
from dataclasses import asdict

from benchmarks.compare import Comparison, alternate
from benchmarks.process import Worker, require
from benchmarks.size import DecodingSize
from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.types import UserError

PAGED, PLAIN, PEER = 'saccade, pages', 'saccade, plain', 'transformers'


def samples(size: DecodingSize, page_size: int, rounds: int, steps: int) -> MeasurementReport:
    """Measure seconds and bytes for each number of samples in `size.batches`.

    Args:
        page_size: tokens of a page.
        steps: whole generations that each variant makes in its turn.

    Raises:
        UserError: torch or transformers is missing, a variant fails, or our two caches sample different tokens.
    """
    require('torch', 'transformers')
    given, folder = asdict(size), 'benchmarks'
    tables, figures = [], {}
    with ExitStack() as stack:
        saved = stack.enter_context(tempfile.TemporaryDirectory())
        peer = stack.enter_context(Worker(PEER, f'{folder}.torch_samples:Samples', size=given))
        plain = stack.enter_context(Worker(PLAIN, f'{folder}.our_samples:Samples', size=given))
        paged = stack.enter_context(Worker(PAGED, f'{folder}.our_samples:Paged', size=given | {'page_size': page_size}))
        peer.ask('save', folder=saved)
        for ours in (plain, paged):
            ours.ask('load', folder=saved)
        workers = {PAGED: paged, PLAIN: plain, PEER: peer}
        for count in size.batches:
            if plain.ask('tokens', batch=count) != paged.ask('tokens', batch=count):
                raise UserError(f'{count} samples: the cache in pages and the plain one give different tokens')
            seconds = Comparison(count * size.new, alternate(workers, rounds, steps, batch=count), (PEER,))
            held = {name: worker.ask('cache_bytes', batch=count) for name, worker in workers.items()}
            title = f'{count} samples of one prompt of {size.prompt} tokens, {size.new} new tokens'
            rows = [(name, f'{number:,}', f'{number / held[PEER]:.3f}') for name, number in held.items()]
            tables += [
                seconds.speeds(title),
                seconds.table('Our tokens/s over theirs, median of rounds'),
                Table(f'Cache of {title}', ('variant', 'bytes', f'of {PEER}'), rows),
            ]
            figures[str(count)] = {'bytes': held, **seconds.data()}
    return MeasurementReport('samples', {'size': given, 'samples': figures}, tuple(tables))
