# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention and blocks against recorded outputs and gradients of repositories; see `recorded/repositories.py`."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import recorded_layers
from recorded_layers import assert_same

pytestmark = pytest.mark.oracle
T, D, N, H, R = 13, 16, 4, 6, 2
Theirs = partial(recorded_layers.Theirs, 'repositories')
CAUSAL = {'kernel': {'use': 'attention.plain:Plain'}, 'mask': {'use': 'ops.mask:Causal'}}
ROTARY = CAUSAL | {'position': {'use': 'position.rotary:Rotary'}}
UNROTATED = CAUSAL | {'position': {'use': 'position.none:NoPosition'}}
NO_NORM = {'use': 'norm.none:NoNorm'}
RMS = {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-5}


@pytest.mark.oracle_of('attention.grouped_tied:GroupedTied', by='Dao-AILab/grouped-latent-attention')
def test_grouped_tied_attention():
    theirs = Theirs('grouped_tied', N)
    params = {
        'query': theirs.heads('q_proj.weight'),
        'key': theirs.heads('W_rope_k.weight', 1),
        'value': theirs.heads('kv_proj.weight', 2),
        'output': theirs.output('o_proj.weight'),
    }
    spec = {'use': 'attention.grouped_tied:GroupedTied', 'heads': N, 'key_value_heads': 2, 'head_width': H}
    assert_same(theirs, spec | ROTARY | {'rotated_width': R}, params)


