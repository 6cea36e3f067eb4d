# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Heads of BERT-like encoders, from their names to ours: 'masked', 'pooled', 'tokens'."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.hub.encoder import Words, affine, layer_norm, norm
from saccade.hub.family import Head, Weight
from saccade.hub.setting import ACTIVATIONS, read, read_activation, require

Setting = Callable[[Mapping[str, Any]], Any]  # a value, read from their config.json


@dataclass(frozen=True)
class Output:
    """Output layer of theirs: its name, how many classes it scores, and the dropout of its input."""

    name: str
    classes: Setting
    dropout: Setting = lambda config: 0.0


def hidden_activation(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of the activation that the layers have.

    Raises:
        UserError: the setting is missing, or cannot be represented.
    """
    return read_activation(config, Words.activation)


def always(name: str) -> Setting:
    """Return the activation of this name, whatever the layers have."""
    return lambda config: dict(ACTIVATIONS[name])


exact_gelu = always('gelu')
_TANH = always('tanh')


def labels(config: Mapping[str, Any]) -> int:
    """How many classes there are; config.json need not say it of two."""
    return len(read(config, 'id2label', dict, {})) or read(config, 'num_labels', int, 2)


def two(config: Mapping[str, Any]) -> int:
    """Of a pair of texts: it is one, or it is not. Of a token: the answer starts there, it stops there."""
    return 2


def rate(key: str) -> Setting:
    """The dropout under a key."""
    return lambda config: read(config, key, float)


def classifier_dropout(config: Mapping[str, Any]) -> float:
    """Return the dropout rate before a classifier; without one of its own it is that of the layers.

    Raises:
        UserError: a setting is missing, or is no number that is finite and at least 0.
    """
    return read(config, 'classifier_dropout', float, read(config, Words.dropout, float))


def masked(hidden: str, normed: str, output: str, function: Setting = hidden_activation) -> Head:
    """The head 'masked', by their names of its layers; the output layer's kernel is the embedding."""

    def spec(config: Mapping[str, Any]) -> dict[str, Any]:
        require(config, 'tie_word_embeddings', True)
        return {'use': 'head.masked:Masked', 'activation': function(config), 'norm': layer_norm(config)}

    bias = Weight(f'{output}.bias', 'V -> V', ('masked_head/bias',))
    return Head('masked', spec, (*affine(hidden, 'masked_head/hidden'), *norm(normed, 'masked_head/norm'), bias))


def pooled(hidden: str, output: Output | None = None, function: Setting = _TANH) -> Head:
    """The head 'pooled' of the first token, by their names of its layers; without an output it ends in the hidden one.

    RoBERTa and ELECTRA, in training, also drop out what the hidden layer reads; ours does not.
    """

    def spec(config: Mapping[str, Any]) -> dict[str, Any]:
        pool = {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:first'}, 'activation': function(config)}
        return pool | ({'classes': None} if output is None else _scores(output, config))

    outputs = () if output is None else affine(output.name, 'pooled_head/output')
    return Head('pooled', spec, (*affine(hidden, 'pooled_head/hidden'), *outputs))


def each_token(output: Output) -> Head:
    """The head 'tokens', of an output layer alone."""

    def spec(config: Mapping[str, Any]) -> dict[str, Any]:
        return {'use': 'head.each_token:EachToken', **_scores(output, config)}

    return Head('tokens', spec, affine(output.name, 'tokens_head/output'))


def _scores(output: Output, config: Mapping[str, Any]) -> dict[str, Any]:
    return {'classes': output.classes(config), 'dropout': output.dropout(config)}
