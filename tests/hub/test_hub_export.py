# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exported folders: each family reads back the model that it wrote, and what no family holds is refused by field."""

import json
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import GPT2, LLAMA
from flax.traverse_util import flatten_dict
from test_hub_encoders import CONFIGS
from test_hub_images import CLIP, SIGLIP, VIT
from test_hub_seq2seq import GATED, MARIAN, T5

from saccade.build import build
from saccade.data.tokenizer.tokenizer import BERT
from saccade.data.tokenizer.word_piece import WordPiece
from saccade.hub.describe import describe
from saccade.hub.export import Format, Source, export
from saccade.hub.family import ONE_TEXT, families, find_family
from saccade.hub.load import load, spec_of
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import Initial, shapes_by_path
from saccade.types import Part, UserError

TOWER = {
    'hidden_size': 8, 'num_hidden_layers': 2, 'num_attention_heads': 2, 'intermediate_size': 12, 'image_size': 8,
    'patch_size': 4,
}  # fmt: skip
WORDS = TOWER | {'vocab_size': 11, 'max_position_embeddings': 6}
MISTRAL = LLAMA | {'model_type': 'mistral', 'sliding_window': 3, 'attention_bias': None, 'mlp_bias': None}
GEMMA2 = LLAMA | {'model_type': 'gemma2', 'mlp_bias': None, 'hidden_act': None, 'query_pre_attn_scalar': 5}
GEMMA3 = GEMMA2 | {'model_type': 'gemma3_text', 'num_hidden_layers': 8}
BART = MARIAN | {'model_type': 'bart'}
NEOX = LLAMA | {'model_type': 'gpt_neox', 'hidden_size': 32, 'hidden_act': 'gelu', 'attention_bias': None}
OPT = LLAMA | {'model_type': 'opt', 'ffn_dim': 10, 'activation_function': 'relu'}
PHI = LLAMA | {'model_type': 'phi', 'head_dim': 8, 'hidden_act': 'gelu_new'}
EXPERTS = LLAMA | {
    'attention_bias': None, 'num_local_experts': 3, 'num_experts_per_tok': 2, 'num_key_value_heads': 2,
}  # fmt: skip
MODERN = LLAMA | {
    'model_type': 'modernbert', 'hidden_size': 16, 'num_hidden_layers': 5, 'hidden_act': None,
    'tie_word_embeddings': None, 'architectures': ['ModernBertForMaskedLM'],
}  # fmt: skip
MAMBA = LLAMA | {
    'model_type': 'mamba2', 'num_heads': 4, 'head_dim': 6, 'state_size': 5, 'n_groups': 1, 'attention_bias': None,
}  # fmt: skip
NEXT = EXPERTS | {
    'model_type': 'qwen3_next', 'mlp_bias': None, 'num_hidden_layers': 4, 'head_dim': 8, 'num_experts': 3,
    'moe_intermediate_size': 5, 'shared_expert_intermediate_size': 6, 'linear_num_key_heads': 2,
    'linear_num_value_heads': 4, 'linear_key_head_dim': 5, 'linear_value_head_dim': 3,
}  # fmt: skip
KIMI = {
    key: value for key, value in EXPERTS.items() if not key.endswith('_bias')
} | {
    'model_type': 'kimi_linear', 'model_max_length': 9, 'max_position_embeddings': None, 'num_local_experts': None,
    'num_experts_per_tok': None, 'num_experts': 3, 'num_experts_per_token': 2, 'moe_intermediate_size': 5,
    'kv_lora_rank': 4, 'qk_rope_head_dim': 2, 'qk_nope_head_dim': 3, 'v_head_dim': 3, 'linear_head_dim': 4,
    'linear_num_heads': 2, 'num_hidden_layers': 6,
}  # fmt: skip
TWO_CLASSES = {'id2label': {'0': 'a', '1': 'b'}}
SMALL: dict[str, dict[str, Any]] = {
    'gpt2': GPT2,
    'gpt2, untied and unscaled': GPT2 | {'tie_word_embeddings': False, 'scale_attn_weights': False},
    'llama': LLAMA,
    'llama, scaled positions': LLAMA | {'rope_scaling': {
        'rope_type': 'llama3', 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0,
        'original_max_position_embeddings': 5,
    }},
    'llama, linear': LLAMA | {'rope_scaling': {'rope_type': 'linear', 'factor': 2.0}, 'mlp_bias': False},
    'mistral': MISTRAL,
    'mistral, all tokens': MISTRAL | {'sliding_window': None},
    'phi3': LLAMA | {
        'model_type': 'phi3', 'attention_bias': None, 'mlp_bias': None, 'head_dim': None, 'hidden_size': 16,
    },
    'olmo2': LLAMA | {'model_type': 'olmo2', 'mlp_bias': None},
    'gemma3_text': GEMMA3,
    'gemma3_text, another pattern': GEMMA3 | {
        'num_hidden_layers': 5, 'layer_types': [*2 * ['sliding_attention', 'full_attention'], 'sliding_attention'],
        'rope_parameters': {
            'full_attention': {'rope_type': 'linear', 'factor': 8.0, 'rope_theta': 70.0},
            'sliding_attention': {'rope_type': 'default', 'rope_theta': 30.0},
        },
    },
    'gpt_neox': NEOX,
    'gpt_neox, one after another': NEOX | {'use_parallel_residual': False, 'tie_word_embeddings': True},
    'opt': OPT,
    'opt, norms after': OPT | {'do_layer_norm_before': False, 'enable_bias': False},
    'opt, a narrow embedding': OPT | {'word_embed_proj_dim': 8, 'do_layer_norm_before': False},
    'opt, no last norm': OPT | {'_remove_final_layer_norm': True, 'layer_norm_elementwise_affine': False},
    'phi': PHI,
    'phi, normed': PHI | {'qk_layernorm': True, 'hidden_size': 32},
    'mixtral': EXPERTS | {'model_type': 'mixtral', 'mlp_bias': None},
    'qwen3_moe': EXPERTS | {'model_type': 'qwen3_moe', 'mlp_only_layers': [0], 'moe_intermediate_size': 5},
    'qwen3_next': NEXT,
    'qwen3_next, another pattern': NEXT | {
        'num_hidden_layers': 3, 'layer_types': ['full_attention', 'linear_attention', 'linear_attention'],
        'mlp_only_layers': [1], 'linear_num_value_heads': 2,
    },
    'kimi_linear': KIMI,
    'kimi_linear, latent queries': KIMI | {'q_lora_rank': 3, 'num_shared_experts': 2, 'num_hidden_layers': 3},
    'modernbert': MODERN,
    'modernbert, every bias, trunk': MODERN | {
        'norm_bias': True, 'classifier_bias': True, 'architectures': ['ModernBertModel'], 'num_hidden_layers': 1,
    },
    'mamba2': MAMBA,
    'mamba2, groups, no bias of the convolution': MAMBA | {'n_groups': 2, 'use_conv_bias': False, 'chunk_size': 3},
    'bart': BART,
    'mbart': BART | {'model_type': 'mbart'},
    'pegasus': BART | {'model_type': 'pegasus', 'scale_embedding': True},
    'mt5': T5 | {'model_type': 'mt5'},
    'olmo': LLAMA | {'model_type': 'olmo', 'mlp_bias': None, 'head_dim': None, 'hidden_size': 16},
    'gemma': LLAMA | {'model_type': 'gemma', 'mlp_bias': None, 'hidden_act': 'gelu_pytorch_tanh'},
    'gemma2': GEMMA2,
    'gemma2, unbounded': GEMMA2 | {
        'num_hidden_layers': 4, 'attn_logit_softcapping': None, 'final_logit_softcapping': None, 'sliding_window': 2,
    },
    'qwen2': LLAMA | {'model_type': 'qwen2', 'attention_bias': None, 'mlp_bias': None},
    'qwen3': LLAMA | {'model_type': 'qwen3', 'mlp_bias': None},
    't5': T5,
    't5, gated': T5 | GATED,
    't5, deeper encoder': T5 | {'num_decoder_layers': 1},
    'marian': MARIAN | {'scale_embedding': True, 'activation_function': 'relu'},
    'vit': VIT | {'architectures': ['ViTForImageClassification'], 'num_channels': 1},
    'deit': VIT | {'model_type': 'deit', 'qkv_bias': False},
    'clip': CLIP | {'vision_config': TOWER, 'text_config': WORDS, 'projection_dim': 5},
    'siglip': SIGLIP | {'vision_config': TOWER, 'text_config': WORDS | {'pad_token_id': 3, 'projection_size': 8}},
    'modernbert, mean': MODERN | TWO_CLASSES | {
        'architectures': ['ModernBertForSequenceClassification'], 'classifier_pooling': 'mean',
    },
}  # fmt: skip
SMALL |= {
    f'{name}, {architecture}': config | TWO_CLASSES | {'model_type': name, 'architectures': [architecture]}
    for name, config in (CONFIGS | {'modernbert': MODERN}).items()
    for architecture in find_family(name).heads
}
HEADS = {
    f'{name}, {architecture}': config | TWO_CLASSES | {'model_type': name, 'architectures': [architecture]}
    for name, config in SMALL.items()
    if ',' not in name
    for architecture in find_family(name).heads
}
HEADS['gpt2, GPT2Model']['tie_word_embeddings'] = False  # else it is read as a language model
ALL = SMALL | HEADS


