# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ELECTRA: BERT's layers over an embedding that may be narrower; the head of a generator or of a discriminator.

Clark et al. 2020, "ELECTRA", https://arxiv.org/abs/2003.10555; names and settings of `ElectraModel` and its heads in
transformers.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.encoder import BERT_LAYERS, BUFFERS, affine, embeddings, keys, trunk
from saccade.hub.family import Family, Head
from saccade.hub.heads import (
    Output,
    classifier_dropout,
    each_token,
    exact_gelu,
    hidden_activation,
    labels,
    masked,
    pooled,
    two,
)
from saccade.hub.setting import read

WEIGHTS = (*embeddings(), *affine('embeddings_project', 'embedding_output'), *BERT_LAYERS)


def _replaced(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of the head that scores each token as original or replaced by the generator."""
    return {'use': 'head.each_token:EachToken', 'activation': hidden_activation(config), 'classes': 1}


_DISCRIMINATOR = (
    *affine('discriminator_predictions.dense', 'tokens_head/hidden'),
    *affine('discriminator_predictions.dense_prediction', 'tokens_head/output'),
)

HEADS = {
    'ElectraModel': (),
    'ElectraForPreTraining': (Head('tokens', _replaced, _DISCRIMINATOR),),
    'ElectraForMaskedLM': (
        masked('generator_predictions.dense', 'generator_predictions.LayerNorm', 'generator_lm_head', exact_gelu),
    ),
    'ElectraForSequenceClassification': (
        pooled('classifier.dense', Output('classifier.out_proj', labels, classifier_dropout), exact_gelu),
    ),
    'ElectraForTokenClassification': (each_token(Output('classifier', labels, classifier_dropout)),),
    'ElectraForQuestionAnswering': (each_token(Output('qa_outputs', two)),),
}


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of our model without its heads, from an `ElectraConfig`.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    found, narrow = trunk(config), read(config, 'embedding_size', int)
    return found | {
        'types': read(config, 'type_vocab_size', int),
        'embedding_width': None if narrow == found['width'] else narrow,
    }


FAMILY = Family(
    spec,
    WEIGHTS,
    prefix='electra.',
    copies={'generator_lm_head.weight': 'embeddings.word_embeddings.weight'},
    ignored=BUFFERS,
    # Used only for multiple choice.
    keys=keys(harmless=('summary_activation', 'summary_last_dropout', 'summary_type', 'summary_use_proj')),
    heads=HEADS,
)
