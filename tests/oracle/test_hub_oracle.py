# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loaded models against transformers itself: random weights, saved by its `save_pretrained`, loaded by our hub."""

import copy
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from theirs import torch, transformers

from saccade.build import build
from saccade.hub.family import ONE_TEXT, find_family
from saccade.hub.load import load, shapes_of, spec_of
from saccade.hub.place import stored_shape, weights_of
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-4  # greatest difference of a logit
LEAST_SPREAD = 0.3  # standard deviation of the logits, beside which the tolerance is small
NEW_TOKENS = 6
TOKENS = np.array([[5, 17, 3, 3, 28, 0, 11, 9], [2, 30, 6, 19, 4, 12, 12, 1]])
POSITIONS = np.broadcast_to(np.arange(TOKENS.shape[1]), TOKENS.shape)
EVERYWHERE = np.ones_like(TOKENS)
# Tokens that a row lacks, on the left of the one and on the right of the other.
PRESENT = np.array([[0, 0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0, 0]])

GPT2 = {
    'plain': {},
    'inner width, exact GELU, wide epsilon': {
        'n_inner': 50, 'activation_function': 'gelu', 'layer_norm_epsilon': 1e-2, 'vocab_size': 37
    },
    'untied, one head, ReLU': {'tie_word_embeddings': False, 'n_head': 1, 'activation_function': 'relu'},
    'unscaled attention, SiLU, one layer': {
        'scale_attn_weights': False, 'activation_function': 'silu', 'n_layer': 1, 'n_embd': 24
    },
    'reordered and upcast': {'reorder_and_upcast_attn': True, 'activation_function': 'gelu_pytorch_tanh'},
}  # fmt: skip
LLAMA3 = {
    'rope_type': 'llama3', 'rope_theta': 100.0, 'factor': 4.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0,
    'original_max_position_embeddings': 16,
}  # fmt: skip
LLAMA = {
    'plain': {},
    'grouped heads, every bias': {
        'num_key_value_heads': 2, 'attention_bias': True, 'mlp_bias': True, 'vocab_size': 37
    },
    'one shared head, wide heads, tied': {'num_key_value_heads': 1, 'head_dim': 14, 'tie_word_embeddings': True},
    'linear scaling, GELU': {
        'rope_parameters': {'rope_type': 'linear', 'rope_theta': 50.0, 'factor': 3.0}, 'hidden_act': 'gelu'
    },
    'llama3 scaling, attention bias, wide epsilon': {
        'rope_parameters': LLAMA3, 'attention_bias': True, 'rms_norm_eps': 1e-2
    },
}  # fmt: skip


def gpt2(**settings: Any) -> Any:
    base = {'vocab_size': 32, 'n_positions': 20, 'n_embd': 32, 'n_layer': 2, 'n_head': 4}
    config = transformers.GPT2Config(**(base | settings), **_marks())
    return _random(transformers.GPT2LMHeadModel(config))


def llama(**settings: Any) -> Any:
    base = {
        'vocab_size': 32, 'max_position_embeddings': 64, 'hidden_size': 32, 'intermediate_size': 44,
        'num_hidden_layers': 2, 'num_attention_heads': 4,
    }  # fmt: skip
    config = transformers.LlamaConfig(**(base | settings), **_marks())
    return _random(transformers.LlamaForCausalLM(config))


