# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Phi: attention and feed-forward layer read the same normalised input, and half of the features is rotated.

Li et al. 2023, "Textbooks Are All You Need II: phi-1.5 technical report", https://arxiv.org/abs/2309.05463; names and
settings of `PhiForCausalLM` in transformers.
"""

from saccade.hub.causal import family, parts, template
from saccade.hub.encoder import Words, layers, norm, projections
from saccade.hub.family import Weight
from saccade.hub.heads import SEQUENCES, TOKENS, of_decoder
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.llama_like import GROUPS, HEAD_WIDTH
from saccade.hub.rope import Rope
from saccade.hub.template import Free, Maybe, Rate, Setting

_WORDS = Words(dropout='resid_pdrop', weights_dropout='attention_dropout')
_NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': Setting('layer_norm_eps', float, 1e-5)}
_ROPE = Rope(share='partial_rotary_factor', usual_share=0.5)
_PARTS = parts(
    _WORDS,
    _NORM,
    Free(True),
    key_value_heads=GROUPS,
    head_width=HEAD_WIDTH,
    head_norm=Maybe('qk_layernorm', _NORM),
    position=_ROPE.template(),
)

FAMILY = family(
    template(
        _NORM,
        {'use': 'block.parallel:Parallel', **_PARTS},
        dropout=Rate('embd_pdrop', default=0.0),
        head_bias=Free(True),
    ),
    (
        Weight('embed_tokens.weight', 'V D -> V D', ('embedding',)),
        *layers(
            'layers.*',
            {
                **projections('query', 'key', 'value'),
                'mixer/output': 'self_attn.dense',
                'feedforward/up': 'mlp.fc1',
                'feedforward/down': 'mlp.fc2',
            },
        ),
        *norm('layers.*.input_layernorm', 'layers/*/norm'),
        *norm('layers.*.self_attn.q_layernorm', 'layers/*/mixer/query_norm'),
        *norm('layers.*.self_attn.k_layernorm', 'layers/*/mixer/key_norm'),
        *norm('final_layernorm', 'norm'),
        Weight('lm_head.weight', 'V D -> D V', ('head',)),
        Weight('lm_head.bias', 'V -> V', ('head_bias',)),
    ),
    prefix='model.',
    ignored=r'layers\.\d+\.self_attn\.rotary_emb\.inv_freq',
    keys=Keys(required=CAUSAL, defaults={'hidden_act': 'gelu_new', 'resid_pdrop': 0.0, 'attention_dropout': 0.0}),
    heads=of_decoder('Phi', SEQUENCES, TOKENS),
    architecture='PhiForCausalLM',
    outside=r'(lm_head|score)\..*',
    tokens={'bos_token_id': 1, 'eos_token_id': 2},
)