def made(config: dict[str, Any]) -> tuple[Part, Any]:
    """A model of a family, and random parameters of it."""
    family = find_family(config['model_type'])
    settings = family.keys.settings(config)
    model = build(family.spec(settings, family.heads_of(settings)))
    inputs = jax.tree.map(jnp.asarray, family.inputs_of(settings))
    shapes = jax.eval_shape(lambda: model().init(jax.random.key(0), *inputs, False))['params']
    leaves, structure = jax.tree.flatten(shapes)
    random = np.random.default_rng(0)
    drawn = [random.normal(size=leaf.shape).astype(np.float32) for leaf in leaves]
    return model, jax.tree.unflatten(structure, drawn)


def assert_same(params: Any, others: Any) -> None:
    params, others = flatten_dict(params, sep='/'), flatten_dict(others, sep='/')
    assert params.keys() == others.keys()
    for path, leaf in params.items():
        np.testing.assert_array_equal(np.asarray(leaf), np.asarray(others[path]), err_msg=path)


def test_all_families_are_tried():
    assert {config['model_type'] for config in SMALL.values()} == families().keys()


@pytest.mark.parametrize('name', [pytest.param(name, marks=pytest.mark.long if ', ' in name else ()) for name in ALL])
def test_a_family_reads_back_the_model_that_it_wrote_bit_by_bit(name, tmp_path):
    config = ALL[name]
    model, params = made(config)
    ending = (config.get('architectures') or [''])[0]
    found = export(Source(model, params, ending=ending), tmp_path / 'out', Format(config['model_type'])).config
    assert found['model_type'] == config['model_type']
    assert not ending or found['architectures'] == [ending]
    back = load(tmp_path / 'out')
    assert build(back.spec) == model
    assert_same(back.params, params)