SMALL = {
    'vocab_size': 32, 'max_position_embeddings': 64, 'hidden_size': 32, 'intermediate_size': 44,
    'num_hidden_layers': 2, 'num_attention_heads': 4,
}  # fmt: skip
GEMMA3 = {
    'num_key_value_heads': 2, 'head_dim': 10, 'sliding_window': 3, 'query_pre_attn_scalar': 7, 'vocab_size': 37,
}  # fmt: skip
KINDS = ['sliding_attention', 'sliding_attention', 'full_attention']
OPT = {key: value for key, value in SMALL.items() if key != 'intermediate_size'} | {'ffn_dim': 44}
MAMBA = {
    'vocab_size': 32, 'hidden_size': 32, 'num_hidden_layers': 2, 'num_heads': 4, 'head_dim': 16, 'state_size': 5,
    'n_groups': 1, 'chunk_size': 4,
}  # fmt: skip
KIMI = {
    'moe_intermediate_size': 20, 'num_local_experts': 4, 'num_experts_per_tok': 2, 'kv_lora_rank': 12,
    'qk_rope_head_dim': 4, 'qk_nope_head_dim': 6, 'v_head_dim': 5, 'linear_head_dim': 8, 'linear_num_heads': 3,
    'layer_types': ['linear_attention', 'full_attention', 'linear_attention'], 'num_hidden_layers': 3,
    'rms_norm_eps': 1e-4,
}  # fmt: skip
NEXT = {
    'num_key_value_heads': 2, 'head_dim': 16, 'num_experts': 4, 'num_experts_per_tok': 2, 'moe_intermediate_size': 20,
    'shared_expert_intermediate_size': 12, 'linear_num_key_heads': 2, 'linear_num_value_heads': 4,
    'linear_key_head_dim': 8, 'linear_value_head_dim': 6,
}  # fmt: skip
OTHERS = {
    'gemma': ('GemmaForCausalLM', {'num_key_value_heads': 2, 'head_dim': 10, 'attention_bias': True}),
    'gemma2': (
        'Gemma2ForCausalLM',
        {'num_key_value_heads': 2, 'head_dim': 10, 'sliding_window': 4, 'query_pre_attn_scalar': 7},
    ),
    'mistral': ('MistralForCausalLM', {'num_key_value_heads': 2, 'sliding_window': 3}),
    'olmo': ('OlmoForCausalLM', {'num_key_value_heads': 2, 'attention_bias': True}),
    'phi3': ('Phi3ForCausalLM', {'num_key_value_heads': 2, 'sliding_window': 3, 'resid_pdrop': 0.1}),
    'qwen2': ('Qwen2ForCausalLM', {'num_key_value_heads': 2}),
    'qwen3': ('Qwen3ForCausalLM', {'num_key_value_heads': 2, 'head_dim': 10}),
    'gemma3_text': ('Gemma3ForCausalLM', GEMMA3 | {'num_hidden_layers': 8}),
    'gemma3_text, another pattern, bounded logits': (
        'Gemma3ForCausalLM',
        GEMMA3 | {
            'num_hidden_layers': 7, 'layer_types': [*KINDS, *KINDS, KINDS[0]], 'final_logit_softcapping': 2.0,
            'attention_bias': True,
        },
    ),
    'gpt_neox': ('GPTNeoXForCausalLM', {'hidden_size': 64}),
    'gpt_neox, one branch after another, tied, no biases of attention': (
        'GPTNeoXForCausalLM',
        {
            'use_parallel_residual': False, 'tie_word_embeddings': True, 'attention_bias': False, 'hidden_act': 'relu',
            'rope_parameters': {
                'rope_type': 'linear', 'rope_theta': 50.0, 'factor': 3.0, 'partial_rotary_factor': 0.5
            },
        },
    ),
    'kimi_linear': ('KimiLinearForCausalLM', KIMI),
    'kimi_linear, latent queries, two shared experts, a dense layer at the end': (
        'KimiLinearForCausalLM',
        KIMI | {
            'q_lora_rank': 10, 'n_shared_experts': 2, 'mlp_layer_types': ['sparse', 'sparse', 'dense'],
            'norm_topk_prob': False, 'routed_scaling_factor': 1.5,
        },
    ),
    'mamba2': ('Mamba2ForCausalLM', MAMBA),
    'mamba2, groups, tied': (
        'Mamba2ForCausalLM', MAMBA | {'n_groups': 2, 'tie_word_embeddings': True, 'use_conv_bias': False},
    ),
    'mixtral': ('MixtralForCausalLM', {'num_local_experts': 4, 'num_key_value_heads': 2}),
    'mixtral, windows, three of five': (
        'MixtralForCausalLM',
        {
            'num_local_experts': 5, 'num_experts_per_tok': 3, 'num_key_value_heads': 1, 'sliding_window': 3,
            'head_dim': 10,
        },
    ),
    'olmo2': ('Olmo2ForCausalLM', {'num_key_value_heads': 2}),
    'olmo2, biases, wide heads, tied': (
        'Olmo2ForCausalLM', {'attention_bias': True, 'head_dim': 10, 'tie_word_embeddings': True},
    ),
    'opt': ('OPTForCausalLM', OPT),
    'opt, norms after, GELU, untied': (
        'OPTForCausalLM',
        OPT | {'do_layer_norm_before': False, 'activation_function': 'gelu', 'tie_word_embeddings': False},
    ),
    'opt, a narrow embedding, norms after': (
        'OPTForCausalLM', OPT | {'do_layer_norm_before': False, 'word_embed_proj_dim': 20},
    ),
    'opt, a wide embedding, untied': (
        'OPTForCausalLM', OPT | {'word_embed_proj_dim': 40, 'tie_word_embeddings': False},
    ),
    'opt, no biases, no last norm': (
        'OPTForCausalLM',
        OPT | {'enable_bias': False, 'layer_norm_elementwise_affine': False, '_remove_final_layer_norm': True},
    ),
    'phi': ('PhiForCausalLM', {}),
    'phi, normed queries and keys, grouped': (
        'PhiForCausalLM', {'qk_layernorm': True, 'num_key_value_heads': 2, 'partial_rotary_factor': 0.25},
    ),
    'qwen3_moe': (
        'Qwen3MoeForCausalLM',
        {'num_experts': 4, 'num_experts_per_tok': 2, 'moe_intermediate_size': 20, 'num_key_value_heads': 2},
    ),
    'qwen3_moe, renormalised, a dense layer': (
        'Qwen3MoeForCausalLM',
        {
            'num_experts': 5, 'num_experts_per_tok': 3, 'moe_intermediate_size': 20, 'num_key_value_heads': 1,
            'norm_topk_prob': True, 'mlp_only_layers': [0], 'num_hidden_layers': 3, 'attention_bias': True,
            'head_dim': 10,
        },
    ),
    'qwen3_next': (
        'Qwen3NextForCausalLM',
        # With the usual epsilon their float32 is 2e-4 from their own float64.
        NEXT | {'num_hidden_layers': 4, 'rms_norm_eps': 1e-4},
    ),
    'qwen3_next, a dense layer, another pattern': (
        'Qwen3NextForCausalLM',
        NEXT | {
            'num_hidden_layers': 3, 'layer_types': ['full_attention', 'linear_attention', 'linear_attention'],
            'mlp_only_layers': [1], 'norm_topk_prob': False, 'tie_word_embeddings': True, 'rms_norm_eps': 1e-3,
            'linear_num_value_heads': 2,
        },
    ),
}  # fmt: skip


