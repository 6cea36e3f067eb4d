# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Captions from English to German: a Transformer of about 3 M parameters on the 29,000 pairs of Multi30k.

    python launch/train.py --config=experiments/translation/multi30k.py --workdir=runs/m30k --config.data.path=DIR
    python launch/evaluate.py --workdir=runs/m30k --split=test
    python launch/translate.py --workdir=runs/m30k --file=DIR/val.en --beams=5

DIR has train.en, train.de, val.en and val.de (Elliott et al. 2016, https://arxiv.org/abs/1605.00459). Sizes and rates
are the text-only baseline's of Wu et al. 2021, https://arxiv.org/abs/2105.14462: 4 layers, width 128, shared BPE of
10,000, about 41 BLEU on lower-cased text that is tokenised already, which sacrebleu is to take as it stands:

    --config.task.metrics.0.tokenize=none --config.data.path=DIR/tok

It averages its last 10 checkpoints; here a moving average of about as many steps takes their place.
"""

from base import transformer
from ml_collections import ConfigDict, FieldReference
from seq2seq import BLEU, CHRF, beams, english_to_german, seq2seq


def get_config() -> ConfigDict:
    vocabulary, source_context, context = FieldReference(10_000), FieldReference(64), FieldReference(64)

    config = seq2seq(
        model=transformer(
            vocabulary=vocabulary,
            source_context=source_context,
            context=context,
            width=128,
            heads=4,
            layers=4,
            dropout=0.3,
            ratio=2.0,
        ),
        data=english_to_german(
            dict(use='data.tokenizer:BPE', vocabulary=vocabulary),
            name=None,
            validation=0.05,
            source_context=source_context,
            context=context,
        ),
        metrics=[dict(BLEU), dict(CHRF)],
        label_smoothing=0.1,
        search=beams(5, alpha=1.0),
    )
    config.steps = 8000
    # About 15 tokens a side: 4,096 of the target are as many rows.
    config.batch_size = 256
    config.eval_every = 500
    config.eval_batches = 1
    config.checkpoint_every = 500
    config.ema = 0.998
    config.schedule = dict(use='train.schedule:InverseSqrt', width=128, warmup=2000, scale=2.53)  # 5e-3 at most
    config.sample = dict(use='decode.translator:Translated', text='Two young men are outside near many bushes.')
    return config
