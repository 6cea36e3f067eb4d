# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""RoBERTa: BERT's layers; positions that count from 2, and one token type.

Liu et al. 2019, "RoBERTa", https://arxiv.org/abs/1907.11692; names and settings of `RobertaModel` and its heads in
transformers. The first two rows of its position table are for padding.
"""

from saccade.hub.encoder import BERT_LAYERS, BUFFERS, TYPES, embeddings, keys, trunk
from saccade.hub.family import Family
from saccade.hub.heads import EXACT_GELU, LABELS, ClassifierDropout, Output, masked, of_encoder, pooled

_PADDING = 1
_BEFORE = _PADDING + 1

WEIGHTS = (*embeddings(skipped=_BEFORE), *BERT_LAYERS)

_MASKED = masked('lm_head.dense', 'lm_head.layer_norm', 'lm_head', activation=EXACT_GELU)
_LABELS = pooled('classifier.dense', Output('classifier.out_proj', LABELS, ClassifierDropout()))

HEADS = {
    'RobertaModel': (pooled('pooler.dense'),),
    **of_encoder('Roberta', _MASKED, _LABELS, ClassifierDropout()),
}


FAMILY = Family(
    trunk(skipped=_BEFORE) | {'types': TYPES},
    WEIGHTS,
    prefix='roberta.',
    copies={'lm_head.decoder.weight': 'embeddings.word_embeddings.weight', 'lm_head.decoder.bias': 'lm_head.bias'},
    ignored=BUFFERS,
    keys=keys(required={'pad_token_id': _PADDING}),
    heads=HEADS,
    like='bert',
    outside=r'(lm_head|classifier|qa_outputs)\..*',
)
