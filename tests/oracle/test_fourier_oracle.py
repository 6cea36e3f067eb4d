# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Fourier mixing against FNet of transformers: outputs and gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.fourier import Fourier

torch = pytest.importorskip('torch')
fnet = pytest.importorskip('transformers.models.fnet.modeling_fnet')
pytestmark = pytest.mark.oracle

F32_RELATIVE = 1e-5  # of the largest element


@pytest.mark.oracle_of('attention.fourier:Fourier', by='transformers, FNet')
@pytest.mark.parametrize('T', [1, 8, 13])
def test_outputs_are_those_of_transformers(T):
    torch.manual_seed(0)
    x, dy = torch.randn(2, T, 12, requires_grad=True), torch.randn(2, T, 12)
    expected = fnet.FNetBasicFourierTransform(fnet.FNetConfig(hidden_size=12))(x)[0]
    expected.backward(dy)
    y, pull = jax.vjp(lambda x: Fourier().apply({}, x), jnp.asarray(x.detach().numpy()))
    for given, wanted in ((y, expected.detach()), (pull(jnp.asarray(dy.numpy()))[0], x.grad)):
        np.testing.assert_allclose(given, wanted, rtol=0, atol=F32_RELATIVE * wanted.abs().max().item())