@pytest.mark.long
@pytest.mark.parametrize('name', SMALL)
def test_without_a_family_named_the_model_is_the_same(name, tmp_path):
    model, params = made(SMALL[name])
    export(Source(model, params), tmp_path / 'out')
    assert_same(load(tmp_path / 'out').params, params)


@pytest.mark.long
def test_shards_of_a_size_and_types_of_tensors(tmp_path):
    model, params = made(LLAMA)
    export(Source(model, params), tmp_path / 'one', Format(dtype='bfloat16', shard=700))
    shards = sorted(path.name for path in (tmp_path / 'one').glob('*.safetensors'))
    index = json.loads((tmp_path / 'one' / 'model.safetensors.index.json').read_text())
    assert len(shards) > 2
    assert {*index['weight_map'].values()} == {*shards}
    assert index['metadata']['total_size'] == 2 * sum(leaf.size for leaf in jax.tree.leaves(params))
    assert json.loads((tmp_path / 'one' / 'config.json').read_text())['dtype'] == 'bfloat16'
    rounded = jax.tree.map(lambda leaf: np.asarray(jnp.asarray(leaf, jnp.bfloat16), np.float32), params)
    assert_same(load(tmp_path / 'one').params, rounded)


def changed(config: dict[str, Any], *path: str, **arguments: Any) -> Part:
    """A family's model with other arguments of the part at a path."""
    return _changed(made(config)[0], path, arguments)


