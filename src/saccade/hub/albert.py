# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ALBERT: layers with shared weights, and a factorised embedding.

Lan et al. 2020, "ALBERT", https://arxiv.org/abs/1909.11942; names and settings of `AlbertModel` and its heads in
transformers.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.encoder import BUFFERS, affine, embeddings, keys, layers, trunk
from saccade.hub.family import Family
from saccade.hub.heads import Output, each_token, labels, masked, pooled, rate, two
from saccade.hub.setting import read

WEIGHTS = (
    *embeddings(),
    *affine('encoder.embedding_hidden_mapping_in', 'embedding_output'),
    *layers(
        'encoder.albert_layer_groups.0.albert_layers.*',
        {
            'mixer/query': 'attention.query',
            'mixer/key': 'attention.key',
            'mixer/value': 'attention.value',
            'mixer/output': 'attention.dense',
            'mixer_norm': 'attention.LayerNorm',
            'feedforward/up': 'ffn',
            'feedforward/down': 'ffn_output',
            'feedforward_norm': 'full_layer_layer_norm',
        },
    ),
)


_MASKED = masked('predictions.dense', 'predictions.LayerNorm', 'predictions')
_DROPOUT = rate('classifier_dropout_prob')
_LABELS = Output('classifier', labels, _DROPOUT)

HEADS = {
    'AlbertModel': (pooled('pooler'),),
    'AlbertForPreTraining': (_MASKED, pooled('pooler', Output('sop_classifier.classifier', labels, _DROPOUT))),
    'AlbertForMaskedLM': (_MASKED,),
    'AlbertForSequenceClassification': (pooled('pooler', _LABELS),),
    'AlbertForTokenClassification': (each_token(_LABELS),),
    'AlbertForQuestionAnswering': (each_token(Output('qa_outputs', two)),),
}


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of our model without its heads, from an `AlbertConfig`.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    return trunk(config) | {
        'layers': 1,
        'passes': read(config, 'num_hidden_layers', int),
        'types': read(config, 'type_vocab_size', int),
        'embedding_width': read(config, 'embedding_size', int),
    }


FAMILY = Family(
    spec,
    WEIGHTS,
    prefix='albert.',
    copies={
        'predictions.decoder.weight': 'embeddings.word_embeddings.weight',
        'predictions.decoder.bias': 'predictions.bias',
    },
    ignored=BUFFERS,
    keys=keys(required={'num_hidden_groups': 1, 'inner_group_num': 1}),
    heads=HEADS,
)
