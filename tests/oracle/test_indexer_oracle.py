# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Keys that a pooled lightning indexer chooses, against the indexer of GLM-5.3-Flash in `transformers`, on its weights.

Its trained weights of the tokens of a block are zero, as at its start, so that the key of a block is the mean.
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
