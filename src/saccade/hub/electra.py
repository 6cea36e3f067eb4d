# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ELECTRA: BERT's layers over an embedding that may be narrower; the head of a generator or of a discriminator.

Clark et al. 2020, "ELECTRA", https://arxiv.org/abs/2003.10555; names and settings of `ElectraModel` and its heads in
transformers.
"""

from saccade.hub.encoder import BERT_LAYERS, BUFFERS, TYPES, Narrow, affine, embeddings, keys, trunk
from saccade.hub.family import Family, Head
from saccade.hub.heads import (
    EXACT_GELU,
    HIDDEN_ACTIVATION,
    LABELS,
    ClassifierDropout,
    Output,
    masked,
    of_encoder,
    pooled,
)

WEIGHTS = (*embeddings(), *affine('embeddings_project', 'embedding_output'), *BERT_LAYERS)


# Scores whether a token was replaced by the generator.
_REPLACED = {'use': 'head.each_token:EachToken', 'activation': HIDDEN_ACTIVATION, 'classes': 1}
_DISCRIMINATOR = (
    *affine('discriminator_predictions.dense', 'tokens_head/hidden'),
    *affine('discriminator_predictions.dense_prediction', 'tokens_head/output'),
)

_MASKED = masked(
    'generator_predictions.dense', 'generator_predictions.LayerNorm', 'generator_lm_head', activation=EXACT_GELU
)
_LABELS = pooled('classifier.dense', Output('classifier.out_proj', LABELS, ClassifierDropout()), EXACT_GELU)

HEADS = {
    'ElectraModel': (),
    'ElectraForPreTraining': (Head('tokens', _REPLACED, _DISCRIMINATOR),),
    **of_encoder('Electra', _MASKED, _LABELS, ClassifierDropout()),
}


FAMILY = Family(
    trunk() | {'types': TYPES, 'embedding_width': Narrow('embedding_size', int)},
    WEIGHTS,
    prefix='electra.',
    copies={'generator_lm_head.weight': 'embeddings.word_embeddings.weight'},
    ignored=BUFFERS,
    # Used only for multiple choice.
    keys=keys(harmless=('summary_activation', 'summary_last_dropout', 'summary_type', 'summary_use_proj')),
    heads=HEADS,
    outside=r'(discriminator_predictions|generator_predictions|generator_lm_head|classifier|qa_outputs)\..*',
)