def _changed(part: Any, path: tuple[str, ...], arguments: dict[str, Any]) -> Any:
    if isinstance(part, tuple):  # parts by name, as the heads
        named = dict(part)
        return tuple({**named, path[0]: _changed(named[path[0]], path[1:], arguments)}.items())
    if not path:
        return part.replace(**arguments)
    return part.replace(**{path[0]: _changed(part[path[0]], path[1:], arguments)})


def part(use: str, **arguments: Any) -> Part:
    return build({'use': use, **arguments})


@pytest.mark.parametrize(
    ('model', 'words'),
    [
        (changed(GPT2, 'block', 'mixer', mask=part('ops.mask:Full')),
         'nearest is gpt2, but config.model.block.mixer.mask is ops.mask:Full, which must be ops.mask:Causal'),
        (changed(LLAMA, 'block', 'mixer', position=part('position.alibi:ALiBi')),
         'nearest is llama, but config.model.block.mixer.position is position.alibi:ALiBi, which must be '
         'position.rotary:Rotary'),
        (changed(LLAMA, 'block', 'mixer', kernel=part('attention.moba:MoBA', block=2, chosen=2)),
         'config.model.block.mixer.kernel is attention.moba:MoBA, which must be a kernel of softmax attention'),
        (changed(LLAMA, 'block', 'mixer', 'kernel', softmax=part('softmax.softmax_one:SoftmaxOne')),
         'has the softmax variant softmax.softmax_one:SoftmaxOne, which must be softmax.softmax:Softmax'),
        (changed(LLAMA, 'block', norm=part('norm.rms:RMSNorm', epsilon=0.5)),
         'config.model.norm.epsilon and config.model.block.norm.epsilon differ: rms_norm_eps is 1e-05 and 0.5'),
        (changed(GPT2, position=part('position.learned:Learned', length=5)), 'n_positions is 5 and 7'),
        (changed(GPT2, 'block', 'feedforward', activation=part('ops.activation:squared_relu')),
         'config.model.block.feedforward.activation is ops.activation:squared_relu, which has no name in transformers'),
        (changed(LLAMA, logit_cap=30.0), 'config.model.logit_cap is 30.0, which must be None'),
    ],
)  # fmt: skip
def test_a_model_that_no_family_holds_is_refused_by_the_nearest_and_the_field(model, words, tmp_path):
    with pytest.raises(UserError) as error:
        export(Source(model, {}), tmp_path / 'out')
    assert words in str(error.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ('name', 'path', 'changes', 'words'),
    [
        ('llama, LlamaForSequenceClassification', ('heads', 'pooled'), {'bias': True},
         'config.model.heads.pooled.bias is True, which must be False'),
        ('gpt2, GPT2ForSequenceClassification', ('heads', 'pooled'), {'pool': part('ops.pool:mean')},
         'config.model.heads.pooled.pool is ops.pool:mean, which must be ops.pool:last'),
        ('t5, T5EncoderModel', (),
         {'heads': {'pooled': part('head.pooled:Pooled', classes=2, pool=part('ops.pool:last'))}},
         'config.model is model.encoder:Encoder, which must be model.reread:Reread'),
        ('opt, OPTForQuestionAnswering', (), {'embedding_width': 8},
         'config.model.embedding_width is 8, which must be None'),
        ('clip, CLIPForImageClassification', (), {'norm': part('norm.layer:LayerNorm')},
         'config.model.norm is norm.layer:LayerNorm, which must be norm.none:NoNorm'),
        ('siglip, SiglipForImageClassification', ('heads', 'pooled'), {'pool': part('ops.pool:first')},
         'config.model.heads.pooled.pool is ops.pool:first, which must be ops.pool:mean'),
    ],
)  # fmt: skip
def test_a_head_that_the_family_lacks_is_refused_by_the_field(name, path, changes, words, tmp_path):
    config = ALL[name]
    with pytest.raises(UserError, match=re.escape(f'nearest is {config["model_type"]}, but {words}')):
        export(Source(changed(config, *path, **changes), {}), tmp_path / 'out', Format(config['model_type']))


