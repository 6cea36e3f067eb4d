# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Kimi Linear: three layers of Kimi delta attention for each of latent attention, without positions; mixtures.

Kimi Team 2025, "Kimi Linear: An Expressive, Efficient Attention Architecture", https://arxiv.org/abs/2510.26692; names
and settings of `KimiLinearForCausalLM` in transformers, which renames some of the tensors of the published folder; the
published names are written. Router and shared expert are as in DeepSeek-V3.
"""

from dataclasses import dataclass
from typing import Any

from saccade.hub.delta_rule import KINDS, MIXER, delta, interleaved, own
from saccade.hub.experts import mixture, shared, weights
from saccade.hub.family import Weight
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.layer_kinds import crossed, depth, listed
from saccade.hub.llama_like import NORM, WEIGHTS, family, template
from saccade.hub.setting import read
from saccade.hub.template import Both, Config, Free, Kernel, Setting

_NORM = {**NORM, 'epsilon': Setting('rms_norm_eps', float, 1e-5)}
_MODEL = template({}, {'bias': False}, _NORM) | {'tied': False, 'context_length': Setting('model_max_length', int)}


@dataclass(frozen=True)
class _Linear(Setting):
    """Size of Kimi delta attention. Attributes: older, its key in an object of the published config.json."""

    kind: type = int
    older: str = ''

    def read(self, config: Config) -> int:
        """Return the size."""
        return read(read(config, _PUBLISHED, dict, {}), self.older, int, super().read(config))


_PUBLISHED = 'linear_attn_config'
_WIDTH = _Linear('linear_head_dim', older='head_dim')
_KERNEL = _Linear('linear_conv_kernel_dim', default=4, older='short_conv_kernel_size')
_MIXERS = {
    'linear_attention': delta(
        'attention.kimi_delta:KimiDelta', _WIDTH, _KERNEL, 1e-5,
        heads=_Linear('linear_num_heads', older='num_heads'),
        gate={'use': 'jax.nn:sigmoid'},
        gate_rank=_WIDTH,
        decay_rank=_WIDTH,
    ),
    'full_attention': {
        'use': 'attention.latent:Latent',
        'heads': Setting('num_attention_heads', int),
        'rank': Setting('kv_lora_rank', int),
        'head_width': Setting('qk_nope_head_dim', int),
        'value_width': Setting('v_head_dim', int),
        'rotated_width': Setting('qk_rope_head_dim', int),
        'query_rank': Setting('q_lora_rank', int, None),
        'norm': {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-6},
        'mask': {'use': 'ops.mask:Causal'},
        'dropout': Free(0.0),
        'kernel': Kernel('attention_dropout', 0.0),
    },
}  # fmt: skip
_MIXTURE = mixture(Setting('num_experts', int), 'moe_intermediate_size', Setting('moe_renormalize', bool, True))
_ROUTER = {
    **_MIXTURE['router'],
    'use': 'feedforward.loss_free:LossFree',
    'score': {'use': 'jax.nn:sigmoid'},
    'scale': Setting('routed_scaling_factor', float),
    'rate': Free(0.001),
}
_SHARED = Both(
    lambda config: read(config, 'num_shared_experts', int) * read(config, 'moe_intermediate_size', int),
    lambda width: {'num_shared_experts': lambda settings: width // settings['moe_intermediate_size']},
)
_FEEDFORWARDS = {
    'sparse': {
        **_MIXTURE,
        'active': Setting('num_experts_per_token', int),
        'router': _ROUTER,
        'shared': {**_MIXTURE['expert'], 'width': _SHARED},
    },
    'dense': _MODEL['block']['feedforward'],
}


def _mixers(config: Config) -> list[str]:
    full = read(read(config, _PUBLISHED, dict, {}), 'full_attn_layers', list, None)  # numbered from 1

    def usual(config: Config, number: int) -> str:
        return KINDS[number % 4 == 0 and number > 0 if full is None else number + 1 in full]

    return listed(usual, *KINDS)(config)


def _feedforwards(config: Config) -> list[str]:
    first = read(config, 'first_k_dense_replace', int, 1, least=0)
    usual = ['dense' if number < first else 'sparse' for number in range(depth(config))]
    return listed(lambda config, number: usual[number], *_FEEDFORWARDS, key='mlp_layer_types')(config)


_IN, _DOWN, _UP, _MOE = '(N H) D -> D N H', 'R D -> D R', '(N H) R -> R N H', 'block_sparse_moe'
_CONVOLVED, _LOW = (f'{MIXER}/convolution/output',), f'{MIXER}/query_latent'


def _own(name: str, layout: str, ours: str, **more: Any) -> Weight:
    return Weight(f'layers.*.self_attn.{name}', layout, (f'{MIXER}/{ours}',), **more)


_DELTA = (
    _own('k_proj.weight', _IN, 'key'),
    _own('v_proj.weight', _IN, 'value'),
    _own('conv1d.weight', 'C 1 M -> M C', 'convolution/output', read_only=True),
    _own('%_conv1d.weight', 'C 1 M -> M C', 'convolution/output', joined=('q', 'k', 'v')),
    _own('A_log', '1 1 N 1 -> N', 'log_rate'),
    _own('dt_bias', '(N H) -> N H', 'step_bias'),
    _own('f_a_proj.weight', _DOWN, 'step_down'),
    _own('f_b_proj.weight', _UP, 'step_up'),
    _own('b_proj.weight', 'N D -> D N', 'write'),
    _own('g_a_proj.weight', _DOWN, 'gate_down'),
    _own('g_b_proj.weight', _UP, 'gate_up'),
    _own('o_norm.weight', 'H -> H', 'head_norm/scale'),
)
_LATENT = (
    _own('q_a_proj.weight', _DOWN, 'query_latent'),
    _own('q_a_layernorm.weight', 'R -> R', 'query_norm/scale'),
    Weight('layers.*.self_attn.kv_a_proj_with_mqa.weight', (_DOWN, _DOWN), (f'{MIXER}/latent', f'{MIXER}/rotated_key')),
    _own('kv_a_layernorm.weight', 'R -> R', 'latent_norm/scale'),
    interleaved('self_attn.kv_b_proj', 'key', {'key': _UP, 'value': _UP}),
)
_BOTH = (
    _own('q_proj.weight', _IN, 'query', without=_LOW),
    _own('q_b_proj.weight', _UP, 'query', needs=_LOW),
    _own('o_proj.weight', 'D (N H) -> N H D', 'output'),
    Weight(f'layers.*.{_MOE}.gate.e_score_correction_bias', 'E -> E', ('layers/*/feedforward/router/balance_bias',)),
)
# In the memory of transformers, and, of dense layers, as its version 5 writes them.
_OLDER = {f'{_MOE}.{map}_proj.weight': f'mlp.{map}_proj.weight' for map in ('gate', 'up', 'down')} | {
    f'mlp.{name}': f'{_MOE}.{name}'
    for name in (
        *(f'shared_experts.{map}_proj.weight' for map in ('gate', 'up', 'down')),
        'gate.e_score_correction_bias',
    )
}
_OLDER |= {f'forget_gate.{name}': name for name in ('A_log', 'dt_bias', 'f_a_proj.weight', 'f_b_proj.weight')}

FAMILY = family(
    'KimiLinearForCausalLM',
    _MODEL
    | crossed(
        _MODEL['block'],
        (_MIXERS, _mixers),
        (_FEEDFORWARDS, _feedforwards),
        lambda mixers, inner: {'layer_types': mixers, 'mlp_layer_types': inner},
    ),
    Keys(
        required={
            **CAUSAL, 'attention_bias': False, 'num_expert_group': 1, 'topk_group': 1, 'tie_word_embeddings': False,
            # Of the published folder.
            'mla_use_nope': True, 'moe_router_activation_func': 'sigmoid', 'moe_layer_freq': 1,
            'num_nextn_predict_layers': 0,
        },
        harmless=('head_dim', 'num_key_value_heads', 'output_router_logits', 'pretraining_tp', 'qk_head_dim'),
        aliases={
            'max_position_embeddings': 'model_max_length', 'norm_topk_prob': 'moe_renormalize',
            'n_group': 'num_expert_group', 'num_local_experts': 'num_experts',
            'num_experts_per_tok': 'num_experts_per_token', 'n_shared_experts': 'num_shared_experts',
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
    weights=(
        *(weight for weight in WEIGHTS if 'self_attn' not in weight.theirs),
        *own(_DELTA, True),
        *own(_LATENT, False),
        *_BOTH,
        *weights(_MOE, {'gate': 'w1', 'up': 'w3', 'down': 'w2'}),
        *shared(_MOE, 'shared_experts'),
    ),
    copies={},
    older=_OLDER,
    tokens={'bos_token_id': 163584, 'eos_token_id': 163586, 'pad_token_id': 163839},
)  # fmt: skip
