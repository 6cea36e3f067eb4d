# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ELECTRA: BERT's layers over an embedding that may be narrower; the head of a generator or of a discriminator.

Clark et al. 2020, "ELECTRA", https://arxiv.org/abs/2003.10555; names and settings of `ElectraModel` and its heads in
transformers.
"""

from saccade.hub.encoder import BERT_LAYERS, BUFFERS, TYPES, Narrow, affine, embeddings, keys, trunk
from saccade.hub.family import Family
from saccade.hub.heads import (
    EXACT_GELU,
    HIDDEN_ACTIVATION,
    LABELS,
    ClassifierDropout,
    Output,
    each_token,
    masked,
    of_encoder,
    pooled,
)

WEIGHTS = (*embeddings(), *affine('embeddings_project', 'embedding_output'), *BERT_LAYERS)


# Scores whether a token was replaced by the generator.
_REPLACED = each_token(
    Output('discriminator_predictions.dense_prediction', 1),
    'discriminator_predictions.dense',
    activation=HIDDEN_ACTIVATION,
)
_MASKED = masked(
    'generator_predictions.dense', 'generator_predictions.LayerNorm', 'generator_lm_head', activation=EXACT_GELU
)
_LABELS = pooled('classifier.dense', Output('classifier.out_proj', LABELS, ClassifierDropout()), activation=EXACT_GELU)

HEADS = {
    'ElectraModel': (),
    'ElectraForPreTraining': (_REPLACED,),
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
