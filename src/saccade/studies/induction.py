# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Induction heads: two layers of attention form them when the in-context loss drops; one layer has neither.

    b a c d b a c d b ...     repeated random tokens: predictable after the first period
    induction score           weight of a token on the successor of its previous occurrence, for the best head
    in-context loss           nats per token after the first period
    removed                   the loss when the output of the best head, or of the other head of its layer, is zero

Olsson et al. 2022, "In-context Learning and Induction Heads", https://arxiv.org/abs/2209.11895: attention-only models
without feed-forward layers. Their models are trained on text, and repeated rows are used only for the scores; here
models are also trained on repeated rows, in minutes. Periods vary between rows, since a head with a fixed offset would
suffice for one period.
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

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.build import build
from saccade.inside.activations import Inside
from saccade.inside.inspection import by_layer
from saccade.inside.interventions import edits_of
from saccade.inside.measures import weight_on
from saccade.ops.loss import cross_entropy
from saccade.studies.chart import Chart, Claim
from saccade.types import LayerContext, Params, UserError

VOCABULARY, WIDTH, HEADS, LENGTH, ROWS = 32, 32, 2, 32, 64
PERIODS = (8, 17)  # drawn from 8 to 16
EVERY = 50  # steps


@dataclass
class InductionCurve:
    """Training curve of one model.

    Attributes:
        losses, scores: in-context loss and induction score of the best head, every 50 steps.
        best: activation of the best head at the end, as layers.1.mixer.heads.0.
        without: loss at the end without the best head, and without the other head of its layer.
    """

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best: str = ''
    without: tuple[float, float] = (math.nan, math.nan)

    def last(self) -> tuple[float, float]:
        """Return the loss and the score at the end."""
        return self.losses[-1], self.scores[-1]

    def drop(self) -> int | None:
        """Return the first step with a loss below half the loss of a uniform guess; None if there is none."""
        return _first([loss < math.log(VOCABULARY) / 2 for loss in self.losses])

    def rise(self) -> int | None:
        """Return the first step with a score above one half; None if there is none."""
        return _first([score > 0.5 for score in self.scores])


def induction(seeds: int = 3, steps: int = 600) -> Claim:
    """Train models of one and two layers, and record loss and score.

    Raises:
        UserError: there are no seeds, or too few steps.
    """
    if seeds < 1 or steps < EVERY:
        raise UserError(f'--seeds={seeds} --steps={steps}: give at least one seed and {EVERY} steps')
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
    title = f'Attention-only, {HEADS} heads, width {WIDTH}; {LENGTH} tokens of {VOCABULARY} that repeat'
    removed = [
        (name, f'{seed}', f'{curve.losses[-1]:.3f}', curve.best, *(f'{loss:.3f}' for loss in curve.without))
        for name, each in curves.items()
        for seed, curve in enumerate(each)
    ]
    of_removed = ('model', 'seed', 'last loss', 'best head', 'loss without it', 'without the other head')
    note = f'Uniform guess: {math.log(VOCABULARY):.3f} nats. Figures every {EVERY} steps, on new rows.'
    figures = {'every': EVERY, 'models': {name: [vars(curve) for curve in each] for name, each in curves.items()}}
    tables = Table(title, columns, rows), Table('Heads set to zero', of_removed, removed)
    report = MeasurementReport('induction', figures, tables, (note,))
    at = range(EVERY, steps + 1, EVERY)
    lines = {'loss of a uniform guess': [math.log(VOCABULARY)] * len(at), **_lines(curves)}
    chart = Chart('steps', 'loss in nats; share of the attention weight', at, lines, scale='linear')
    return Claim(report, chart)


def watched(layers: int, seed: int, steps: int) -> InductionCurve:
    """Train a model, and return its training curve, and its loss without a head."""
    model, drawn = build(_decoder(layers))(), np.random.default_rng(seed)
    optimizer, context = optax.adam(3e-3), LayerContext(jnp.tile(jnp.arange(LENGTH), (ROWS, 1)))

    def loss(params: Params, tokens: Int[Array, 'B T'], period: Int[Array, 'B']) -> tuple[Array, PyTree]:
        logits, reported = model.apply({'params': params}, tokens, context, False, mutable=['pattern'])
        return in_context_loss(logits, tokens, period), reported['pattern']

    @jax.jit
    def step(params: Params, state: Any, *given: Array) -> tuple[Params, Any]:
        gradient, _ = jax.grad(loss, has_aux=True)(params, *given)
        moves, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, moves), state

    look, curve = jax.jit(loss), InductionCurve()
    tokens, _ = _rows(drawn)
    params = model.init(jax.random.key(seed), tokens, context, False)['params']
    state = optimizer.init(params)
    for number in range(1, steps + 1):
        params, state = step(params, state, *_rows(drawn))
        if number % EVERY == 0:
            tokens, period = _rows(drawn)
            found, weights = look(params, tokens, period)
            curve.losses.append(float(found))
            scores = head_scores(weights, np.asarray(period))
            curve.scores.append(float(scores.max()))
    layer, best = np.unravel_index(scores.argmax(), scores.shape)
    heads = [f'layers.{layer}.mixer.heads.{head}' for head in (best, HEADS - 1 - best)]
    inside = Inside(model, params, (tokens, context))
    without = [inside.run((), edits_of(inside.places, {head: 0.0}))[0] for head in heads]
    curve.best, curve.without = heads[0], tuple(float(in_context_loss(each, tokens, period)) for each in without)
    return curve


def in_context_loss(
    logits: Float[Array, 'B T V'], tokens: Int[Array, 'B T'], period: Int[Array, 'B']
) -> Float[Array, '']:
    """Return the mean cross entropy of the tokens after the first period, in nats."""
    known = (jnp.arange(LENGTH - 1) >= period[:, None] - 1).astype(jnp.float32)
    return (cross_entropy(logits[:, :-1], tokens[:, 1:]) * known).sum() / known.sum()


def head_scores(weights: PyTree, period: Int[np.ndarray, 'B']) -> Float[np.ndarray, 'L N']:
    """Return the induction score of each head of each layer."""
    return np.stack([induction_scores(np.asarray(layer), period) for *_, layer in by_layer(weights)])


def induction_scores(weights: Float[np.ndarray, 'B N T S'], period: Int[np.ndarray, 'B']) -> Float[np.ndarray, 'N']:
    """Return, for each head, the mean weight of a token on the successor of its previous occurrence."""
    query, key = np.arange(weights.shape[-2])[:, None], np.arange(weights.shape[-1])
    each = np.asarray(period)[:, None, None]
    return weight_on(weights, (key == query - each + 1) & (query >= each))


def _rows(drawn: np.random.Generator) -> tuple[Int[Array, 'B T'], Int[Array, 'B']]:
    period = drawn.integers(*PERIODS, size=ROWS)
    once = drawn.integers(VOCABULARY, size=(ROWS, LENGTH))
    repeated = np.take_along_axis(once, np.arange(LENGTH) % period[:, None], axis=-1)
    return jnp.asarray(repeated), jnp.asarray(period)


def _lines(curves: Mapping[str, list[InductionCurve]]) -> dict[str, list[float]]:
    """Return the means over the seeds."""
    named = {'loss': 'losses', 'induction score': 'scores'}
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
