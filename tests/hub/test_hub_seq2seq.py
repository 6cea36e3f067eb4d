# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of T5 and Marian: every tensor finds its place, our presets are what they load as, and what is refused."""

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import Folder
from einops import rearrange
from test_hub_configs import architecture, config

from saccade.build import build, plain
from saccade.hub import t5
from saccade.hub.load import load, spec_of, under_heads
from saccade.hub.setting import ACTIVATIONS
from saccade.types import UserError

D, N, H, F, V, L, R = 12, 3, 4, 20, 11, 2, 8
T5: dict[str, Any] = {
    'model_type': 't5', 'vocab_size': V, 'd_model': D, 'd_kv': H, 'd_ff': F, 'num_layers': L, 'num_heads': N,
    'relative_attention_num_buckets': R, 'feed_forward_proj': 'relu',
}  # fmt: skip
GATED = {'feed_forward_proj': 'gated-gelu', 'tie_word_embeddings': False}
MARIAN: dict[str, Any] = {
    'model_type': 'marian', 'vocab_size': V, 'd_model': D, 'max_position_embeddings': 9,
    **{f'{tower}_{name}': value for tower in ('encoder', 'decoder')
       for name, value in {'layers': L, 'attention_heads': N, 'ffn_dim': F}.items()},
}  # fmt: skip


def t5_shapes(inwards: tuple[str, ...] = ('wi',)) -> dict[str, tuple[int, ...]]:
    table = 'block.0.layer.0.SelfAttention.relative_attention_bias.weight'
    shapes = {'shared.weight': (V, D)}
    for tower, parts in (('encoder', ['SelfAttention']), ('decoder', ['SelfAttention', 'EncDecAttention'])):
        shapes |= {f'{tower}.{table}': (R, N), f'{tower}.final_layer_norm.weight': (D,)}
        for layer in range(L):
            stem = f'{tower}.block.{layer}.layer'
            for number, part in enumerate(parts):
                shapes |= {f'{stem}.{number}.{part}.{name}.weight': (N * H, D) for name in 'qkv'}
                shapes[f'{stem}.{number}.{part}.o.weight'] = (D, N * H)
            feedforward = f'{stem}.{len(parts)}.DenseReluDense'
            shapes |= {f'{feedforward}.{name}.weight': (F, D) for name in inwards}
            shapes[f'{feedforward}.wo.weight'] = (D, F)
            shapes |= {f'{stem}.{number}.layer_norm.weight': (D,) for number in range(len(parts) + 1)}
    return shapes


def marian_shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {'shared.weight': (V, D)}
    for tower, parts in (('encoder', ['self_attn']), ('decoder', ['self_attn', 'encoder_attn'])):
        for layer in range(L):
            stem = f'{tower}.layers.{layer}'
            maps = {f'{part}.{name}_proj': (D, D) for part in parts for name in ('q', 'k', 'v', 'out')}
            maps |= {'fc1': (F, D), 'fc2': (D, F)}
            shapes |= {f'{stem}.{name}.weight': shape for name, shape in maps.items()}
            shapes |= {f'{stem}.{name}.bias': shape[:1] for name, shape in maps.items()}
            norms = [f'{part}_layer_norm' for part in parts] + ['final_layer_norm']
            shapes |= {f'{stem}.{name}.{part}': (D,) for name in norms for part in ('weight', 'bias')}
    return shapes


@pytest.fixture
def first(tmp_path) -> Folder:
    return Folder(tmp_path / 'first', T5, t5_shapes())


@pytest.fixture
def marian(tmp_path) -> Folder:
    folder = Folder(tmp_path / 'marian', MARIAN, marian_shapes())
    folder.tensors = {f'model.{name}': array for name, array in folder.tensors.items()}
    folder.tensors['final_logits_bias'] = np.arange(V, dtype=np.float32)[None]
    return folder


