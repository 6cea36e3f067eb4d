# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers against recorded outputs and gradients of layers of flash-linear-attention; see `recorded/flash_linear.py`."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import recorded_layers
from recorded_layers import assert_same

pytestmark = pytest.mark.oracle
D, N, H = 16, 2, 8
SHORT = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True, 'bias': False}
SCORED = {
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}
Theirs = partial(recorded_layers.Theirs, 'flash_linear', heads=N)
SILU, SIGMOID = {'use': 'jax.nn:silu'}, {'use': 'jax.nn:sigmoid'}


def rms(scale: float = 1.0) -> dict[str, Any]:
    """Return their norm, of heads which are ours times the root of `scale`."""
    return {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-5 * scale}


@pytest.mark.oracle_of('attention.gated_linear:GatedLinear', by='flash-linear-attention')
def test_gated_linear_attention():
    theirs = Theirs('gated_linear')
    params = theirs.projections() | {
        'decay_down': theirs['gk_proj.0.weight'],
        'decay_up': theirs.heads('gk_proj.1.weight'),
        'decay_bias': theirs['gk_proj.1.bias'].reshape(N, -1),
        'gate': theirs.heads('g_proj.weight'),
        'head_norm': {'scale': theirs['g_norm_swish_gate.weight']},
    }
    spec = {'use': 'attention.gated_linear:GatedLinear', 'heads': N, 'head_width': 4, 'value_width': H}
    assert_same(theirs, spec | {'decay_rank': 3, 'chunk': 8, 'head_norm': rms()}, params)


@pytest.mark.oracle_of('attention.hgrn2:HGRN2', by='flash-linear-attention')
def test_hgrn2():
    theirs = Theirs('hgrn2')
    names = {'query': 'q_proj', 'key': 'f_proj', 'value': 'i_proj'}
    params = {ours: theirs.heads(f'{name}.weight') for ours, name in names.items()} | {
        'output_norm': {'scale': theirs['g_norm.weight']},
        'output': theirs.output('o_proj.weight'),
    }
    # They divide queries by the root of the width of a head.
    spec = {'use': 'attention.hgrn2:HGRN2', 'heads': N, 'chunk': 8, 'output_norm': rms(H)}
    assert_same(theirs, spec, params)


@pytest.mark.oracle_of('attention.retention:Retention', by='flash-linear-attention')
def test_retention():
    theirs = Theirs('retention')
    params = theirs.projections() | {
        'gate': theirs.heads('g_proj.weight'),
        'head_norm': {'scale': theirs['g_norm_swish_gate.weight']},
    }
    spec = {'use': 'attention.retention:Retention', 'heads': N, 'value_width': 12, 'chunk': 8, 'head_norm': rms()}
    assert_same(theirs, spec, params)


@pytest.mark.oracle_of('attention.delta_product:DeltaProduct', by='flash-linear-attention')
def test_gated_delta_product():
    theirs, updates = Theirs('delta_product'), 3
    params = theirs.projections(key=updates * N, value=updates * N) | {
        'convolution': theirs.convolution(),
        'write': theirs['b_proj.weight'],
        'step': theirs['a_proj.weight'],
        'step_bias': theirs['dt_bias'],
        'log_rate': theirs['A_log'],
        'gate': theirs.heads('g_proj.weight'),
        'head_norm': {'scale': theirs['o_norm.weight']},
    }
    spec = {'use': 'attention.delta_product:DeltaProduct', 'heads': N, 'value_width': 6, 'updates': updates}
    settings = {'convolution': SHORT, 'gate': SILU, 'chunk': 8, 'head_norm': rms(H)}
    assert_same(theirs, spec | settings, params)


@pytest.mark.oracle_of('attention.gated_delta2:GatedDelta2', by='flash-linear-attention')
def test_gated_delta_net_2():
    theirs = Theirs('gated_delta2')
    params = theirs.projections() | {
        'convolution': theirs.convolution(),
        'erase': theirs.heads('b_proj.weight'),
        'write': theirs.heads('w_proj.weight'),
        'step_down': theirs['f_proj.0.weight'],
        'step_up': theirs.heads('f_proj.1.weight'),
        'step_bias': theirs['dt_bias'].reshape(N, H),
        'log_rate': theirs['A_log'],
        'gate_down': theirs['g_proj.0.weight'],
        'gate_up': theirs.heads('g_proj.1.weight'),
        'head_norm': {'scale': theirs['o_norm.weight']},
    }
    spec = {'use': 'attention.gated_delta2:GatedDelta2', 'heads': N, 'value_width': 6, 'decay_rank': 6, 'gate_rank': 6}
    settings = {'convolution': SHORT, 'gate': SIGMOID, 'chunk': 8, 'head_norm': rms(H)}
    assert_same(theirs, spec | settings, params)


