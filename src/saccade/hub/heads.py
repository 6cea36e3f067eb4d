# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Heads of BERT-like encoders, mapped to our heads 'masked', 'pooled' and 'tokens'."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.hub.encoder import Words, affine, layer_norm, norm
from saccade.hub.family import Head, Weight
from saccade.hub.setting import ACTIVATIONS, read, read_activation, require

Setting = Callable[[Mapping[str, Any]], Any]  # reads a value from a config.json


@dataclass(frozen=True)
class Output:
    """Output layer: name of its tensors, number of classes, and dropout rate of its input."""

    name: str
    classes: Setting
    dropout: Setting = lambda config: 0.0


def hidden_activation(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of the layers' activation.

    Raises:
        UserError: the setting is missing or not supported.
    """
    return read_activation(config, Words.activation)


def always(name: str) -> Setting:
    """Return a setting with a constant value: the activation of this name."""
    return lambda config: dict(ACTIVATIONS[name])


exact_gelu = always('gelu')
_TANH = always('tanh')


def labels(config: Mapping[str, Any]) -> int:
    """Return the number of classes; 2 where config.json omits it."""
    return len(read(config, 'id2label', dict, {})) or read(config, 'num_labels', int, 2)


def two(config: Mapping[str, Any]) -> int:
    """Return 2, the outputs of a pair classifier (related, unrelated), and of span question answering (start, stop)."""
    return 2


def rate(key: str) -> Setting:
    """Return a setting that reads a dropout rate by its key."""
    return lambda config: read(config, key, float)


def classifier_dropout(config: Mapping[str, Any]) -> float:
    """Return the dropout rate of a classifier's input; by default the dropout rate of the layers.

    Raises:
        UserError: a setting is missing, or is not a finite number of at least 0.
    """
    return read(config, 'classifier_dropout', float, read(config, Words.dropout, float))


def masked(hidden: str, normed: str, output: str, function: Setting = hidden_activation) -> Head:
    """Return the head 'masked', from the names of its layers; the output kernel is the embedding."""

    def spec(config: Mapping[str, Any]) -> dict[str, Any]:
        require(config, 'tie_word_embeddings', True)
        return {'use': 'head.masked:Masked', 'activation': function(config), 'norm': layer_norm(config)}

    bias = Weight(f'{output}.bias', 'V -> V', ('masked_head/bias',))
    return Head('masked', spec, (*affine(hidden, 'masked_head/hidden'), *norm(normed, 'masked_head/norm'), bias))


def pooled(hidden: str, output: Output | None = None, function: Setting = _TANH) -> Head:
    """Return the head 'pooled' of the first token, from the names of its layers; without `output` it has no classifier.

    In training, RoBERTa and ELECTRA also apply dropout to the input of the hidden layer; ours does not.
    """

    def spec(config: Mapping[str, Any]) -> dict[str, Any]:
        pool = {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:first'}, 'activation': function(config)}
        return pool | ({'classes': None} if output is None else _scores(output, config))

    outputs = () if output is None else affine(output.name, 'pooled_head/output')
    return Head('pooled', spec, (*affine(hidden, 'pooled_head/hidden'), *outputs))


def each_token(output: Output) -> Head:
    """Return the head 'tokens': only an output layer."""

    def spec(config: Mapping[str, Any]) -> dict[str, Any]:
        return {'use': 'head.each_token:EachToken', **_scores(output, config)}

    return Head('tokens', spec, affine(output.name, 'tokens_head/output'))


def _scores(output: Output, config: Mapping[str, Any]) -> dict[str, Any]:
    return {'classes': output.classes(config), 'dropout': output.dropout(config)}
