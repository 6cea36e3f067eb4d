# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Sweep over pooling of a text: the first token, [CLS], the mean over tokens, or the maximum.

    python launch/sweep.py --config=experiments/finetune/classify.py --sweep=experiments/sweeps/pooling.py \
        --workdir=runs/pooling --jobs=2 --config.data.path=FILE --config.data.text=0 --config.data.label=1

Devlin et al. 2019, "BERT", read [CLS]; Reimers, Gurevych 2019, "Sentence-BERT", table 6, https://arxiv.org/abs/1908.10084,
found the mean best and the maximum worst for comparing embeddings. `--config.init_from=runs/bert` uses a pretrained
encoder.
"""


def get_sweep() -> dict:
    pools = [dict(use=f'ops.pool:{pool}') for pool in ('first', 'mean', 'maximum')]
    return dict(runs=dict(grid={'model.heads.pooled.pool': pools}), seeds=3)
