# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""RoBERTa: BERT's layers; positions that count from 2, and one token type.

Liu et al. 2019, "RoBERTa", https://arxiv.org/abs/1907.11692; names and settings of `RobertaModel` and its heads in
transformers. The first two rows of its position table are for padding.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.encoder import BERT_LAYERS, BUFFERS, embeddings, keys, trunk
from saccade.hub.family import Family
from saccade.hub.heads import Output, classifier_dropout, each_token, exact_gelu, labels, masked, pooled, two
from saccade.hub.setting import read

_PADDING = 1
_BEFORE = _PADDING + 1

WEIGHTS = (*embeddings(skipped=_BEFORE), *BERT_LAYERS)

_CLASSIFIER = Output('classifier.out_proj', labels, classifier_dropout)

HEADS = {
    'RobertaModel': (pooled('pooler.dense'),),
    'RobertaForMaskedLM': (masked('lm_head.dense', 'lm_head.layer_norm', 'lm_head', exact_gelu),),
    'RobertaForSequenceClassification': (pooled('classifier.dense', _CLASSIFIER),),
    'RobertaForTokenClassification': (each_token(Output('classifier', labels, classifier_dropout)),),
    'RobertaForQuestionAnswering': (each_token(Output('qa_outputs', two)),),
}


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of our model without its heads, from a `RobertaConfig`.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    return trunk(config, skipped=_BEFORE) | {'types': read(config, 'type_vocab_size', int)}


FAMILY = Family(
    spec,
    WEIGHTS,
    prefix='roberta.',
    copies={'lm_head.decoder.weight': 'embeddings.word_embeddings.weight', 'lm_head.decoder.bias': 'lm_head.bias'},
    ignored=BUFFERS,
    keys=keys(required={'pad_token_id': _PADDING}),
    heads=HEADS,
)
