# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Path length between the first token and the last, in a recurrence, a convolution and attention.

    interaction   sequential steps until the last token depends on the first: O(n), O(n/M), O(1)
    gradient      the norm of d L / d x_(t-n) for a loss L at token t
    time          milliseconds of a layer, forward and backward

Bengio, Simard, Frasconi 1994, "Learning Long-Term Dependencies with Gradient Descent is Difficult",
https://doi.org/10.1109/72.279181; Vaswani et al. 2017, table 1, https://arxiv.org/abs/1706.03762. Steps are counted in
the jaxpr, and layers by propagating a NaN in the first token. Each mixer has its initial parameters and random tokens.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saccade.analysis.report.figures import MeasurementReport, Table, exponent
from saccade.build import build
from saccade.ops.flops import sequential_steps
from saccade.studies.chart import Chart, Claim
from saccade.types import LayerContext, Params, UserError

LENGTHS = (8, 16, 32, 64, 128, 256)  # tokens
WIDTH, TAPS, DRAWS = 32, 3, 8
ROWS, WIDE = 8, 128  # for timing

Function = Callable[[Float[Array, 'B T D']], Float[Array, 'B T D']]


def mixers(width: int) -> dict[str, dict[str, Any]]:
    """Return the compared mixers of a width."""
    cells = {name: {'use': f'recurrent.cell.{name.lower()}:{name}', 'width': width} for name in ('RNN', 'LSTM', 'GRU')}
    return {
        **{name: {'use': 'recurrent.mixer.recurrent:Recurrent', 'cell': cell} for name, cell in cells.items()},
        'convolution': {'use': 'recurrent.mixer.convolution:Convolution', 'size': TAPS, 'depthwise': False},
        'attention': {
            'use': 'attention.multi_head:MultiHead',
            'heads': 4,
            'kernel': {'use': 'attention.plain:Plain'},
            'mask': {'use': 'ops.mask:Causal'},
            'position': {'use': 'position.none:NoPosition'},
        },
    }


@dataclass(frozen=True)
class MixerExample:
    """Mixer with example inputs. Attributes: module; x, its tokens."""

    module: Any
    x: Float[Array, 'B T D']

    @classmethod
    def of(cls, name: str, length: int, width: int = WIDTH, rows: int = 1) -> 'MixerExample':
        """Build the mixer of this name, and draw tokens [rows length width] for it."""
        x = np.random.default_rng(0).normal(size=(rows, length, width))
        return cls(build(mixers(width)[name])(), jnp.array(x, jnp.float32))

    def params(self, seed: int = 0) -> Params:
        """Return the mixer's initial parameters for a seed."""
        return self.module.init(jax.random.key(seed), self.x, self._context, False)

    def __call__(self, params: Params, x: Float[Array, 'B T D']) -> Float[Array, 'B T D']:
        return self.module.apply(params, x, self._context, False)

    @property
    def _context(self) -> LayerContext:
        return LayerContext(jnp.broadcast_to(jnp.arange(self.x.shape[1]), self.x.shape[:2]))


def interaction(lengths: Sequence[int] = LENGTHS) -> Claim:
    """Count the sequential steps from the first token to the last, at each length."""
    _require_lengths(lengths)
    names = ('RNN', 'convolution', 'attention')
    found = {name: [_path(MixerExample.of(name, length)) for length in lengths] for name in names}
    steps = {name: [layers * max(inside, 1) for layers, inside in each] for name, each in found.items()}
    rows = [
        (f'{length}', *(f'{steps[name][row]:,} ({found[name][row][0]})' for name in names))
        for row, length in enumerate(lengths)
    ]
    table = Table('Sequential steps until the last token depends on the first (and layers)', ('n', *names), rows)
    figures = {'lengths': list(lengths), 'steps': steps, 'layers': {k: [n for n, _ in v] for k, v in found.items()}}
    chart = Chart('tokens', 'sequential steps', lengths, steps)
    return Claim(MeasurementReport('interaction distance', figures, (table,), _growth(lengths, steps)), chart)


