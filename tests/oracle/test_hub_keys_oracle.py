# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Keys of the config classes of transformers: each is read, required or harmless, as a changed value shows."""

import inspect
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.hub.family import find_family
from saccade.hub.keys import TOKENS, Keys
from saccade.hub.load import load, spec_of
from saccade.hub.setting import ACTIVATIONS, Settings
from saccade.types import LayerContext, UserError

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')
with warnings.catch_warnings():
    # What these libraries warn of as they are imported is not ours to mend.
    warnings.simplefilter('ignore')
    transformers = pytest.importorskip('transformers', reason='the oracle extra is not installed: transformers')
    from transformers.activations import ACT2FN

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-4  # greatest difference of a number
ROUNDING = 1e-5  # of a sum in another order
LEAST_SPREAD = 0.05  # standard deviation of the numbers, compared with which the tolerance is small
# Token 1 is RoBERTa's padding; 31 ends the texts of CLIP.
TOKENS_IN = np.array([[5, 17, 3, 3, 28, 31], [2, 30, 6, 19, 4, 31]])
TARGETS = np.array([[0, 7, 12, 12], [0, 8, 29, 2]])

ENDS = {'bos_token_id': None, 'eos_token_id': None, 'pad_token_id': 0}
BERT = {
    'vocab_size': 32, 'max_position_embeddings': 16, 'hidden_size': 16, 'num_hidden_layers': 2,
    'num_attention_heads': 2, 'intermediate_size': 24, **ENDS,
}  # fmt: skip
LAYERS = {'hidden_size': 16, 'num_hidden_layers': 2, 'num_attention_heads': 2, 'intermediate_size': 24}
TRANSLATOR = {
    'vocab_size': 32, 'd_model': 16, 'max_position_embeddings': 16, 'encoder_layers': 2, 'decoder_layers': 1,
    'encoder_attention_heads': 2, 'decoder_attention_heads': 4, 'encoder_ffn_dim': 24, 'decoder_ffn_dim': 20,
    'decoder_start_token_id': 0, 'forced_eos_token_id': None, **ENDS,
}  # fmt: skip
T5 = {
    'vocab_size': 32, 'd_model': 16, 'd_kv': 6, 'd_ff': 24, 'num_layers': 2, 'num_decoder_layers': 1, 'num_heads': 2,
    'relative_attention_num_buckets': 8, 'relative_attention_max_distance': 20, 'decoder_start_token_id': 0, **ENDS,
}  # fmt: skip
MAMBA = {
    'vocab_size': 32, 'hidden_size': 16, 'num_hidden_layers': 2, 'num_heads': 4, 'head_dim': 8, 'state_size': 5,
    'n_groups': 2, 'chunk_size': 4, **ENDS,
}  # fmt: skip
EXPERTS = BERT | {'num_key_value_heads': 1, 'num_experts_per_tok': 2}
IMAGES = LAYERS | {'image_size': 8, 'patch_size': 4}


@dataclass(frozen=True)
class Case:
    """Random model of a family. Attributes: name of its class; its sizes; by our head, the output that it equals."""

    name: str
    sizes: Mapping[str, Any]
    outputs: Mapping[str, str]

    def config(self, changes: Mapping[str, Any]) -> Any:
        """Their config, with some changes; those of an object within change that object."""
        sizes = {
            **self.sizes,
            **{
                key: {**self.sizes[key], **value} if isinstance(self.sizes.get(key), dict) else value
                for key, value in changes.items()
            },
        }
        return getattr(transformers, self.name).config_class(**sizes)


