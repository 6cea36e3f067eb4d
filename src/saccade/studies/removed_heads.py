# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Heads as an ensemble: loss after removing random heads, in models of 1 to 16 heads at equal width.

    removed head   its rows of the output projection are zero, so its output is never read
    increase       loss without the heads, less the loss of the whole model, in nats per token

Heads are drawn from all layers together. Michel, Levy, Neubig 2019, "Are Sixteen Heads Really Better than One?",
https://arxiv.org/abs/1905.10650, remove heads of trained models one by one. Here each model is trained from scratch on
the documentation of Python (`experiments/causal_lm/quickstart.py`); heads split the width, so all models are of equal
size.
"""

import itertools
from collections.abc import Sequence

import jax
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict
from jaxtyping import Bool

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.data.pipeline import eval_batches, train_batches
from saccade.studies.chart import Chart, Claim
from saccade.train.config import load_config
from saccade.train.evaluate import evaluate
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.setup import make_learner
from saccade.types import Params, UserError

HEADS = (1, 2, 4, 8, 16)
LAYERS, WIDTH, LENGTH, BATCHES, DRAWS = 2, 128, 64, 8, 4

Losses = dict[int, list[float]]  # after removing a number of heads; one per draw of the heads


def removed_heads(seeds: int = 5, steps: int = 300, heads: Sequence[int] = HEADS) -> Claim:
    """Train a model for each number of heads and seed, and measure its loss without random heads.

    Raises:
        UserError: there are no seeds, or the data are missing.
    """
    if seeds < 1:
        raise UserError(f'--seeds={seeds}: give at least one seed')
    found = {number: losses_without(number, seeds, steps) for number in heads}
    rows, increases = [], {}
    for number, of_seeds in found.items():
        name = f'{number} head{"s" * (number > 1)}'
        for removed in of_seeds[0]:
            losses = [np.mean(each[removed]) for each in of_seeds]
            more = [loss - each[0][0] for loss, each in zip(losses, of_seeds, strict=True)]
            share = removed / (LAYERS * number)
            increases.setdefault(name, {})[share] = float(np.mean(more))
            spread = f'{np.std(more, ddof=1):.4f}' if seeds > 1 else '-'
            measured = f'{share:.4f}', f'{np.mean(losses):.4f}', f'{np.mean(more):z.4f}', spread
            rows.append((f'{number}', f'{removed}', *measured))
    columns = ('heads per layer', 'removed', 'share', 'loss [nats]', 'increase [nats]', 'deviation over seeds')
    title = f'Loss without random heads: {LAYERS} layers, width {WIDTH}, {steps} steps, {seeds} seeds, {DRAWS} draws'
    figures = {'layers': LAYERS, 'steps': steps, 'losses': found}
    shares = sorted(set().union(*increases.values()) - {0.0})
    lines = {name: [each.get(share, 0.0) for share in shares] for name, each in increases.items()}
    chart = Chart('share of all heads that is removed', 'increase of the loss [nats]', shares, lines)
    return Claim(MeasurementReport('loss without random heads', figures, (Table(title, columns, rows),)), chart)


def losses_without(heads: int, seeds: int, steps: int) -> list[Losses]:
    """Train models with a number of heads, and return the losses of each seed by the number of removed heads."""
    experiment = experiment_of(heads, steps)
    prepared, learner = experiment.data().prepare(cache_folder()), make_learner(experiment)
    validation = [*eval_batches(prepared.splits['validation'], experiment.batch_size, limit=BATCHES)]
    init, step, score = jax.jit(learner.init), jax.jit(learner.train_step), jax.jit(learner.eval_step)
    found = []
    for seed in range(seeds):
        batches = train_batches(prepared.splits['train'], experiment.batch_size, seed, 0)
        state = init(jax.random.key_data(jax.random.key(seed)), validation[0])
        for batch in itertools.islice(batches, steps):
            state, _ = step(state, batch)
        losses: Losses = {}
        for kept in masks(heads, np.random.default_rng(seed)):
            params = without(state.params, kept)
            loss = evaluate(lambda rows, params=params: score(params, rows), iter(validation))['loss']
            losses.setdefault(int((~kept).sum()), []).append(loss)
        found.append(losses)
    return found


def experiment_of(heads: int, steps: int) -> Experiment:
    """Return the experiment with a number of heads, and a schedule for a number of steps."""
    changes = {
        'steps': steps,
        'model.block.mixer.heads': heads,
        'model.layers': LAYERS,
        'model.width': WIDTH,
        'model.context_length': LENGTH,
    }
    return Experiment.of(
        load_config('causal_lm/quickstart', [f'--config.{name}={value}' for name, value in changes.items()])
    )


def masks(heads: int, drawn: np.random.Generator) -> list[Bool[np.ndarray, 'L N']]:
    """Return which heads are kept: all, then random ones without 1, 2, 4 ... heads, then none."""
    whole = LAYERS * heads
    some = [2**power for power in range(whole.bit_length()) if 2**power < whole]
    counts = [0, *(count for count in some for _ in range(DRAWS)), whole]
    return [drawn.permutation(whole).reshape(LAYERS, heads) >= count for count in counts]


def without(params: Params, kept: Bool[np.ndarray, 'L N']) -> Params:
    """Return parameters with zeros in the output projection's rows of all heads but those kept."""
    leaves = flatten_dict(params)
    path = next(path for path in leaves if path[-2:] == ('mixer', 'output'))
    return unflatten_dict({**leaves, path: leaves[path] * kept[..., None, None]})
