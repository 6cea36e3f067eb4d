# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Induction heads: with two layers of attention they appear when the in-context loss drops, and one layer has neither.

    b a c d b a c d b ...     drawn tokens, repeated: what comes next was seen once the first period is over
    induction score           weight of a token on the one that followed it a period before; of the best head
    in-context loss           nats of a token that has been there before, given the row up to it

Olsson et al. 2022, "In-context Learning and Induction Heads", https://arxiv.org/abs/2209.11895: attention alone, no
feed-forward layers; their models learn text, and rows that repeat serve for the scores. Here they are learned too, in
minutes. Periods differ from row to row, since a head that looks a fixed way back would do for one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PyTree

from saccade.analysis.inspect.inspection import by_layer
from saccade.analysis.report.figures import Report, Table
from saccade.analysis.studies.chart import Chart, Claim
from saccade.build import build
from saccade.ops.loss import cross_entropy
from saccade.types import LayerContext, Params, UserError

VOCABULARY, WIDTH, HEADS, LENGTH, ROWS = 32, 32, 2, 32, 64
PERIODS = (8, 17)  # drawn from 8 to 16
EVERY = 50  # steps


@dataclass(frozen=True)
class Curve:
    """What is seen of one model as it is trained. Attributes: in-context loss, and induction score, every 50 steps."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def last(self) -> tuple[float, float]:
        """Return the loss and the score at the end."""
        return self.losses[-1], self.scores[-1]

    def drop(self) -> int | None:
        """Return the step at which the loss was below half that of a guess; None where it never was."""
        return _first([loss < math.log(VOCABULARY) / 2 for loss in self.losses])

    def rise(self) -> int | None:
        """Return the step at which a head's score was above a half; None where it never was."""
        return _first([score > 0.5 for score in self.scores])


def induction(seeds: int = 3, steps: int = 600) -> Claim:
    """Train models of one layer and of two, and watch both figures.

    Raises:
        UserError: there is no seed, or there are too few steps to watch.
    """
    if seeds < 1 or steps < EVERY:
        raise UserError(f'--seeds={seeds} --steps={steps}: give a seed or more, and {EVERY} steps or more')
    curves = {
        f'{layers} layer{"s" if layers > 1 else ""}': [watched(layers, seed, steps) for seed in range(seeds)]
        for layers in (1, 2)
    }
    rows = [
        (
            name,
            f'{seed}',
            f'{curve.losses[-1]:.3f}',
            f'{curve.scores[-1]:.3f}',
            _step(curve.drop()),
            _step(curve.rise()),
        )
        for name, each in curves.items()
        for seed, curve in enumerate(each)
    ]
    columns = (
        'model',
        'seed',
        'last loss, nats',
        'last score',
        'loss below half a guess at step',
        'score over 0.5 at step',
    )
    title = f'Attention alone, {HEADS} heads, width {WIDTH}; {LENGTH} tokens of {VOCABULARY} that repeat'
    note = f'A guess: {math.log(VOCABULARY):.3f} nats. Figures every {EVERY} steps, on new rows.'
    figures = {'every': EVERY, 'models': {name: [vars(curve) for curve in each] for name, each in curves.items()}}
    report = Report('induction', figures, (Table(title, columns, rows),), (note,))
    chart = Chart('steps', 'nats, and share of the weight', range(EVERY, steps + 1, EVERY), _lines(curves))
    return Claim(report, chart)


def watched(layers: int, seed: int, steps: int) -> Curve:
    """Train a model, and return what is seen of it."""
    model, drawn = build(_decoder(layers))(), np.random.default_rng(seed)
    optimizer, context = optax.adam(3e-3), LayerContext(jnp.tile(jnp.arange(LENGTH), (ROWS, 1)))

    def loss(params: Params, tokens: Int[Array, 'B T'], period: Int[Array, 'B']) -> tuple[Array, PyTree]:
        logits, reported = model.apply({'params': params}, tokens, context, False, mutable=['weights'])
        known = (context.positions[:, :-1] >= period[:, None] - 1).astype(jnp.float32)
        losses = cross_entropy(logits[:, :-1], tokens[:, 1:])
        return (losses * known).sum() / known.sum(), reported['weights']

    @jax.jit
    def step(params: Params, state: Any, *given: Array) -> tuple[Params, Any]:
        gradient, _ = jax.grad(loss, has_aux=True)(params, *given)
        moves, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, moves), state

    look, curve = jax.jit(loss), Curve()
    tokens, _ = _rows(drawn)
    params = model.init(jax.random.key(seed), tokens, context, False)['params']
    state = optimizer.init(params)
    for number in range(1, steps + 1):
        params, state = step(params, state, *_rows(drawn))
        if number % EVERY == 0:
            tokens, period = _rows(drawn)
            found, weights = look(params, tokens, period)
            curve.losses.append(float(found))
            curve.scores.append(best_score(weights, np.asarray(period)))
    return curve


def best_score(weights: PyTree, period: Int[np.ndarray, 'B']) -> float:
    """Return the induction score of the head that has the highest."""
    return max(float(induction_scores(np.asarray(layer), period).max()) for *_, layer in by_layer(weights))


def induction_scores(weights: Float[np.ndarray, 'B N T S'], period: Int[np.ndarray, 'B']) -> Float[np.ndarray, 'N']:
    """Return the mean weight, of each head, of a token on the one that followed it a period before."""
    query = np.arange(weights.shape[-2])
    of_rows = [
        row[:, query[each:], query[each:] - each + 1] for row, each in zip(weights, np.asarray(period), strict=True)
    ]
    return np.concatenate(of_rows, axis=-1).mean(axis=-1)


def _rows(drawn: np.random.Generator) -> tuple[Int[Array, 'B T'], Int[Array, 'B']]:
    period = drawn.integers(*PERIODS, size=ROWS)
    once = drawn.integers(VOCABULARY, size=(ROWS, LENGTH))
    repeated = np.take_along_axis(once, np.arange(LENGTH) % period[:, None], axis=-1)
    return jnp.asarray(repeated), jnp.asarray(period)


def _lines(curves: Mapping[str, list[Curve]]) -> dict[str, list[float]]:
    """Return the means over the seeds."""
    named = {'loss': 'losses', 'score': 'scores'}
    return {
        f'{word}, {name}': [mean(point) for point in zip(*(getattr(curve, of) for curve in each), strict=True)]
        for word, of in named.items()
        for name, each in curves.items()
    }


def _first(so: list[bool]) -> int | None:
    return EVERY * (so.index(True) + 1) if True in so else None


def _step(step: int | None) -> str:
    return 'never' if step is None else f'{step}'


def _decoder(layers: int) -> dict[str, Any]:
    norm = {'use': 'norm.rms:RMSNorm'}
    mixer = {
        'use': 'attention.multi_head:MultiHead',
        'heads': HEADS,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'position': {'use': 'position.rotary:Rotary'},
    }
    return {
        'use': 'model.decoder:Decoder',
        'block': {'use': 'block.pre_norm:PreNorm', 'norm': norm, 'mixer': mixer, 'feedforward': None},
        'position': {'use': 'position.none:NoPosition'},
        'norm': norm,
        'run': {'use': 'model.stack:Unrolled'},
        'vocabulary': VOCABULARY,
        'context_length': LENGTH,
        'width': WIDTH,
        'layers': layers,
        'tied': False,
        'embedding_init': {'use': 'jax.nn.initializers:normal', 'stddev': 1.0},
    }
