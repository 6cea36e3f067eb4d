# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the diagnostics: two layers of width 64 on generated sequences; most train on the answers only.

Position schemes belong to the mixer, so a mixer that needs none has none.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.run_settings import settings

ROTARY_ATTENTION = dict(
    use='attention.multi_head:MultiHead',
    heads=2,
    kernel=dict(use='attention.plain:Plain'),
    mask=dict(use='ops.mask:Causal'),
    position=dict(use='position.rotary:Rotary'),
)


def diagnostic(
    generator: dict[str, Any],
    *,
    steps: int,
    context_length: int,
    vocabulary: int | FieldReference,
    shortest: int | None = None,
    mixer: dict[str, Any] = ROTARY_ATTENTION,
) -> ConfigDict:
    """Return a run on generated sequences.

    Args:
        context_length: tokens per row.
        vocabulary: size of the generator's vocabulary.
        shortest: minimum number of tokens per training row; None: all rows are full.
    """
    length = FieldReference(context_length)

    config = settings(steps=steps)
    config.batch_size = 64
    config.eval_every = 500
    config.eval_lengths = []
    config.task = dict(use='task.answering:Answering', label_smoothing=0.0)
    config.baseline = dict(use='task.answering:chance')
    config.data = dict(
        use='data.diagnostic.data:DiagnosticData', generator=generator, context_length=length, shortest=shortest
    )
    config.model = small_model(mixer) | dict(
        use='model.decoder:Decoder', vocabulary=vocabulary, context_length=length, tied=False
    )
    return config


def small_model(mixer: dict[str, Any]) -> dict[str, Any]:
    """Return the common fields of all models: two pre-norm layers of width 64, without positions."""
    norm = dict(use='norm.rms:RMSNorm')
    return dict(
        width=64,
        layers=2,
        position=dict(use='position.none:NoPosition'),
        norm=norm,
        run=dict(use='model.stack:Unrolled'),
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=mixer,
            feedforward=dict(use='feedforward.gated:Gated', activation=dict(use='jax.nn:silu'), ratio=2.0),
        ),
    )
