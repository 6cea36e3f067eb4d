# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weak scaling: the bytes a chip sends in a step as chips and rows grow together, compared with rings' for S bytes.

    data  2 S (n-1)/n    gradients are summed, and the sum is handed out
    fsdp  3 S (n-1)/n    weights are gathered to go forward and to come back, and gradients summed where they are kept

(Rajbhandari et al. 2020, https://arxiv.org/abs/1910.02054, section 7.) Both are bounded, whatever the number n of
chips. Weights are counted in the dtype of the computation.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import jax
import jax.numpy as jnp

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.collectives import by_kind
from saccade.analysis.preflight.preflight import Config, Way, mib, spread
from saccade.benchmark.report import Report, Table
from saccade.train.experiment import Experiment
from saccade.types import UserError

ROUNDS = {'data': 2, 'fsdp': 3}  # how often the ring passes all weights on


@dataclass(frozen=True)
class Point:
    """Traffic and memory at one number of chips.

    Attributes: chips; peak bytes of one; bytes that it sends, by collective; bytes that the formula says.
    """

    chips: int
    peak_bytes: int
    sent: dict[str, int]
    formula: int


@dataclass(frozen=True)
class Scaling:
    """Traffic and memory of a chip by number of chips.

    Attributes: what was compiled; along which axis it was split; rows of each chip; for how many chips.
    """

    what: str
    axis: str
    rows: int
    points: list[Point]

    @classmethod
    def of(cls, what: str, config: Config, axis: str, rows: int, slices: Iterable[Chips]) -> 'Scaling':
        """Compile the step of an experiment for ever more chips.

        Raises:
            UserError: there is no formula for the axis, or the parts do not fit each other.
        """
        if axis not in ROUNDS:
            raise UserError(f'--axis={axis}: there is a formula for {" and ".join(ROUNDS)}')
        return cls(what, axis, rows, [_point(config, axis, rows, chips) for chips in slices])

    def report(self) -> Report:
        """All of it."""
        kinds = sorted({kind for point in self.points for kind in point.sent})
        rows = [
            (
                f'{point.chips:,}',
                mib(point.peak_bytes),
                *(mib(point.sent.get(kind, 0)) for kind in kinds),
                mib(sum(point.sent.values())),
                mib(point.formula),
            )
            for point in self.points
        ]
        title = f'{self.what}, {self.rows} rows a chip, split along {self.axis}: MiB that a chip sends in a step'
        table = Table(title, ('chips', 'peak', *kinds, 'in all', 'formula'), rows)
        figures = {'axis': self.axis, 'rows': self.rows, 'points': [asdict(point) for point in self.points]}
        return Report(self.what, figures, (table,))


def _point(config: Config, axis: str, rows: int, chips: Chips) -> Point:
    n = len(chips.devices)
    experiment = Experiment.of({**config, 'batch_size': rows * n, 'mesh': {axis: n}})
    step = spread(experiment, chips)
    way = Way.of('', step, chips)
    if way.sent is None or (way.fits is False and not way.sent):
        why = 'the program is too large' if way.fits is False else 'XLA compiled the program, but cannot print it'
        raise UserError(f'--topologies: {chips.name}: what a chip sends is not known: {why}')
    size = sum(leaf.size for leaf in jax.tree.leaves(step.like.params)) * jnp.dtype(experiment.dtype).itemsize
    sent = by_kind(way.sent)
    return Point(n, way.peak_bytes, sent, ROUNDS[axis] * size * (n - 1) // n)
