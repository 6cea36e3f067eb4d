# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Default settings of runs: all fields of an experiment's config except task, data and model.

An experiment starts from these settings and changes some of them:

    config = settings(steps=1000)
    config.optimizer.weight_decay = 0.1
    config.task, config.data, config.model = dict(use=...), dict(use=...), dict(use=...)
"""

from ml_collections import ConfigDict, FieldReference


def settings(steps: int) -> ConfigDict:
    """Return the settings of a run of `steps` steps on all devices: Adam with warm-up and a cosine schedule."""
    steps = FieldReference(steps)

    config = ConfigDict()
    config.seed = 0
    config.steps = steps
    config.batch_size = 32
    config.log_every = 50
    config.eval_every = 500
    config.eval_batches = 0
    config.checkpoint_every = 500
    config.logging = []
    config.backend = 'jit'
    config.mesh = dict(data=-1, fsdp=1, expert=1, sequence=1, tensor=1)
    config.dtype = 'float32'
    config.accumulate = 1
    config.ema = 0.0
    config.init_from = ''
    config.adapt = None
    config.low_rank = None
    config.optimizer = dict(
        use='train.optimizer:Optimizer',
        rule=dict(use='optax:scale_by_adam', b1=0.9, b2=0.999),
        weight_decay=0.01,
        clip_norm=1.0,
        rates=None,
    )
    config.schedule = dict(use='train.schedule:Cosine', peak=1e-3, floor=0.0, warmup=steps // 10)
    return config
