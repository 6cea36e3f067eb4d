# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Encoders for the tests of their tasks: one whose outputs are its parameters, and a small one that reads."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from saccade.build import build
from saccade.data.rows.frame import Frame

NORM = {'use': 'norm.layer:LayerNorm'}
POOLED = {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:mean'}}


class Known(nn.Module):
    """What its heads say is its parameters, whatever the tokens are: name -> shape."""

    heads: tuple[tuple[str, tuple[int, ...]], ...]
    vocabulary: int = 6
    context_length: int = 8
    reads: str = 'tokens'

    @nn.compact
    def __call__(self, tokens, context, train, at=None):
        assert tokens.shape == context.positions.shape == context.segments.shape == context.types.shape
        return {name: self.param(name, nn.initializers.normal(2.0), shape) for name, shape in self.heads}


def blank(rows, context_length):
    """What a batch has beside what is predicted of it."""
    return {name: jnp.zeros((rows, context_length), jnp.int32) for name in ('tokens', 'segments', 'positions', 'types')}


def framed(context_length, *texts):
    """A batch of rows of one text each; None is a row of padding."""
    frame = Frame.of_bert(context_length, opens=1, closes=2)
    rows = [frame.padding() if text is None else frame.row(text) for text in texts]
    return {name: jnp.array(np.stack([row[name] for row in rows])) for name in rows[0]}


def encoder(context_length, **heads):
    """A small encoder, whose weights do not depend on its context."""
    mixer = {
        'use': 'attention.multi_head:MultiHead',
        'heads': 2,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Full'},
        'position': {'use': 'position.rotary:Rotary'},
    }
    mlp = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    return build(
        {
            'use': 'model.encoder:Encoder',
            'vocabulary': 30,
            'context_length': context_length,
            'width': 16,
            'layers': 2,
            'types': 2,
            'block': {'use': 'block.pre_norm:PreNorm', 'norm': NORM, 'mixer': mixer, 'feedforward': mlp},
            'position': {'use': 'position.none:NoPosition'},
            'norm': NORM,
            'run': {'use': 'model.stack:Unrolled'},
            'heads': heads,
        }
    )()


def loss_of(task, model, params, batch, train=False):
    return jax.jit(lambda params: task.loss(model, params, batch, jax.random.key(0), train))(params)
