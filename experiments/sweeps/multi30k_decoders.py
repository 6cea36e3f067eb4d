# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Translation of captions without attention, with Bahdanau's, and with Luong's.

    python launch/sweep.py --config=experiments/translation/multi30k_recurrent.py \
        --sweep=experiments/sweeps/multi30k_decoders.py --workdir=runs/m30k_decoders --config.data.path=DIR
"""

from saccade.experiments.sweeps.decoders import decoders, side_by_side


def get_sweep() -> dict:
    found = decoders(width=256, dropout=0.3)
    return side_by_side({name: found[name] for name in ('context_at_every_step', 'bahdanau', 'luong_fed')}, seeds=1)
