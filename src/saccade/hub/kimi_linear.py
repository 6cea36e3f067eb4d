# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Kimi Linear: three layers of Kimi delta attention for each of latent attention, without positions; mixtures.

Kimi Team 2025, "Kimi Linear: An Expressive, Efficient Attention Architecture", https://arxiv.org/abs/2510.26692; names
and settings of `KimiLinearForCausalLM` in transformers, which renames some of the tensors of the published folder; the
published names are written. Router and shared expert are as in DeepSeek-V3.
"""

from saccade.hub.deepseek import LATENT, PLAIN, WEIGHTS, attention, balanced, factors, mixture_weights
from saccade.hub.delta_rule import delta, hybrid
from saccade.hub.encoder import layers, projections
from saccade.hub.experts import NUMBERED, mixture
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.layer_kinds import listed, patterned
from saccade.hub.llama_like import NORM, family, template
from saccade.hub.setting import read
from saccade.hub.template import Config, Setting

_MODEL = template({}, {'bias': False}, {**NORM, 'epsilon': Setting('rms_norm_eps', float, 1e-5)})
_WIDTH = Setting('linear_head_dim', int)
_MIXERS = {
    'linear_attention': delta(
        'attention.kimi_delta:KimiDelta', _WIDTH, Setting('linear_conv_kernel_dim', int, 4), 1e-5,
        heads=Setting('linear_num_heads', int),
        gate={'use': 'jax.nn:sigmoid'},
        gate_rank=_WIDTH,
        decay_rank=_WIDTH,
    ),
    'full_attention': LATENT,
}  # fmt: skip
_MIXTURE = mixture(Setting('num_experts', int), 'moe_intermediate_size', Setting('moe_renormalize', bool, True))
_SPARSE = balanced(_MIXTURE | {'active': Setting('num_experts_per_token', int)}, 'num_shared_experts')


def _attends(config: Config, number: int) -> bool:
    return number + 1 in read(config, 'full_attn_layers', list, range(5, number + 2, 4))


def _dense(config: Config, number: int) -> bool:
    return number < read(config, 'first_k_dense_replace', int, 1, least=0)


# Queries have the same name as in latent attention.
_DELTA = (
    *layers('layers.*', projections('key', 'value', 'output')),
    attention('conv1d.weight', 'C 1 M -> M C', 'convolution/output', read_only=True),
    attention('%_conv1d.weight', 'C 1 M -> M C', 'convolution/output', joined=('q', 'k', 'v')),
    *factors('f', 'step_down', 'step_up'),
    *factors('g', 'gate_down', 'gate_up'),
    attention('b_proj.weight', 'N D -> D N', 'write'),
    attention('o_norm.weight', 'H -> H', 'head_norm/scale'),
    attention('A_log', '1 1 N 1 -> N', 'log_rate'),
    attention('dt_bias', '(N H) -> N H', 'step_bias'),
)

FAMILY = family(
    'KimiLinearForCausalLM',
    patterned(
        _MODEL | {'tied': False, 'context_length': Setting('model_max_length', int)},
        mixer=listed(_MIXERS, _attends),
        feedforward=listed({'sparse': _SPARSE, 'dense': {}}, _dense, 'mlp_layer_types'),
    ),
    Keys(
        required={**CAUSAL, **PLAIN, 'tie_word_embeddings': False, 'moe_layer_freq': 1, 'num_nextn_predict_layers': 0},
        inner={'linear_attn_config': Keys(required={'use_full_rank_gate': False, 'gate_lower_bound': None})},
        harmless=('head_dim', 'num_key_value_heads', 'output_router_logits', 'pretraining_tp', 'qk_head_dim'),
        aliases={
            'max_position_embeddings': 'model_max_length', 'norm_topk_prob': 'moe_renormalize',
            'n_group': 'num_expert_group', 'num_local_experts': 'num_experts',
            'num_experts_per_tok': 'num_experts_per_token', 'n_shared_experts': 'num_shared_experts',
        },
        replaces={
            'linear_attn_config.head_dim': 'linear_head_dim', 'linear_attn_config.num_heads': 'linear_num_heads',
            'linear_attn_config.short_conv_kernel_size': 'linear_conv_kernel_dim',
            'linear_attn_config.full_attn_layers': 'full_attn_layers',  # numbered from 1
        },
        defaults={
            'vocab_size': 163840, 'hidden_size': 2304, 'num_hidden_layers': 27, 'num_attention_heads': 32,
            'intermediate_size': 9216, 'moe_intermediate_size': 1024, 'num_shared_experts': 1, 'num_experts': 256,
            'num_experts_per_token': 8, 'model_max_length': 1_048_576, 'routed_scaling_factor': 2.446,
            'kv_lora_rank': 512, 'qk_rope_head_dim': 64, 'qk_nope_head_dim': 128, 'v_head_dim': 128,
            'linear_head_dim': 128, 'linear_num_heads': 32,
        },
    ),
    heads={},
    weights=(*hybrid(WEIGHTS, _DELTA), *mixture_weights(*NUMBERED)),
    # In the memory of transformers, and, of dense layers, as its version 5 writes them.
    older={
        r'block_sparse_moe\.(gate|up|down)_proj': r'mlp.\1_proj', r'forget_gate\.': '',
        r'mlp\.(shared_experts|gate\.e_score)': r'block_sparse_moe.\1',
    },
    tokens={'bos_token_id': 163584, 'eos_token_id': 163586, 'pad_token_id': 163839},
)  # fmt: skip
