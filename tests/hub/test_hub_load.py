# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loaded models against forward passes in NumPy that read the files by their own names."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import saccade
from saccade.build import build
from saccade.data.tokenizer.character import Character
from saccade.hub.load import Pretrained, load, spec_of, under_heads
from saccade.train.trained import shapes_in
from saccade.types import LayerContext, UserError

TOLERANCE = 1e-4
TOKENS = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


def logits(pretrained: Pretrained) -> np.ndarray:
    model = build(pretrained.spec)()
    positions = jnp.broadcast_to(jnp.arange(TOKENS.shape[1]), TOKENS.shape)
    variables = {'params': jax.tree.map(jnp.asarray, pretrained.params)}
    return np.asarray(model.apply(variables, jnp.asarray(TOKENS), LayerContext(positions), False))


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, groups: int, scale: float) -> np.ndarray:
    """Causal attention of one row, [T, heads * H], head by head."""
    T, outputs = len(q), []
    for head in range(heads):
        mine = np.split(q, heads, -1)[head]
        shared_k, shared_v = (np.split(x, groups, -1)[head // (heads // groups)] for x in (k, v))
        scores = np.where(np.tri(T, dtype=bool), mine @ shared_k.T * scale, -np.inf)
        outputs.append(softmax(scores) @ shared_v)
    return np.concatenate(outputs, -1)


def gpt2_row(w: dict[str, np.ndarray], config: dict, tokens: np.ndarray) -> np.ndarray:
    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt(x.var(-1, keepdims=True) + config['layer_norm_epsilon'])
        return centred / spread * w[f'{name}.weight'] + w[f'{name}.bias']

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f'{name}.weight'] + w[f'{name}.bias']

    N, H = config['n_head'], config['n_embd'] // config['n_head']
    x = w['wte.weight'][tokens] + w['wpe.weight'][: len(tokens)]
    for layer in range(config['n_layer']):
        q, k, v = np.split(linear(norm(x, f'h.{layer}.ln_1'), f'h.{layer}.attn.c_attn'), 3, -1)
        x = x + linear(attend(q, k, v, N, N, H**-0.5), f'h.{layer}.attn.c_proj')
        h = linear(norm(x, f'h.{layer}.ln_2'), f'h.{layer}.mlp.c_fc')
        h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
        x = x + linear(h, f'h.{layer}.mlp.c_proj')
    return norm(x, 'ln_f') @ w.get('lm_head.weight', w['wte.weight']).T


def llama_row(w: dict[str, np.ndarray], config: dict, tokens: np.ndarray) -> np.ndarray:
    N, K, H = (config[key] for key in ('num_attention_heads', 'num_key_value_heads', 'head_dim'))

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + config['rms_norm_eps']) * w[f'{name}.weight']

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f'{name}.weight'].T + w[f'{name}.bias']

    def rotate(x: np.ndarray, heads: int) -> np.ndarray:
        """As complex numbers: feature c is the real part and c + H/2 the imaginary."""
        x = x.reshape(len(x), heads, 2, H // 2)
        angle = np.arange(len(x))[:, None, None] * config['rope_theta'] ** (-np.arange(H // 2) / (H // 2))
        turned = (x[:, :, 0] + 1j * x[:, :, 1]) * np.exp(1j * angle)
        return np.concatenate([turned.real, turned.imag], -1).reshape(len(x), heads * H)

    x = w['embed_tokens.weight'][tokens]
    for layer in range(config['num_hidden_layers']):
        h = norm(x, f'layers.{layer}.input_layernorm')
        q, k, v = (linear(h, f'layers.{layer}.self_attn.{name}_proj') for name in 'qkv')
        mixed = attend(rotate(q, N), rotate(k, K), v, N, K, H**-0.5)
        x = x + linear(mixed, f'layers.{layer}.self_attn.o_proj')
        h = norm(x, f'layers.{layer}.post_attention_layernorm')
        gate, up = (linear(h, f'layers.{layer}.mlp.{name}_proj') for name in ('gate', 'up'))
        x = x + linear(gate / (1 + np.exp(-gate)) * up, f'layers.{layer}.mlp.down_proj')
    return norm(x, 'norm') @ w['lm_head.weight'].T


def expected(row, folder) -> np.ndarray:
    weights = {name: array.astype(np.float64) for name, array in folder.tensors.items()}
    return np.stack([row(weights, folder.config, tokens) for tokens in TOKENS])


@pytest.mark.long
@pytest.mark.parametrize('prefix', ['', 'transformer.'])
def test_gpt2_is_its_equations_with_and_without_the_prefix(gpt2, prefix):
    loaded = load(gpt2.write(prefix))
    np.testing.assert_allclose(logits(loaded), expected(gpt2_row, gpt2), atol=TOLERANCE)


@pytest.mark.long
@pytest.mark.parametrize('prefix', ['', 'model.'])
def test_llama_is_its_equations_with_and_without_the_prefix(llama, prefix):
    loaded = load(llama.write(prefix))
    np.testing.assert_allclose(logits(loaded), expected(llama_row, llama), atol=TOLERANCE)


@pytest.mark.long
def test_an_untied_gpt2_has_a_head(gpt2):
    gpt2.config['tie_word_embeddings'] = False
    gpt2.tensors['lm_head.weight'] = np.random.default_rng(1).normal(size=(11, 12)).astype(np.float32)
    loaded = load(gpt2.write())
    np.testing.assert_allclose(logits(loaded), expected(gpt2_row, gpt2), atol=TOLERANCE)


@pytest.mark.parametrize('name', ['gpt2', 'llama', 'bert'])
def test_the_shapes_of_a_folder_are_known_without_its_weights(name, request):
    folder = request.getfixturevalue(name).write()
    expected = jax.tree.map(jnp.shape, load(folder).params)
    (folder / 'model.safetensors').unlink()
    assert jax.tree.map(jnp.shape, shapes_in(str(folder))) == expected


def test_unscaled_gpt2_attention(gpt2):
    gpt2.config['scale_attn_weights'] = False
    assert load(gpt2.write()).spec['block']['mixer']['scale'] == 1.0


@pytest.mark.long
@pytest.mark.parametrize('dtype', [ml_dtypes.bfloat16, np.float16, np.float64])
def test_other_float_types_become_float32(llama, dtype):
    llama.tensors = {name: array.astype(dtype) for name, array in llama.tensors.items()}
    loaded = load(llama.write())
    assert {leaf.dtype for leaf in jax.tree.leaves(loaded.params)} == {np.dtype(np.float32)}
    np.testing.assert_allclose(logits(loaded), expected(llama_row, llama), atol=TOLERANCE)


def test_shards_are_one_model(gpt2):
    whole, shards = load(gpt2.write()), load(gpt2.write_shards())
    jax.tree.map(np.testing.assert_array_equal, whole.params, shards.params)


def test_fused_projections_are_taken_apart_by_head(gpt2):
    mixer = load(gpt2.write()).params['layers']['pattern_0']['mixer']
    fused, bias = gpt2.tensors['h.1.attn.c_attn.weight'], gpt2.tensors['h.1.attn.c_attn.bias']
    for part, name in enumerate(('query', 'key', 'value')):
        for head in range(3):
            columns = slice(12 * part + 4 * head, 12 * part + 4 * head + 4)
            np.testing.assert_array_equal(mixer[name][1, :, head], fused[:, columns])
            np.testing.assert_array_equal(mixer[f'{name}_bias'][1, head], bias[columns])


def test_buffers_that_are_no_parameters_are_ignored(gpt2, llama):
    gpt2.tensors |= {'h.0.attn.bias': np.ones((1, 1, 7, 7), bool), 'h.1.attn.masked_bias': np.float32(-1e4)[None]}
    llama.tensors['layers.1.self_attn.rotary_emb.inv_freq'] = np.ones(3, np.float32)
    load(gpt2.write())
    load(llama.write('model.'))


def test_a_stored_copy_of_a_tied_tensor_is_accepted(gpt2):
    gpt2.tensors['lm_head.weight'] = gpt2.tensors['wte.weight'].copy()
    assert 'head' not in load(gpt2.write('transformer.')).params


def test_dropout_goes_where_each_family_has_it(gpt2, llama):
    spec = load(gpt2.write()).spec
    mixer, feedforward = spec['block']['mixer'], spec['block']['feedforward']
    rates = [part['dropout'] for part in (spec, mixer, mixer['kernel'], feedforward)]
    assert rates == [0.5, 0.25, 0.75, 0.25]
    assert load(llama.write()).spec['block']['mixer']['kernel']['dropout'] == 0.125


def test_tokenizer_and_name(gpt2):
    assert load(gpt2.write()).tokenizer is None
    (gpt2.path / 'tokenizer.json').write_text('{}')
    loaded = load(str(gpt2.path))
    assert loaded.tokenizer == gpt2.path / 'tokenizer.json'
    assert loaded.name == 'tiny-gpt2'


@pytest.mark.parametrize(
    'rope',
    [
        {'rope_parameters': {'rope_type': 'linear', 'rope_theta': 50.0, 'factor': 4.0}},
        {'rope_theta': 50.0, 'rope_scaling': {'type': 'linear', 'factor': 4}},
        {'rope_theta': 50, 'rope_scaling': {'rope_type': 'linear', 'factor': 4.0}, 'rope_parameters': None},
    ],
)
def test_rope_settings_of_either_version_say_the_same(llama, rope):
    llama.config = {key: value for key, value in llama.config.items() if key != 'rope_theta'} | rope
    assert load(llama.write()).spec['block']['mixer']['position'] == {
        'use': 'position.rotary:Rotary',
        'base': 50.0,
        'scaling': {'use': 'ops.rotary:linear', 'factor': 4.0},
    }


def test_llama3_falls_back_on_the_models_own_context(llama):
    llama.config['rope_scaling'] = {
        'rope_type': 'llama3', 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0
    }  # fmt: skip
    scaling = load(llama.write()).spec['block']['mixer']['position']['scaling']
    assert scaling == {'use': 'ops.rotary:llama3', 'factor': 8.0, 'low': 1.0, 'high': 4.0, 'context_length': 9}


@pytest.mark.long
def test_a_directory_is_opened_in_python_to_generate_and_to_embed(gpt2):
    gpt2.write()
    tokenizer = Character(end=None).train(['abcdefghijk'])
    tokenizer.save(gpt2.path)
    model = saccade.load(str(gpt2.path))
    tokens = tokenizer.encode('cab')
    for _ in range(4):  # greedily, by the forward pass in NumPy
        tokens.append(int(gpt2_row(gpt2.tensors, gpt2.config, np.array(tokens))[-1].argmax()))
    assert model.generate('cab', max_tokens=4, temperature=0.0) == tokenizer.decode(tokens)
    assert model.embed('cabbed').vectors.shape == (6, 12)
    assert model.config['model']['vocabulary'] == model.model.vocabulary == 11
    with pytest.raises(UserError, match='GPT2LMHeadModel predicts no class, number, tags or answer'):
        model.predict('cab')


def test_a_directory_without_a_tokenizer_is_refused_in_python(gpt2):
    with pytest.raises(UserError, match=r'there is no tokenizer\.json'):
        saccade.load(str(gpt2.write()))


@pytest.mark.parametrize('name', ['gpt2', 'llama'])
def test_a_language_model_is_read_under_new_heads(name, request):
    folder = request.getfixturevalue(name).write()
    written, (read, part) = spec_of(folder), under_heads(folder, ('pooled',))
    assert (written['use'], read['use'], part) == ('model.decoder:Decoder', 'model.encoder:Encoder', '')
    assert read['block'] == written['block']
    assert under_heads(folder, ('masked',)) == (written, '')  # no model of the family has such a head


def test_an_encoder_without_a_head_is_read_under_new_heads(bert):
    for architecture in ('BertModel', 'BertForMaskedLM'):
        bert.config['architectures'] = [architecture]
        assert under_heads(bert.write(), ('pooled',))[0]['use'] == 'model.encoder:Encoder'
