# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Lightning indexers against `transformers`, on its weights: the keys that they choose, and layers that share them.

The weights of the tokens of a block, which GLM-5.3-Flash trains, are zero as at its start: a block's key is the mean.
"""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle
torch = pytest.importorskip('torch')
pytest.importorskip('transformers')

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, WIDTH = 3, 23, 12, 5
M = 12  # so many heads that no two scores of a query are both zero


@pytest.mark.oracle_of('attention.lightning_indexer:LightningIndexer', by='transformers, GLM-5.3-Flash')
@pytest.mark.parametrize(('pool', 'chosen'), [(1, 4), (2, 6), (3, 3), (4, 8)])
def test_a_pooled_indexer_chooses_the_keys_that_glm_next_does(pool, chosen):
    """Rows begin with padding of several lengths, before the first block."""
    from transformers.models.glm5_next.modeling_glm5_next import Glm5NextTextIndexer

    config = SimpleNamespace(
        hidden_size=D,
        index_n_heads=M,
        index_head_dim=WIDTH,
        qk_rope_head_dim=0,
        index_topk=chosen,
        q_lora_rank=D,
        index_kpool=pool,
        index_kpool_always_select_tail=True,
    )
    torch.manual_seed(pool)
    theirs, random = Glm5NextTextIndexer(config, 0), np.random.default_rng(pool)
    theirs.k_norm = torch.nn.Identity()
    x = random.normal(size=(B, T, D)).astype(np.float32)
    segments = np.arange(T) >= np.array([[0], [3], [7]])
    with torch.no_grad():
        at = theirs(torch.tensor(x), torch.tensor(x), torch.tensor(segments), None).numpy()  # -1 for none
    expected = (at[..., None] == np.arange(T)).any(axis=-2)

    spec = {
        'use': 'attention.lightning_indexer:LightningIndexer',
        'heads': 1,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'index_heads': M,
        'index_width': WIDTH,
        'chosen': chosen,
        'pool': pool,
        'index_position': {'use': 'position.none:NoPosition'},
    }
    linear = {'index_query': theirs.wq_b, 'index_key': theirs.wk, 'index_weight': theirs.weights_proj}
    params = {name: layer.weight.detach().numpy().T for name, layer in linear.items()}
    params['index_query'] = params['index_query'].reshape(D, M, WIDTH)
    params |= {name: random.normal(size=(D, 1, D)).astype(np.float32) for name in ('query', 'key', 'value')}
    params['output'] = np.ones((1, D, D), np.float32)
    context = LayerContext(jnp.maximum(jnp.cumsum(segments, axis=1) - 1, 0), jnp.array(segments, jnp.int32))
    _, found = build(spec)().apply(
        {'params': jax.tree.map(jnp.asarray, params)}, x, context, False, mutable=['pattern']
    )
    read = np.asarray(found['pattern']['kernel']['pattern'].value)[:, 0] > 0  # [B T S]
    np.testing.assert_array_equal(read[segments], expected[segments])
    assert expected[:, -1].sum(axis=-1).max() == chosen + T % pool


@pytest.mark.oracle_of('attention.shared_indices:SharedIndices', by='transformers, GLM-MoE-DSA')
def test_layers_with_shared_indices_are_those_of_glm_moe_dsa():
    """A layer with an indexer and two that attend to its keys, each added to its input.

    Their latents are as wide as a token, with an identity before them, and no feature of a key is rotated, so that
    they are multi-head attention.
    """
    from transformers.models.glm_moe_dsa import modeling_glm_moe_dsa as glm

    N, H, chosen = 2, 6, 4
    config = glm.GlmMoeDsaConfig(
        hidden_size=D,
        num_hidden_layers=3,
        num_attention_heads=N,
        num_key_value_heads=N,
        q_lora_rank=D,
        kv_lora_rank=D,
        qk_rope_head_dim=2,
        qk_nope_head_dim=H - 2,
        v_head_dim=H,
        index_n_heads=M,
        index_head_dim=WIDTH,
        index_topk=chosen,
        indexer_types=['full', 'shared', 'shared'],
        attn_implementation='eager',
    )
    torch.manual_seed(0)
    x, params = torch.randn(B, T, D, requires_grad=True), {}
    hidden, chose, layers = x, None, [glm.GlmMoeDsaAttention(config, number) for number in range(3)]
    still = torch.ones(B, T, 2), torch.zeros(B, T, 2)
    closed = torch.full((B, 1, T, T), -torch.inf).triu(1)
    for number, theirs in enumerate(layers):
        theirs.q_a_proj = theirs.q_a_layernorm = theirs.kv_a_layernorm = torch.nn.Identity()
        with torch.no_grad():
            for leaf in theirs.parameters():
                leaf.normal_(std=0.4)
            theirs.kv_a_proj_with_mqa.weight.copy_(torch.eye(D + 2, D))
            theirs.kv_a_proj_with_mqa.weight[D:] = 0
        if not number:
            theirs.indexer.k_norm = torch.nn.Identity()
        y, _, chose = theirs(hidden, still, closed, prev_topk_indices=chose)
        hidden = hidden + y
        params[f'pattern_{number}'] = {'mixer': of_glm(theirs, N, H)}
    dy = torch.randn(B, T, D)
    hidden.backward(dy)

    mixer = {
        'use': 'attention.shared_indices:SharedIndices',
        'heads': N,
        'head_width': H,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'position': {'use': 'position.none:NoPosition'},
        'index_position': {'use': 'position.none:NoPosition'},
        'index_heads': M,
        'index_width': WIDTH,
        'chosen': chosen,
    }
    block = {'use': 'block.pre_norm:PreNorm', 'feedforward': None, 'norm': {'use': 'norm.none:NoNorm'}}
    pattern = [block | {'mixer': mixer | {'reuse': number > 0}} for number in range(3)]
    run = {'use': 'model.stack:Unrolled'}
    module = build({'use': 'model.stack:Stack', 'block': pattern, 'layers': 3, 'run': run})()
    context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], params)
    ours, pull = jax.vjp(lambda x: module.apply({'params': params}, x, context, False), jnp.asarray(x.detach().numpy()))
    for given, expected in ((ours, hidden.detach()), (pull(jnp.asarray(dy.numpy()))[0], x.grad)):
        atol = F32_RELATIVE * expected.abs().max().item()
        np.testing.assert_allclose(given, expected.numpy(), rtol=0, atol=atol)


def of_glm(theirs, N, H):
    """Parameters of a layer; the last two features of a query meet the rotated key, which is 0."""
    weights = {name: leaf.detach().numpy().T for name, leaf in theirs.named_parameters()}
    key, value = np.split(weights['kv_b_proj.weight'].reshape(D, N, -1), [H - 2], axis=-1)
    params = {
        'query': weights['q_b_proj.weight'].reshape(D, N, H),
        'key': np.pad(key, ((0, 0), (0, 0), (0, 2))),
        'value': value,
        'output': weights['o_proj.weight'].reshape(N, H, D),
    }
    names = {'index_query': 'wq_b', 'index_key': 'wk', 'index_weight': 'weights_proj'}
    if theirs.indexer is not None:
        params |= {ours: weights[f'indexer.{name}.weight'] for ours, name in names.items()}
        params['index_query'] = params['index_query'].reshape(D, M, WIDTH)
    return params