def decoder(name: str, **settings: Any) -> Any:
    made = getattr(transformers, name)
    return _random(made(made.config_class(**{**SMALL, **settings}, **_marks())))


def _marks() -> dict[str, Any]:
    """No token ends generation."""
    return {'bos_token_id': None, 'eos_token_id': None, 'pad_token_id': 0}


def _random(model: Any) -> Any:
    """Redraw every parameter, so that no bias is 0 and no scale of a norm is 1."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            centre = 1.0 if 'ln_' in name or 'norm' in name else 0.0
            parameter.copy_(centre + 0.2 * torch.randn(parameter.shape, generator=generator))
        for name, buffer in model.named_buffers():
            if name.endswith('correction_bias'):
                buffer.copy_(0.2 * torch.randn(buffer.shape, generator=generator))
    return model.eval()


class Loaded:
    """Our model of a folder, compiled once for each shape of its input."""

    def __init__(self, folder: Path):
        pretrained = load(folder)
        model, self.params = build(pretrained.spec)(), pretrained.params
        self._call = jax.jit(lambda params, *rest: model.apply({'params': params}, *rest, False))
        self._step = jax.jit(lambda params, *rest: model.apply({'params': params}, *rest, method='step'))
        self._init_state = jax.jit(
            lambda params, tokens: model.apply(
                {'params': params}, tokens, tokens.shape[1] + NEW_TOKENS, method='init_state'
            )
        )

    def logits(self, positions: np.ndarray = POSITIONS, segments: np.ndarray = EVERYWHERE) -> np.ndarray:
        context = LayerContext(jnp.asarray(positions), jnp.asarray(segments))
        return np.asarray(self._call(self.params, jnp.asarray(TOKENS), context))

    def greedy(self, prompt: np.ndarray, present: np.ndarray) -> np.ndarray:
        """The prompt and what follows it: the prompt in one step, then a token a step."""
        tokens = chunk = jnp.asarray(prompt)
        present, state = jnp.asarray(present), self._init_state(self.params, chunk)
        for _ in range(NEW_TOKENS):
            logits, state = self._step(self.params, chunk, present, state)
            chunk = jnp.argmax(logits[:, -1:], axis=-1)
            present = jnp.ones_like(chunk)
            tokens = jnp.concatenate([tokens, chunk], axis=1)
        return np.asarray(tokens)


def their_logits(model: Any, **arguments: Any) -> np.ndarray:
    """Their logits in double precision, since what theirs loses by rounding is no error of ours.

    In single precision where double gives none, as for gemma2, whose mask is then infinite.
    """
    tensors = {name: torch.tensor(value) for name, value in arguments.items()}
    exact = copy.deepcopy(model).double()
    for module in exact.modules():
        if hasattr(module, 'config'):
            module.config._experts_implementation = 'eager'  # their grouped product has no double precision
    with torch.no_grad():
        each = (one(input_ids=torch.tensor(TOKENS), **tensors).logits.numpy() for one in (exact, model))
        return next(logits for logits in each if np.isfinite(logits).all())


def assert_equal(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the greatest difference."""
    assert theirs.std() > LEAST_SPREAD
    np.testing.assert_allclose(ours, theirs, atol=TOLERANCE, rtol=0)
    return float(np.abs(ours - theirs).max())


