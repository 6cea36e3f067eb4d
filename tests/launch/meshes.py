# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Print the losses of an experiment's first steps on one device, and on all of them as a mesh."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from saccade.data.pipeline import train_batches
from saccade.train.backend import OnMesh
from saccade.train.config import load_config
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.extension_schedule import rates_of
from saccade.train.mesh import make_mesh
from saccade.train.setup import learner_on

STEPS = 3


def losses(experiment: Experiment, batches: Sequence[Any], sizes: Mapping[str, int], devices: Sequence[Any]) -> list:
    """Train for a few steps with the devices as a mesh; return the loss of each."""
    mesh = make_mesh(sizes, devices)
    spread = OnMesh(learner_on(mesh, experiment), batches[:1], mesh)
    init = jax.jit(spread.learner.init, out_shardings=spread.places)
    state = init(jax.random.key_data(jax.random.key(experiment.seed)), jax.device_put(batches[0], spread.rows))
    step, found = spread.train_step(spread.batches[0]).compile(), []
    for rate, batch in zip(rates_of(spread.learner.schedule, len(batches)), batches, strict=True):
        state, metrics = step(state, jax.device_put(batch, spread.rows), rate, spread.learner.scales)
        found.append(float(metrics['loss']))
    return found


def main(path: str, mesh: str, overrides: list[str]) -> None:
    experiment = Experiment.of(load_config(path, overrides))
    split = experiment.data().prepare(cache_folder(), None).splits['train']
    rows = train_batches(split, experiment.batch_size, experiment.seed, 0, 0, 1)
    batches = [next(rows) for _ in range(STEPS)]
    one = losses(experiment, batches, {}, jax.devices()[:1])
    print(json.dumps([one, losses(experiment, batches, json.loads(mesh), jax.devices())]))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
