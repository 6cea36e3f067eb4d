# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent models of this folder's experiments, from the fixed context vector to attention, one word apart.

An experiment imports it from beside itself:

    config.model = recurrent(vocabulary, context, source_context, width, decoder=fixed(fed=False))
    config.model = recurrent(vocabulary, context, source_context, width, decoder=bahdanau(soft(additive(width))))
    config.model = recurrent(vocabulary, context, source_context, width, decoder=luong(soft(GENERAL)))

Sutskever et al. 2014, https://arxiv.org/abs/1409.3215 (no attention); Cho et al. 2014, https://arxiv.org/abs/1406.1078
(the context at every step); Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473; Luong et al. 2015,
https://arxiv.org/abs/1508.04025; Xu et al. 2015, https://arxiv.org/abs/1502.03044 (hard attention). Scores, attention
and decoders are swapped as a whole from the command line, as all parts are.
"""

from typing import Any

Spec = dict[str, Any]

DOT = dict(use='recurrent.dot:Dot')
GENERAL = dict(use='recurrent.general:General')

REINFORCE = dict(use='recurrent.reinforce:Reinforce', learned=True)
GUMBEL = dict(use='recurrent.gumbel:Gumbel', temperature=1.0)
STRAIGHT_THROUGH = dict(use='recurrent.straight_through:StraightThrough')


def additive(width: Any) -> Spec:
    """A score by a small network of a width."""
    return dict(use='recurrent.additive:Additive', width=width)


def soft(score: Spec) -> Spec:
    """Attention to all of the source."""
    return dict(use='recurrent.soft:Soft', score=score)


def hard(score: Spec, estimator: Spec) -> Spec:
    """Attention to one token of the source."""
    return dict(use='recurrent.hard:Hard', score=score, estimator=estimator)


def local_monotonic(score: Spec, reach: int) -> Spec:
    """Attention to the tokens around the one that stands where the next is written."""
    return dict(use='recurrent.local_monotonic:LocalMonotonic', score=score, reach=reach)


def local_predictive(score: Spec, reach: int) -> Spec:
    """Attention to the tokens around a place that each state predicts."""
    return dict(use='recurrent.local_predictive:LocalPredictive', score=score, reach=reach)


def fixed(fed: bool) -> Spec:
    """A decoder that knows one vector of the source: as its first state alone, or at every step."""
    return dict(use='recurrent.fixed_context:FixedContext', fed=fed)


def bahdanau(attention: Spec) -> Spec:
    """A decoder whose state looks before it reads a token."""
    return dict(use='recurrent.bahdanau:Bahdanau', attention=attention)


def luong(attention: Spec, input_feeding: bool = False) -> Spec:
    """A decoder whose state looks after it has read a token."""
    return dict(use='recurrent.luong:Luong', attention=attention, input_feeding=input_feeding)


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