CASES = {f'gpt2, {name}': (gpt2, settings) for name, settings in GPT2.items()}
CASES |= {f'llama, {name}': (llama, settings) for name, settings in LLAMA.items()}
CASES |= {name: (partial(decoder, architecture), settings) for name, (architecture, settings) in OTHERS.items()}


@pytest.fixture(scope='module', params=CASES.values(), ids=CASES)
def pair(request, tmp_path_factory):
    """Their model, and ours of the folder that theirs was saved to."""
    family, settings = request.param
    model, folder = family(**settings), tmp_path_factory.mktemp('model')
    model.save_pretrained(folder)
    return model, Loaded(folder)


@pytest.mark.oracle_of('block.pre_norm:PreNorm', 'embed.token:TokenEmbedding', by='transformers, Llama and others')
@pytest.mark.oracle_of('block.parallel:Parallel', by='transformers, GPT-NeoX and Phi')
@pytest.mark.oracle_of('block.sandwich:Sandwich', by='transformers, Gemma 2 and OLMo 2')
def test_logits(pair, record_property):
    theirs, ours = pair
    record_property(f'{theirs.config.model_type} in', assert_equal(ours.logits(), their_logits(theirs)))


def test_logits_of_rows_padded_on_the_left_and_on_the_right(pair, record_property):
    theirs, ours = pair
    positions, here = np.maximum(np.cumsum(PRESENT, axis=1) - 1, 0), PRESENT.astype(bool)
    expected = their_logits(theirs, attention_mask=PRESENT, position_ids=positions)
    difference = assert_equal(ours.logits(positions, PRESENT)[here], expected[here])
    record_property(f'{theirs.config.model_type} in', difference)


def test_greedy_decoding_from_prompts_of_two_lengths(pair, record_property):
    theirs, ours = pair
    prompt = np.array([[0, 0, 7, 21, 3], [2, 30, 6, 19, 4]])
    present = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    expected = theirs.generate(
        torch.tensor(prompt), attention_mask=torch.tensor(present), max_new_tokens=NEW_TOKENS, do_sample=False
    )
    np.testing.assert_array_equal(ours.greedy(prompt, present), expected.numpy())
    record_property(f'{theirs.config.model_type} greedy', NEW_TOKENS * len(prompt))


@pytest.mark.parametrize('name', ['mixtral', 'qwen3_moe, renormalised, a dense layer', 'qwen3_next', 'kimi_linear'])
def test_experts_in_one_tensor(tmp_path, name):
    """The layout that version 5 of transformers has in memory."""
    family, settings = CASES[name]
    theirs = family(**settings)
    theirs.save_pretrained(tmp_path, save_original_format=False)
    with safe_open(tmp_path / 'model.safetensors', 'np') as file:
        assert any(tensor.endswith('experts.gate_up_proj') for tensor in file.keys())  # noqa: SIM118
    assert_equal(Loaded(tmp_path).logits(), their_logits(theirs))


@pytest.mark.parametrize(('family', 'dtype'), [(gpt2, 'float16'), (llama, 'bfloat16')])
def test_half_precision_files(tmp_path, family, dtype):
    family().to(getattr(torch, dtype)).save_pretrained(tmp_path)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    assert_equal(Loaded(tmp_path).logits(), their_logits(theirs))


