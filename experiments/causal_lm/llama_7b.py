# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Llama 2 7B as published, 6,738,415,616 parameters, with weights sharded over all chips.

    python launch/preflight.py --config=experiments/causal_lm/llama_7b.py --topology=v5e:4x4

Touvron et al. 2023, https://arxiv.org/abs/2307.09288; optimizer, schedule, context and a batch of 4M tokens come from
its section 2, in microbatches of 16 rows, one per chip of a small slice (`--config.accumulate=4` on 256). Memory and
communication per chip are in experiments/RESULTS.md. The layers are scanned, with full rematerialisation. The default
corpus is only for trying it out; for training, use terabytes of your own text.
"""

from ml_collections import ConfigDict
from saccade.experiments.causal_lm import llama_tiny


def get_config() -> ConfigDict:
    config = llama_tiny.get_config()
    config.model.vocabulary = 32_000
    config.model.context_length = 4096
    config.model.width = 4096
    config.model.layers = 32
    config.model.block.mixer.heads = 32
    config.model.block.mixer.key_value_heads = 32
    config.model.block.mixer.kernel = dict(use='attention.auto:Auto', dropout=0.0)
    config.model.block.feedforward.ratio = 11_008 / 4096
    config.model.run = dict(use='model.stack:Scanned', remat='nothing_saveable')
    config.steps = 500_000
    config.batch_size = 1024
    config.accumulate = 64
    config.mesh = dict(data=1, fsdp=-1, expert=1, sequence=1, tensor=1)
    config.dtype = 'bfloat16'
    config.eval_every = 1000
    config.checkpoint_every = 1000
    config.schedule.update(peak=3e-4, floor=3e-5)
    config.schedule.warmup = 2000
    return config
