# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Copying of 20 symbols with scheduled sampling: the decoder learns to continue its own mistakes.

    python launch/train.py --config=experiments/translation/scheduled_sampling.py --workdir=runs/sampled
    python launch/train.py --config=experiments/translation/scheduled_sampling.py --workdir=runs/forced \\
        --config.task.schedule=None --config.task.ratio=0.0

`own_loss` in the log is the loss after the model's own samples; own_loss - loss is the exposure bias. Linear and
exponential schedules are `task.scheduled_sampling:Linear` and `Exponential`. experiments/sweeps/scheduled_sampling.py
compares them, for this model and for a Transformer.
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import copying


def get_config() -> ConfigDict:
    config = copying.get_config()
    config.data.generator.doublings = False
    config.data.generator.shortest = config.data.generator.get_ref('longest')
    config.model.decoder.input_feeding = False
    config.task.use = 'task.scheduled_sampling:ScheduledSampling'
    config.task.ratio = 0.0
    config.task.schedule = dict(use='task.scheduled_sampling:InverseSigmoid', scale=100.0)
    return config
