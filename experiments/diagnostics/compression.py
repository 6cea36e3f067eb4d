# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Compression: 31 symbols from an alphabet of 15, to be reconstructed from the last token of the row.

    python launch/train.py --config=experiments/diagnostics/compression.py --workdir=runs/compression

Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", section 3.1, https://arxiv.org/abs/2403.17844,
with the decoder of their code: a feed-forward network of two layers on the last token and the sinusoid of the position.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.diagnostics.base import ROTARY_ATTENTION, diagnostic, small_model


def get_config() -> ConfigDict:
    vocabulary = FieldReference(16)
    generator = dict(use='data.diagnostic.compression:Compression', symbols=vocabulary - 1)

    config = diagnostic(generator, steps=2000, context_length=32, vocabulary=vocabulary)
    config.task = dict(use='task.reconstruction:Reconstruction')
    config.model = small_model(ROTARY_ATTENTION) | dict(
        use='model.encoder:Encoder',
        vocabulary=vocabulary,
        context_length=config.data.get_ref('context_length'),
        heads=dict(
            reconstructed=dict(
                use='head.reconstructed:Reconstructed',
                classes=vocabulary,
                pool=dict(use='ops.pool:last'),
                position=dict(use='position.sinusoid:Sinusoid'),
                norm=dict(use='norm.rms:RMSNorm'),
                activation=dict(use='jax.nn:gelu'),
            )
        ),
    )
    return config
