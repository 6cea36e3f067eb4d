# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""UL2's mixture of denoisers for a prefix LM: source and target share one row, and the loss covers the target only.

    python launch/train.py --config=experiments/denoising/ul2_decoder.py --workdir=runs/ul2-decoder
    python launch/translate.py --workdir=runs/ul2-decoder --mode="[S]" --text="Return the number of"

Tay et al. 2022, section 3.2, https://arxiv.org/abs/2205.05131. Attention in the source is bidirectional; for a causal
mask use `--config.model.decoder.block.mixer.mask="{'use': 'ops.mask:Causal'}"`. Other settings are as in ul2.py.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.denoising import ul2
from saccade.experiments.denoising.base import denoising, one_decoder


def get_config() -> ConfigDict:
    vocabulary, context_length = FieldReference(2048), FieldReference(256)
    model = one_decoder(vocabulary, context_length, width=128, heads=4, layers=4)
    return denoising(model, ul2.MIXTURE, vocabulary, context_length)
