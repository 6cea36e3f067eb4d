# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every folder that cannot be loaded is met with one line that says what is wrong with it."""

import json
import os
import re
import struct
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
import tokenizers
from conftest import Folder

from saccade.build import build
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.file import open_tokenizer
from saccade.hub import setting
from saccade.hub.family import Family, families
from saccade.hub.keys import Keys
from saccade.hub.load import load
from saccade.hub.tensors import open_tensors
from saccade.train.trained import open_trained
from saccade.types import UserError


def refused(folder, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)) as caught:
        load(folder)
    assert '\n' not in str(caught.value)
    assert str(folder) in str(caught.value)


def test_there_is_no_folder(tmp_path):
    refused(tmp_path / 'nowhere', 'there is no such folder')


def test_there_is_no_config(gpt2):
    (gpt2.write() / 'config.json').unlink()
    refused(gpt2.path, 'config.json: cannot be read: No such file')


@pytest.mark.parametrize(('text', 'words'), [('{', 'config.json: is not JSON'), ('[]', 'must hold a JSON object')])
def test_config_is_no_object(gpt2, text, words):
    (gpt2.write() / 'config.json').write_text(text)
    refused(gpt2.path, words)


def test_config_is_not_text(gpt2):
    (gpt2.write() / 'config.json').write_bytes(b'\xff\xfe\x00')
    refused(gpt2.path, 'config.json: is not JSON')


def test_a_family_without_architectures_reads_folders_that_name_none():
    family = Family({'use': 'norm.rms:RMSNorm'}, (), Keys())
    assert (family.spec({}), family.heads_of({})) == ({'use': 'norm.rms:RMSNorm'}, ())


@pytest.mark.parametrize('model_type', ['gpt_2', 'gpt2.py', '../gpt2'])
def test_a_family_that_we_lack(gpt2, model_type):
    gpt2.config['model_type'] = model_type
    refused(gpt2.write(), f"model_type '{model_type}' cannot be loaded; there are {', '.join(families())}")


def test_a_file_of_the_package_that_is_no_family(gpt2):
    gpt2.config['model_type'] = 'load'
    refused(gpt2.write(), "model_type 'load' cannot be loaded; there are")


@pytest.mark.parametrize('name', ['GPT2DoubleHeadsModel', 'GPT2ForMultipleChoice'])
def test_a_head_that_we_lack_is_not_left_out_in_silence(gpt2, name):
    gpt2.config['architectures'] = [name]
    gpt2.tensors['score.weight'] = np.zeros((1, 12), np.float32)
    refused(gpt2.write(), "the model that config.json describes has no place for tensor 'score.weight'")


def test_a_classifier_with_an_embedding_of_another_width(tmp_path):
    opt = {'model_type': 'opt', 'vocab_size': 11, 'max_position_embeddings': 7, 'hidden_size': 12, 'ffn_dim': 20}
    config = opt | {'num_hidden_layers': 1, 'num_attention_heads': 3, 'word_embed_proj_dim': 8}
    shapes = {'decoder.embed_tokens.weight': (11, 8)}
    folder = Folder(tmp_path / 'opt', config | {'architectures': ['OPTForSequenceClassification']}, shapes)
    refused(
        folder.write('model.'),
        "'model.decoder.embed_tokens.weight' has shape (11, 8), but config.json implies (11, 12)",
    )


def test_there_are_no_weights(gpt2):
    (gpt2.write() / 'model.safetensors').unlink()
    refused(gpt2.path, 'has neither model.safetensors nor model.safetensors.index.json')
    (gpt2.path / 'pytorch_model.bin').touch()
    refused(gpt2.path, 'pytorch_model.bin must be converted to safetensors first')


@pytest.mark.parametrize('kept', [0, 5, 400, -1])
def test_truncated_weights(gpt2, kept):
    file = gpt2.write() / 'model.safetensors'
    file.write_bytes(file.read_bytes()[:kept])
    refused(gpt2.path, 'model.safetensors: is damaged or cut short')


def test_a_folder_in_place_of_the_weights(gpt2):
    file = gpt2.write() / 'model.safetensors'
    file.unlink()
    file.mkdir()
    refused(gpt2.path, 'model.safetensors: cannot be read')


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_the_weights(gpt2):
    file = gpt2.write() / 'model.safetensors'
    file.unlink()
    os.mkfifo(file)
    refused(gpt2.path, 'model.safetensors: cannot be read: it is not a regular file')


