# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DistilBERT: half of BERT's layers, no token types, no pooler except the hidden layer of the classifier.

Sanh et al. 2019, "DistilBERT", https://arxiv.org/abs/1910.01108; names and settings of `DistilBertModel` and its heads
in transformers. Sinusoidal positions are stored as a table too.
"""

from saccade.hub.encoder import BUFFERS, Words, embeddings, layers, trunk
from saccade.hub.family import Family
from saccade.hub.heads import LABELS, RELU, Output, masked, of_encoder, pooled
from saccade.hub.keys import Keys
from saccade.hub.template import Activation, Rate

WEIGHTS = (
    *embeddings(),
    *layers(
        'transformer.layer.*',
        {
            'mixer/query': 'attention.q_lin',
            'mixer/key': 'attention.k_lin',
            'mixer/value': 'attention.v_lin',
            'mixer/output': 'attention.out_lin',
            'mixer_norm': 'sa_layer_norm',
            'feedforward/up': 'ffn.lin1',
            'feedforward/down': 'ffn.lin2',
            'feedforward_norm': 'output_layer_norm',
        },
    ),
)

_WORDS = Words(
    width='dim',
    layers='n_layers',
    heads='n_heads',
    inner='hidden_dim',
    activation='activation',
    dropout='dropout',
    weights_dropout='attention_dropout',
)


_MASKED = masked('vocab_transform', 'vocab_layer_norm', 'vocab_projector', activation=Activation(_WORDS.activation))
_LABELS = pooled('pre_classifier', Output('classifier', LABELS, Rate('seq_classif_dropout')), activation=RELU)

HEADS = {
    'DistilBertModel': (),
    **of_encoder('DistilBert', _MASKED, _LABELS, Rate(_WORDS.dropout), Rate('qa_dropout')),
}


_KEYS = Keys(
    harmless=('sinusoidal_pos_embds',),  # positions are stored as a table either way
    aliases={'hidden_size': 'dim', 'num_attention_heads': 'n_heads', 'num_hidden_layers': 'n_layers'},
    fixed={'layer_norm_eps': 1e-12},
)


FAMILY = Family(
    trunk(_WORDS),
    WEIGHTS,
    prefix='distilbert.',
    copies={'vocab_projector.weight': 'embeddings.word_embeddings.weight'},
    ignored=BUFFERS,
    keys=_KEYS,
    heads=HEADS,
    outside=r'(vocab_transform|vocab_layer_norm|vocab_projector|pre_classifier|classifier|qa_outputs)\..*',
)
