# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The published models: our configs of them, and what the hub makes of their config.json, are one architecture."""

import json
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from saccade.build import build, plain
from saccade.hub import gpt2, llama
from saccade.hub.load import spec_of
from saccade.hub.tensors import read_json
from saccade.train.config_file import run_file
from saccade.types import LayerContext, UserError

CONFIGS = Path(__file__).parents[2] / 'experiments'
GPT2_PARAMETERS = 124_439_808
GPT2_CONFIG = {'vocab_size': 50257, 'n_positions': 1024, 'n_embd': 768, 'n_layer': 12, 'n_head': 12} | dict.fromkeys(
    ('resid_pdrop', 'embd_pdrop', 'attn_pdrop'), 0.0
)
LLAMA_CONFIG = {
    'vocab_size': 1024, 'max_position_embeddings': 128, 'hidden_size': 128, 'intermediate_size': 341,
    'num_hidden_layers': 4, 'num_attention_heads': 4, 'num_key_value_heads': 2, 'rms_norm_eps': 1e-5,
}  # fmt: skip
BERT_CONFIG = {
    'vocab_size': 30522, 'max_position_embeddings': 512, 'hidden_size': 768, 'intermediate_size': 3072,
    'num_hidden_layers': 12, 'num_attention_heads': 12, 'hidden_act': 'gelu', 'type_vocab_size': 2,
    'hidden_dropout_prob': 0.1, 'attention_probs_dropout_prob': 0.1,
}  # fmt: skip
ENCODERS = {
    'bert_base': {'model_type': 'bert', 'architectures': ['BertForPreTraining']},
    'roberta_base': {
        'model_type': 'roberta', 'architectures': ['RobertaForMaskedLM'], 'vocab_size': 50265,
        'max_position_embeddings': 514, 'type_vocab_size': 1, 'layer_norm_eps': 1e-5,
    },
    'albert_base': {
        'model_type': 'albert', 'architectures': ['AlbertForPreTraining'], 'vocab_size': 30000, 'embedding_size': 128,
        'hidden_act': 'gelu_new', 'classifier_dropout_prob': 0.0, 'hidden_dropout_prob': 0.0,
        'attention_probs_dropout_prob': 0.0,
    },
}  # fmt: skip
# What a kernel and an initialiser are does not change what a model computes of its weights.
FREE = ('kernel', 'kernel_init', 'output_init', 'query_init', 'embedding_init', 'head_init', 'table_init')


@pytest.mark.parametrize(
    ('given', 'tied', 'model'),
    [
        ({**LLAMA_CONFIG, 'model_type': 'llama', 'architectures': ['LlamaModel']}, False, 'encoder'),
        ({**LLAMA_CONFIG, 'model_type': 'llama', 'architectures': ['LlamaModel']}, True, 'decoder'),
        ({**GPT2_CONFIG, 'model_type': 'gpt2', 'architectures': ['GPT2Model']}, None, 'decoder'),
        ({**GPT2_CONFIG, 'model_type': 'gpt2', 'architectures': ['GPT2Model']}, False, 'encoder'),
    ],
)
def test_a_decoder_without_an_output_layer_is_an_encoder_unless_the_embedding_is_one(tmp_path, given, tied, model):
    found = given if tied is None else given | {'tie_word_embeddings': tied}
    (tmp_path / 'config.json').write_text(json.dumps(found))
    spec = spec_of(tmp_path)
    assert spec['use'] == f'model.{model}:{model.capitalize()}'
    assert spec['block']['mixer']['mask'] == {'use': 'ops.mask:Causal'}


def test_gelu_of_gemma_is_its_approximation(tmp_path):
    specs = []
    for name in ('gelu', 'gelu_pytorch_tanh'):
        given = {**LLAMA_CONFIG, 'model_type': 'gemma', 'architectures': ['GemmaForCausalLM'], 'hidden_act': name}
        (tmp_path / 'config.json').write_text(json.dumps(given))
        specs.append(spec_of(tmp_path))
    assert specs[0] == specs[1]


def config(name: str, kind: str = 'causal_lm') -> Any:
    return run_file('config', str(CONFIGS / kind / f'{name}.py'), 'get_config')[0]


