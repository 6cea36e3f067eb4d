# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weak scaling: bytes that a chip sends per step as chips and rows grow together, compared with formulas for S bytes.

    data    2 S (n-1)/n  all-reduce of gradients
    fsdp    3 S (n-1)/n  all-gather of weights in the forward and backward pass, reduce-scatter of gradients
    expert  2 S (n-1)/n + 4 L R D (n-1)/n    all-reduce of gradients outside experts, as along data; all-to-all of rows
                         of width D for R routes of a chip's tokens to their experts and back, and of their gradients,
                         in each of L mixtures

(Rajbhandari et al. 2020, https://arxiv.org/abs/1910.02054, section 7; Lepikhin et al. 2020, "GShard", section 3.3,
https://arxiv.org/abs/2006.16668.) All are bounded for any number n of chips. Weights and rows are counted in the
dtype of the computation. The formula along expert is for even loads: `ops.expert_parallel`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.collectives import by_kind
from saccade.analysis.preflight.preflight import Config, Way, mib, spread
from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.axes import letters_of
from saccade.feedforward.mixture import Mixture
from saccade.train.backend import OnMesh
from saccade.train.experiment import Experiment
from saccade.train.optimizer import path_of
from saccade.types import UserError

ROUNDS = {'data': 2, 'fsdp': 3, 'expert': 2}  # passes of a ring over all weights outside experts


@dataclass(frozen=True)
class Point:
    """Traffic and memory at one number of chips.

    Attributes: number of chips; peak bytes of one chip; bytes that it sends, by collective; bytes by the formula, in
    total and for routes.
    """

    chips: int
    peak_bytes: int
    sent: dict[str, int]
    formula: int
    routes: int = 0


@dataclass(frozen=True)
class Scaling:
    """Traffic and memory of a chip by number of chips.

    Attributes: name of the config; mesh axis; rows per chip; points by number of chips.
    """

    what: str
    axis: str
    rows: int
    points: list[Point]

    @classmethod
    def of(cls, what: str, config: Config, axis: str, rows: int, slices: Iterable[Chips]) -> 'Scaling':
        """Compile the step of an experiment for increasing numbers of chips.

        Raises:
            UserError: there is no formula for the axis, or the parts are incompatible.
        """
        if axis not in ROUNDS:
            raise UserError(f'--axis={axis}: use one of {", ".join(ROUNDS)}')
        return cls(what, axis, rows, [_point(config, axis, rows, chips) for chips in slices])

    def report(self) -> MeasurementReport:
        """Return the report."""
        kinds = sorted({kind for point in self.points for kind in point.sent})
        rows = [
            (
                f'{point.chips:,}',
                mib(point.peak_bytes),
                *(mib(point.sent.get(kind, 0)) for kind in kinds),
                mib(sum(point.sent.values())),
                mib(point.formula),
                *([mib(point.routes)] if self.axis == 'expert' else []),
            )
            for point in self.points
        ]
        title = f'{self.what}, {self.rows} rows per chip, split along {self.axis}: MiB that a chip sends per step'
        of_routes = ['of it routes'] if self.axis == 'expert' else []
        table = Table(title, ('chips', 'peak', *kinds, 'in all', 'formula', *of_routes), rows)
        figures = {'axis': self.axis, 'rows': self.rows, 'points': [asdict(point) for point in self.points]}
        return MeasurementReport(self.what, figures, (table,))


def _point(config: Config, axis: str, rows: int, chips: Chips) -> Point:
    n = len(chips.devices)
    experiment = Experiment.of({**config, 'batch_size': rows * n, 'mesh': {axis: n}})
    step = spread(experiment, chips)
    way = Way.of('', step, chips)
    if way.sent is None or (way.fits is False and not way.sent):
        why = 'the program is too large' if way.fits is False else 'XLA compiled the program, but cannot print it'
        raise UserError(f'--topologies: {chips.name}: the communication is unknown: {why}')
    leaves = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(step.like.params)}
    experts = {path: leaf for path, leaf in leaves.items() if axis == 'expert' and 'E' in _letters(step, path)}
    size = sum(leaf.size for path, leaf in leaves.items() if path not in experts)
    routed = 4 * _routed(experiment, step, experts) // n if experts else 0
    weights, routes = (
        count * jnp.dtype(experiment.dtype).itemsize * (n - 1) // n for count in (ROUNDS[axis] * size, routed)
    )
    sent = by_kind(way.sent)
    return Point(n, way.peak_bytes, sent, weights + routes, routes)


def _routed(experiment: Experiment, step: OnMesh, experts: Mapping[str, Any]) -> int:
    """Return the number of elements in the rows of all routes of a step, over all mixtures."""
    actives = {part['active'] for part in experiment.model.walk() if part.target is Mixture}
    if len(actives) != 1:
        raise UserError(
            f'--axis=expert: the formula needs mixtures with equal numbers of active experts, not {sorted(actives)}'
        )
    widths: dict[str, int] = {}
    for path, leaf in experts.items():
        sizes = dict(zip(_letters(step, path), leaf.shape, strict=True))
        if 'D' in sizes:
            widths[path.partition('/expert/')[0]] = sizes.get('L', 1) * sizes['D']
    return experiment.tokens * actives.pop() * sum(widths.values())


def _letters(step: OnMesh, path: str) -> list[str]:
    return letters_of(step.learner.axes.get(path, ''))