@pytest.mark.parametrize('family', [gpt2, llama])
def test_shards(tmp_path, family):
    theirs = family()
    theirs.save_pretrained(tmp_path, max_shard_size='20KB')
    assert (tmp_path / 'model.safetensors.index.json').is_file()
    assert_equal(Loaded(tmp_path).logits(), their_logits(theirs))


@pytest.mark.parametrize(
    ('family', 'trunk', 'settings'),
    [(gpt2, 'transformer', {}), (llama, 'model', {'tie_word_embeddings': True})],
    ids=['gpt2', 'llama'],
)
def test_a_trunk_saved_alone_has_no_prefix_and_no_head(tmp_path, family, trunk, settings):
    theirs = family(**settings)
    getattr(theirs, trunk).save_pretrained(tmp_path)
    assert_equal(Loaded(tmp_path).logits(), their_logits(theirs))


ATTENDING = [4, 8, 12, 16, 20, 24, 27]
# config.json of facebook/opt-350m and of moonshotai/Kimi-Linear-48B-A3B-Instruct.
PUBLISHED = {
    'OPTForCausalLM': {
        'activation_dropout': 0.0, 'activation_function': 'relu', 'attention_dropout': 0.0, 'bos_token_id': 2,
        'do_layer_norm_before': False, 'dropout': 0.1, 'eos_token_id': 2, 'ffn_dim': 4096, 'hidden_size': 1024,
        'init_std': 0.02, 'layerdrop': 0.0, 'max_position_embeddings': 2048, 'model_type': 'opt',
        'num_attention_heads': 16, 'num_hidden_layers': 24, 'pad_token_id': 1, 'prefix': '</s>',
        'torch_dtype': 'float16', 'use_cache': True, 'vocab_size': 50272, 'word_embed_proj_dim': 512,
    },
    'KimiLinearForCausalLM': {
        'bos_token_id': 163584, 'dtype': 'bfloat16', 'eos_token_id': 163586, 'first_k_dense_replace': 1,
        'head_dim': 72, 'hidden_act': 'silu', 'hidden_size': 2304, 'initializer_range': 0.02,
        'intermediate_size': 9216, 'kv_lora_rank': 512,
        'linear_attn_config': {
            'full_attn_layers': ATTENDING, 'head_dim': 128, 'num_heads': 32, 'short_conv_kernel_size': 4,
            'kda_layers': [number for number in range(1, 28) if number not in ATTENDING],
        },
        'mla_use_nope': True, 'model_max_length': 1048576, 'model_type': 'kimi_linear', 'moe_intermediate_size': 1024,
        'moe_layer_freq': 1, 'moe_renormalize': True, 'moe_router_activation_func': 'sigmoid',
        'num_attention_heads': 32, 'num_expert_group': 1, 'num_experts': 256, 'num_experts_per_token': 8,
        'num_hidden_layers': 27, 'num_key_value_heads': 32, 'num_nextn_predict_layers': 0, 'num_shared_experts': 1,
        'pad_token_id': 163839, 'q_lora_rank': None, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64,
        'rms_norm_eps': 1e-5, 'rope_scaling': None, 'rope_theta': 10000.0, 'routed_scaling_factor': 2.446,
        'tie_word_embeddings': False, 'topk_group': 1, 'use_cache': True, 'use_grouped_topk': True, 'v_head_dim': 128,
        'vocab_size': 163840,
    },
}  # fmt: skip


@pytest.mark.filterwarnings('ignore')  # of settings that are older than this transformers
@pytest.mark.parametrize('name', PUBLISHED)
def test_a_published_config_has_their_number_of_parameters(tmp_path, name):
    config = PUBLISHED[name] | {'architectures': [name]}
    (tmp_path / 'config.json').write_text(json.dumps(config))
    made = getattr(transformers, name)
    with torch.device('meta'):
        theirs = made(made.config_class.from_pretrained(tmp_path))
    # The balance of experts is no parameter there.
    balance = sum(buffer.numel() for each, buffer in theirs.named_buffers() if each.endswith('correction_bias'))
    shapes = shapes_of(spec_of(tmp_path), ONE_TEXT)
    stored = [
        stored_shape(weight, [shapes[path][len(index) :] for path in weight.ours])
        for weight in weights_of(find_family(config['model_type']), (), shapes)
        if not weight.read_only
        for _, index in weight.tensors(shapes[weight.ours[0]])
    ]
    assert sum(map(math.prod, stored)) == theirs.num_parameters() + balance