@pytest.mark.parametrize('shape', [[1] * 70 + [2], [2**62, 0]])
def test_a_tensor_of_a_shape_that_numpy_does_not_have(tmp_path, shape):
    size = 8 if 0 not in shape else 0
    header = json.dumps({'a': {'dtype': 'F32', 'shape': shape, 'data_offsets': [0, size]}}).encode()
    (tmp_path / 'model.safetensors').write_bytes(struct.pack('<Q', len(header)) + header + bytes(size))
    with open_tensors(tmp_path) as tensors, pytest.raises(UserError, match=r"^tensor 'a' cannot be read: .*array"):
        tensors.read('a')


def test_a_missing_shard(gpt2):
    (gpt2.write_shards() / 'model-2.safetensors').unlink()
    refused(gpt2.path, 'model-2.safetensors: cannot be read')


@pytest.mark.parametrize('index', [{}, {'weight_map': []}, {'weight_map': {'wte.weight': 3}}])
def test_an_index_that_maps_nothing(gpt2, index):
    (gpt2.write_shards() / 'model.safetensors.index.json').write_text(json.dumps(index))
    refused(gpt2.path, "has no 'weight_map'")


@pytest.mark.parametrize(
    'name', ['../model-1.safetensors', '/model-1.safetensors', './model-1.safetensors', '..', '', 'a/b', 'a\0b']
)
def test_an_index_that_leads_out_of_the_folder(gpt2, name):
    file = gpt2.write_shards() / 'model.safetensors.index.json'
    (gpt2.path.parent / 'model-1.safetensors').write_bytes((gpt2.path / 'model-1.safetensors').read_bytes())
    shards = json.loads(file.read_text())['weight_map']
    shards = {tensor: name if shard == 'model-1.safetensors' else shard for tensor, shard in shards.items()}
    file.write_text(json.dumps({'weight_map': shards}))
    refused(gpt2.path, f'model.safetensors.index.json: {name!r} is not the name of a file in the folder')


def test_links_as_in_the_cache_of_hugging_face_are_followed(gpt2, tmp_path):
    for file in gpt2.write_shards().iterdir():
        blob = tmp_path / 'blobs' / f'of {file.name}'
        blob.parent.mkdir(exist_ok=True)
        file.rename(blob)
        file.symlink_to(f'../blobs/{blob.name}')
    assert load(gpt2.path).params


@pytest.mark.parametrize('name', ['config.json', 'model.safetensors'])
def test_links_in_a_circle(gpt2, name):
    file = gpt2.write() / name
    file.unlink()
    file.symlink_to(name)
    refused(gpt2.path, 'config.json: cannot be read' if name == 'config.json' else 'has neither model.safetensors nor')


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('name', ['wte.weight', 'h.1.mlp.c_fc.bias'])
def test_weights_that_are_not_finite(gpt2, name, value):
    gpt2.tensors[name].flat[3] = value
    refused(gpt2.write(), f"tensor '{name}' holds a number that is NaN, or infinite in float32")


def test_a_weight_beyond_float32(gpt2):
    gpt2.tensors['wte.weight'] = gpt2.tensors['wte.weight'].astype(np.float64) * 1e300
    refused(gpt2.write(), "tensor 'wte.weight' holds a number that is NaN, or infinite in float32")


@pytest.mark.parametrize('name', ['config.json', 'model.safetensors.index.json'])
def test_a_file_that_is_nested_too_deep(gpt2, name):
    (gpt2.write_shards() / name).write_text(100_000 * '[' + 100_000 * ']')
    refused(gpt2.path, f'{name}: is not JSON: maximum recursion depth exceeded')


@pytest.mark.parametrize('depth', [100, 900])
def test_a_setting_that_is_nested_or_long_is_shortened(gpt2, depth):
    gpt2.config['vocab_size'] = json.loads(depth * '[' + depth * ']')
    refused(gpt2.write(), 'vocab_size must be a whole number, from 1 to 100,000,000, not [[[[[[[...]]]]]]]')
    gpt2.config['model_type'] = 1000 * depth * 'x'
    with pytest.raises(UserError) as caught:
        load(gpt2.write())
    assert len(str(caught.value)) - len(', '.join(families())) < 240


def test_shards_that_overlap(gpt2):
    folder = gpt2.write_shards()
    (folder / 'model-2.safetensors').write_bytes((folder / 'model-1.safetensors').read_bytes())
    refused(folder, "model-2.safetensors: tensor 'h.0.")


def test_a_missing_tensor(llama):
    del llama.tensors['layers.1.mlp.up_proj.bias']
    refused(llama.write(), "there is no tensor 'layers.1.mlp.up_proj.bias'")


def test_an_untied_model_without_a_head(llama):
    del llama.tensors['lm_head.weight']
    refused(llama.write(), "there is no tensor 'lm_head.weight'")


