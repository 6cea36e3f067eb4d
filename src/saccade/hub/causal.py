# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of decoders, and of those with layer norms and two-layer MLPs: GPT-2, GPT-NeoX, OPT and Phi."""

import re
from collections.abc import Mapping
from typing import Any

from saccade.hub.encoder import Words, attention
from saccade.hub.family import Family, Head, Weight
from saccade.hub.heads import reading
from saccade.hub.template import Activation, Inner, Rate, Setting

_BERT = Words()
_NO_HEADS: dict[str, tuple[Head, ...]] = {}


def family(
    template: Mapping[str, Any],
    weights: tuple[Weight, ...],
    architecture: str,
    heads: Mapping[str, tuple[Head, ...]] = _NO_HEADS,
    base: str = '',
    **more: Any,
) -> Family:
    """Return a family of decoders, whose output layer may be stored next to the embedding that it is tied to.

    Args: template; weights; architecture, as 'Qwen2ForCausalLM'; heads, by architecture; base, the architecture without
        the output layer, if it is not like 'Qwen2Model'; more, other fields of `Family`.
    """
    theirs = {weight.ours[0]: weight.theirs for weight in weights}
    heads = {base or re.sub('(ForCausalLM|LMHeadModel)$', 'Model', architecture): (), **heads}
    fields = {'copies': {theirs['head']: theirs['embedding']}, 'trunks': dict.fromkeys(heads, reading(template))}
    return Family(template, weights, architecture=architecture, heads=heads, **{**fields, **more})


def template(norm: Any, block: Any, words: Words = _BERT, **others: Any) -> dict[str, Any]:
    """Template of a decoder. Args: norm, after the last layer; block; others, fields that differ."""
    return {
        'use': 'model.decoder:Decoder',
        'vocabulary': Setting('vocab_size', int),
        'context_length': Setting(words.length, int),
        'width': Setting(words.width, int),
        'layers': Setting(words.layers, int),
        'tied': Setting('tie_word_embeddings', bool, False),
        'position': {'use': 'position.none:NoPosition'},
        'norm': norm,
        'run': {'use': 'model.stack:Unrolled'},
        'block': block,
        **others,
    }


def parts(words: Words, norm: Mapping[str, Any], inner_bias: Any, **mixer: Any) -> dict[str, Any]:
    """Template of the parts of a block. Args: inner_bias, of the feed-forward layer; mixer, fields that differ."""
    return {
        'norm': norm,
        'mixer': attention(words, 'Causal') | mixer,
        'feedforward': {
            'use': 'feedforward.mlp:MLP',
            'activation': Activation(words.activation),
            'ratio': Inner(words.inner, words.width, default=4),
            'bias': inner_bias,
            'dropout': Rate(words.dropout),
        },
    }