CASES = {
    'albert': Case(
        'AlbertForPreTraining', BERT | {'embedding_size': 8}, {'masked': 'prediction_logits', 'pooled': 'sop_logits'}
    ),
    'bart': Case('BartForConditionalGeneration', TRANSLATOR, {'logits': 'logits'}),
    'bert': Case('BertForPreTraining', BERT, {'masked': 'prediction_logits', 'pooled': 'seq_relationship_logits'}),
    'clip': Case(
        'CLIPModel',
        {
            'vision_config': IMAGES, 'text_config': BERT | {'eos_token_id': 31, 'bos_token_id': 30},
            'projection_dim': 12,
        },
        {'logits': 'logits_per_image'},
    ),
    'deit': Case('DeiTModel', IMAGES, {'pooled': 'pooler_output'}),
    'distilbert': Case(
        'DistilBertForMaskedLM',
        {
            'vocab_size': 32, 'max_position_embeddings': 16, 'dim': 16, 'n_layers': 2, 'n_heads': 2, 'hidden_dim': 24,
            **ENDS,
        },
        {'masked': 'logits'},
    ),
    'electra': Case('ElectraForMaskedLM', BERT | {'embedding_size': 8}, {'masked': 'logits'}),
    'gemma': Case('GemmaForCausalLM', BERT | {'num_key_value_heads': 1, 'head_dim': 6}, {'logits': 'logits'}),
    'gemma2': Case(
        'Gemma2ForCausalLM',
        BERT | {'num_key_value_heads': 1, 'head_dim': 6, 'sliding_window': 3, 'query_pre_attn_scalar': 5},
        {'logits': 'logits'},
    ),
    'gemma3_text': Case(
        'Gemma3ForCausalLM',
        BERT | {
            'num_hidden_layers': 3, 'num_key_value_heads': 1, 'head_dim': 6, 'sliding_window': 3,
            'query_pre_attn_scalar': 5, 'layer_types': ['sliding_attention', 'sliding_attention', 'full_attention'],
        },
        {'logits': 'logits'},
    ),
    'gpt2': Case(
        'GPT2LMHeadModel',
        {'vocab_size': 32, 'n_positions': 16, 'n_embd': 16, 'n_layer': 2, 'n_head': 2, **ENDS},
        {'logits': 'logits'},
    ),
    'gpt_neox': Case('GPTNeoXForCausalLM', BERT | {'hidden_size': 32}, {'logits': 'logits'}),
    'kimi_linear': Case(
        'KimiLinearForCausalLM',
        BERT | {
            'moe_intermediate_size': 12, 'num_local_experts': 4,
            'num_experts_per_tok': 2, 'kv_lora_rank': 6, 'qk_rope_head_dim': 4, 'qk_nope_head_dim': 6, 'v_head_dim': 5,
            'linear_head_dim': 8, 'linear_num_heads': 2, 'layer_types': ['linear_attention', 'full_attention'],
            'mlp_layer_types': ['dense', 'sparse'],
        },
        {'logits': 'logits'},
    ),
    'llama': Case('LlamaForCausalLM', BERT, {'logits': 'logits'}),
    'mamba2': Case('Mamba2ForCausalLM', MAMBA, {'logits': 'logits'}),
    'marian': Case(
        'MarianMTModel',
        TRANSLATOR,
        {'logits': 'logits'},
    ),
    'mbart': Case('MBartForConditionalGeneration', TRANSLATOR, {'logits': 'logits'}),
    'mistral': Case('MistralForCausalLM', BERT | {'num_key_value_heads': 1, 'sliding_window': 3}, {'logits': 'logits'}),
    'mixtral': Case('MixtralForCausalLM', EXPERTS | {'num_local_experts': 4}, {'logits': 'logits'}),
    'modernbert': Case(
        'ModernBertForMaskedLM',
        BERT | {
            'num_hidden_layers': 3, 'local_attention': 4, 'layer_types': ['full_attention', *2 * ['sliding_attention']],
        },
        {'masked': 'logits'},
    ),
    'mt5': Case('MT5ForConditionalGeneration', T5 | {'feed_forward_proj': 'gated-gelu'}, {'logits': 'logits'}),
    'olmo': Case('OlmoForCausalLM', BERT | {'num_key_value_heads': 1}, {'logits': 'logits'}),
    'olmo2': Case('Olmo2ForCausalLM', BERT | {'num_key_value_heads': 1}, {'logits': 'logits'}),
    'opt': Case(
        'OPTForCausalLM',
        {key: value for key, value in BERT.items() if key != 'intermediate_size'} | {'ffn_dim': 24},
        {'logits': 'logits'},
    ),
    'pegasus': Case('PegasusForConditionalGeneration', TRANSLATOR, {'logits': 'logits'}),
    'phi': Case('PhiForCausalLM', BERT | {'num_key_value_heads': 1}, {'logits': 'logits'}),
    'phi3': Case('Phi3ForCausalLM', BERT | {'num_key_value_heads': 1, 'sliding_window': 3}, {'logits': 'logits'}),
    'qwen2': Case('Qwen2ForCausalLM', BERT | {'num_key_value_heads': 1}, {'logits': 'logits'}),
    'qwen3': Case('Qwen3ForCausalLM', BERT | {'num_key_value_heads': 1, 'head_dim': 6}, {'logits': 'logits'}),
    'qwen3_moe': Case(
        'Qwen3MoeForCausalLM',
        EXPERTS | {'num_experts': 4, 'moe_intermediate_size': 12, 'mlp_only_layers': [1]},
        {'logits': 'logits'},
    ),
    'qwen3_next': Case(
        'Qwen3NextForCausalLM',
        EXPERTS | {
            'num_experts': 4, 'moe_intermediate_size': 12, 'mlp_only_layers': [1], 'head_dim': 8,
            'shared_expert_intermediate_size': 10, 'linear_num_key_heads': 2, 'linear_num_value_heads': 4,
            'linear_key_head_dim': 8, 'linear_value_head_dim': 6,
            'layer_types': ['linear_attention', 'full_attention'],
        },
        {'logits': 'logits'},
    ),
    'roberta': Case('RobertaForMaskedLM', BERT | {'pad_token_id': 1}, {'masked': 'logits'}),
    'xlm-roberta': Case('XLMRobertaForMaskedLM', BERT | {'pad_token_id': 1}, {'masked': 'logits'}),
    'siglip': Case(
        'SiglipModel',
        {'vision_config': IMAGES, 'text_config': BERT | {'projection_size': 16}},
        {'logits': 'logits_per_image'},
    ),
    't5': Case(
        'T5ForConditionalGeneration',
        T5,
        {'logits': 'logits'},
    ),
    'vit': Case('ViTModel', IMAGES, {'pooled': 'pooler_output'}),
}  # fmt: skip


