# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the recurrent translation experiments: a recurrent encoder with any decoder.

An experiment imports it with `from .recurrent import ...`; experiments/sweeps/decoders.py has all decoders.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference


def by_bahdanau(config: ConfigDict, width: int, dropout: float) -> ConfigDict:
    """Return the experiment with an LSTM and Bahdanau's attention instead of its Transformer."""
    width = FieldReference(width)
    attention = dict(
        use='recurrent.decoder.soft:Soft', score=dict(use='recurrent.score.additive:Additive', width=width)
    )
    config.model = recurrent(
        vocabulary=config.model.decoder.get_ref('vocabulary'),
        context_length=config.data.get_ref('context_length'),
        source_context_length=config.data.get_ref('source_context_length'),
        width=width,
        decoder=dict(use='recurrent.decoder.bahdanau:Bahdanau', attention=attention),
        dropout=dropout,
    )
    return config


def recurrent(
    vocabulary: Any,
    context_length: Any,
    source_context_length: Any,
    width: Any,
    decoder: dict[str, Any],
    layers: int = 1,
    dropout: float = 0.2,
    cell: str = 'recurrent.cell.lstm:LSTM',
) -> dict[str, Any]:
    """Return a model of one width throughout: a bidirectional encoder, and a decoder tied to the embedding."""
    cells = dict(cell=dict(use=cell, width=width), layers=layers, dropout=dropout)
    return dict(
        use='model.recurrent_seq2seq:RecurrentSeq2Seq',
        vocabulary=vocabulary,
        context_length=context_length,
        source_context_length=source_context_length,
        width=width,
        encoder=dict(use='recurrent.encoder:Encoder', bidirectional=True, **cells),
        bridge=dict(use='recurrent.decoder.projected:Projected'),
        decoder=decoder | cells,
        tied=True,
        dropout=dropout,
    )