@pytest.mark.oracle_of('attention.native_sparse:NativeSparse', by='flash-linear-attention')
def test_native_sparse_attention():
    """Its three branches share keys and values, and a compressed block is a mean.

    Our network takes a mean m of half of the features, the others of which are zero: gelu(m) - gelu(-m) = m.
    """
    theirs, heads, length, half = Theirs('native_sparse', heads=16), 16, 4, np.eye(H // 2)
    zero = np.zeros_like(half)
    mean = np.tile(np.block([[half, -half], [zero, zero]]) / length, (length, 1, 1))
    params = theirs.projections(key=1, value=1)
    params |= {name: np.repeat(params[name], 3, axis=1) for name in ('key', 'value')}
    params['branch_gate'] = theirs['g_proj.weight'].reshape(D, heads, 3)
    for name in ('compressed_key', 'compressed_value'):
        params[f'{name}_places'] = np.zeros((length, H))
        params |= {f'{name}_1': mean, f'{name}_2': np.block([[half, zero], [-half, zero]])}
    params = {name: leaf.astype(np.float32) for name, leaf in params.items()}
    spec = {'use': 'attention.native_sparse:NativeSparse', 'heads': heads, 'key_value_heads': 1, 'head_width': H}
    assert_same(theirs, spec | SCORED | {'length': 4, 'stride': 4, 'block': 4, 'chosen': 4, 'window': 5}, params)


@pytest.mark.oracle_of('attention.path:PaTH', by='flash-linear-attention')
def test_path_attention():
    theirs = Theirs('path')
    params = theirs.projections() | {
        'reflect_down': theirs['w_proj.0.weight'],
        'reflect_up': theirs.heads('w_proj.1.weight'),
        'convolution': {'output': theirs.params['w_conv1d.weight'][:, 0].T},
        'write': theirs['bt_proj.weight'],
        'write_bias': theirs['bt_proj.bias'],
    }
    spec = {'use': 'attention.path:PaTH', 'heads': N, 'rank': 32, 'convolution': SHORT | {'size': 3}, 'chunk': 8}
    assert_same(theirs, spec | SCORED, params)


@pytest.mark.oracle_of('score.forget_gate:ForgetGate', by='flash-linear-attention')
def test_forgetting_attention():
    theirs = Theirs('forgetting')
    forget = {'kernel': theirs['f_proj.weight'], 'bias': theirs['f_proj.bias']}
    spec = {'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': 1}
    spec |= {'terms': [{'use': 'score.forget_gate:ForgetGate'}]}
    assert_same(theirs, spec | SCORED, theirs.projections(key=1, value=1) | {'term_0': forget})


@pytest.mark.oracle_of('attention.rwkv7:RWKV7', by='flash-linear-attention')
def test_rwkv7():
    theirs = Theirs('rwkv7')
    shares = {'query': 'r', 'decay': 'w', 'key': 'k', 'value': 'v', 'rate': 'a', 'gate': 'g'}
    ranks = {'decay': 'w', 'rate': 'a', 'gate': 'g'}

    def by_head(name: str) -> np.ndarray:
        return theirs.params[name].reshape(N, H)

    params = {
        **{f'{ours}_share': 1 - theirs.params[f'x_{name}'][0, 0] for ours, name in shares.items()},
        **{ours: theirs.heads(f'{name}_proj.weight') for ours, name in (('query', 'r'), ('key', 'k'), ('value', 'v'))},
        **{f'{ours}_down': theirs[f'{name}_lora.lora.0.weight'] for ours, name in ranks.items()},
        **{f'{ours}_up': theirs.heads(f'{name}_lora.lora.2.weight') for ours, name in ranks.items()},
        **{f'{ours}_bias': by_head(f'{ranks[ours]}_lora.lora.2.bias') for ours in ('decay', 'rate')},
        **{ours: by_head(name) for ours, name in (('find', 'k_k'), ('write', 'k_a'), ('bonus', 'r_k'))},
        'merged_norm': {'scale': theirs['g_norm.weight'], 'bias': theirs['g_norm.bias']},
        'output': theirs.output('o_proj.weight'),
    }
    norm = {'use': 'norm.group:GroupNorm', 'groups': N, 'epsilon': 1e-5 * H}
    sizes = {'decay_rank': 3, 'gate_rank': 4, 'rate_rank': 5, 'value_rank': None, 'chunk': 8}
    spec = {'use': 'attention.rwkv7:RWKV7', 'heads': N, 'head_norm': None, 'merged_norm': norm}
    assert_same(theirs, spec | sizes, params)
