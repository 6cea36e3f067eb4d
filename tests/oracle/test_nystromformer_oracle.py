# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Nystromformer against the attention of transformers, with random parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

torch = pytest.importorskip('torch')
nystromformer = pytest.importorskip('transformers.models.nystromformer.modeling_nystromformer')
pytestmark = pytest.mark.oracle

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N, M, SIZE = 2, 12, 16, 2, 4, 5


@pytest.mark.oracle_of('attention.nystromformer:Nystromformer', by='transformers, Nystromformer')
@pytest.mark.parametrize('landmarks', [M, T])
@pytest.mark.parametrize('size', [None, SIZE])
def test_outputs_are_those_of_transformers(landmarks, size):
    torch.manual_seed(0)
    config = nystromformer.NystromformerConfig(
        hidden_size=D, num_attention_heads=N, num_landmarks=landmarks, segment_means_seq_len=T, conv_kernel_size=SIZE
    )
    theirs = nystromformer.NystromformerSelfAttention(config)
    theirs.init_option = 'exact'  # of each head; 'original' goes by the largest of the batch
    theirs.conv_kernel_size = size
    x = 3 * torch.randn(B, T, D)
    expected = theirs(x)[0].detach().numpy()

    kernel = {'use': 'attention.nystromformer:Nystromformer', 'landmarks': landmarks, 'convolution': size}
    module = build({'use': 'attention.multi_head:MultiHead', 'heads': N, 'kernel': kernel, 'bias': True})()
    params = {'output': np.eye(D).reshape(N, D // N, D)}
    for name in ('query', 'key', 'value'):
        layer = getattr(theirs, name)
        params[name] = layer.weight.detach().numpy().T.reshape(D, N, D // N)
        params[f'{name}_bias'] = layer.bias.detach().numpy().reshape(N, D // N)
    if size is not None:
        params['kernel'] = {'taps': theirs.conv.weight.detach().numpy()[:, 0, :, 0].T}
    context = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
    y = module.apply({'params': jax.tree.map(jnp.asarray, params)}, jnp.asarray(x.numpy()), context, False)
    np.testing.assert_allclose(y, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())
