# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Kimi Linear and Qwen3-Next: the published config.json, tensors that are one of ours, and what is refused by name."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from test_hub_export import KIMI, NEXT, made

from saccade.hub.export import Source, export
from saccade.hub.load import load, spec_of
from saccade.types import UserError

LINEAR = {'full_attn_layers': [3, 6], 'kda_layers': [1, 2, 4, 5], 'head_dim': 4, 'num_heads': 2}
OWN = ('linear_head_dim', 'linear_num_heads')


def described(folder, config):
    (folder / 'config.json').write_text(json.dumps(config))
    return spec_of(folder)


def test_the_published_config_numbers_layers_from_one_and_has_dense_layers_first(tmp_path):
    kinds = ['full_attention' if number in LINEAR['full_attn_layers'] else 'linear_attention' for number in range(1, 7)]
    wanted = described(tmp_path, KIMI | {'layer_types': kinds, 'mlp_layer_types': 2 * ['dense'] + 4 * ['sparse']})
    published = {key: value for key, value in KIMI.items() if key not in OWN}
    assert described(tmp_path, published | {'linear_attn_config': LINEAR, 'first_k_dense_replace': 2}) == wanted


@pytest.mark.long
def test_the_convolution_is_three_tensors(tmp_path):
    model, params = made(KIMI | {'num_hidden_layers': 1})
    export(Source(model, params), tmp_path / 'out')
    tensors = load_file(tmp_path / 'out' / 'model.safetensors')
    names = [f'model.layers.0.self_attn.{name}_conv1d.weight' for name in 'qkv']
    parts = [tensors[name] for name in names]
    taps = params['layers']['pattern_0']['mixer']['convolution']['output'][0]
    np.testing.assert_array_equal(np.concatenate(parts)[:, 0].T, taps)
    whole = {name: array for name, array in tensors.items() if name not in names}
    save_file(
        whole | {'model.layers.0.self_attn.conv1d.weight': np.concatenate(parts)}, tmp_path / 'out/model.safetensors'
    )
    found = load(tmp_path / 'out').params['layers']['pattern_0']['mixer']['convolution']['output'][0]
    np.testing.assert_array_equal(found, taps)
    save_file({name: array for name, array in tensors.items() if name != names[1]}, tmp_path / 'out/model.safetensors')
    with pytest.raises(UserError, match=re.escape("there is no tensor 'layers.0.self_attn.k_conv1d.weight'")):
        load(tmp_path / 'out')
    save_file(tensors | {names[2]: parts[2][1:]}, tmp_path / 'out/model.safetensors')
    with pytest.raises(UserError, match=re.escape("v_conv1d.weight' has shape (7, 1, 4), but config.json implies (8,")):
        load(tmp_path / 'out')


@pytest.mark.parametrize(
    ('config', 'words'),
    [
        (KIMI | {'mla_use_nope': False}, 'mla_use_nope is False'),
        (KIMI | {'mla_use_output_gate': True}, 'mla_use_output_gate is True'),
        (KIMI | {'linear_attn_config': {'gate_lower_bound': -5.0}}, 'linear_attn_config.gate_lower_bound is -5.0'),
        (KIMI | {'linear_attn_config': [3]}, 'linear_attn_config must be an object'),
        (KIMI | {'num_expert_group': 2}, 'num_expert_group is 2'),
        (KIMI | {'n_group': 2}, 'num_expert_group is 2'),
        (KIMI | {'tie_word_embeddings': True}, 'tie_word_embeddings is True'),
        (KIMI | {'layer_types': 6 * ['sliding_attention']}, "layer_types is 'sliding_attention' in a layer"),
        (KIMI | {'mlp_layer_types': 6 * ['mixed']}, "mlp_layer_types is 'mixed' in a layer"),
        (KIMI | {'mlp_layer_types': ['dense']}, "mlp_layer_types is ['dense'], which is not of 6 layers"),
        (NEXT | {'attention_bias': True}, 'attention_bias is True'),
        (NEXT | {'layer_types': 4 * ['sliding_attention']}, "layer_types is 'sliding_attention' in a layer"),
        (NEXT | {'partial_rotary_factor': 'half'}, 'partial_rotary_factor must be a number'),
    ],
)
def test_what_cannot_be_represented_is_refused(tmp_path, config, words):
    with pytest.raises(UserError, match=re.escape(words)):
        described(tmp_path, config)


@pytest.mark.long
def test_a_model_that_differs_is_refused_by_the_field(tmp_path):
    model = made(KIMI | {'num_hidden_layers': 1})[0]
    block = model['block'].replace(mixer=model['block']['mixer'].replace(negative_eigenvalues=True))
    with pytest.raises(UserError, match=r'kimi_linear, but config\.model\.block\.mixer\.negative_eigenvalues is True'):
        export(Source(model.replace(block=block), {}), tmp_path / 'out')
    narrow = model['block'].replace(mixer=model['block']['mixer'].replace(gate_rank=3))
    with pytest.raises(UserError, match='differ: linear_head_dim'):
        export(Source(model.replace(block=narrow), {}), tmp_path / 'out')
