# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DistilBERT: half of BERT's layers, no token types, no pooler except the hidden layer of the classifier.

Sanh et al. 2019, "DistilBERT", https://arxiv.org/abs/1910.01108; names and settings of `DistilBertModel` and its heads
in transformers. Sinusoidal positions are stored as a table too.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.encoder import BUFFERS, Words, embeddings, layers, trunk
from saccade.hub.family import Family
from saccade.hub.heads import Output, always, each_token, labels, masked, pooled, rate, two
from saccade.hub.keys import Keys
from saccade.hub.setting import read_activation

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


def _activation(config: Mapping[str, Any]) -> dict[str, Any]:
    return read_activation(config, _WORDS.activation)


HEADS = {
    'DistilBertModel': (),
    'DistilBertForMaskedLM': (masked('vocab_transform', 'vocab_layer_norm', 'vocab_projector', _activation),),
    'DistilBertForSequenceClassification': (
        pooled('pre_classifier', Output('classifier', labels, rate('seq_classif_dropout')), always('relu')),
    ),
    'DistilBertForTokenClassification': (each_token(Output('classifier', labels, rate(_WORDS.dropout))),),
    'DistilBertForQuestionAnswering': (each_token(Output('qa_outputs', two, rate('qa_dropout'))),),
}


_KEYS = Keys(
    harmless=('sinusoidal_pos_embds',),  # positions are stored as a table either way
    aliases={'hidden_size': 'dim', 'num_attention_heads': 'n_heads', 'num_hidden_layers': 'n_layers'},
    fixed={'layer_norm_eps': 1e-12},
)


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of our model without its heads, from a `DistilBertConfig`.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    return trunk(config, _WORDS)


FAMILY = Family(
    spec,
    WEIGHTS,
    prefix='distilbert.',
    copies={'vocab_projector.weight': 'embeddings.word_embeddings.weight'},
    ignored=BUFFERS,
    keys=_KEYS,
    heads=HEADS,
)
