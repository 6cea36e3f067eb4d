# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over position schemes, with extrapolation to sequences longer than in training.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/position.py \
        --workdir=runs/position --jobs=2

Trained on 64 tokens, evaluated on 64, 128, 256 and 512 (Press et al. 2022, "Train Short, Test Long",
https://arxiv.org/abs/2108.12409). The table of learned positions has 512 rows, of which training reaches only
the first 64. Sinusoids have the paper's scale and the scale of the embeddings here, which start at 0.02.
"""

TOKENS, PAIRS = 'model.position', 'model.block.mixer.position'
NONE = dict(use='position.none:NoPosition')
LENGTHS = [64, 128, 256, 512]  # tokens
HEAD_WIDTH = 32


def get_sweep() -> dict:
    on_tokens = dict(
        learned=dict(use='position.learned:Learned', length=LENGTHS[-1]),
        sinusoid=dict(use='position.sinusoid:Sinusoid'),
        sinusoid_scaled=dict(use='position.sinusoid:Sinusoid', scale=0.02),
    )
    in_attention = dict(
        none=NONE,
        rotary=dict(use='position.rotary:Rotary'),
        rotary_half=dict(use='position.rotary:Rotary', share=0.5),
        xpos=dict(use='position.xpos:XPos'),
        alibi=dict(use='position.alibi:ALiBi'),
        relative_bias=dict(use='position.relative_bias:RelativeBias'),
        shaw=dict(use='position.shaw:Shaw', reach=16, head_width=HEAD_WIDTH),
        transformer_xl=dict(use='position.transformer_xl:TransformerXL', width=128, head_width=HEAD_WIDTH),
        cope=dict(use='position.cope:CoPE', counts=64, head_width=HEAD_WIDTH),
    )
    points = [{'name': name, TOKENS: part, PAIRS: NONE} for name, part in on_tokens.items()]
    points += [{'name': name, TOKENS: NONE, PAIRS: part} for name, part in in_attention.items()]
    return dict(runs=dict(list=[{**point, 'eval_lengths': LENGTHS} for point in points]), seeds=3)
