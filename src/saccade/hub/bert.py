# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""BERT: post-norm, GELU, learned positions, two token types, an output tied to the embedding.

Devlin et al. 2019, "BERT", https://arxiv.org/abs/1810.04805; names and settings of `BertModel` and its heads in
transformers.
"""

from saccade.hub.encoder import BERT_LAYERS, BUFFERS, TYPES, embeddings, keys, trunk
from saccade.hub.family import Family
from saccade.hub.heads import LABELS, TWO, ClassifierDropout, Output, masked, of_encoder, pooled

WEIGHTS = (*embeddings(), *BERT_LAYERS)

_MASKED = masked('cls.predictions.transform.dense', 'cls.predictions.transform.LayerNorm', 'cls.predictions')
_FOLLOWS = pooled('pooler.dense', Output('cls.seq_relationship', TWO))
_LABELS = pooled('pooler.dense', Output('classifier', LABELS, ClassifierDropout()))

HEADS = {
    'BertModel': (pooled('pooler.dense'),),
    'BertForPreTraining': (_MASKED, _FOLLOWS),
    'BertForNextSentencePrediction': (_FOLLOWS,),
    **of_encoder('Bert', _MASKED, _LABELS, ClassifierDropout()),
}


FAMILY = Family(
    trunk() | {'types': TYPES},
    WEIGHTS,
    prefix='bert.',
    copies={
        'cls.predictions.decoder.weight': 'embeddings.word_embeddings.weight',
        'cls.predictions.decoder.bias': 'cls.predictions.bias',
    },
    ignored=BUFFERS,
    keys=keys(),
    # Names in TensorFlow checkpoints, and in the published bert-base-uncased.
    older={r'LayerNorm\.gamma$': 'LayerNorm.weight', r'LayerNorm\.beta$': 'LayerNorm.bias'},
    heads=HEADS,
    outside=r'(cls|classifier|qa_outputs)\..*',
)