def test_every_tensor_of_t5_finds_its_place(first):
    first.tensors['lm_head.weight'] = first.tensors['decoder.embed_tokens.weight'] = first.tensors['shared.weight']
    unused = 'decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight'
    first.tensors[unused] = np.zeros((R, N), np.float32)
    params, theirs = load(first.write()).params, first.tensors
    np.testing.assert_array_equal(params['encoder']['embedding'], theirs['shared.weight'])
    layers = params['decoder']['layers']['pattern_0']
    key = rearrange(theirs['decoder.block.1.layer.1.EncDecAttention.k.weight'], '(N H) D -> D N H', N=N)
    np.testing.assert_array_equal(layers['cross']['key'][1], key)
    np.testing.assert_array_equal(layers['cross_norm']['scale'][0], theirs['decoder.block.0.layer.1.layer_norm.weight'])
    np.testing.assert_array_equal(
        layers['feedforward']['up'][1], theirs['decoder.block.1.layer.2.DenseReluDense.wi.weight'].T
    )
    assert 'embedding' not in params['decoder']


def test_version_1_1_has_a_gate_and_an_output_of_its_own(tmp_path):
    folder = Folder(tmp_path / 'later', T5 | GATED, t5_shapes(('wi_0', 'wi_1')) | {'lm_head.weight': (V, D)})
    found, theirs = load(folder.write()), folder.tensors
    assert (found.spec['decoder']['tied'], found.spec['decoder']['logit_scale']) == (False, 1.0)
    np.testing.assert_array_equal(found.params['decoder']['head'], theirs['lm_head.weight'].T)
    gate = found.params['encoder']['layers']['pattern_0']['feedforward']['gate']
    np.testing.assert_array_equal(gate[0], theirs['encoder.block.0.layer.1.DenseReluDense.wi_0.weight'].T)


@pytest.mark.parametrize(
    ('settings', 'function', 'gated'),
    [
        ({'feed_forward_proj': 'relu'}, 'relu', False),
        ({'feed_forward_proj': 'gelu'}, 'gelu', False),
        ({'feed_forward_proj': 'gated-gelu'}, 'gelu_new', True),
        ({'feed_forward_proj': 'gated-gelu_new'}, 'gelu_new', True),
        ({'feed_forward_proj': 'gated-silu'}, 'silu', True),
        # These two count, where they are given.
        ({'feed_forward_proj': 'gated-gelu', 'dense_act_fn': 'relu'}, 'relu', True),
        ({'feed_forward_proj': 'relu', 'dense_act_fn': 'gelu', 'is_gated_act': True}, 'gelu', True),
    ],
)
def test_the_feedforward_layer_of_t5(tmp_path, settings, function, gated):
    (tmp_path / 'config.json').write_text(json.dumps(T5 | settings))
    inner = spec_of(tmp_path)['decoder']['block']['feedforward']
    assert inner['activation'] == ACTIVATIONS[function]
    assert inner['use'] == ('feedforward.gated:Gated' if gated else 'feedforward.mlp:MLP')


@pytest.mark.long
@pytest.mark.parametrize('name', ['t5', 'mt5'])
def test_the_encoder_of_t5_tags_and_both_towers_answer(tmp_path, name):
    (tmp_path / 'config.json').write_text(json.dumps(T5 | {'model_type': name}))
    encoder = spec_of(tmp_path)['encoder']
    assert under_heads(tmp_path, ('tokens',), 'ForTokenClassification') == (encoder, 'encoder')
    for head, ending in (('tokens', 'ForQuestionAnswering'), ('pooled', 'ForSequenceClassification')):
        read, part = under_heads(tmp_path, (head,), ending)
        assert (read['use'], read['encoder'], part) == ('model.reread:Reread', encoder, '')


def test_what_version_5_writes_of_t5_1_1_is_untied_although_it_says_tied(tmp_path):
    settings = GATED | {'tie_word_embeddings': True, 'scale_decoder_outputs': False}
    folder = Folder(tmp_path / 'later', T5 | settings, t5_shapes(('wi_0', 'wi_1')) | {'lm_head.weight': (V, D)})
    found = load(folder.write())
    assert (found.spec['decoder']['tied'], found.spec['decoder']['logit_scale']) == (False, 1.0)
    np.testing.assert_array_equal(found.params['decoder']['head'], folder.tensors['lm_head.weight'].T)


