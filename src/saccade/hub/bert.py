# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""BERT: post-norm, GELU, learned positions, two token types, an output tied to the embedding.

Devlin et al. 2019, "BERT", https://arxiv.org/abs/1810.04805; names and settings of `BertModel` and its heads in
transformers.
"""

from saccade.hub.encoder import BERT_LAYERS, BUFFERS, TYPES, embeddings, keys, trunk
from saccade.hub.family import Family
from saccade.hub.heads import LABELS, TWO, ClassifierDropout, Output, each_token, masked, pooled

WEIGHTS = (*embeddings(), *BERT_LAYERS)

_MASKED = masked('cls.predictions.transform.dense', 'cls.predictions.transform.LayerNorm', 'cls.predictions')
_FOLLOWS = pooled('pooler.dense', Output('cls.seq_relationship', TWO))
_LABELS = Output('classifier', LABELS, ClassifierDropout())

HEADS = {
    'BertModel': (pooled('pooler.dense'),),
    'BertForPreTraining': (_MASKED, _FOLLOWS),
    'BertForMaskedLM': (_MASKED,),
    'BertForNextSentencePrediction': (_FOLLOWS,),
    'BertForSequenceClassification': (pooled('pooler.dense', _LABELS),),
    'BertForTokenClassification': (each_token(_LABELS),),
    'BertForQuestionAnswering': (each_token(Output('qa_outputs', TWO)),),
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
    older={'LayerNorm.gamma': 'LayerNorm.weight', 'LayerNorm.beta': 'LayerNorm.bias'},
    heads=HEADS,
    outside=r'(cls|classifier|qa_outputs)\..*',
)
