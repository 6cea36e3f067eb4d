# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Small language models and encoders with random weights, large enough to make up their minds."""

from typing import Any

import jax
import jax.numpy as jnp

from saccade.build import build
from saccade.types import LayerContext

CONTEXT = 200
WIDTH = 16


def model_spec(**changes: Any) -> dict[str, Any]:
    norm = {'use': 'norm.rms:RMSNorm'}
    mixer = {
        'use': 'attention.multi_head:MultiHead',
        'heads': 4,
        'key_value_heads': 2,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'position': {'use': 'position.rotary:Rotary'},
    }
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}, 'ratio': 2.0}
    block = {'use': 'block.pre_norm:PreNorm', 'norm': norm, 'mixer': mixer, 'feedforward': feedforward}
    spec = {
        'use': 'model.decoder:Decoder',
        'vocabulary': 257,
        'context_length': CONTEXT,
        'width': WIDTH,
        'layers': 2,
        'tied': False,
        'block': block,
        'position': {'use': 'position.none:NoPosition'},
        'norm': norm,
        'run': {'use': 'model.stack:Unrolled'},
    }
    return {**spec, **changes}


def learned_spec() -> dict[str, Any]:
    spec = model_spec(position={'use': 'position.learned:Learned', 'length': CONTEXT}, tied=True)
    spec['block']['mixer']['position'] = {'use': 'position.none:NoPosition'}
    return spec


def encoder_spec(**changes: Any) -> dict[str, Any]:
    """Every token sees every other, and the head predicts tokens."""
    spec = model_spec(use='model.encoder:Encoder', vocabulary=40, context_length=32, types=2)
    del spec['tied']
    spec['block']['mixer']['mask'] = {'use': 'ops.mask:Full'}
    masked = {'use': 'head.masked:Masked', 'activation': {'use': 'jax.nn:gelu'}, 'norm': {'use': 'norm.rms:RMSNorm'}}
    return {**spec, 'heads': {'masked': masked}, **changes}


def make(spec: dict[str, Any]) -> tuple[Any, Any]:
    """Return a model and weights ten times as large as they are made, so that logits differ."""
    model = build(spec)()
    tokens = jnp.zeros((1, 4), jnp.int32)
    params = model.init(jax.random.key(0), tokens, LayerContext(jnp.arange(4)[None]), False)['params']
    return model, jax.tree.map(lambda leaf: 10 * leaf if leaf.ndim > 1 else leaf, params)
