# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that took no step, whose weights are as they were drawn; and several processes as one run."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'


@pytest.fixture(scope='session')
def untrained_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A function of an experiment and of fields of it, 'model.width=8': the folder of its run, which reads bytes."""
    from saccade.data.tokenizer.byte import Byte
    from saccade.data.tokenizer.tokenizer import BERT
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
        Byte(end=None, specials=BERT).train([]).save(workdir.path)
        with Checkpoints(workdir.checkpoints) as checkpoints:
            checkpoints.save(1, {'params': state.params})
        return str(workdir.path)

    return make


JOINED = """
import sys
import jax
port, count, process = sys.argv.pop(1), int(sys.argv.pop(1)), int(sys.argv.pop(1))
if count > 1:
    jax.distributed.initialize(f'127.0.0.1:{port}', count, process)
"""


@pytest.fixture(scope='session')
def in_processes() -> Callable[..., list[Any]]:
    """A function of code and its arguments: what each of the processes of one run printed last, as JSON."""

    def run(code: str, *arguments: Any, count: int = 2, devices: int = 1) -> list[Any]:
        with socket.socket() as listener:
            listener.bind(('127.0.0.1', 0))
            port = listener.getsockname()[1]
        environment = {
            **os.environ,
            'JAX_PLATFORMS': 'cpu',
            'XLA_FLAGS': f'--xla_force_host_platform_device_count={devices}',
            'PYTHONPATH': os.pathsep.join(sys.path),
        }
        processes = [
            subprocess.Popen(
                [sys.executable, '-c', JOINED + code, *map(str, (port, count, number)), *map(str, arguments)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(count)
        ]
        try:
            printed = [process.communicate(timeout=240) for process in processes]
        finally:
            for process in processes:
                process.kill()
        for process, (_, complaints) in zip(processes, printed, strict=True):
            assert process.returncode == 0, complaints
        return [json.loads(found.splitlines()[-1]) for found, _ in printed]  # Gloo prints too

    return run
