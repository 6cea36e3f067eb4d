# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Focus of global and local attention: entropy of a recurrent decoder's attention weights while it learns to copy.

    entropy     - sum over the source of w log w, in nats, mean over queries; log S for equal weights
    on the symbol   the weight on the source symbol that is copied next

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3,
https://arxiv.org/abs/1508.04025: global attention, local-m and local-p with windows of 2 R + 1 symbols. Weights of
local-p are normalised to sum to one here, which its Gaussian factor does not keep.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.analysis.report.interval import mean_intervals
from saccade.build import build
from saccade.ops.loss import cross_entropy
from saccade.studies.chart import Chart, Claim
from saccade.types import LayerContext, Params, UserError

SYMBOLS, LENGTH, WIDTH, ROWS, REACH = 10, 20, 64, 32, 2
EVERY = 100  # steps
END = 0  # before and after what is written


@dataclass(frozen=True)
class FocusCurve:
    """Curves of one training run, before training and every 100 steps.

    Attributes: entropy in nats; hits, the weight on the symbol to copy; accuracy, the share of right symbols.
    """

    entropy: list[float] = field(default_factory=list)
    hits: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)


def attentions() -> dict[str, dict[str, Any]]:
    """Return the compared attentions of the decoder, by name."""
    score = {'use': 'recurrent.score.general:General'}
    return {
        'global': {'use': 'recurrent.decoder.soft:Soft', 'score': score},
        'local-m': {'use': 'recurrent.decoder.local_monotonic:LocalMonotonic', 'score': score, 'reach': REACH},
        'local-p': {'use': 'recurrent.decoder.local_predictive:LocalPredictive', 'score': score, 'reach': REACH},
    }


def focus(seeds: int = 3, steps: int = 300) -> Claim:
    """Train a decoder with each attention, and record entropy, weight on the symbol to copy, and accuracy.

    Raises:
        UserError: there are no seeds, or too few steps.
    """
    if seeds < 1 or steps < EVERY:
        raise UserError(f'--seeds={seeds} --steps={steps}: give at least one seed and {EVERY} steps')
    curves = {name: [watched(spec, seed, steps) for seed in range(seeds)] for name, spec in attentions().items()}
    rows = [
        (name, f'{EVERY * place}', *columns)
        for place in range(steps // EVERY + 1)
        for name, *columns in zip(
            curves, *(_with_intervals(curves, which, place) for which in ('entropy', 'hits', 'accuracy')), strict=True
        )
    ]
    columns = ('attention', 'step', 'entropy, nats', 'weight on the symbol', 'accuracy')
    title = f'Copying {LENGTH} of {SYMBOLS} symbols, means over {seeds} seeds with 95% intervals'
    note = f'Equal weights: {math.log(LENGTH):.3f} nats over the source, {math.log(2 * REACH + 1):.3f} over a window.'
    figures = {'every': EVERY, 'attentions': {name: [vars(curve) for curve in each] for name, each in curves.items()}}
    report = MeasurementReport('focus', figures, (Table(title, columns, rows),), (note,))
    lines = {
        name: [mean(point) for point in zip(*(curve.entropy for curve in each), strict=True)]
        for name, each in curves.items()
    }
    return Claim(report, Chart('steps', 'entropy, nats', range(0, steps + 1, EVERY), lines))


def watched(attention: Mapping[str, Any], seed: int, steps: int) -> FocusCurve:
    """Train a model with this attention, and return its curves."""
    model, drawn, curve = build(_model(attention))(), np.random.default_rng(seed), FocusCurve()
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(5e-3))
    # The source ends with END too, so that it is as long as what is written.
    context = LayerContext(jnp.tile(jnp.arange(LENGTH + 1), (ROWS, 1)))

    def loss(params: Params, symbols: Int[Array, 'B T']) -> tuple[Array, tuple[Array, Array]]:
        source = jnp.pad(symbols, ((0, 0), (0, 1)), constant_values=END)
        given = jnp.pad(symbols, ((0, 0), (1, 0)), constant_values=END)
        logits, reported = model.apply({'params': params}, source, context, given, context, False, mutable=['pattern'])
        (weights,) = jax.tree.leaves(reported['pattern'])
        right = (logits.argmax(-1) == source)[:, :LENGTH].mean()
        return cross_entropy(logits, source).mean(), (weights[:, 0, :LENGTH], right)

    @jax.jit
    def step(params: Params, state: Any, symbols: Int[Array, 'B T']) -> tuple[Params, Any]:
        gradient, _ = jax.grad(loss, has_aux=True)(params, symbols)
        moves, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, moves), state

    look, examined = jax.jit(loss), _symbols(drawn)
    given = jnp.zeros((ROWS, LENGTH + 1), jnp.int32)
    params = model.init(jax.random.key(seed), given, context, given, context, False)['params']
    state = optimizer.init(params)
    for number in range(steps + 1):
        if number % EVERY == 0:
            _, (weights, right) = look(params, examined)
            share = weights / weights.sum(axis=-1, keepdims=True)
            curve.entropy.append(float(entropy(share).mean()))
            curve.hits.append(float(jnp.diagonal(share, axis1=1, axis2=2).mean()))
            curve.accuracy.append(float(right))
        params, state = step(params, state, _symbols(drawn))
    return curve


def entropy(weights: Float[Array, '*B S']) -> Float[Array, '*B']:
    """Return the entropy of each row of weights, in nats."""
    return -jax.scipy.special.xlogy(weights, weights).sum(axis=-1)


def _symbols(drawn: np.random.Generator) -> Int[Array, 'B T']:
    return jnp.asarray(drawn.integers(1, SYMBOLS + 1, size=(ROWS, LENGTH)), jnp.int32)


def _with_intervals(curves: Mapping[str, Sequence[FocusCurve]], which: str, place: int) -> list[str]:
    """Return the mean over seeds with its 95% interval, for each attention."""
    groups = [[getattr(curve, which)[place] for curve in each] for each in curves.values()]
    return [
        f'{mean(group):.3f}' + (f' [{interval.low:.3f}, {interval.high:.3f}]' if interval else '')
        for group, interval in zip(groups, mean_intervals(groups), strict=True)
    ]


def _model(attention: Mapping[str, Any]) -> dict[str, Any]:
    cells = {'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': WIDTH}, 'layers': 1}
    return {
        'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq',
        'vocabulary': SYMBOLS + 1,
        'context_length': LENGTH + 1,
        'source_context_length': LENGTH + 1,
        'width': WIDTH,
        'encoder': {'use': 'recurrent.encoder:Encoder', 'bidirectional': True, **cells},
        'bridge': {'use': 'recurrent.decoder.projected:Projected'},
        'decoder': {'use': 'recurrent.decoder.luong:Luong', 'attention': attention, 'input_feeding': False, **cells},
        'tied': True,
    }
