# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Print the losses of an experiment's first steps on one device, on a mesh of all of them, and under `pmap`."""

import json
import sys

import jax
from meshes import STEPS, losses

from saccade.data.pipeline import train_batches
from saccade.train.backend import PmapBackend
from saccade.train.config import load_config
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.extension_schedule import rates_of
from saccade.train.mesh import make_mesh
from saccade.train.setup import learner_on


def replicated(experiment, batches):
    """The loss of each step under `pmap`."""
    backend = PmapBackend(learner_on(make_mesh({}, jax.devices()[:1]), experiment), batches[:1], {})
    state, found = backend.init(experiment.seed), []
    for rate, batch in zip(rates_of(backend.learner.schedule, len(batches)), batches, strict=True):
        state, metrics = backend.train_step(state, backend.place(batch), rate)
        found.append(float(backend.host(metrics)['loss']))
    return found


def main(path, overrides):
    experiment = Experiment.of(load_config(path, overrides))
    split = experiment.data().prepare(cache_folder(), None).splits['train']
    rows = train_batches(split, experiment.batch_size, experiment.seed, 0)
    batches = [next(rows) for _ in range(STEPS)]
    on_one = losses(experiment, batches, {}, jax.devices()[:1])
    print(
        json.dumps([on_one, losses(experiment, batches, {'data': 8}, jax.devices()), replicated(experiment, batches)])
    )


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
