# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Norms by place: each branch with a norm of its own, or with none; places that a block does not have."""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.causality import require_causal
from saccade.types import LayerContext, UserError

NEAR = 1e-5  # of the largest element
B, T, D = 2, 5, 8
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))

LAYER, RMS, NONE = ({'use': use} for use in ('norm.layer:LayerNorm', 'norm.rms:RMSNorm', 'norm.none:NoNorm'))
PARTS = {
    'mixer': {'use': 'toy_branches:Averaging'},
    'feedforward': {'use': 'toy_branches:Bending'},
    'norm': LAYER,
}


def made(use, norms, **given):
    width = D * {'block.res_dual:ResDual': 2, 'block.hyper_connections:HyperConnections': 2}.get(use, 1)
    module = build({'use': use, **PARTS, 'norms': norms, **given})()
    x = jnp.tile(X, width // D)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), x, CONTEXT, False))['params']
    random = np.random.default_rng(1)
    return module, jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), leaf.dtype), shapes), x


@pytest.mark.parametrize('mixer_norm', [RMS, NONE])
def test_a_pre_norm_block_with_two_norms_is_its_equations(mixer_norm):
    module, p, _ = made('block.pre_norm:PreNorm', {'mixer': mixer_norm})
    x = np.asarray(X, np.float64)
    normed = x if mixer_norm is NONE else x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * p['mixer_norm']['scale']
    h = x + np.cumsum(normed, axis=1) / np.arange(1, T + 1)[:, None] @ p['mixer']['output']
    centred = h - h.mean(-1, keepdims=True)
    last = p['feedforward_norm']
    normed = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6) * last['scale'] + last['bias']
    expected = h + np.tanh(normed @ p['feedforward']['down'])
    given = module.apply({'params': p}, X, CONTEXT, False)
    np.testing.assert_allclose(given, expected, rtol=0, atol=10 * NEAR * np.abs(expected).max())
    assert ('mixer_norm' in p) == (mixer_norm is RMS)


PLACES = {
    'block.pre_norm:PreNorm': ({}, ['mixer', 'feedforward']),
    'block.post_norm:PostNorm': ({}, ['mixer', 'feedforward']),
    'block.deep_norm:DeepNorm': ({'alpha': 1.7, 'beta': 0.6}, ['mixer', 'feedforward']),
    'block.no_residual:NoResidual': ({}, ['mixer', 'feedforward']),
    'block.layer_scale:LayerScale': ({'start': 0.1}, ['mixer', 'feedforward']),
    'block.rezero:ReZero': ({}, ['mixer', 'feedforward']),
    'block.sandwich:Sandwich': ({}, ['mixer', 'feedforward', 'mixer_output', 'feedforward_output']),
    'block.macaron:Macaron': ({}, ['first_feedforward', 'mixer', 'feedforward']),
    'block.parallel:Parallel': ({'shared_norm': False}, ['mixer', 'feedforward']),
    'block.hyper_connections:HyperConnections': ({'streams': 2, 'dynamic': False}, ['mixer', 'feedforward']),
    'block.res_dual:ResDual': ({}, ['mixer', 'feedforward']),
    'block.shared_keys:SharedKeys': ({'sharing': 2}, ['mixer', 'feedforward']),
}


@pytest.mark.parametrize('use', PLACES)
def test_every_block_gives_each_place_the_norm_that_is_named_for_it(use):
    given, places = PLACES[use]
    for place in places:
        _, params, _ = made(use, {place: NONE}, **given)
        assert {f'{each}_norm' for each in places if each != place} == {
            name for name in params if name.endswith('_norm')
        }
        assert f'{place}_norm' not in params.get('layer_2', {})


@pytest.mark.parametrize('use', PLACES)
def test_a_place_that_a_block_has_no_norm_for_is_refused(use):
    given, places = PLACES[use]
    with pytest.raises(UserError, match=f"{use}: norms: there is no norm of 'atention', but of {', '.join(places)}"):
        made(use, {'atention': NONE}, **given)


def test_the_norm_of_the_sum_of_two_streams_can_be_none():
    module, params, x = made('block.res_dual:ResDual', {'sum': NONE})
    reduced = module.apply({'params': params}, x, method='reduce')
    np.testing.assert_allclose(reduced, 2 * X, rtol=NEAR)


def test_branches_that_share_one_norm_have_none_of_their_own():
    with pytest.raises(UserError, match='set shared_norm to False'):
        made('block.parallel:Parallel', {'mixer': RMS})


@pytest.mark.parametrize('use', PLACES)
def test_steps_are_the_whole(use):
    given, places = PLACES[use]
    module, params, x = made(use, {places[0]: NONE, places[-1]: RMS}, **given)
    whole = module.apply({'params': params}, x, CONTEXT, False)
    state, parts = module.apply({'params': params}, x[:, :1], T, method='init_state'), []
    for here in (slice(0, 3), slice(3, 5)):
        context = LayerContext(CONTEXT.positions[:, here])
        part, state = module.apply({'params': params}, x[:, here], context, state, method='step')
        parts.append(part)
    np.testing.assert_allclose(jnp.concatenate(parts, axis=1), whole, rtol=0, atol=NEAR * np.abs(whole).max())


class SeesOthers(nn.Module):
    """A norm over all tokens."""

    sees_others: ClassVar[bool] = True

    def __call__(self, x, real=None):
        return x - x.mean(axis=-2, keepdims=True)


def test_a_norm_of_one_branch_that_sees_later_tokens_is_refused_in_a_decoder():
    part = build({'use': 'block.pre_norm:PreNorm', **PARTS, 'norms': {'mixer': {'use': f'{__name__}:SeesOthers'}}})
    with pytest.raises(UserError, match=r'a_model is causal: it does not support .*SeesOthers, where a token'):
        require_causal('a_model', part)
