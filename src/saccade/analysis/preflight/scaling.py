# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weak scaling: the bytes a chip sends in a step as chips and rows grow together, compared with rings' for S bytes.

    data    2 S (n-1)/n  gradients are summed, and the sum is handed out
    fsdp    3 S (n-1)/n  weights are gathered to go forward and to come back, and gradients summed where they are kept
    expert  2 S (n-1)/n + 4 L R D (n-1)/n    gradients of what is no expert's are summed, as along data; rows of width D
                         for R routes of a chip's tokens go to their experts and back, and so do their gradients, in
                         each of L mixtures

(Rajbhandari et al. 2020, https://arxiv.org/abs/1910.02054, section 7; Lepikhin et al. 2020, "GShard", section 3.3,
https://arxiv.org/abs/2006.16668.) All are bounded, whatever the number n of chips. Weights and rows are counted in the
dtype of the computation. What is sent along expert is that of even loads: `ops.expert_parallel`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.collectives import by_kind
from saccade.analysis.preflight.preflight import Config, Way, mib, spread
from saccade.analysis.report.figures import Report, Table
from saccade.axes import letters_of
from saccade.feedforward.mixture import Mixture
from saccade.train.backend import OnMesh
from saccade.train.experiment import Experiment
from saccade.train.optimizer import path_of
from saccade.types import UserError

ROUNDS = {'data': 2, 'fsdp': 3, 'expert': 2}  # how often the ring passes all weights on that are no expert's


@dataclass(frozen=True)
class Point:
    """Traffic and memory at one number of chips.

    Attributes: chips; peak bytes of one; bytes that it sends, by collective; bytes that the formula says, and those of
    them that are of routes.
    """

    chips: int
    peak_bytes: int
    sent: dict[str, int]
    formula: int
    routes: int = 0


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
            raise UserError(f'--axis={axis}: there is a formula for {", ".join(ROUNDS)}')
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
                *([mib(point.routes)] if self.axis == 'expert' else []),
            )
            for point in self.points
        ]
        title = f'{self.what}, {self.rows} rows a chip, split along {self.axis}: MiB that a chip sends in a step'
        of_routes = ['of it routes'] if self.axis == 'expert' else []
        table = Table(title, ('chips', 'peak', *kinds, 'in all', 'formula', *of_routes), rows)
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
    """Numbers in the rows of all routes of a step, of all mixtures."""
    actives = {part['active'] for part in experiment.model.walk() if part.target is Mixture}
    if len(actives) != 1:
        raise UserError(
            f'--axis=expert: the formula is of mixtures of as many active experts; here are {sorted(actives)}'
        )
    widths: dict[str, int] = {}
    for path, leaf in experts.items():
        sizes = dict(zip(_letters(step, path), leaf.shape, strict=True))
        if 'D' in sizes:
            widths[path.partition('/expert/')[0]] = sizes.get('L', 1) * sizes['D']
    return experiment.tokens * actives.pop() * sum(widths.values())


def _letters(step: OnMesh, path: str) -> list[str]:
    return letters_of(step.learner.axes.get(path, ''))
