# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small UL2: an encoder-decoder on a mixture of denoisers, with mode tokens.

    python launch/train.py --config=experiments/denoising/ul2.py --workdir=runs/ul2
    python launch/fill_mask.py --workdir=runs/ul2 --mode="[R]" --text="Return the [MASK] of the list."
    python launch/translate.py --workdir=runs/ul2 --mode="[S]" --text="Return the number of"

Tay et al. 2022, "UL2: Unifying Language Learning Paradigms", section 3.1 and table 1, https://arxiv.org/abs/2205.05131:
its seven denoisers with equal probability. R drops few, short spans, S everything after a prefix, X many tokens or long
spans. Its rows of 512 tokens are `--config.data.context_length=512`. To fine-tune a trained model on pairs in one of
its modes, set the field `mode` of `data.pairs.parallel:Parallel`.
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