def settings_of(family: str, config: Mapping[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """The settings of a model, after all of it was read, and its spec."""
    found = find_family(family)
    settings = found.keys.settings(config)
    spec = found.spec(settings, found.heads_of(settings))
    found.inputs_of(settings)
    return settings, spec


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, or the message of its refusal."""
    try:
        return function(*arguments)
    except UserError as error:
        return str(error)


def configs(family: str) -> Iterator[dict[str, Any]]:
    """The default config of each architecture of a family, without what the class derives from other keys."""
    default = defaults(getattr(transformers, CASES[family].name).config_class)
    for architecture in find_family(family).architectures:
        yield default | {'architectures': [architecture]}


def defaults(made: type) -> dict[str, Any]:
    values = made().to_dict() | {field.name: field.default for field in fields(made)}
    return values | {name: defaults(inner) for name, inner in made.sub_configs.items()}


def objects(family: str) -> dict[str, tuple[type, Keys]]:
    """The config classes and keys of a family by the key of the object in config.json; '' is config.json itself."""
    made, keys = getattr(transformers, CASES[family].name).config_class, find_family(family).keys
    return {'': (made, keys)} | {name: (inner, keys.inner[name]) for name, inner in made.sub_configs.items()}


def keys_of(made: type) -> set[str]:
    """All that transformers writes of a config class, or could."""
    return {*made().to_dict(), *(field.name for field in fields(made))}


@pytest.mark.parametrize('family', CASES)
def test_every_key_is_read_required_or_harmless(family):
    read = [settings_of(family, config)[0] for config in configs(family)]
    for name, (made, keys) in objects(family).items():
        seen = set().union(*((settings[name] if name else settings).seen for settings in read))
        assert keys_of(made) - keys.declared - seen == set()
        assert seen & {*keys.harmless} == set()  # named harmless, but read
        assert {*keys.harmless} <= keys_of(made)
        assert keys.aliases == made.attribute_map


@pytest.mark.parametrize('family', CASES)
def test_an_absent_key_is_the_default_of_the_class_or_refused(family):
    for config in configs(family):
        expected = settings_of(family, config)[1]
        for name in objects(family):
            values = config[name] if name else config
            for key in values.keys() - {'architectures'}:
                less = {other: value for other, value in values.items() if other != key}
                found = outcome(settings_of, family, config | {name: less} if name else less)
                assert found.endswith(f'{key} is missing') if isinstance(found, str) else found[1] == expected, key


# Other values, where neither a double nor the contrary will do.
OTHERS = {
    'rope_parameters': {'rope_type': 'linear', 'factor': 2.0, 'rope_theta': 50.0}, 'feed_forward_proj': 'gated-silu',
    'summary_type': 'mean', 'summary_activation': 'tanh', 'n_inner': 20, 'classifier_dropout': 0.25,
    'chunk_size_feed_forward': 1, 'num_key_value_heads': 2, 'sliding_window': 4, 'clip_qkv': 0.5,
    'use_bidirectional_attention': True, 'final_logit_softcapping': 2.0, 'attn_logit_softcapping': 0.5,
    'layer_types': ['sliding_attention', 'full_attention'],
}  # fmt: skip
BY_KIND = {
    f'{kind}_attention': {'rope_type': 'default', 'rope_theta': base}
    for kind, base in (('full', 50.0), ('sliding', 20.0))
}
OF_FAMILY = {
    # Phi-3 has no other way to scale its positions than LongRoPE.
    ('phi3', 'rope_parameters'): {'rope_type': 'default', 'rope_theta': 50.0},
    ('gpt_neox', 'rope_parameters'): {
        'rope_type': 'linear', 'factor': 2.0, 'rope_theta': 50.0, 'partial_rotary_factor': 0.5
    },
    ('phi', 'rope_parameters'): {
        'rope_type': 'linear', 'factor': 2.0, 'rope_theta': 50.0, 'partial_rotary_factor': 0.25
    },
    ('gemma3_text', 'rope_parameters'): BY_KIND,
    ('modernbert', 'rope_parameters'): BY_KIND,
    ('gemma3_text', 'layer_types'): ['full_attention', 'sliding_attention', 'full_attention'],
    ('modernbert', 'layer_types'): ['sliding_attention', 'full_attention', 'full_attention'],
    ('qwen3_moe', 'mlp_only_layers'): [0],
    ('qwen3_next', 'mlp_only_layers'): [0],
    ('qwen3_next', 'layer_types'): ['full_attention', 'linear_attention'],
    ('qwen3_next', 'rope_parameters'): {
        'rope_type': 'linear', 'factor': 2.0, 'rope_theta': 50.0, 'partial_rotary_factor': 0.5
    },
    ('kimi_linear', 'layer_types'): ['full_attention', 'linear_attention'],
    ('kimi_linear', 'mlp_layer_types'): ['sparse', 'dense'],
    ('kimi_linear', 'q_lora_rank'): 5,
    ('modernbert', 'classifier_pooling'): 'mean',
    ('mixtral', 'head_dim'): 6,
    ('mixtral', 'sliding_window'): 3,
    ('mamba2', 'time_step_limit'): (0.1, 0.2),
    ('mamba2', 'time_step_rank'): 7,
    ('mamba2', 'n_groups'): 1,
}  # fmt: skip
# Values that go together.
ALSO = {
    ('gemma3_text', '', 'num_hidden_layers'): {'layer_types': 3 * ['sliding_attention', 'full_attention']},
    ('modernbert', '', 'num_hidden_layers'): {'layer_types': 3 * ['full_attention', 'sliding_attention']},
    ('qwen3_next', '', 'num_hidden_layers'): {'layer_types': 2 * ['linear_attention', 'full_attention']},
    ('kimi_linear', '', 'num_hidden_layers'): {
        'layer_types': 2 * ['linear_attention', 'full_attention'],
        'mlp_layer_types': 2 * ['dense', 'sparse'],
    },
    ('mamba2', '', 'expand'): {'num_heads': 8},
    ('mamba2', '', 'hidden_size'): {'num_heads': 8},
    ('mamba2', '', 'num_heads'): {'head_dim': 4},
    ('mamba2', '', 'head_dim'): {'num_heads': 2},
    ('siglip', 'vision_config', 'hidden_size'): {'text_config': {'projection_size': 32}},
    ('siglip', 'text_config', 'projection_size'): {'vision_config': {'hidden_size': 32}},
}
# What a model is told of itself, and what its output is made of.
NOT_CHANGED = {
    *TOKENS, '_name_or_path', 'architectures', 'dtype', 'id2label', 'label2id', 'model_type', 'output_attentions',
    'output_hidden_states', 'problem_type', 'return_dict', 'transformers_version',
}  # fmt: skip


def other(key: str, value: Any) -> Any:
    if key in OTHERS:
        return OTHERS[key]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return 'silu' if value == 'relu' else 'relu'
    return 2 * value if isinstance(value, int) else value + 0.25


@cache
def changes(family: str) -> tuple[tuple[str, str, Any], ...]:
    """For each key that can be changed: the object it is in, the key, another value."""
    whole = CASES[family].config({}).to_dict()
    found = []
    for name, (made, keys) in objects(family).items():
        values = whole[name] if name else whole
        for key in sorted(keys_of(made) - NOT_CHANGED - keys.inner.keys() - keys.aliases.keys()):
            found.append((name, key, OF_FAMILY.get((family, key)) or other(key, values[key])))
    return tuple(found)


def random_model(case: Case, config: Any) -> Any:
    """Their model with every parameter drawn, so that no bias is 0 and no scale of a norm is 1."""
    model = getattr(transformers, case.name)(config)
    if getattr(config, 'scale_decoder_outputs', True) is False:
        # transformers 5 ties what it makes anew; of the published folders it keeps the output apart.
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if name == 'final_logits_bias' or (tensor.requires_grad and 'embed_positions' not in name):
                centre = 2.0 if name == 'logit_scale' else float('norm' in name.lower() and name.endswith('weight'))
                tensor.copy_(centre + 0.3 * torch.randn(tensor.shape, generator=generator))
    return model.eval()


def images(config: Any) -> np.ndarray:
    described = getattr(config, 'vision_config', config)
    size = described.image_size, described.image_size, described.num_channels
    return np.random.default_rng(0).normal(size=(2, *size)).astype(np.float32)


def their_outputs(case: Case, model: Any) -> dict[str, np.ndarray]:
    read = inspect.signature(model.forward).parameters
    inputs = {'input_ids': torch.tensor(TOKENS_IN), 'decoder_input_ids': torch.tensor(TARGETS)}
    if 'pixel_values' in read:
        inputs['pixel_values'] = torch.tensor(images(model.config)).permute(0, 3, 1, 2)
    with torch.no_grad():
        output = model(**{name: value for name, value in inputs.items() if name in read})
    return {ours: output[theirs].numpy() for ours, theirs in case.outputs.items()}


def our_outputs(folder: Path, config: Any) -> dict[str, np.ndarray]:
    found = load(folder)
    model, params = build(found.spec, 'model')(), {'params': jax.tree.map(jnp.asarray, found.params)}
    text, targets = _row(TOKENS_IN), _row(TARGETS)
    if hasattr(config, 'vision_config'):
        image = model.apply(params, jnp.asarray(images(config)), method='encode_image')
        scale, bias = model.apply(params, method='logit_line')
        return {'logits': scale * image @ model.apply(params, *text, method='encode_text').T + bias}
    inputs = (*text, *targets) if config.is_encoder_decoder else text
    if hasattr(config, 'image_size'):
        inputs = jnp.asarray(images(config)), _row(np.zeros((2, 1), int))[1]
    output = model.apply(params, *inputs, False)
    return output if isinstance(output, dict) else {'logits': output}


def _row(tokens: np.ndarray) -> tuple[jax.Array, LayerContext]:
    positions = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
    return jnp.asarray(tokens), LayerContext(positions, jnp.ones_like(positions))


def greatest_difference(family: str, folder: Path, changed: Mapping[str, Any]) -> float:
    """Save a random model of theirs, load it as ours, and compare the outputs."""
    case = CASES[family]
    model = random_model(case, case.config(changed))
    model.save_pretrained(folder)
    theirs, ours = their_outputs(case, model), our_outputs(folder, model.config)
    assert ours.keys() == theirs.keys()
    assert min(array.std() for array in theirs.values()) > LEAST_SPREAD
    return max(float(np.abs(np.asarray(ours[name]) - theirs[name]).max()) for name in theirs)


@pytest.mark.parametrize('family', CASES)
def test_outputs_are_those_of_transformers(family, tmp_path, record_property):
    difference = greatest_difference(family, tmp_path, {})
    assert difference < TOLERANCE
    record_property(f'{family} in', difference)


@pytest.mark.parametrize(
    ('family', 'name', 'key', 'value'),
    [
        pytest.param(family, *change, id=f'{family} {".".join(filter(None, change[:2]))}')
        for family in CASES
        for change in changes(family)
    ],
)
def test_a_changed_value_changes_what_it_changes_in_transformers_or_is_refused(family, name, key, value, tmp_path):
    case, keys = CASES[family], objects(family)[name][1]
    changed = ALSO.get((family, name, key), {}) | ({name: {key: value}} if name else {key: value})
    if key in keys.declared - keys.required.keys():  # harmless
        before = random_model(case, case.config({}))
        after = getattr(transformers, case.name)(case.config(changed)).eval()
        after.load_state_dict(before.state_dict())
        for output, expected in zip(*(their_outputs(case, each).values() for each in (after, before)), strict=True):
            np.testing.assert_allclose(output, expected, atol=ROUNDING)
        return
    whole = case.config(changed).to_dict() | {'architectures': [case.name]}
    (tmp_path / 'config.json').write_text(json.dumps(whole))
    found = outcome(spec_of, tmp_path)
    if isinstance(found, str):
        assert f'config.json: {name}{"." * bool(name)}{key} is ' in found
    else:
        assert key not in keys.required
        assert greatest_difference(family, tmp_path, changed) < TOLERANCE


@pytest.mark.parametrize('name', ACTIVATIONS)
def test_activations_are_those_of_the_same_name(name):
    x = np.linspace(-7, 7, 101, dtype=np.float32)
    np.testing.assert_allclose(build(ACTIVATIONS[name])(jnp.asarray(x)), ACT2FN[name](torch.tensor(x)), atol=1e-5)


@pytest.mark.parametrize('given', [None, {}, {'hidden_size': 24, 'num_attention_heads': 4}])
def test_the_older_settings_of_the_texts_of_clip_count_as_in_transformers(given):
    text = {'hidden_size': 16, 'num_hidden_layers': 3, 'num_attention_heads': 2, 'layer_norm_eps': 1e-2}
    theirs = transformers.CLIPConfig(text_config=dict(text), text_config_dict=given).text_config
    config = {'text_config': text, 'text_config_dict': given, 'vision_config': {}}
    ours = settings_of('clip', config)[1]['text']
    found = ours['width'], ours['layers'], ours['block']['mixer']['heads'], ours['norm']['epsilon']
    assert found == (
        theirs.hidden_size, theirs.num_hidden_layers, theirs.num_attention_heads, theirs.layer_norm_eps
    )  # fmt: skip