def gradient(distances: Sequence[int] = LENGTHS) -> Claim:
    """Measure the gradient of a loss at the last token with respect to the token n steps before it."""
    _require_lengths(distances)
    names = ('RNN', 'LSTM', 'GRU', 'attention')
    found = {name: _by_distance(MixerExample.of(name, max(distances) + 1)) for name in names}
    norms = {name: [float(each[distance]) for distance in distances] for name, each in found.items()}
    rows = [(f'{distance}', *(f'{norms[name][row]:.2e}' for name in names)) for row, distance in enumerate(distances)]
    table = Table(f'Norm of d L / d x_(t-n) of a loss at token t: median of {DRAWS} draws', ('n', *names), rows)
    report = MeasurementReport('gradient by distance', {'distances': list(distances), 'norms': norms}, (table,))
    return Claim(report, Chart('tokens', 'norm of the gradient', distances, norms))


def wall_time(lengths: Sequence[int] = LENGTHS, rounds: int = 5) -> Claim:
    """Time a layer forward and backward at each length: the median over rounds in which the mixers alternate."""
    _require_lengths(lengths)
    names = ('RNN', 'LSTM', 'convolution', 'attention')
    columns = [
        _timed({name: MixerExample.of(name, length, WIDE, ROWS) for name in names}, rounds) for length in lengths
    ]
    found = {name: [column[name] for column in columns] for name in names}
    steps = {name: [_training_steps(MixerExample.of(name, length)) for length in lengths] for name in names}
    rows = [
        (f'{length}', *(f'{found[name][row]:.2f} ({steps[name][row]:,})' for name in names))
        for row, length in enumerate(lengths)
    ]
    title = f'ms of a layer, forward and backward (and its sequential steps); {ROWS} rows, width {WIDE}'
    figures = {'lengths': list(lengths), 'milliseconds': found, 'steps': steps}
    report = MeasurementReport('time by length', figures, (Table(title, ('n', *names), rows),))
    return Claim(report, Chart('tokens', 'milliseconds', lengths, found))


def _path(mixing: MixerExample) -> tuple[int, int]:
    """Return the number of layers until the last token depends on the first, and the sequential steps of a layer."""
    params, layers = mixing.params(), 0
    run = jax.jit(lambda x: mixing(params, x))
    # A NaN propagates along every path; a gradient would vanish on long ones.
    x = mixing.x.at[:, 0].set(jnp.nan)
    while not jnp.isnan(x[:, -1]).any():
        x, layers = run(x), layers + 1
    return layers, sequential_steps(run, mixing.x)


def _by_distance(mixing: MixerExample) -> Float[np.ndarray, ' T']:
    """Return the norm of the gradient for each token, from the last one back; each draw has its own direction."""

    def gradient(params: Params, towards: Float[Array, ' D']) -> Float[Array, 'T D']:
        by_x = jax.grad(lambda x: (mixing(params, x)[0, -1] * towards).sum() / jnp.linalg.norm(towards))(mixing.x)
        return by_x[0, ::-1]

    drawn = [mixing.params(seed) for seed in range(DRAWS)]
    towards = jax.random.normal(jax.random.key(0), (DRAWS, mixing.x.shape[-1]))
    found = jax.jit(jax.vmap(gradient))(jax.tree.map(lambda *leaves: jnp.stack(leaves), *drawn), towards)
    # Squares of almost vanished gradients underflow in float32.
    return np.median(np.linalg.norm(np.asarray(found, np.float64), axis=-1), axis=0)


def _training(mixing: MixerExample) -> Callable[[Params, Array], Any]:
    return jax.grad(lambda params, x: jnp.square(mixing(params, x)).sum(), argnums=(0, 1))


def _training_steps(mixing: MixerExample) -> int:
    return sequential_steps(_training(mixing), mixing.params(), mixing.x)


def _timed(rivals: Mapping[str, MixerExample], rounds: int) -> dict[str, float]:
    """Return the milliseconds of each, without the first round, which warms up."""
    steps = {name: jax.jit(_training(mixing)) for name, mixing in rivals.items()}
    given = {name: (mixing.params(), mixing.x) for name, mixing in rivals.items()}
    taken: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds + 1):
        for name, step in steps.items():
            start = time.perf_counter()
            jax.block_until_ready(step(*given[name]))
            taken[name].append(1000 * (time.perf_counter() - start))
    return {name: median(times[1:]) for name, times in taken.items()}


def _growth(lengths: Sequence[int], found: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    if len(lengths) < 2:
        return ()
    return ('; '.join(f'{name} ~ n^{exponent(lengths, values):.2f}' for name, values in found.items()),)


def _require_lengths(lengths: Sequence[int]) -> None:
    if not lengths or min(lengths) < 2:
        raise UserError(f'--length: give lengths of at least 2 tokens, not {list(lengths)}')
