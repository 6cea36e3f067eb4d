# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""GPT-NeoX: attention and feed-forward layer read the same input, and a quarter of the features is rotated.

Black et al. 2022, "GPT-NeoX-20B", https://arxiv.org/abs/2204.06745, and Pythia; names and settings of
`GPTNeoXForCausalLM` in transformers. Queries, keys and values are one kernel, a head after another.
"""

from saccade.hub.causal import family, parts, template
from saccade.hub.encoder import FEEDFORWARD, MIXER, QKV, Words, affine, fused, norm
from saccade.hub.family import Weight
from saccade.hub.heads import of_decoder
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.rope import Rope
from saccade.hub.template import Free, Rate, Setting, either

_WORDS = Words(dropout='hidden_dropout', weights_dropout='attention_dropout')
_NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': Setting('layer_norm_eps', float, 1e-5)}
_BIAS = Setting('attention_bias', bool, True)
_ROPE = Rope(base='rotary_emb_base', share='rotary_pct', usual_share=0.25)
_PARTS = parts(_WORDS, _NORM, Free(True), bias=_BIAS, output_bias=_BIAS, position=_ROPE.template())
_PARALLEL = {'use': 'block.parallel:Parallel', 'shared_norm': False, **_PARTS}
_BLOCK = either('use_parallel_residual', True, _PARALLEL, {'use': 'block.pre_norm:PreNorm', **_PARTS})

FAMILY = family(
    template(_NORM, _BLOCK, dropout=Rate('hidden_dropout')),
    (
        Weight('embed_in.weight', 'V D -> V D', ('embedding',)),
        *norm('layers.*.input_layernorm', f'{MIXER}_norm'),
        *fused('layers.*.attention.query_key_value', QKV, '(N part H) D -> part D N H', '(N part H) -> part N H'),
        *affine('layers.*.attention.dense', f'{MIXER}/output', 'D (N H) -> N H D', 'D -> D'),
        *norm('layers.*.post_attention_layernorm', f'{FEEDFORWARD}_norm'),
        *affine('layers.*.mlp.dense_h_to_4h', f'{FEEDFORWARD}/up'),
        *affine('layers.*.mlp.dense_4h_to_h', f'{FEEDFORWARD}/down'),
        *norm('final_layer_norm', 'norm'),
        Weight('embed_out.weight', 'V D -> D V', ('head',)),
    ),
    prefix='gpt_neox.',
    older={r'lm_head\.': 'embed_out.'},  # within transformers
    ignored=r'layers\.\d+\.attention\.(rotary_emb\.inv_freq|(masked_)?bias)',
    keys=Keys(
        required=CAUSAL,
        harmless=('is_decoder',),
        defaults={'hidden_act': 'gelu', 'hidden_dropout': 0.0, 'attention_dropout': 0.0},
    ),
    heads=of_decoder('GPTNeoX', tokens='classifier', spans=''),
    architecture='GPTNeoXForCausalLM',
    outside=r'(embed_out|score|classifier|qa_outputs)\..*',
    tokens={'bos_token_id': 0, 'eos_token_id': 2},
)
