# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent models of this folder's experiments, from the fixed context vector to attention, one word apart.

Sutskever et al. 2014, https://arxiv.org/abs/1409.3215 (no attention); Cho et al. 2014, https://arxiv.org/abs/1406.1078
(the context at every step); Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473; Luong et al. 2015,
https://arxiv.org/abs/1508.04025. An experiment imports it from beside itself:

    config.model = recurrent(vocabulary, context, source_context, width=256, decoder=bahdanau(width=256))

From the command line a decoder is swapped as a whole, as every part is.
"""

from typing import Any


def soft(score: dict[str, Any]) -> dict[str, Any]:
    """Attention to all of the source."""
    return dict(use='recurrent.soft:Soft', score=score)


def fixed(fed: bool) -> dict[str, Any]:
    """A decoder that knows one vector of the source: as its first state alone, or at every step."""
    return dict(use='recurrent.fixed_context:FixedContext', fed=fed)


def bahdanau(width: Any) -> dict[str, Any]:
    """A decoder whose state looks before it reads a token; the network of its score is of a width."""
    return dict(use='recurrent.bahdanau:Bahdanau', attention=soft(dict(use='recurrent.additive:Additive', width=width)))


def luong(input_feeding: bool) -> dict[str, Any]:
    """A decoder whose state looks after it has read a token."""
    return dict(
        use='recurrent.luong:Luong', attention=soft(dict(use='recurrent.general:General')), input_feeding=input_feeding
    )


def recurrent(
    vocabulary: Any,
    context: Any,
    source_context: Any,
    width: Any,
    decoder: dict[str, Any],
    layers: int = 1,
    dropout: float = 0.2,
    cell: str = 'recurrent.lstm:LSTM',
) -> dict[str, Any]:
    """Return a model of one width throughout: an encoder of two directions, and a decoder as tied to the embedding."""
    cells = dict(cell=dict(use=cell, width=width), layers=layers, dropout=dropout)
    return dict(
        use='model.recurrent_seq2seq:RecurrentSeq2Seq',
        vocabulary=vocabulary,
        context=context,
        source_context=source_context,
        width=width,
        encoder=dict(use='recurrent.encoder:Encoder', bidirectional=True, **cells),
        bridge=dict(use='recurrent.projected:Projected'),
        decoder=decoder | cells,
        tied=True,
        dropout=dropout,
    )
