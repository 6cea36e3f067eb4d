# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient estimators of a discrete choice, compared with the exact gradient: bias and variance.

    exact   d/de sum_j softmax(e)_j loss_j;      bias  |mean of the estimates - exact|;      variance, summed over e

of one choice among a few options, whose loss is not linear in the context. The three estimators of
`recurrent.decoder` are `reinforce`, `gumbel` and `straight_through`; each draw is an estimate as in training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.build import build
from saccade.ops.reinforce import surrogate
from saccade.studies.chart import Chart, Claim

SCORES = jnp.array([0.5, -0.3, 1.0, 0.1])
LOSSES = jnp.array([1.0, 2.5, 0.3, 4.0])  # loss of each choice, in nats
EXPECTED = float(jax.nn.softmax(SCORES) @ LOSSES)
EXACT = np.asarray(jax.grad(lambda scores: jax.nn.softmax(scores) @ LOSSES)(SCORES))

REINFORCE = {'use': 'recurrent.decoder.reinforce:Reinforce'}
RIVALS: Mapping[str, tuple[dict[str, Any], float]] = {  # and the value of the learned baseline
    'REINFORCE': (REINFORCE, 0.0),
    'REINFORCE, baseline': (REINFORCE, EXPECTED),
    'Gumbel, temperature 0.5': ({'use': 'recurrent.decoder.gumbel:Gumbel', 'temperature': 0.5}, 0.0),
    'Gumbel, temperature 1': ({'use': 'recurrent.decoder.gumbel:Gumbel', 'temperature': 1.0}, 0.0),
    'straight-through': ({'use': 'recurrent.decoder.straight_through:StraightThrough'}, 0.0),
}


@dataclass(frozen=True)
class Estimates:
    """Gradient estimates. Attributes: gradients with respect to the scores, one per draw."""

    drawn: Float[np.ndarray, 'draws S']

    @classmethod
    def of(cls, name: str, draws: int) -> 'Estimates':
        """Draw the estimates of an estimator."""
        spec, baseline = RIVALS[name]
        module = build(spec)()
        params = module.init(jax.random.key(0), 1).get('params', {})
        if 'bias' in params:
            params = params | {'bias': jnp.array([baseline])}
        estimator = module.apply({'params': params}, 1)

        def sampled(scores: Array, key: Array) -> Array:
            chosen, choices = estimator(jax.nn.softmax(scores)[None, None], jnp.zeros((1, 1, 1)), key)
            loss = _loss(chosen[0, 0])
            return loss + (surrogate(loss[None, None], jnp.ones((1, 1)), choices) if choices else 0.0)

        keys = jax.random.split(jax.random.key(1), draws)
        return cls(np.asarray(jax.jit(jax.vmap(jax.grad(sampled), (None, 0)))(SCORES, keys)))

    @property
    def bias(self) -> float:
        """Return the L2 distance of the mean estimate from the exact gradient."""
        return float(np.linalg.norm(self.drawn.mean(axis=0) - EXACT))

    def errors(self, counts: Sequence[int]) -> list[float]:
        """Return the distance of the mean of the first `counts` draws from the exact gradient."""
        sums = np.cumsum(self.drawn, axis=0, dtype=np.float64)
        return [float(np.linalg.norm(sums[count - 1] / count - EXACT)) for count in counts]

    @property
    def noise(self) -> float:
        """Return the standard error of the mean: the expected distance of an unbiased estimator."""
        return float(np.sqrt(self.variance / len(self.drawn)))

    @property
    def variance(self) -> float:
        """Return the variance of the estimates, summed over the scores."""
        return float(self.drawn.var(axis=0).sum())


def estimators(draws: int = 20_000) -> Claim:
    """Measure bias and variance of each estimator."""
    found = {name: Estimates.of(name, draws) for name in RIVALS}
    rows = [(name, f'{each.bias:z.4f}', f'{each.noise:.4f}', f'{each.variance:.4f}') for name, each in found.items()]
    title = f'Gradient of a choice of {len(SCORES)}, whose norm is {np.linalg.norm(EXACT):.4f}; {draws:,} draws'
    figures = {
        name: {'bias': each.bias, 'noise': each.noise, 'variance': each.variance} for name, each in found.items()
    }
    table = Table(title, ('estimator', 'bias', 'standard error', 'variance'), rows)
    note = 'A bias within about twice its standard error is not significant.'
    report = MeasurementReport('estimators', {'draws': draws, 'estimators': figures}, (table,), (note,))
    counts = sorted({int(count) for count in np.geomspace(1, draws, 24)})
    errors = {name: each.errors(counts) for name, each in found.items()}
    return Claim(report, Chart('draws', 'distance of their mean from the exact gradient', counts, errors))


def _loss(read: Float[Array, ' S']) -> Float[Array, '']:
    """Return the loss of attention weights: one of LOSSES for one-hot weights, not linear in between."""
    return jnp.square(read @ jnp.sqrt(LOSSES))
