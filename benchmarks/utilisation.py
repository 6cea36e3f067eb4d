# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix utilisation of training: FLOP/s that the model needs, divided by those of matrix products in the same run.

    utilisation = FLOPs that the model needs a step / seconds a step / FLOP/s of matrix products

The MFU that a run logs (Chowdhery et al. 2022, "PaLM: Scaling Language Modeling with Pathways", appendix B,
https://arxiv.org/abs/2204.02311) divides by the chip's peak, which no product reaches, so it is lower.
What is computed again does not count. The FLOPs are counted in the trace, as `ops.flops.model_flops` says; the paper's
6 P + 12 L N H T a token is that for a decoder whose attention skips nothing.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.trace import Cost, costs
from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.train.backend import Backend
from saccade.train.config import PREFIX, load_config
from saccade.train.experiment import Experiment
from saccade.train.learner import TrainState
from saccade.train.setup import make_backend
from saccade.types import UserError

RATE = 1e-4  # of learning, whatever it is
PRODUCTS = 20  # enough that starting the first does not count


@dataclass(frozen=True)
class Options:
    """Options of the measurement.

    Attributes:
        rounds: of matrix products and training steps in turn.
        steps: in each round, and in the trace.
        matrix: rows and columns of the matrices whose product sets the rate.
        trace: folder for the profiler's trace.
        force: measure on a CPU too.
    """

    rounds: int
    steps: int
    matrix: int
    trace: str
    force: bool = False


def utilisation(config_path: str, overrides: Sequence[str], options: Options) -> MeasurementReport:
    """Measure the training step of an experiment in bfloat16.

    Raises:
        UserError: there is only a CPU, and it is not forced; or the config is wrong.
    """
    if jax.default_backend() == 'cpu' and not options.force:
        raise UserError(
            '--what=utilisation is for a GPU or TPU, and JAX finds only a CPU; --force runs it all the same'
        )
    config = load_config(config_path, [f'{PREFIX}dtype=bfloat16', *overrides])
    experiment = Experiment.of(config)
    backend = make_backend(experiment)
    return _report(config, backend, *_measure(backend, experiment, options))


def _measure(
    backend: Backend, experiment: Experiment, options: Options
) -> tuple[list[float], list[float], list[Cost], Options]:
    """Rates of the matrix product in FLOP/s and seconds a step, round by round; and the costs of a step."""
    batch, state = _batch(backend, experiment), backend.init(experiment.seed)
    state, _ = _steps(backend, state, batch, 1)
    matrix_rate(options.matrix, products=1)
    rates, seconds = [], []
    for _ in range(options.rounds):
        rates.append(matrix_rate(options.matrix))
        state, taken = _steps(backend, state, batch, options.steps)
        seconds.append(taken / options.steps)
    devices_alone = jax.profiler.ProfileOptions()
    devices_alone.python_tracer_level = 0
    with jax.profiler.trace(options.trace, profiler_options=devices_alone):
        _steps(backend, state, batch, options.steps)
    return rates, seconds, costs(Path(options.trace), backend.train_step.as_text()), options


def matrix_rate(rows: int, products: int = PRODUCTS) -> float:
    """FLOP/s of square bfloat16 matrix products of random numbers, on all devices together.

    Numbers are random because a chip draws less power, and so runs faster, on zeros.
    """
    devices = jax.device_count()
    multiply = jax.pmap(lambda a, b: jnp.matmul(a, b))
    keys = jax.random.split(jax.random.key(0), 2 * devices).reshape(2, devices)
    left, right = (jax.pmap(lambda key: jax.random.normal(key, (rows, rows), jnp.bfloat16))(side) for side in keys)
    jax.block_until_ready(multiply(left, right))
    start = time.perf_counter()
    jax.block_until_ready([multiply(left, right) for _ in range(products)])
    return products * devices * 2 * rows**3 / (time.perf_counter() - start)


def _steps(backend: Backend, state: TrainState, batch: Any, count: int) -> tuple[TrainState, float]:
    """Take steps; return the state and seconds."""
    jax.block_until_ready(state)
    start = time.perf_counter()
    for _ in range(count):
        state, metrics = backend.train_step(state, batch, RATE)
    jax.block_until_ready((state, metrics))
    return state, time.perf_counter() - start


def _batch(backend: Backend, experiment: Experiment) -> Any:
    like = experiment.data().batch_like(experiment.batch_size)['tokens']
    tokens = np.random.default_rng(experiment.seed).integers(experiment.model['vocabulary'], size=like.shape)
    positions = np.broadcast_to(np.arange(like.shape[1]), like.shape)
    rows = {'tokens': tokens, 'segments': np.ones(like.shape), 'positions': positions}
    return backend.place({name: part.astype(np.int32) for name, part in rows.items()})


def _report(
    config: Mapping[str, Any],
    backend: Backend,
    rates: list[float],
    seconds: list[float],
    found: list[Cost],
    options: Options,
) -> MeasurementReport:
    tokens = config['batch_size'] * config['model']['context_length']
    counts = backend.train_step.counts
    needed = counts.model_flops
    shares = [needed / taken / rate for taken, rate in zip(seconds, rates, strict=True)]
    device = f'{backend.devices} x {jax.devices()[0].device_kind}'
    figures = {
        'device': device,
        'tokens_per_step': tokens,
        'tokens_per_second': median(tokens / taken for taken in seconds),
        'matrix_utilisation': median(shares),
        'matrix_flops_per_second': median(rates),
        'model_flops_per_step': needed,
        'hardware_flops_per_step': counts.flops,
        'rounds': {'seconds': seconds, 'matrix_flops_per_second': rates, 'matrix_utilisation': shares},
        'costs': [asdict(cost) for cost in found[:3]],
        'trace': options.trace,
    }
    return MeasurementReport(
        'utilisation', figures, (_speeds(figures), _largest(found, options.steps)), (f'Trace: {options.trace}',)
    )


def _speeds(figures: Mapping[str, Any]) -> Table:
    rows = [
        ('tokens/s', f'{figures["tokens_per_second"]:,.0f}'),
        ('share of the matrix rate', f'{figures["matrix_utilisation"]:.1%}'),
        ('matrix rate, TFLOP/s', f'{figures["matrix_flops_per_second"] / 1e12:,.3f}'),
        ('FLOPs a step, of the model', f'{figures["model_flops_per_step"]:.4g}'),
        ('FLOPs a step, with what is computed again', f'{figures["hardware_flops_per_step"]:.4g}'),
    ]
    return Table(f'bfloat16 on {figures["device"]}, medians', ('figure', 'value'), rows)


def _largest(found: list[Cost], steps: int) -> Table:
    rows = [(cost.what, f'{1000 * cost.seconds / steps:,.2f}', f'{cost.share:.1%}') for cost in found[:3]]
    return Table('The three largest costs', ('operation', 'ms a step', 'of all operations'), rows)
