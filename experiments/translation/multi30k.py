# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Captions from English to German: a Transformer of 2.1 M parameters on the 29,000 pairs of Multi30k.

    python launch/train.py --config=experiments/translation/multi30k.py --workdir=runs/m30k --config.data.path=DIR
    python launch/evaluate.py --workdir=runs/m30k --split=test
    python launch/translate.py --workdir=runs/m30k --file=DIR/val.en --beams=5

DIR has train.en, train.de, val.en and val.de (Elliott et al. 2016, https://arxiv.org/abs/1605.00459). The model is
the text-only baseline of Wu et al. 2021, https://arxiv.org/abs/2105.14462: 4 + 4 layers of width 128, with
about 41 BLEU on lower-cased, tokenised text, which sacrebleu must not tokenise again:

    --config.task.metrics.0.tokenize=none --config.data.path=DIR/tok

One seed had 40.2 BLEU [38.5, 41.9] on the test split of 2016, after two hours on two cores.

Differences, for faster learning: pre-norm, half as many tokens per step, 6,000 subwords instead of 10,000, and a moving
average of the parameters instead of an average of the last 10 checkpoints.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation.base import transformer
from saccade.experiments.translation.seq2seq import BLEU, CHRF, beams, pairs, seq2seq


def get_config() -> ConfigDict:
    vocabulary, source_context_length, context_length = FieldReference(6000), FieldReference(60), FieldReference(60)

    config = seq2seq(
        model=transformer(
            vocabulary=vocabulary,
            source_context_length=source_context_length,
            context_length=context_length,
            width=128,
            heads=4,
            layers=4,
            dropout=0.2,
            ratio=2.0,
            pre_norm=True,
        ),
        data=pairs(
            dict(use='data.tokenizer.bpe:BPE', vocabulary=vocabulary),
            name=None,
            buckets=(12, 16, 20, 24, 32),
            validation=0.05,
            source_context_length=source_context_length,
            context_length=context_length,
        ),
        metrics=[dict(BLEU), dict(CHRF)],
        label_smoothing=0.1,
        search=beams(5, alpha=1.0),
    )
    config.steps = 10_000
    config.batch_size = 40  # for the longest pairs; about 2,300 tokens per side
    config.eval_every = 1000
    config.checkpoint_every = 500
    config.ema = 0.998
    steps = config.get_ref('steps')
    config.schedule = dict(
        use='train.schedule:WarmupStableDecay', peak=2e-3, warmup=steps // 7, decay=steps // 3, floor=0.0
    )
    config.sample = dict(use='decode.translator:Translated', text='Two young men are outside near many bushes.')
    return config
