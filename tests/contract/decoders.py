# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Small decoders with any mixer, for contracts of generation."""

import jax
import jax.numpy as jnp
import numpy as np
from discovery import D, mixing

from saccade.analysis.catalogue.catalogue import can
from saccade.build import build
from saccade.types import LayerContext, UserError

VOCABULARY = 40


def decoding(names):
    return [name for name in names if can(mixing()[name][0]).cached and can(mixing()[name][0]).causal]


def unless_refused(make):
    """What is made and no message, or None and the message of the refusal."""
    try:
        return make(), ''
    except UserError as refused:
        return None, str(refused)


def small(name, layers=2):
    """A decoder with this mixer, and weights with which its tokens vary."""
    norm = {'use': 'norm.rms:RMSNorm'}
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    block = {'use': 'block.pre_norm:PreNorm', 'norm': norm, 'mixer': mixing()[name][0], 'feedforward': feedforward}
    spec = {
        'use': 'model.decoder:Decoder', 'vocabulary': VOCABULARY, 'context_length': 32, 'width': D, 'layers': layers,
        'block': block, 'norm': norm, 'position': {'use': 'position.sinusoid:Sinusoid'},
    }  # fmt: skip
    model, tokens = build(spec)(), jnp.zeros((1, 4), jnp.int32)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, LayerContext(jnp.arange(4)[None]), False))
    random = np.random.default_rng(0)
    return model, jax.tree.map(
        lambda leaf: jnp.asarray(random.normal(leaf.ndim < 3, 0.5, leaf.shape), leaf.dtype), shapes['params']
    )
