# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parts against the NumPy references of `references.py`, with random parameters, on packed and padded sequences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import references

from saccade.build import build
from saccade.ops.sigmoid_pairs import sigmoid_pairs
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle

F32_RELATIVE = 1e-5  # of the largest element
T, D, N = 21, 32, 2
RMS = {'use': 'norm.rms:RMSNorm'}
UNROTATED = {'position': {'use': 'position.none:NoPosition'}}
ATTENTION = {
    'use': 'attention.multi_head:MultiHead',
    'heads': N,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.rotary:Rotary'},
}
SHORT = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True, 'bias': False}
FORGET = {'terms': [{'use': 'score.forget_gate:ForgetGate'}]}
PATH = {'use': 'attention.path:PaTH', 'rank': 32, 'convolution': SHORT | {'size': 3}}
BLOCKS = {'block': 8, 'chosen': 2}
SPARSE = {'length': 4, 'stride': 4, 'block': 8, 'chosen': 3, 'window': 8}
WIDTHS = {'rank': 16, 'head_width': 32, 'value_width': 32, 'rotated_width': 16, 'norm': RMS}
KERNELS = {'query_size': 6, 'key_size': 11, 'after_query_size': 6, 'after_key_size': 11, 'after_mixed': N}


def recurrent(use, **fields):
    return {'use': f'attention.{use}', 'heads': N, **fields}


def plain(softmax, **fields):
    return {'kernel': {'use': 'attention.plain:Plain', 'softmax': {'use': f'softmax.{softmax}', **fields}}}


MIXERS = {
    'attention': (ATTENTION, references.attention),
    'forgetting': (ATTENTION | UNROTATED | FORGET, references.forgetting),
    'path': (ATTENTION | UNROTATED | PATH, references.path),
    'path with a forget gate': (ATTENTION | UNROTATED | PATH | FORGET, references.path_with_forget_gate),
    'selective': (ATTENTION | {'use': 'attention.selective:Selective'}, references.selective),
    'multi-token': (
        ATTENTION | {'use': 'attention.multi_token:MultiToken', 'output_norm': RMS, **KERNELS},
        references.multi_token,
    ),
    'moba': (ATTENTION | {'kernel': {'use': 'attention.moba:MoBA', **BLOCKS}}, partial(references.moba, **BLOCKS)),
    'native sparse': (
        ATTENTION | {'use': 'attention.native_sparse:NativeSparse', 'key_value_heads': 1, **SPARSE},
        partial(references.native_sparse, **SPARSE),
    ),
    'lightning indexer': (
        ATTENTION
        | {'use': 'attention.lightning_indexer:LightningIndexer', 'index_heads': 2, 'index_width': 16, 'chosen': 8},
        partial(references.lightning_indexer, chosen=8),
    ),
    'pooled indexer': (
        ATTENTION
        | {
            'use': 'attention.lightning_indexer:LightningIndexer',
            'index_heads': 2,
            'index_width': 16,
            'chosen': 6,
            'pool': 3,
        },
        partial(references.lightning_indexer, chosen=6, pool=3),
    ),
    'tensor product': (
        ATTENTION | {'use': 'attention.tensor_product:TensorProduct', 'query_rank': 6, 'key_rank': 2, 'value_rank': 2},
        references.tensor_product,
    ),
    'grouped tied': (
        ATTENTION | {'use': 'attention.grouped_tied:GroupedTied', 'key_value_heads': 1, 'rotated_width': 16},
        partial(references.grouped_tied, rotated_width=16),
    ),
    'grouped latent': (
        ATTENTION | {'use': 'attention.grouped_latent:GroupedLatent', 'latents': 2, **WIDTHS},
        references.grouped_latent,
    ),
    'normalized heads': (
        ATTENTION | {'use': 'attention.normalized_heads:NormalizedHeads'},
        references.normalized_heads,
    ),
    'entmax': (ATTENTION | plain('entmax:Entmax', alpha=1.5), references.entmax),
    'scalable softmax': (ATTENTION | plain('scalable:Scalable', length=16), references.scalable_softmax),
    'cope': (
        ATTENTION | {'position': {'use': 'position.cope:CoPE', 'counts': 8, 'head_width': 16}},
        references.cope,
    ),
    'xpos': (ATTENTION | {'position': {'use': 'position.xpos:XPos'}}, references.xpos),
    'gated linear': (recurrent('gated_linear:GatedLinear'), references.gated_linear),
    'hgrn2': (recurrent('hgrn2:HGRN2'), references.hgrn2),
    'mamba2': (recurrent('mamba2:Mamba2', convolution=SHORT | {'bias': True}), references.mamba2),
    'mlstm': (recurrent('mlstm:MLSTM', gate_cap=15.0), partial(references.mlstm, cap=15.0)),
    'kimi delta': (
        recurrent('kimi_delta:KimiDelta', convolution=SHORT, decay_rank=8, gate_rank=8),
        references.kimi_delta,
    ),
    'delta product': (
        recurrent('delta_product:DeltaProduct', updates=3, convolution=SHORT),
        partial(references.delta_product, updates=3),
    ),
    'rwkv7': (
        recurrent('rwkv7:RWKV7', decay_rank=16, rate_rank=16, gate_rank=32, value_rank=None),
        references.rwkv7,
    ),
}
BLOCKS_OF_LAYERS = {
    'attention residuals': (
        {'use': 'block.attention_residuals:AttentionResiduals'},
        references.attention_residuals,
    ),
    'manifold hyper-connections': (
        {'use': 'block.manifold_hyper_connections:ManifoldHyperConnections', 'streams': 3, 'dynamic': True},
        partial(references.manifold_hyper_connections, streams=3),
    ),
    'dense former': ({'use': 'block.dense_former:DenseFormer'}, references.dense_former),
    'normalized residual': (
        {'use': 'block.normalized_residual:NormalizedResidual', 'norm': {'use': 'norm.none:NoNorm'}},
        references.normalized_residual,
    ),
}


