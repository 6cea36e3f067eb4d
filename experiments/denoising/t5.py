# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small T5 with span corruption: an encoder-decoder predicts 15% of the tokens, in spans of 3 on average.

    python launch/train.py --config=experiments/denoising/t5.py --workdir=runs/t5
    python launch/fill_mask.py --workdir=runs/t5 --text="Return the [MASK] of the list."

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 3.1.4,
https://arxiv.org/abs/1910.10683. `--config.task.denoisers.0.rate=0.5` changes the rate.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.denoising.base import denoising, encoder_decoder, spans


def get_config() -> ConfigDict:
    vocabulary, context_length = FieldReference(2048), FieldReference(128)
    model = encoder_decoder(vocabulary, context_length, width=128, heads=4, layers=3)
    return denoising(model, [spans(rate=0.15, mean=3.0)], vocabulary, context_length)