def test_left_over_tensors(gpt2):
    gpt2.tensors |= {'score.weight': np.ones((2, 12), np.float32), 'adapter.weight': np.ones(2, np.float32)}
    refused(gpt2.write(), "has no place for tensor 'adapter.weight' and 1 more")


def test_more_layers_than_the_config_says(gpt2):
    gpt2.config['n_layer'] = 1
    refused(gpt2.write('transformer.'), "has no place for tensor 'transformer.h.1.attn.c_attn.bias' and 11 more")


def test_biases_that_the_config_denies(llama):
    llama.config['attention_bias'] = False
    refused(llama.write(), "has no place for tensor 'layers.0.self_attn.k_proj.bias' and 7 more")


def test_a_wrong_shape(gpt2):
    gpt2.tensors['h.1.attn.c_attn.weight'] = np.ones((12, 35), np.float32)
    refused(gpt2.write(), "'h.1.attn.c_attn.weight' has shape (12, 35), but config.json implies (12, 36)")


def test_a_transposed_kernel(llama):
    name = 'layers.0.mlp.down_proj.weight'
    llama.tensors[name] = np.ascontiguousarray(llama.tensors[name].T)
    refused(llama.write(), f"'{name}' has shape (10, 12), but config.json implies (12, 10)")


def test_a_tensor_of_integers(gpt2):
    gpt2.tensors['wte.weight'] = np.ones((11, 12), np.int8)
    refused(gpt2.write(), "tensor 'wte.weight' is of type I8; only F64, F32, F16, BF16 can be loaded")


def test_two_tensors_for_one_place(gpt2):
    gpt2.tensors['transformer.wte.weight'] = gpt2.tensors['wte.weight'].copy()
    refused(gpt2.write(), "tensors 'transformer.wte.weight' and 'wte.weight' have the same place")


def test_a_tied_copy_that_differs(gpt2):
    gpt2.tensors['lm_head.weight'] = gpt2.tensors['wte.weight'] + 1
    refused(gpt2.write(), "tensor 'lm_head.weight' differs from 'wte.weight', to which config.json ties it")


@pytest.mark.long
@pytest.mark.parametrize(
    ('key', 'value', 'words'),
    [
        ('model_type', None, 'config.json: model_type is missing'),
        ('n_embd', None, 'config.json: n_embd is missing'),
        ('vocab_size', 10**12, 'vocab_size must be a whole number, from 1 to 100,000,000, not 1000000000000'),
        ('vocab_size', -1, 'vocab_size must be a whole number, from 1 to 100,000,000, not -1'),
        ('n_layer', 10**9, 'n_layer must be a whole number, from 1 to 100,000,000, not 1000000000'),
        ('n_layer', 10**8, "there is no tensor 'h.2.ln_1.weight'"),
        ('layer_norm_epsilon', np.inf, 'layer_norm_epsilon must be a number, at least 0 and finite, not inf'),
        ('layer_norm_epsilon', 10**400, 'layer_norm_epsilon must be a number, at least 0 and finite, not 1000'),
        ('n_layer', 0, 'n_layer must be a whole number, from 1 to 100,000,000, not 0'),
        ('n_head', True, 'n_head must be a whole number, from 1 to 100,000,000, not True'),
        ('n_inner', '20', "n_inner must be a whole number, from 1 to 100,000,000, not '20'"),
        ('attn_pdrop', -0.1, 'attn_pdrop must be a number, at least 0 and finite, not -0.1'),
        ('tie_word_embeddings', 'no', "tie_word_embeddings must be true or false, not 'no'"),
        ('n_head', 5, 'width 12 is not divisible by 5 heads'),
        ('activation_function', 'snake', "unknown activation 'snake'; known: gelu, "),
        ('scale_attn_by_inverse_layer_idx', True, 'scale_attn_by_inverse_layer_idx is True, which cannot be'),
        ('add_cross_attention', True, 'add_cross_attention is True, which cannot be represented; only False'),
        ('is_causal', False, 'is_causal is False, which cannot be represented; only True can'),
        ('hidden_size', 24, 'hidden_size is 24, but n_embd, which is the same setting, is 12'),
        ('quantization_config', {'bits': 4}, "quantization_config is {'bits': 4}, which cannot be represented"),
    ],
)
def test_gpt2_settings(gpt2, key, value, words):
    gpt2.config[key] = value
    refused(gpt2.write(), words)


