# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""By tracing alone: a part in a task and a model is refused by name, or what it reports arrives."""

from functools import partial

import jax
import pytest
from wholes import Pair, Swap, experiment_of, named, reported

from saccade.train.declared import declared, reports_of
from saccade.types import UserError


def assert_reports_arrive(pair: Pair, swap: Swap) -> None:
    """Trace a training step's loss; skip, saying why, what is refused in one line that names the part."""
    try:
        experiment = experiment_of(pair, swap)
        task, model = experiment.task(), experiment.model()
        batch = experiment.data().batch_like(experiment.batch_size)
        params = jax.eval_shape(lambda rows: task.init(model, jax.random.key(0), rows), batch)
        with reported() as seen:
            totals = jax.eval_shape(partial(task.loss, model, train=True), params, batch, jax.random.key(0))
    except UserError as error:
        refusal = str(error)
    else:
        refusal = ''
    if refusal:
        assert any(use in refusal for use in named(swap.spec)), refusal
        assert '\n' not in refusal
        pytest.skip(f'refused: {refusal}')
    assert seen.get('metrics', set()) <= set(totals)
    parts = [part.target for part in experiment.model.walk()]
    assert {metric.name for part in parts for metric in reports_of(part)} == seen.get('metrics', set())
    assert set(totals) <= declared(experiment).metrics.keys()
    assert not seen.get('losses') or task.bare in totals
