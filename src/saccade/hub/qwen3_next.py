# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Qwen3-Next: three layers of Gated DeltaNet for each of gated attention, and mixtures with a gated shared expert.

Qwen Team 2025, https://huggingface.co/Qwen/Qwen3-Next-80B-A3B-Instruct; names and settings are as in
`Qwen3NextForCausalLM` in transformers. Norms are zero-centred, but for that of the heads of Gated DeltaNet. One
tensor has queries and gates of attention, and others the projections of Gated DeltaNet, a head after another.
"""

from saccade.hub.delta_rule import decaying, delta, hybrid, interleaved
from saccade.hub.encoder import MIXER
from saccade.hub.experts import mixture, shared, sparse_or_dense, weights
from saccade.hub.family import Weight, instead
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.layer_kinds import listed, patterned
from saccade.hub.llama_like import NO_BIAS, NORM, QUERY_KEY_NORMS, WEIGHTS, family, template
from saccade.hub.rope import Rope
from saccade.hub.setting import read
from saccade.hub.template import Config, InnerWidth, Setting

_CENTRED = {**NORM, 'zero_centred': True}
_ROPE = Rope(share='partial_rotary_factor', usual_share=0.25).template()
_MODEL = template(
    {**NO_BIAS, 'head_norm': _CENTRED, 'gate': {'use': 'jax.nn:sigmoid'}, 'position': _ROPE}, {'bias': False}, _CENTRED
)
_MIXERS = {
    'linear_attention': delta(
        'attention.delta:Delta', Setting('linear_key_head_dim', int), Setting('linear_conv_kernel_dim', int, 4), 1e-6,
        heads=Setting('linear_num_value_heads', int),
        key_heads=Setting('linear_num_key_heads', int),
        value_width=Setting('linear_value_head_dim', int),
        gate={'use': 'jax.nn:silu'},
    ),
    'full_attention': {},
}  # fmt: skip
_MIXTURE = mixture(Setting('num_experts', int), 'moe_intermediate_size', Setting('norm_topk_prob', bool, True))
_SHARED = {**_MIXTURE['expert'], 'width': InnerWidth('shared_expert_intermediate_size', 'hidden_size')}
_SPARSE = {**_MIXTURE, 'shared': _SHARED, 'shared_gate': {'use': 'jax.nn:sigmoid'}}


def _attends(config: Config, number: int) -> bool:
    return (number + 1) % read(config, 'full_attention_interval', int, 4) == 0


_HEADS = '(N V) D -> D N V'
_GATED = Weight('layers.*.self_attn.q_proj.weight', '(N part H) D -> part D N H', (f'{MIXER}/query', f'{MIXER}/gate'))
_DELTA = (
    interleaved('linear_attn.in_proj_qkvz', 'query', {
        'query': '(K H) D -> D K H', 'key': '(K H) D -> D K H', 'value': _HEADS, 'gate': _HEADS,
    }),
    interleaved('linear_attn.in_proj_ba', 'query', {'write': 'N D -> D N', 'step': 'N D -> D N'}),
    *decaying('linear_attn'),
    Weight('layers.*.linear_attn.norm.weight', 'V -> V', (f'{MIXER}/head_norm/scale',)),
)  # fmt: skip

FAMILY = family(
    'Qwen3NextForCausalLM',
    patterned(_MODEL, mixer=listed(_MIXERS, _attends), feedforward=sparse_or_dense(_SPARSE)),
    Keys(
        required={**CAUSAL, 'attention_bias': False},
        harmless=('output_router_logits', 'router_aux_loss_coef'),
        defaults={
            'head_dim': 256, 'num_key_value_heads': 2, 'linear_num_key_heads': 16, 'linear_num_value_heads': 32,
            'linear_key_head_dim': 128, 'linear_value_head_dim': 128, 'intermediate_size': 5632, 'num_experts': 512,
            'num_experts_per_tok': 10, 'moe_intermediate_size': 512, 'shared_expert_intermediate_size': 512,
        },
    ),
    weights=(
        *hybrid(instead(WEIGHTS, _GATED, *QUERY_KEY_NORMS), _DELTA),
        *weights('mlp'),
        *shared('mlp', 'shared_expert'),
        Weight('layers.*.mlp.shared_expert_gate.weight', 'G D -> D G', ('layers/*/feedforward/shared_gate_kernel',)),
    ),
    ignored=r'(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq|mtp\..*',
)  # fmt: skip