@pytest.mark.long
@pytest.mark.parametrize('dtype', [np.float32, np.float16, ml_dtypes.bfloat16])
def test_stored_positions_of_marian_are_the_sinusoids_or_are_refused(marian, dtype):
    angle = np.arange(9)[:, None] / 10000 ** (np.arange(0, D, 2) / D)
    table = np.concatenate([np.sin(angle), np.cos(angle)], axis=-1).astype(dtype)
    names = [f'model.{tower}.embed_positions.weight' for tower in ('encoder', 'decoder')]
    marian.tensors |= {name: table.copy() for name in names}
    load(marian.write())
    marian.tensors[names[1]][3, 5] += 0.01
    with pytest.raises(UserError, match=f"tensor '{names[1]}' differs from the constant table of the family"):
        load(marian.write())
    marian.tensors[names[1]] = table[0]
    with pytest.raises(UserError, match=f"tensor '{names[1]}' differs"):
        load(marian.write())


def test_every_tensor_of_marian_finds_its_place(marian):
    params, theirs = load(marian.write()).params, marian.tensors
    np.testing.assert_array_equal(params['decoder']['head_bias'], np.arange(V))
    cross = params['decoder']['layers']['pattern_0']['cross']
    bias = theirs['model.decoder.layers.1.encoder_attn.v_proj.bias'].reshape(N, H)
    np.testing.assert_array_equal(cross['value_bias'][1], bias)


def test_an_output_that_differs_from_the_embedding_it_is_tied_to_is_refused(first):
    first.tensors['lm_head.weight'] = first.tensors['shared.weight'] + 1.0
    with pytest.raises(UserError, match=r"'lm_head.weight' differs from 'shared.weight'"):
        load(first.write())


@pytest.mark.parametrize(
    ('given', 'setting', 'words'),
    [
        (
            T5,
            {'feed_forward_proj': 'glu-relu'},
            "feed_forward_proj is 'glu-relu', which cannot .* an activation, and 'gated-'",
        ),
        (T5, {'feed_forward_proj': 'gated-sine'}, "feed_forward_proj: unknown activation 'sine'"),
        (T5, {'dense_act_fn': 'sine'}, "dense_act_fn: unknown activation 'sine'"),
        (T5, {'is_causal': False}, 'is_causal is False'),
        (T5, {'num_hidden_layers': L + 1}, f'num_hidden_layers is {L + 1}, but num_layers, which .* same .* is {L}'),
        (T5, {'is_encoder_decoder': False}, 'is_encoder_decoder is False'),
        (MARIAN, {'is_encoder_decoder': False}, 'is_encoder_decoder is False'),
        (MARIAN, {'normalize_before': True}, 'normalize_before is True'),
        (MARIAN, {'share_encoder_decoder_embeddings': False}, 'share_encoder_decoder_embeddings is False'),
        (MARIAN, {'decoder_vocab_size': V + 1}, f'decoder_vocab_size is {V + 1}'),
    ],
)
def test_what_cannot_be_represented_is_refused(tmp_path, given, setting, words):
    (tmp_path / 'config.json').write_text(json.dumps(given | setting))
    with pytest.raises(UserError, match=f'config.json: .*{words}'):
        spec_of(tmp_path)


SMALL = {'vocab_size': 32128, 'd_model': 512, 'd_kv': 64, 'n_positions': 128}
PRESETS = {
    't5_small': {**SMALL, 'd_ff': 2048, 'num_layers': 6, 'num_heads': 8},
    't5_v1_1_small': {**SMALL, 'd_ff': 1024, 'num_layers': 8, 'num_heads': 6, **GATED},
    'byt5_small': {
        'vocab_size': 384, 'd_model': 1472, 'd_kv': 64, 'd_ff': 3584, 'num_layers': 12, 'num_decoder_layers': 4,
        'num_heads': 6, 'n_positions': 512, **GATED,
    },
}  # fmt: skip


@pytest.mark.parametrize('name', PRESETS)
def test_our_experiment_of_a_published_size_is_what_the_hub_loads(name):
    ours, theirs = plain(config(name, 'translation').model), t5.FAMILY.spec(t5.FAMILY.keys.settings(PRESETS[name]))
    assert architecture(build(ours)) == architecture(build(theirs))
