# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""UL2's mixture of denoisers, in small: an encoder-decoder that is told by a token how its text was corrupted.

    python launch/train.py --config=experiments/denoising/ul2.py --workdir=runs/ul2
    python launch/fill_mask.py --workdir=runs/ul2 --mode="[R]" --text="Return the [MASK] of the list."
    python launch/translate.py --workdir=runs/ul2 --mode="[S]" --text="Return the number of"

Tay et al. 2022, "UL2: Unifying Language Learning Paradigms", section 3.1 and table 1, https://arxiv.org/abs/2205.05131:
its seven denoisers, each as often as any other. R drops few and short spans, S all that follows a prefix, X much or in
long spans. Rows of its 512 tokens are `--config.data.context_length=512`. Data of pairs,
`data.pairs.parallel:Parallel`, tune a model so trained in one of its modes by their field `mode`.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.denoising.base import denoising, encoder_decoder, sequential, spans

MIXTURE = [
    spans(rate=0.15, mean=3.0, mode='[R]'),
    spans(rate=0.15, mean=8.0, mode='[R]'),
    sequential(least=0.0, most=0.5, mode='[S]'),  # a quarter on average
    spans(rate=0.5, mean=3.0, mode='[X]'),
    spans(rate=0.5, mean=8.0, mode='[X]'),
    spans(rate=0.15, mean=64.0, mode='[X]'),
    spans(rate=0.5, mean=64.0, mode='[X]'),
]


def get_config() -> ConfigDict:
    vocabulary, context_length = FieldReference(2048), FieldReference(256)
    model = encoder_decoder(vocabulary, context_length, width=128, heads=4, layers=3)
    return denoising(model, MIXTURE, vocabulary, context_length)
