# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reformer's LSH attention against transformers, with its rotations, where both cut the same chunks.

transformers cuts the row of all sorted tokens; where each bucket has one chunk of tokens, its chunks are ours.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.reformer import Reformer
from saccade.ops.hashing import buckets_of
from saccade.ops.mask import Causal, Full

torch = pytest.importorskip('torch')
reformer = pytest.importorskip('transformers.models.reformer.modeling_reformer')
pytestmark = pytest.mark.oracle

F32_RELATIVE = 1e-5  # of the largest element
T, D, N = 16, 8, 2
H = D // N


def both(monkeypatch, x, seed, causal, buckets, block):
    """Outputs of transformers and of ours with its weights and rotations, and the buckets [1 N 1 T]."""
    config = reformer.ReformerConfig(
        hidden_size=D,
        num_attention_heads=N,
        attention_head_size=H,
        num_buckets=buckets,
        num_hashes=1,
        lsh_attn_chunk_length=block,
        lsh_num_chunks_before=0,
        is_decoder=causal,
        hash_seed=seed,
        lsh_attention_probs_dropout_prob=0.0,
    )
    torch.manual_seed(seed + 1000)
    theirs = reformer.LSHSelfAttention(config)
    with torch.no_grad():
        theirs.query_key.weight.normal_()
    expected = theirs(torch.tensor(x)).hidden_states.detach().numpy()
    torch.manual_seed(seed)
    directions = torch.randn(N, H, 1, buckets // 2).numpy()
    monkeypatch.setattr('saccade.attention.reformer.rotations', lambda *_: directions)
    query, value = (layer.weight.detach().numpy().T.reshape(D, N, H) for layer in (theirs.query_key, theirs.value))
    params = {'query': query, 'value': value, 'output': np.eye(D).reshape(N, H, D)}
    mixer = Reformer(heads=N, buckets=buckets, block=block, mask=Causal() if causal else Full())
    y = mixer.apply({'params': {name: jnp.asarray(leaf) for name, leaf in params.items()}}, jnp.asarray(x))
    return expected, y, buckets_of(jnp.einsum('btd,dnh->btnh', x, query), directions)


@pytest.mark.oracle_of('attention.reformer:Reformer', by='transformers, Reformer')
@pytest.mark.parametrize('causal', [True, False])
@pytest.mark.parametrize('buckets', [2, 4])
def test_outputs_are_those_of_transformers(monkeypatch, buckets, causal):
    compared = 0
    for seed in range(60):
        half = np.random.default_rng(seed).normal(size=(1, T // 2, D)).astype(np.float32)
        order = np.random.default_rng(seed).permutation(T)
        x = np.concatenate([half, -half], axis=1)[:, order]  # opposite tokens are in opposite buckets
        expected, y, found = both(monkeypatch, x, seed, causal, buckets, T // buckets)
        counts = (np.asarray(found)[..., None] == np.arange(buckets)).sum(axis=-2)
        if (counts == T // buckets).all():
            np.testing.assert_allclose(y, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())
            compared += 1
    assert compared >= 2
