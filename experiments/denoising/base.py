# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the denoising experiments: T5's layers in any size, and the denoising task.

An experiment imports it with `from .base import ...` and defines the model and its denoisers. By default it trains on
the documentation of the Python that runs it: nothing is downloaded. Sizes are references shared by model and data.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.run_settings import settings

SENTINELS = 100  # as in T5
CAUSAL, FULL = dict(use='ops.mask:Causal'), dict(use='ops.mask:Full')
PREFIX = dict(use='ops.mask:CausalAfterPrefix')
NORM = dict(use='norm.rms:RMSNorm')
NO_POSITION = dict(use='position.none:NoPosition')


def spans(rate: float, mean: float, mode: str | None = None) -> dict[str, Any]:
    """Return span corruption with a mean span length in tokens: UL2's R, or its X for high rates or long spans."""
    return dict(use='ops.denoising:Spans', rate=rate, mean=mean, mode=mode, weight=1.0)


def sequential(least: float, most: float, mode: str | None = None) -> dict[str, Any]:
    """Return UL2's S denoiser: the target is the row after a prefix; `least` and `most` bound the share dropped."""
    return dict(use='ops.denoising:Sequential', least=least, most=most, mode=mode, weight=1.0)


def encoder_decoder(vocabulary: Any, context_length: Any, width: Any, heads: Any, layers: Any) -> dict[str, Any]:
    """Return a small T5 version 1.1 for rows of `context_length` tokens: Shazeer 2020, https://arxiv.org/abs/2002.05202."""
    width, heads, layers = map(FieldReference, (width, heads, layers))
    reads = _block(_attention(FULL, heads))
    writes = dict(_block(_attention(CAUSAL, heads)), cross=_attention(FULL, heads))
    common = dict(
        vocabulary=vocabulary, context_length=context_length + 2, width=width, layers=layers, dropout=0.0, norm=NORM
    )
    tower = dict(common, position=NO_POSITION, run=dict(use='model.stack:Unrolled'))
    return dict(
        use='model.encoder_decoder:EncoderDecoder',
        shared_embedding=True,
        encoder=dict(use='model.encoder:Encoder', block=reads, shared=_table(both_sides=True), **tower),
        decoder=dict(use='model.decoder:Decoder', block=writes, shared=_table(both_sides=False), tied=True, **tower),
    )


def one_decoder(vocabulary: Any, context_length: Any, width: Any, heads: Any, layers: Any) -> dict[str, Any]:
    """Return a prefix LM: source and target share one row, and the source attends in both directions."""
    block = _block(_attention(PREFIX, heads, position=dict(use='position.rotary:Rotary')))
    return dict(
        use='model.prefix_decoder:PrefixDecoder',
        source_context_length=context_length + 2,
        decoder=dict(
            use='model.decoder:Decoder',
            vocabulary=vocabulary,
            context_length=2 * context_length + 4,
            width=width,
            layers=layers,
            dropout=0.0,
            block=block,
            norm=NORM,
            position=NO_POSITION,
            run=dict(use='model.stack:Unrolled'),
            shared=None,
            tied=True,
        ),
    )


def denoising(
    model: dict[str, Any], denoisers: list[dict[str, Any]], vocabulary: Any, context_length: Any
) -> ConfigDict:
    """Return an experiment with this model; each row is corrupted by one of the denoisers.

    Args:
        context_length: length of a row in tokens, before corruption.
    """
    modes = list(dict.fromkeys(each['mode'] for each in denoisers if each['mode'] is not None))

    config = settings(steps=3000)
    config.batch_size = 16
    config.eval_batches = 20
    config.task = dict(use='task.denoising:Denoising', denoisers=denoisers, label_smoothing=0.0)
    config.data = dict(
        use='data.text.marked:MarkedText',
        name='pydocs',
        path=placeholder(str),
        context_length=context_length,
        pack=dict(use='data.rows.pack:Windows'),  # one stream, cut into rows of one length, as in T5
        tokenizer=dict(
            use='data.tokenizer.bpe:BPE',
            vocabulary=vocabulary,
            specials=[*(f'<extra_id_{number}>' for number in range(SENTINELS)), *modes],
        ),
        sentinels=SENTINELS,
        modes=modes,
        start=None,
    )
    config.model = model
    config.optimizer.rule.b2 = 0.98
    config.schedule.update(peak=2e-3, floor=2e-4)
    config.sample = dict(
        use='decode.gaps:GapsFilled',
        text='Return the [MASK] of the list. If the argument is [MASK], an exception is raised.',
        mode=modes[0] if modes else None,
        start=None,
    )
    return config


def _block(mixer: dict[str, Any]) -> dict[str, Any]:
    """Return a layer of T5 version 1.1: RMS pre-norm, gated GELU, no biases."""
    gelu = dict(use='jax.nn:gelu', approximate=True)
    feedforward = dict(use='feedforward.gated:Gated', activation=gelu, ratio=8 / 3)
    return dict(use='block.pre_norm:PreNorm', norm=NORM, mixer=mixer, feedforward=feedforward)


def _attention(mask: dict[str, Any], heads: Any, position: dict[str, Any] = NO_POSITION) -> dict[str, Any]:
    kernel = dict(use='attention.plain:Plain')
    return dict(use='attention.multi_head:MultiHead', heads=heads, kernel=kernel, mask=mask, position=position)


def _table(both_sides: bool) -> dict[str, Any]:
    return dict(use='position.relative_bias:RelativeBias', buckets=32, furthest=128, both_sides=both_sides)
