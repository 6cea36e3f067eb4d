# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which position scheme: added to the tokens, inside attention, or none?

    python launch/sweep.py --config=experiments/causal_lm/quickstart.py --sweep=experiments/sweeps/position.py \
        --workdir=runs/position --jobs=2
"""

TOKENS, PAIRS = 'model.position', 'model.block.mixer.position'
NONE = dict(use='position.none:NoPosition')
CONTEXT = 128  # tokens, of the quickstart: what a learned table has rows for


def get_sweep() -> dict:
    on_tokens = dict(
        learned=dict(use='position.learned:Learned', length=CONTEXT),
        sinusoid=dict(use='position.sinusoid:Sinusoid'),
    )
    in_attention = dict(
        none=NONE,
        rotary=dict(use='position.rotary:Rotary'),
        relative_bias=dict(use='position.relative_bias:RelativeBias'),
    )
    points = [{'name': name, TOKENS: part, PAIRS: NONE} for name, part in on_tokens.items()]
    points += [{'name': name, TOKENS: NONE, PAIRS: part} for name, part in in_attention.items()]
    return dict(runs=dict(list=points), seeds=3)
