# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small RWKV-7: alternating layers of time mixing and channel mixing, without attention or positions.

    python launch/train.py --config=experiments/causal_lm/rwkv7_tiny.py --workdir=runs/rwkv7

Peng et al. 2025, "RWKV-7 Goose with Expressive Dynamic State Evolution", section 4, https://arxiv.org/abs/2503.14456.
Layers after the first mix its values into their own. A layer of RWKV-7 is two layers here: 12 are 24. The decoding
state has a fixed size, plus the previous token. The authors initialise output kernels with zeros, and do not decay the
low-rank kernels. RWKV-7 World 0.1B, with 191,034,624 parameters, is

    --config.model.vocabulary=65536 --config.model.context_length=4096 --config.model.width=768 \\
    --config.model.layers=24 --config.model.block.0.mixer.heads=12 --config.model.block.0.mixer.decay_rank=64 \\
    --config.model.block.0.mixer.rate_rank=64 --config.model.block.0.mixer.gate_rank=128 \\
    --config.model.block.0.mixer.value_rank=32
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NORMAL, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(8), FieldReference(1024), FieldReference(128)
    heads, decay_rank, rate_rank, gate_rank = (FieldReference(size) for size in (4, 16, 16, 32))
    norm = dict(use='norm.layer:LayerNorm', epsilon=1e-5)

    def block(mixer: dict) -> dict:
        return dict(use='block.pre_norm:PreNorm', norm=norm, mixer=mixer | starts(layers), feedforward=None)

    def time_mixing(value_rank: int | None) -> dict:
        return block(
            dict(
                use='attention.rwkv7:RWKV7',
                heads=heads,
                decay_rank=decay_rank,
                rate_rank=rate_rank,
                gate_rank=gate_rank,
                value_rank=value_rank,
                chunk=32,
                head_norm=None,
                merged_norm=dict(use='norm.group:GroupNorm', groups=heads, epsilon=64e-5),
            )
        )

    channel_mixing = block(dict(use='recurrent.mixer.channel_mixing:ChannelMixing', ratio=4.0, gate=None))
    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=False,
        head_init=NORMAL,
        embedding_norm=norm,
        norm=norm,
        first_blocks=[time_mixing(None), channel_mixing],
        block=[time_mixing(16), channel_mixing],
    )