@pytest.mark.parametrize(
    ('key', 'value', 'words'),
    [
        ('num_key_value_heads', 3, '4 heads cannot share 3 key_value_heads'),
        ('head_dim', 5, 'turns an even number of features'),
        ('rope_theta', 0, 'rope_theta must be at least 1, not 0'),
        ('partial_rotary_factor', 0.5, 'partial_rotary_factor is 0.5, which cannot be represented'),
        ('rope_scaling', {'rope_type': 'yarn'}, "unknown rope_type 'yarn'; known: default, linear, llama3"),
        ('rope_scaling', {'type': 3}, 'type must be text, not 3'),
        ('rope_parameters', [1], 'rope_parameters must be an object, not [1]'),
        ('rope_scaling', {'type': 'linear'}, 'factor is missing'),
        ('rope_scaling', {'type': 'linear', 'factor': 0}, 'factor must be positive, not 0'),
        (
            'rope_parameters',
            {'full_attention': {'rope_theta': 1e6}, 'sliding_attention': {'rope_theta': 1e4}},
            "rope_parameters.full_attention is {'rope_theta': 1000000.0}, but rope_type 'default' only has",
        ),
        (
            'rope_scaling',
            {'type': 'linear', 'factor': 2.0, 'low_freq_factor': 1.0},
            "rope_scaling.low_freq_factor is 1.0, but rope_type 'linear' only has factor,",
        ),
        ('rope_parameters', {'partial_rotary_factor': 0.5}, 'rope_parameters.partial_rotary_factor is 0.5, which'),
        ('is_causal', False, 'is_causal is False, which cannot be represented; only True can'),
        ('sliding_window', 4, 'sliding_window is 4, which cannot be represented; only None can'),
        ('per_layer_config', {'0': {'head_dim': 4}}, "per_layer_config is {'0': {'head_dim': 4}}, which cannot be"),
    ],
)
def test_llama_settings(llama, key, value, words):
    llama.config[key] = value
    refused(llama.write(), words)


def test_llama3_factors_in_the_wrong_order(llama):
    llama.config['rope_scaling'] = {
        'rope_type': 'llama3', 'factor': 8.0, 'low_freq_factor': 4.0, 'high_freq_factor': 1.0
    }  # fmt: skip
    refused(llama.write(), 'low 4.0 must be less than high 1.0')


def test_an_adapter_in_the_folder(gpt2):
    folder = gpt2.write()
    (folder / 'adapter_config.json').write_text('{}')
    refused(folder, 'adapter_config.json is an adapter of PEFT, which is not applied here: merge it')
    (folder / 'config.json').unlink()
    with pytest.raises(UserError, match='is an adapter of PEFT'):
        open_trained(init_from=str(folder))


def test_a_special_token_beyond_the_vocabulary_of_the_model_is_in_no_text(gpt2):
    """As the <image_soft_token> of Gemma 3 for texts."""
    folder = gpt2.write()
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(number): number for number in range(11)}, '0'))
    backend.add_special_tokens(['<image>'])
    backend.save(str(folder / 'tokenizer.json'))
    tokenizer = load(folder).open_tokenizer()
    assert tokenizer.size == 12
    assert 11 not in tokenizer.encode('<image>')
    backend.add_tokens(['word'])
    backend.save(str(folder / 'tokenizer.json'))
    with pytest.raises(UserError, match='its ids go up to 12, beyond the vocabulary of the model'):
        load(folder).open_tokenizer()


def test_ids_beyond_the_vocabulary_of_the_model(gpt2):
    folder = gpt2.write()
    Byte().train([]).save(folder)
    loaded = load(folder)
    with pytest.raises(UserError, match=r'tokenizer\.json: its ids go up to 256, beyond the vocabulary of .* is 11$'):
        loaded.open_tokenizer()
    assert replace(loaded, spec=loaded.spec | {'vocabulary': 257}).open_tokenizer().size == 257


def test_there_is_no_tokenizer(gpt2):
    with pytest.raises(UserError, match=r'^tiny-gpt2: there is no tokenizer\.json, no vocab\.txt .*; text needs'):
        load(gpt2.write()).open_tokenizer()


@pytest.mark.parametrize('content', ['[UNK]\n[PAD]\n[MASK]', tokenizers.Tokenizer(tokenizers.models.BPE()).to_str()])
def test_a_tokenizer_in_which_every_text_would_vanish(tmp_path, content):
    file = tmp_path / ('tokenizer.json' if content.startswith('{') else 'vocab.txt')
    file.write_text(content)
    with pytest.raises(UserError, match='the tokenizer is empty'):
        open_tokenizer(file)


def test_every_activation_can_be_built_and_called():
    for spec in setting.ACTIVATIONS.values():
        assert build(spec)(jnp.ones(3)).shape == (3,)