def shapes(spec: Any) -> Any:
    model, tokens = build(plain(spec))(), jnp.zeros((1, 1), jnp.int32)
    return jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, LayerContext(tokens), False))['params']


def architecture(module: Any) -> Any:
    """Every field of a built part, defaults included, save for those that are free."""
    fields = getattr(module, '__dataclass_fields__', None)
    if isinstance(module, tuple):
        return [architecture(item) for item in module]
    if hasattr(module, 'target'):
        return module.name, architecture(module()) if isinstance(module.target, type) else module.arguments
    names = [name for name in fields or () if name not in (*FREE, 'parent', 'name')]
    return {name: architecture(getattr(module, name)) for name in names} if fields else module


def test_gpt2_124m_has_the_published_number_of_parameters():
    count = sum(leaf.size for leaf in jax.tree.leaves(shapes(config('gpt2_124m').model)))
    assert count == GPT2_PARAMETERS


def test_gpt2_124m_is_what_the_hub_loads():
    ours, theirs = config('gpt2_124m').model, gpt2.FAMILY.spec(gpt2.FAMILY.keys.settings(GPT2_CONFIG))
    assert architecture(build(plain(ours))) == architecture(build(theirs))
    assert shapes(ours) == shapes(theirs)


def test_llama_tiny_is_what_the_hub_would_load():
    ours, theirs = plain(config('llama_tiny').model), llama.FAMILY.spec(LLAMA_CONFIG)
    assert shapes(ours) == shapes(theirs)
    assert round(ours['block']['feedforward'].pop('ratio') * ours['width']) == 341
    theirs['block']['feedforward'].pop('width')
    assert architecture(build(ours)) == architecture(build(theirs))


@pytest.mark.parametrize('name', ENCODERS)
def test_encoders_are_what_the_hub_loads(name, tmp_path):
    (tmp_path / 'config.json').write_text(json.dumps(BERT_CONFIG | ENCODERS[name]))
    ours, theirs = plain(config(name, 'masked_lm').model), spec_of(tmp_path)
    assert architecture(build(ours)) == architecture(build(theirs))
    assert shapes(ours) == shapes(theirs)


@pytest.mark.parametrize('name', ['gpt2_124m', 'llama_tiny'])
def test_sizes_follow_one_another(name):
    changed = config(name)
    changed.model.vocabulary, changed.model.context_length, changed.model.layers = 300, 32, 8
    changed.data.path = 'somewhere'
    changed = plain(changed)
    assert changed['data']['tokenizer']['vocabulary'] == 300
    assert changed['data']['context_length'] == 32
    assert changed['model']['block']['mixer']['output_init']['stddev'] == 0.02 / 4
    assert changed['data']['path'] == 'somewhere'


def test_dropout_is_one_number_and_positions_fill_the_context_of_gpt2():
    changed = config('gpt2_124m')
    changed.model.dropout, changed.data.context_length = 0.1, 64
    model = plain(changed.model)
    block = model['block']
    parts = (block['mixer'], block['mixer']['kernel'], block['feedforward'])
    assert {part['dropout'] for part in parts} == {0.1}
    assert model['position']['length'] == 64


@pytest.mark.parametrize('name', ['gpt2_124m', 'llama_tiny'])
def test_a_width_alone_may_be_changed(name):
    changed = config(name)
    changed.model.width = 24
    changed.model.block.mixer.heads = 2
    assert shapes(changed.model)['embedding'].shape[1] == 24


@pytest.mark.parametrize('written', ['Infinity', '{"__float__": "Infinity"}'])
def test_an_infinite_number_is_read_as_either_version_of_transformers_writes_it(written, tmp_path):
    (tmp_path / 'config.json').write_text(f'{{"time_step_limit": [0.0, {written}]}}')
    assert read_json(tmp_path / 'config.json') == {'time_step_limit': [0.0, math.inf]}


@pytest.mark.parametrize('written', ['"x"', '[1]', '{}'])
def test_an_object_that_is_no_number_is_refused(written, tmp_path):
    (tmp_path / 'config.json').write_text(f'{{"time_step_limit": {{"__float__": {written}}}}}')
    with pytest.raises(UserError, match='is not JSON'):
        read_json(tmp_path / 'config.json')
