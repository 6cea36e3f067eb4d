# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that took no step: their weights are as they were drawn."""

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'


@pytest.fixture(scope='session')
def untrained_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A function of an experiment and of fields of it, 'model.width=8': the folder of its run, which reads bytes."""
    from saccade.data.tokenizer import BERT, Byte
    from saccade.train.checkpoint import Checkpoints
    from saccade.train.config import load_config
    from saccade.train.experiment import Experiment
    from saccade.train.setup import make_learner
    from saccade.train.workdir import Workdir

    def make(experiment: str, *fields: str) -> str:
        config = load_config(str(EXPERIMENTS / experiment), [f'--config.{field}' for field in fields])
        run, workdir = Experiment.of(config), Workdir.open(tmp_path_factory.mktemp('runs') / 'run', config)
        rows = {name: jnp.zeros(leaf.shape, leaf.dtype) for name, leaf in run.data().batch_like(1).items()}
        state = jax.jit(make_learner(run).init)(jax.random.key_data(jax.random.key(run.seed)), rows)
        Byte(end=None, specials=BERT).train([]).save(workdir.tokenizer)
        with Checkpoints(workdir.checkpoints) as checkpoints:
            checkpoints.save(1, {'params': state.params})
        return str(workdir.path)

    return make
