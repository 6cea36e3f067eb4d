# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of decoders with parts of DeepSeek-V3, as Kimi Linear: latent attention, and experts balanced without a loss.

DeepSeek-AI 2024, "DeepSeek-V2", https://arxiv.org/abs/2405.04434, and "DeepSeek-V3", https://arxiv.org/abs/2412.19437;
names and settings are as in transformers.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub import experts
from saccade.hub.delta_rule import interleaved
from saccade.hub.encoder import FEEDFORWARD, MIXER
from saccade.hub.family import Weight, instead
from saccade.hub.llama_like import WEIGHTS as LLAMA
from saccade.hub.setting import read
from saccade.hub.template import Both, Free, Kernel, Setting

# Without biases, positions and a gate in attention, and without groups and a narrower input of experts.
PLAIN = {
    'attention_bias': False, 'mla_use_nope': True, 'mla_use_output_gate': False, 'num_expert_group': 1, 'topk_group': 1,
    'moe_router_activation_func': 'sigmoid', 'routed_expert_hidden_size': None,
}  # fmt: skip
_DOWN, _UP = 'R D -> D R', '(N H) R -> R N H'
LATENT = {
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
}


def attention(name: str, layout: str | tuple[str, ...], *ours: str, **more: Any) -> Weight:
    """Return a weight of the mixer of a layer. Args: their name; layout; ours; more, fields of `Weight`."""
    return Weight(f'layers.*.self_attn.{name}', layout, tuple(f'{MIXER}/{path}' for path in ours), **more)


def factors(name: str, down: str, up: str) -> tuple[Weight, Weight]:
    """Return the weights of a projection in two factors. Args: their name, before '_a_proj' and '_b_proj'; ours."""
    return attention(f'{name}_a_proj.weight', _DOWN, down), attention(
        f'{name}_b_proj.weight', _UP, up, needs=f'{MIXER}/{down}'
    )


WEIGHTS = instead(
    LLAMA,
    attention('q_proj.weight', '(N H) D -> D N H', 'query', without=f'{MIXER}/query_latent'),
    *factors('q', 'query_latent', 'query'),
    attention('q_a_layernorm.weight', 'R -> R', 'query_norm/scale'),
    attention('kv_a_proj_with_mqa.weight', (_DOWN, _DOWN), 'latent', 'rotated_key'),
    attention('kv_a_layernorm.weight', 'R -> R', 'latent_norm/scale'),
    interleaved('self_attn.kv_b_proj', 'key', {'key': _UP, 'value': _UP}),
)


def mixture_weights(place: str, names: Mapping[str, str]) -> tuple[Weight, ...]:
    """Return the weights of the mixture. Args: as of `experts.weights`."""
    bias = Weight(f'layers.*.{place}.gate.e_score_correction_bias', 'E -> E', (f'{FEEDFORWARD}/router/balance_bias',))
    return (*experts.weights(place, names), *experts.shared(place, 'shared_experts'), bias)


def balanced(mixture: Mapping[str, Any], shared: str) -> dict[str, Any]:
    """Template of a mixture with a router of sigmoids, balanced without a loss, and with experts that all tokens share.

    Args:
        mixture: template with another router, and without these experts.
        shared: key of their number; they are one, as wide as all of them together.
    """
    inner = mixture['expert']['width'].inner
    width = Both(
        lambda config: read(config, shared, int) * read(config, inner, int),
        lambda width: {shared: lambda settings: width // settings[inner]},
    )
    router = {
        'use': 'feedforward.loss_free:LossFree',
        'score': {'use': 'jax.nn:sigmoid'},
        'scale': Setting('routed_scaling_factor', float),
        'rate': Free(0.001),
    }
    return {**mixture, 'router': mixture['router'] | router, 'shared': {**mixture['expert'], 'width': width}}