@pytest.mark.oracle_of('attention.grouped_latent:GroupedLatent', by='Dao-AILab/grouped-latent-attention')
def test_grouped_latent_attention():
    """Two latents, whose norms have the same gains."""
    theirs = Theirs('grouped_latent', N)
    latents, rotated = np.split(theirs['W_dKV.weight'], [4 * H], axis=-1)
    made = [np.split(theirs.heads(f'W_ukv_{number}.weight', N // 2), 2, axis=-1) for number in (1, 2)]
    key, value = (np.concatenate(pair, axis=1) for pair in zip(*made, strict=True))
    params = {
        'query_latent': theirs['W_dQ.weight'],
        'query_norm': {'scale': theirs['q_norm.weight']},
        'query': theirs.heads('W_uQ_rope.weight'),
        'latent': latents.reshape(D, 2, 2 * H),
        'latent_norm': {'scale': theirs['kv_norm_1.weight']},
        'rotated_key': rotated,
        **{'key': key, 'value': value},
        'output': theirs.output('o_proj.weight'),
    }
    spec = {'use': 'attention.grouped_latent:GroupedLatent', 'heads': N, 'latents': 2, 'rank': 2 * H, 'norm': RMS}
    widths = {'head_width': H, 'value_width': H, 'rotated_width': R, 'query_rank': 8 * H}
    assert_same(theirs, spec | ROTARY | widths, params)


@pytest.mark.oracle_of('attention.tensor_product:TensorProduct', by='tensorgi/TPA')
def test_tensor_product_attention():
    """They rotate the other way, which is ours with the halves of the features exchanged."""
    theirs, ranks = Theirs('tensor_product', N), {'query': 3, 'key': 2, 'value': 2}
    params: dict[str, Any] = {'output': theirs.output('c_proj.weight')}
    for name, rank in ranks.items():
        params[f'{name}_heads'] = np.swapaxes(theirs.heads(f'c_qkv.W_A_{name[0]}.weight', N), 1, 2)
        features = theirs.heads(f'c_qkv.W_B_{name[0]}.weight', rank)
        params[f'{name}_features'] = features if name == 'value' else np.roll(features, H // 2, axis=-1)
    spec = {'use': 'attention.tensor_product:TensorProduct', 'heads': N, 'head_width': H}
    assert_same(theirs, spec | ROTARY | {f'{name}_rank': rank for name, rank in ranks.items()}, params)


@pytest.mark.oracle_of('attention.multi_token:MultiToken', by='facebookresearch/RAM')
def test_multi_token_attention():
    theirs = Theirs('multi_token', N)
    params = {
        'query': theirs.heads('wq.weight'),
        **{ours: theirs.heads(f'{name}.weight', 2) for ours, name in (('key', 'wk'), ('value', 'wv'))},
        'output': theirs.output('wo.weight'),
        'scores_kernel': theirs.params['mta_kernel'][:, 0],
        'weights_kernel': theirs.params['mta_kernel_after_sm'][:, 0],
        'weights_heads': theirs.params['head_kernel'],
        'output_norm': {'scale': theirs['subln.weight']},
    }
    spec = {'use': 'attention.multi_token:MultiToken', 'heads': N, 'key_value_heads': 2, 'head_width': H}
    sizes = {'query_size': 3, 'key_size': 5, 'after_query_size': 2, 'after_key_size': 3, 'after_mixed': 2}
    assert_same(theirs, spec | UNROTATED | sizes | {'output_norm': RMS}, params)


@pytest.mark.oracle_of('attention.normalized_heads:NormalizedHeads', by='NVIDIA/ngpt')
@pytest.mark.oracle_of('block.normalized_residual:NormalizedResidual', by='NVIDIA/ngpt')
@pytest.mark.oracle_of('feedforward.rescaled_gated:RescaledGated', by='NVIDIA/ngpt')
def test_a_block_of_ngpt():
    theirs = Theirs('normalized', 2)
    up, gate = np.split(theirs['c_fc.weight'], 2, axis=-1)
    up_gain, gate_gain = np.split(theirs['suv'], 2)
    params = {
        'mixer': {
            **{name: theirs.heads(f'{name}.weight') for name in ('query', 'key', 'value')},
            'gain': theirs['sqk'].reshape(2, -1),
            'output': theirs.output('att_c_proj.weight'),
        },
        'mixer_rate': theirs['attn_alpha'],
        'feedforward': {
            **{'up': up, 'gate': gate, 'down': theirs['mlp_c_proj.weight']},
            **{'up_gain': up_gain, 'gate_gain': gate_gain},
        },
        'feedforward_rate': theirs['mlp_alpha'],
    }
    silu = {'activation': {'use': 'jax.nn:silu'}, 'ratio': 4.0}
    spec = {
        'use': 'block.normalized_residual:NormalizedResidual',
        'mixer': UNROTATED | {'use': 'attention.normalized_heads:NormalizedHeads', 'heads': 2},
        'feedforward': {'use': 'feedforward.rescaled_gated:RescaledGated', **silu},
    }
    assert_same(theirs, spec, params)


@pytest.mark.oracle_of('block.dense_former:DenseFormer', by='epfml/DenseFormer')
def test_averages_of_dense_former():
    """Three linear layers. They have the weight of the oldest output first, we that of the newest."""
    theirs = Theirs('dense_former', N)
    kernels = np.stack([theirs[f'layers.{layer}.weight'] for layer in range(3)])
    weights = [theirs.params[f'depth.alphas.{layer}.weight'][0, ::-1] for layer in range(3)]
    weights = np.stack([np.pad(each, (0, 4 - len(each))) for each in weights])
    linear = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 1, 'depthwise': False, 'bias': False}
    block = {'use': 'block.dense_former:DenseFormer', 'mixer': linear, 'feedforward': None, 'norm': NO_NORM}
    spec = {'use': 'model.stack:Stack', 'block': block, 'layers': 3, 'run': {'use': 'model.stack:Unrolled'}}
    params = {'mixer': {'output': kernels}, 'depth': {'weights': weights}}
    assert_same(theirs, spec, {'pattern_0': params})


@pytest.mark.oracle_of('attention.value_residual:ValueResidual', by='Zcchill/Value-Residual-Learning')
def test_value_residuals():
    """Three layers, each added to its input."""
    theirs = Theirs('value_residual', N)
    heads = {'query': N, 'key': 2, 'value': 2}
    layers = [
        {name: theirs.heads(f'{layer}.{name[0]}_proj.weight', count) for name, count in heads.items()}
        | {'output': theirs.output(f'{layer}.o_proj.weight')}
        for layer in range(3)
    ]
    stacked = {name: np.stack([layer[name] for layer in layers]) for name in layers[0]}
    mixer = {'use': 'attention.value_residual:ValueResidual', 'heads': N, 'key_value_heads': 2, 'share': 0.5}
    block = {'use': 'block.pre_norm:PreNorm', 'feedforward': None, 'norm': NO_NORM}
    block |= {'mixer': mixer | ROTARY | {'head_width': H}}
    spec = {'use': 'model.stack:Stack', 'block': block, 'layers': 3, 'run': {'use': 'model.stack:Unrolled'}}
    assert_same(theirs, spec, {'pattern_0': {'mixer': stacked}})


@pytest.mark.oracle_of('attention.exclusive:Exclusive', by='openai/parameter-golf')
def test_exclusive_attention():
    """With normalised queries and keys. They rotate as in `test_tensor_product_attention`."""
    theirs = Theirs('exclusive', N)
    query, key, value = (theirs.heads(f'c_{name}.weight', count) for name, count in (('q', N), ('k', 2), ('v', 2)))
    query, key = (np.roll(kernel, D // N // 2, axis=-1) for kernel in (query, key))
    params = {'query': query, 'key': key, 'value': value, 'output': theirs.output('proj.weight')}
    norm = {'use': 'norm.rms:RMSNorm', 'scale': False, 'epsilon': float(np.finfo(np.float32).eps)}
    spec = {'use': 'attention.exclusive:Exclusive', 'heads': N, 'key_value_heads': 2, 'share': 1.0, 'head_norm': norm}
    assert_same(theirs, spec | ROTARY, params)


@pytest.mark.oracle_of('attention.dense_synthesizer:DenseSynthesizer', by='10-zin/Synthesizer')
def test_a_dense_synthesizer():
    """Their two matrices before the activation are one of ours, and the table of positions is that of every head."""
    theirs = Theirs('synthesizer/dense', N)
    params = {
        'query': theirs.heads('w_qs.weight') @ theirs['attention.w_1.weight'],
        'position_key': np.repeat(theirs.params['attention.w_2.weight'][:, None], N, axis=1),
        'value': theirs.heads('w_vs.weight'),
        'output': theirs.output('fc.weight'),
    }
    spec = {'use': 'attention.dense_synthesizer:DenseSynthesizer', 'heads': N, 'head_width': H, 'length': T + 2}
    assert_same(theirs, spec | CAUSAL, params)


@pytest.mark.oracle_of('attention.random_synthesizer:RandomSynthesizer', by='10-zin/Synthesizer')
def test_a_random_synthesizer():
    theirs = Theirs('synthesizer/random', N)
    params = {
        'position_query': np.moveaxis(theirs.params['attention.random_attn'][0], 0, 1),
        'value': theirs.heads('w_vs.weight'),
        'output': theirs.output('fc.weight'),
    }
    spec = {'use': 'attention.random_synthesizer:RandomSynthesizer', 'heads': N, 'head_width': H, 'length': T + 2}
    assert_same(theirs, spec | CAUSAL, params)


@pytest.mark.oracle_of('attention.moba:MoBA', by='MoonshotAI/MoBA')
def test_moba():
    kernel = {'kernel': {'use': 'attention.moba:MoBA', 'block': 3, 'chosen': 3}}
    theirs, spec = Theirs('moba', N), {'use': 'attention.multi_head:MultiHead', 'heads': N, 'head_width': H}
    assert_same(theirs, spec | UNROTATED | kernel, theirs.projections())


def of_x_transformers(theirs: recorded_layers.Theirs) -> dict[str, Any]:
    """Return query, key, value and output."""
    made = {name: theirs.heads(f'to_{name[0]}.weight') for name in ('query', 'key', 'value')}
    return made | {'output': theirs.output('to_out.weight')}


@pytest.mark.oracle_of('attention.selective:Selective', by='x-transformers')
def test_selective_attention():
    theirs, spec = Theirs('selective', N), {'use': 'attention.selective:Selective', 'heads': N, 'head_width': H}
    assert_same(theirs, spec | UNROTATED, of_x_transformers(theirs))


@pytest.mark.oracle_of('position.cope:CoPE', by='x-transformers')
def test_contextual_positions():
    """They do not scale the product of a query and a position."""
    theirs = Theirs('contextual', N)
    position = {'table': theirs.params['attend.cope.pos_emb'] * H**0.5}
    spec = {'use': 'attention.multi_head:MultiHead', 'heads': N, 'head_width': H}
    spec |= CAUSAL | {'position': {'use': 'position.cope:CoPE', 'counts': 5, 'head_width': H}}
    assert_same(theirs, spec, of_x_transformers(theirs) | {'position': position})


@pytest.mark.oracle_of('softmax.talking_heads:TalkingHeads', by='x-transformers')
def test_talking_heads():
    """They add the mixed scores to the scores."""
    theirs = Theirs('talking_heads', N)
    before, after = (theirs.params[f'attend.{of}_softmax_talking_heads.weight'][..., 0, 0].T for of in ('pre', 'post'))
    kernel = {'use': 'attention.plain:Plain', 'softmax': {'use': 'softmax.talking_heads:TalkingHeads'}}
    spec = {'use': 'attention.multi_head:MultiHead', 'heads': N, 'head_width': H}
    params = {'kernel': {'softmax': {'before': np.eye(N, dtype=np.float32) + before, 'after': after}}}
    assert_same(theirs, spec | UNROTATED | {'kernel': kernel}, of_x_transformers(theirs) | params)
