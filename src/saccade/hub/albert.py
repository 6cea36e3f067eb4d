# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ALBERT: layers with shared weights, and a factorised embedding.

Lan et al. 2020, "ALBERT", https://arxiv.org/abs/1909.11942; names and settings of `AlbertModel` and its heads in
transformers.
"""

from saccade.hub.encoder import BUFFERS, TYPES, affine, embeddings, keys, layers, trunk
from saccade.hub.family import Family
from saccade.hub.heads import LABELS, Output, masked, of_encoder, pooled
from saccade.hub.template import Rate, Setting

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
_DROPOUT = Rate('classifier_dropout_prob')
_LABELS = pooled('pooler', Output('classifier', LABELS, _DROPOUT))

HEADS = {
    'AlbertModel': (pooled('pooler'),),
    'AlbertForPreTraining': (_MASKED, pooled('pooler', Output('sop_classifier.classifier', LABELS, _DROPOUT))),
    **of_encoder('Albert', _MASKED, _LABELS, _DROPOUT),
}


FAMILY = Family(
    trunk()
    | {
        'layers': 1,
        'passes': Setting('num_hidden_layers', int),
        'types': TYPES,
        'embedding_width': Setting('embedding_size', int),
    },
    WEIGHTS,
    prefix='albert.',
    copies={
        'predictions.decoder.weight': 'embeddings.word_embeddings.weight',
        'predictions.decoder.bias': 'predictions.bias',
    },
    ignored=BUFFERS,
    keys=keys(required={'num_hidden_groups': 1, 'inner_group_num': 1}),
    heads=HEADS,
    outside=r'(predictions|sop_classifier|classifier|qa_outputs)\..*',
)
