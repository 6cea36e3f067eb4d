# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A pretrained BERT encoder with a randomly initialised decoder.

    python launch/train.py --config=experiments/masked_lm/quickstart.py --workdir=runs/bert
    python launch/train.py --config=experiments/translation/bert_encoder.py --workdir=runs/bert2rnd \\
        --config.init_from=runs/bert --config.data.source_context_length=64 --config.data.path=DIR

Rothe et al. 2020, "Leveraging Pre-trained Checkpoints for Sequence Generation Tasks", BERT2RND,
https://arxiv.org/abs/1907.12461. The encoder and the tokenizer come from `init_from`, a run or a Hugging Face
directory; for bert-base set `model.decoder.vocabulary` to 30522. Without `init_from` everything is trained from
scratch.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation.base import transformer
from saccade.experiments.translation.seq2seq import BLEU, CHRF, seq2seq
from saccade.experiments.translation.wmt14 import wmt14


def get_config() -> ConfigDict:
    vocabulary, source_context_length, context_length = FieldReference(2048), FieldReference(128), FieldReference(128)

    config = seq2seq(
        model=transformer(
            vocabulary=vocabulary,
            source_context_length=source_context_length,
            context_length=context_length,
            width=128,
            heads=4,
            layers=4,
            dropout=0.1,
            pre_norm=True,
        ),
        data=wmt14(
            dict(use='data.tokenizer.word_piece:WordPiece', vocabulary=vocabulary),
            source_context_length,
            context_length,
        ),
        metrics=[BLEU, CHRF],
        label_smoothing=0.1,
    )
    config.model.shared_embedding = False  # the sides may differ in width
    config.data.start = '[CLS]'
    config.inherit = 'model.encoder'
    config.adapt = dict(use='train.init.partial:encoder')
    return config
