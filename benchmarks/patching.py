# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of activation patching: `inside.circuits.patch`, and the same sweeps in TransformerLens.

Every layer's output at every token, and every head at all tokens, are taken from the run on one prompt into the run on
another. Seconds of all of them, compilation excluded, and the largest difference of the two libraries' shares.
"""

import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from statistics import median

import numpy as np

from benchmarks.compare import Comparison, alternate
from benchmarks.process import Worker, require
from benchmarks.size import DecodingSize
from saccade.analysis.report.figures import MeasurementReport, Table

OURS, PEER = 'saccade', 'TransformerLens'


def patching(size: DecodingSize, rounds: int, steps: int) -> MeasurementReport:
    """Measure seconds of patching a GPT-2 of random weights.

    Raises:
        UserError: torch, transformers or transformer_lens is missing, or a variant fails.
    """
    require('torch', 'transformers')
    require('transformer_lens', install='transformer-lens')
    given, answers = asdict(size), [1, 2]
    with ExitStack() as stack:
        saved = stack.enter_context(tempfile.TemporaryDirectory())
        peer = stack.enter_context(Worker(PEER, 'benchmarks.torch_patching:Patching', size=given))
        ours = stack.enter_context(Worker(OURS, 'benchmarks.our_patching:Patching', size=given))
        peer.ask('save', folder=saved)
        ours.ask('load', folder=saved)
        pairs = zip(ours.ask('restored', answers=answers), peer.ask('restored', answers=answers), strict=True)
        apart = [float(np.abs(np.subtract(*pair)).max()) for pair in pairs]
        runs = size.layers * (size.prompt + size.heads)
        workers = {OURS: ours, PEER: peer}
        seconds = Comparison(runs, alternate(workers, rounds, steps, answers=answers), (PEER,))
    title = f'{runs:,} patches of GPT-2 with {size.layers} layers, {size.heads} heads, {size.prompt} tokens'
    differences = Table('Largest difference of a share', ('by token', 'by head'), [tuple(f'{of:.1g}' for of in apart)])
    rows = [(name, f'{median(taken):.2f}') for name, taken in seconds.seconds.items()]
    tables = (
        Table(title, ('library', 'seconds'), rows),
        seconds.table('Our patches/s over theirs, median of rounds'),
        differences,
    )
    return MeasurementReport('patching', {'size': given, 'differences': apart, **seconds.data()}, tables)
