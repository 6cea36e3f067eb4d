# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Small language models with random weights, large enough to make up their minds."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from saccade.build import build
from saccade.data.tokenizer import Byte, Tokenizer
from saccade.types import Scope

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
        'context': CONTEXT,
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


def make(spec: dict[str, Any]) -> tuple[Any, Any]:
    """Return a model and weights ten times as large as they are made, so that logits differ."""
    model = build(spec)()
    tokens = jnp.zeros((1, 4), jnp.int32)
    params = model.init(jax.random.key(0), tokens, Scope(jnp.arange(4)[None]), False)['params']
    return model, jax.tree.map(lambda leaf: 10 * leaf if leaf.ndim > 1 else leaf, params)


@pytest.fixture(scope='session')
def rotary() -> tuple[Any, Any]:
    return make(model_spec())


@pytest.fixture(scope='session')
def windowed() -> tuple[Any, Any]:
    """Its state holds ten tokens, fewer than the chunks that prompts are read by."""
    spec = model_spec()
    spec['block']['mixer']['mask'] = {'use': 'ops.mask:Window', 'left': 9}
    return make(spec)


@pytest.fixture(scope='session')
def learned() -> tuple[Any, Any]:
    return make(learned_spec())


@pytest.fixture(scope='session')
def counted() -> Any:
    """A model whose position scheme notes when it is traced and when it is run."""
    spec = model_spec(position={'use': 'counting_position:Counting'})
    return make(spec)


@pytest.fixture(scope='session')
def tokenizer() -> Tokenizer:
    return Byte().train([])
