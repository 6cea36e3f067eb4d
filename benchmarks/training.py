# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of training against PyTorch: the same model, weights, batches and optimizer, in turn."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.compare import Comparison, alternate
from benchmarks.process import Worker, require
from benchmarks.products import compared
from benchmarks.size import PEERS, Size
from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.types import UserError

# Two losses of the same numbers in float32, in nats.
SAME_LOSS = 1e-4

_HERE = 'benchmarks'


@dataclass(frozen=True)
class Sides:
    """Modules that are compared: each has a class Training; and the packages that the peer's needs."""

    ours: str
    theirs: str
    packages: tuple[str, ...]


CAUSAL = Sides('our_training', 'torch_training', ('torch',))
MASKED = Sides('our_masked', 'torch_masked', ('torch', 'transformers'))
PAIRS = Sides('our_seq2seq', 'torch_seq2seq', ('torch', 'transformers'))


def training(sides: Sides, size: Size, peers: Sequence[str], rounds: int, steps: int) -> MeasurementReport:
    """Measure training tokens/s of our model and of the peers.

    Args:
        sides: CAUSAL, MASKED or PAIRS.
        peers: of PEERS, by key.
        steps: that each variant takes in its turn.

    Raises:
        UserError: torch is missing, a variant fails, or the variants are not the same model.
    """
    require(*sides.packages)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        theirs, ours = {}, {}
        for peer in peers:
            target, compiled = f'{_HERE}.{sides.theirs}:Training', peer == 'compiled'
            worker = Worker(PEERS[peer], target, size=asdict(size), compiled=compiled)
            theirs[PEERS[peer]] = stack.enter_context(worker)
        for run in size.runs:
            worker = Worker(f'saccade {run}', f'{_HERE}.{sides.ours}:Training', size=asdict(size), run=run)
            ours[worker.name] = stack.enter_context(worker)
        next(iter(theirs.values())).ask('save', folder=folder)
        for worker in ours.values():
            worker.ask('load', folder=folder)
        workers = {**ours, **theirs}
        checks = {variant: worker.ask('check') for variant, worker in workers.items()}
        assert_same(checks)
        seconds = alternate(workers, rounds, steps)
        alone, shares = compared(next(iter(ours.values())), next(iter(theirs.values())), seconds)
    report = _report(size, checks, Comparison(size.tokens, seconds, tuple(theirs)))
    return replace(report, figures={**report.figures, 'products': shares}, tables=(*report.tables, alone))


def assert_same(checks: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to compare two different models.

    Raises:
        UserError: variants differ in the number of parameters, or in a loss before or after one update.
    """
    (first, wanted), *others = checks.items()
    for name, found in others:
        if found['parameters'] != wanted['parameters']:
            raise UserError(
                f'not the same model: {first} has {wanted["parameters"]:,} parameters, {name} {found["parameters"]:,}'
            )
        for updates, (loss, other) in enumerate(zip(wanted['losses'], found['losses'], strict=True)):
            if not abs(loss - other) <= SAME_LOSS:
                raise UserError(
                    f'not the same model: after {updates} updates the loss of {first} is {loss:.6f} '
                    f'and of {name} {other:.6f}'
                )


def _report(size: Size, checks: Mapping[str, Mapping[str, Any]], comparison: Comparison) -> MeasurementReport:
    start = Table(
        f'{size.layers} layers, {size.heads} heads, width {size.width}, context {size.context_length}, '
        f'batch {size.batch}, vocabulary {size.vocabulary}; float32',
        ('variant', 'parameters', 's to compile', 'loss', 'after one update'),
        [
            (
                variant,
                f'{found["parameters"]:,}',
                f'{found["compile_seconds"]:.1f}',
                *(f'{x:.5f}' for x in found['losses']),
            )
            for variant, found in checks.items()
        ],
    )
    tables = start, comparison.speeds('A training step'), comparison.table('Our tokens/s over theirs, median of rounds')
    return MeasurementReport('training', {'size': asdict(size), 'checks': checks, **comparison.data()}, tables)