def test_a_model_with_a_parameter_that_no_tensor_of_the_family_holds_is_refused(tmp_path, monkeypatch):
    (tmp_path / 'lossy.py').write_text(
        'from dataclasses import replace\n'
        'from saccade.hub.gpt2 import FAMILY as GPT2\n'
        "FAMILY = replace(GPT2, weights=tuple(each for each in GPT2.weights if each.theirs != 'ln_f.bias'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv('SACCADE_TRUST', 'lossy:FAMILY')
    with pytest.raises(UserError, match='lossy has no place for the parameter norm/bias, of shape'):
        export(Source(*made(GPT2)), tmp_path / 'out', Format('lossy'))
    assert not (tmp_path / 'out').exists()


@pytest.mark.long
def test_the_nearest_family_is_of_the_same_kind_and_there_is_none_for_a_model_of_no_family():
    """A bidirectional encoder of texts is near no decoder and no reader of images."""
    experiments = Path(__file__).parents[2] / 'experiments'
    for name, words in {
        'pairs/sentence_bert': r'nearest is modernbert, but (?!.*\.(embed|mask) is )',
        'translation/dates_recurrent': r'^no family of Hugging Face holds a model like model\.recurrent_seq2seq:',
    }.items():
        run = Experiment.of(load_config(str(experiments / f'{name}.py'), []))
        with pytest.raises(UserError, match=words):
            describe(run.model, shapes_by_path(Initial.of(run).own), {})


@pytest.mark.long
def test_clip_on_ones_own_captions_is_held_by_its_family():
    run = Experiment.of(load_config(str(Path(__file__).parents[2] / 'experiments/pairs/captions.py'), []))
    assert describe(run.model, shapes_by_path(Initial.of(run).own), {}).config['model_type'] == 'clip'


def test_a_named_family_says_what_it_lacks(tmp_path):
    with pytest.raises(UserError, match=r'nearest is bert, but config\.model is model\.decoder:Decoder'):
        export(Source(*made(GPT2)), tmp_path / 'out', Format('bert'))


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'changes'),
    [
        ('gpt2', [(('block', 'mixer'), dict(bias=False, output_bias=False, key_value_heads=3, head_width=4))]),
        ('gpt2', [(('block', 'mixer'), dict(fused=True))]),
        ('gpt2', [(('block', 'feedforward'), dict(bias=False, dropout=0.3))]),
        ('gpt2', [(('block', 'mixer'), dict(kernel=part('attention.blockwise:Blockwise', dropout=0.5)))]),
        ('llama', [((), dict(dropout=0.2, run=part('model.stack:Scanned')))]),
        ('bert, BertForMaskedLM', [((), dict(types=0))]),
    ],
)  # fmt: skip
def test_what_does_not_change_the_outputs_does_not_keep_a_model_in(name, changes, tmp_path):
    """Missing biases and types are zeros there; kernels that compute the same, dropout and initialisers are free."""
    config = SMALL[name]
    ((path, arguments),) = changes
    model, family = changed(config, *path, **arguments), find_family(config['model_type'])
    inputs = jax.tree.map(jnp.asarray, family.inputs_of(family.keys.settings(config)))
    params = model().init(jax.random.key(0), *inputs, False)['params']
    params = jax.tree.map(lambda leaf: leaf + 0.1 * jax.random.normal(jax.random.key(1), leaf.shape), params)
    export(Source(model, params), tmp_path / 'out')
    back = load(tmp_path / 'out')
    theirs, ours = (
        each().apply({'params': jax.tree.map(jnp.asarray, weights)}, *inputs, False)
        for each, weights in ((build(back.spec), back.params), (model, params))
    )
    for found, wanted in zip(jax.tree.leaves(theirs), jax.tree.leaves(ours), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.long
def test_layers_of_a_kind_that_the_family_lacks(tmp_path):
    """A kind of layer that the config names, a list of another length, and a block without its norm."""
    for kinds, words in (
        (['chunked_attention', *7 * ['full_attention']], "layer_types is 'chunked_attention' in a layer"),
        (['full_attention'], "layer_types is ['full_attention'], which is not of 8 layers"),
    ):
        with pytest.raises(UserError) as error:
            made(GEMMA3 | {'layer_types': kinds})
        assert words in str(error.value)
    with pytest.raises(UserError, match='num_hidden_layers must be at most 1000, not 100000000'):
        made(GEMMA3 | {'num_hidden_layers': 10**8, 'layer_types': None})
    model = changed(MODERN, first_blocks=(), last_blocks=(), layers=3)
    with pytest.raises(UserError, match='block must have no norm before the mixer in the first layer'):
        export(Source(model, {}), tmp_path / 'out', Format('modernbert'))


@pytest.mark.long
def test_sinusoids_are_written_as_a_table(tmp_path):
    """Pegasus holds our translation models with norms before the branches, whose sines and cosines alternate."""
    model = made(SMALL['pegasus'])[0]
    towers = {name: model[name].replace(position=part('position.sinusoid:Sinusoid')) for name in ('encoder', 'decoder')}
    model, inputs = model.replace(**towers), jax.tree.map(jnp.asarray, 2 * ONE_TEXT)
    params = model().init(jax.random.key(0), *inputs, False)['params']
    assert export(Source(model, params), tmp_path / 'out').config['model_type'] == 'pegasus'
    table = load(tmp_path / 'out').params['decoder']['position']['positions']
    angle = np.arange(9) / 10000 ** (2 / 12)
    np.testing.assert_allclose(table[:, 2], np.sin(angle), atol=1e-6)
    np.testing.assert_allclose(table[:, 3], np.cos(angle), atol=1e-6)


def test_a_family_from_outside_the_package(tmp_path, monkeypatch):
    """The example of docs/guides/hugging_face.md, in and out."""
    guide = (Path(__file__).parents[2] / 'docs/guides/hugging_face.md').read_text()
    (code,) = re.findall(r'```python\n(from saccade.hub.keys.*?)```', guide, re.DOTALL)
    (tmp_path / 'mylm.py').write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    config = {key: value for key, value in LLAMA.items() if not key.endswith('_bias') and key != 'rms_norm_eps'}
    with pytest.raises(UserError, match='mylm'):
        find_family('mylm')
    monkeypatch.setenv('SACCADE_TRUST', 'mylm:FAMILY')
    model, params = made(config | {'model_type': 'mylm'})
    assert model['norm']['epsilon'] == 1e-5
    export(Source(model, params), tmp_path / 'out', Format('mylm'))
    assert json.loads((tmp_path / 'out' / 'config.json').read_text())['architectures'] == ['MyLMForCausalLM']
    back = load(tmp_path / 'out')
    assert build(back.spec) == model
    assert_same(back.params, params)


@pytest.mark.long
def test_the_end_of_a_caption_is_named_where_clip_pools_it(tmp_path):
    tokenizer = WordPiece(vocabulary=60, end=None, specials=BERT).train(['a red square', 'a blue circle'] * 5)
    model, params = made(SMALL['clip'] | {'text_config': WORDS | {'vocab_size': 60}})
    export(Source(model, params, tokenizer), tmp_path / 'out')
    texts = json.loads((tmp_path / 'out' / 'config.json').read_text())['text_config']
    ids = {name: tokenizer.special(token) for name, token in (('bos', '[CLS]'), ('eos', '[SEP]'), ('pad', '[PAD]'))}
    assert {name: texts[f'{name}_token_id'] for name in ids} == ids
    assert not (tmp_path / 'out' / 'generation_config.json').exists()
    assert load(tmp_path / 'out').open_tokenizer().encode('a red') == tokenizer.encode('a red')


@pytest.mark.parametrize(
    ('name', 'vocabulary', 'start'),
    [('bart', 11, 2), ('t5', 11, 0), ('mbart', 11, 0), ('marian', 11, 0), ('marian', 58_101, 58_100)],
)
def test_without_a_tokenizer_a_target_starts_with_the_token_of_the_family(name, vocabulary, start):
    """Or with token 0, where the model has no such token."""
    family, config = find_family(name), SMALL[name] | {'vocab_size': vocabulary, 'scale_embedding': False}
    model, inputs = build(family.spec(family.keys.settings(config))), jax.tree.map(jnp.asarray, 2 * ONE_TEXT)
    params = jax.eval_shape(lambda: model().init(jax.random.key(0), *inputs, False))['params']
    shapes = {path: leaf.shape for path, leaf in flatten_dict(params, sep='/').items()}
    assert describe(model, shapes, {}, name).config['decoder_start_token_id'] == start


def test_an_existing_folder_is_left_alone(tmp_path):
    (tmp_path / 'mine').write_text('kept')
    with pytest.raises(UserError, match='exists and is not an empty folder'):
        export(Source(*made(GPT2)), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ['mine']


def test_a_folder_that_is_like_a_draft_is_left_alone(tmp_path):
    (tmp_path / '.out.draft').mkdir()
    (tmp_path / '.out.draft' / 'mine').write_text('kept')
    with pytest.raises(UserError, match='exists; delete it'):
        export(Source(*made(GPT2)), tmp_path / 'out')
    assert [path.name for path in tmp_path.rglob('*')] == ['.out.draft', 'mine']


def test_others_may_read_what_the_owner_shares(tmp_path):
    export(Source(*made(GPT2)), tmp_path / 'out')
    assert len({path.stat().st_mode for path in (tmp_path / 'out').iterdir()}) == 1


def test_a_folder_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(UserError, match='cannot be written: Not a directory'):
        export(Source(*made(GPT2)), tmp_path / 'file' / 'out')


@pytest.mark.parametrize(
    ('value', 'dtype', 'words'),
    [
        (1e5, 'float16', 'magnitude 100000; float16 ends at 65504: export with --dtype=bfloat16 or --dtype=float32'),
        (-1e5, 'float16', 'magnitude 100000; float16 ends at 65504'),
        (np.nan, 'float32', 'holds a number that is NaN or infinite; export another checkpoint'),
    ],
)
def test_a_weight_that_the_type_does_not_hold_is_named_and_nothing_is_written(value, dtype, words, tmp_path):
    model, params = made(GPT2)
    params = {**params, 'embedding': np.array(params['embedding'])}
    params['embedding'][2, 1] = value
    with pytest.raises(UserError, match=rf"^tensor 'transformer\.wte\.weight' .*{words}"):
        export(Source(model, params), tmp_path / 'out', Format(dtype=dtype))
    assert not any(tmp_path.iterdir())


def test_an_unknown_type_of_tensors():
    with pytest.raises(UserError, match='float32, bfloat16, float16'):
        Format(dtype='int8')


@pytest.mark.long
def test_the_names_of_classes_are_written(tmp_path):
    model, params = made(SMALL['bert, BertForSequenceClassification'])
    names = {'id2label': {0: 'no', 1: 'yes'}, 'label2id': {'no': 0, 'yes': 1}}
    export(Source(model, params, settings=names), tmp_path / 'out')
    assert json.loads((tmp_path / 'out' / 'config.json').read_text())['label2id'] == {'no': 0, 'yes': 1}
    assert spec_of(tmp_path / 'out')['heads']['pooled']['classes'] == 2