def normal(shape, seed):
    return jnp.array(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def drawn(module, *inputs):
    """Parameters of which none is the zero or the one that it starts from, in float32 and in float64."""
    random = np.random.default_rng(3)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), *inputs))['params']
    params = jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.35), leaf.dtype), shapes)
    return params, in_double(params)


def in_double(tree):
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), tree)


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.parametrize('name', MIXERS)
def test_a_mixer_is_its_reference(name):
    spec, reference = MIXERS[name]
    module, x = build(spec)(), normal((2, T, D), 11)
    segments = np.array([[1] * 9 + [2] * 12, [0] * 2 + [3] * 18 + [0]])
    positions = np.array([[*range(9), *range(12)], [0, 0, *range(18), 0]])
    context = LayerContext(jnp.array(positions), jnp.array(segments))
    params, exact = drawn(module, x, context, False)
    found = jax.jit(lambda params: module.apply({'params': params}, x, context, False))(params)
    for segment in (1, 2, 3):
        assert_near(found[segments == segment], reference(in_double(x)[segments == segment], exact))


@pytest.mark.parametrize('name', BLOCKS_OF_LAYERS)
def test_a_block_is_its_reference(name):
    block, reference = BLOCKS_OF_LAYERS[name]
    feedforward = {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:silu'}, 'ratio': 2.0}
    model = {
        'use': 'model.decoder:Decoder', 'vocabulary': 11, 'context_length': 16, 'width': D, 'layers': 3, 'tied': False,
        'position': UNROTATED['position'], 'norm': RMS, 'run': {'use': 'model.stack:Unrolled'},
        'block': {'mixer': ATTENTION, 'feedforward': feedforward, 'norm': RMS, **block},
    }  # fmt: skip
    module, tokens = build(model)(), jnp.array(np.random.default_rng(4).integers(0, 11, (2, 9)))
    context = LayerContext(jnp.tile(jnp.arange(9), (2, 1)))
    params, exact = drawn(module, tokens, context, False)
    found = jax.jit(lambda params: module.apply({'params': params}, tokens, context, False))(params)
    for row in range(2):
        assert_near(found[row], reference(exact['embedding'][np.asarray(tokens[row])], exact))


def test_sigmoid_pairs_are_their_reference():
    texts, images = (references.unit(in_double(normal((6, 5), seed))) for seed in (1, 2))
    given = [jnp.array(x, jnp.float32) for x in (texts, images)]
    found, _ = sigmoid_pairs(*given, (jnp.float32(8.0), jnp.float32(-3.0)), jnp.ones(6), None, 2)
    assert_near(found, references.sigmoid_pair_losses(texts, images, scale=8.0, bias=-3.0))


def test_patches_are_their_reference():
    module, images = build({'use': 'embed.patch:PatchEmbedding', 'patch': 4})(), normal((2, 8, 12, 3), 5)
    context = LayerContext(jnp.zeros((2, 1), jnp.int32))
    params, exact = drawn(module, images, context, 7, None)
    found = module.apply({'params': params}, images, context, 7, None)[0]
    assert_near(found, references.patches(in_double(images), exact))
