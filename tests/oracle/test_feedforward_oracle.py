# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The mixture of experts against those of transformers, on copied random weights; activations against torch's."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')
with warnings.catch_warnings():
    # What these libraries warn of as they are imported is not ours to mend.
    warnings.simplefilter('ignore')
    pytest.importorskip('transformers', reason='the oracle extra is not installed: transformers')
    from transformers.activations import ACT2FN
    from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE
    from transformers.models.mixtral.configuration_mixtral import MixtralConfig
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock, load_balancing_loss_func

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-4  # greatest difference of an output, beside outputs of about 1
LEAST_SPREAD = 0.3
B, T = 2, 9


def normal(number, *shape):
    return np.random.default_rng(number).normal(size=shape).astype(np.float32)


def redrawn(module):
    """Redraw everything that it holds, buffers too."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.copy_(0.4 * torch.randn(tensor.shape, generator=generator))
    return module.eval()


def array(tensor):
    return jnp.asarray(tensor.detach().numpy())


def stacked(experts):
    """Their fused [E 2F D] and [E D F] as our gate, up [E D F] and down [E F D]."""
    gate, up = jnp.split(array(experts.gate_up_proj), 2, axis=-2)
    swap = lambda leaf: jnp.swapaxes(leaf, -1, -2)  # noqa: E731
    return {'gate': swap(gate), 'up': swap(up), 'down': swap(array(experts.down_proj))}


def gated(width):
    return {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:silu'}, 'width': width}


def assert_same(spec, params, theirs, x):
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    assert expected.std() > LEAST_SPREAD
    y = jax.jit(lambda params, x: build(spec)().apply({'params': params}, x, False))(params, x)
    np.testing.assert_allclose(y, expected, atol=TOLERANCE)


@pytest.mark.oracle_of(
    'feedforward.mixture:Mixture', 'feedforward.token_choice:TokenChoice', by='transformers, Mixtral'
)
@pytest.mark.parametrize(('experts', 'active', 'width'), [(4, 2, 24), (7, 3, 10), (5, 1, 16), (3, 3, 8)])
def test_mixtral(experts, active, width):
    config = MixtralConfig(
        hidden_size=16, intermediate_size=width, num_local_experts=experts, num_experts_per_tok=active
    )
    theirs = redrawn(MixtralSparseMoeBlock(config))
    spec = {
        'use': 'feedforward.mixture:Mixture',
        'experts': experts,
        'active': active,
        'expert': gated(width),
        'router': {
            'use': 'feedforward.token_choice:TokenChoice',
            'score': {'use': 'jax.nn:softmax'},
            'renormalised': True,
        },
    }
    params = {'router': {'kernel': array(theirs.gate.weight).T}, 'expert': stacked(theirs.experts)}
    x = normal(experts, B, T, 16)
    assert_same(spec, params, theirs, x)

    logits = torch.from_numpy(x.reshape(-1, 16)) @ theirs.gate.weight.T
    # Theirs sums over the choices of a token, where ours takes shares of all routes.
    expected = load_balancing_loss_func((logits,), experts, active) / active
    _, reports = build(spec)().apply({'params': params}, jnp.asarray(x), False, mutable=['metrics'])
    np.testing.assert_allclose(reports['metrics']['router']['balance_loss'][0].mean(), expected.item(), rtol=TOLERANCE)


@pytest.mark.oracle_of('feedforward.mixture:Mixture', 'feedforward.loss_free:LossFree', by='transformers, DeepSeek-V3')
@pytest.mark.parametrize(
    ('experts', 'active', 'shared', 'renormalised', 'scale'), [(4, 2, 1, True, 2.5), (6, 3, 2, False, 1.0)]
)
def test_deepseek(experts, active, shared, renormalised, scale):
    config = DeepseekV3Config(
        hidden_size=16,
        moe_intermediate_size=10,
        n_routed_experts=experts,
        num_experts_per_tok=active,
        n_shared_experts=shared,
        n_group=1,
        topk_group=1,
        norm_topk_prob=renormalised,
        routed_scaling_factor=scale,
    )
    theirs = redrawn(DeepseekV3MoE(config))
    spec = {
        'use': 'feedforward.mixture:Mixture',
        'experts': experts,
        'active': active,
        'expert': gated(10),
        'shared': gated(10 * shared),
        'router': {
            'use': 'feedforward.loss_free:LossFree',
            'score': {'use': 'jax.nn:sigmoid'},
            'renormalised': renormalised,
            'scale': scale,
        },
    }
    common = theirs.shared_experts
    params = {
        'router': {
            'kernel': array(theirs.gate.weight).T,
            'balance_bias': array(theirs.gate.e_score_correction_bias),
        },
        'expert': stacked(theirs.experts),
        'shared': {
            'gate': array(common.gate_proj.weight).T,
            'up': array(common.up_proj.weight).T,
            'down': array(common.down_proj.weight).T,
        },
    }
    assert_same(spec, params, theirs, normal(experts, B, T, 16))


def test_squared_relu():
    x = normal(0, 50)
    ours = build({'use': 'ops.activation:squared_relu'})(jnp.asarray(x))
    np.testing.assert_allclose(ours, ACT2FN['relu2'](torch.from_numpy(x)), rtol=1e-6)


@pytest.mark.oracle_of('feedforward.gated:Gated', by='torch')
@pytest.mark.parametrize('dim', [8, 14])
def test_glu(dim):
    """torch's `glu` of the two halves side by side is our gated layer before its output projection."""
    x, gate, up, down = normal(0, B, T, 6), normal(1, 6, dim), normal(2, 6, dim), normal(3, dim, 6)
    spec = {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:sigmoid'}, 'width': dim}
    params = jax.tree.map(jnp.asarray, {'gate': gate, 'up': up, 'down': down})
    halves = torch.from_numpy(np.concatenate([x @ up, x @ gate], axis=-1))
    expected = torch.nn.functional.glu(halves).numpy() @ down
    y = build(spec)().apply({'params': params}, jnp.asarray(x), False)
    np.testing.assert_allclose(y, expected, atol=TOLERANCE)
