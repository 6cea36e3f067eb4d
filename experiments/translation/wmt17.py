# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""English to German on WMT 2017 by the base Transformer: for accelerators.

    python launch/train.py --config=experiments/translation/wmt17.py --workdir=runs/wmt17 --config.mesh.fsdp=1

Vaswani et al. 2017, table 3, https://arxiv.org/abs/1706.03762, as in the `wmt` example of Flax: WMT 2017 of TFDS with
one vocabulary of 32,000, and batches of at least 25,000 tokens per side. Prepare the dataset on a machine with network
access, with file_format='array_record'; --config.data.path is then its folder. The big model is

    --config.model.decoder.width=1024 --config.model.decoder.block.mixer.heads=16 --config.model.decoder.dropout=0.3
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation.base import transformer
from saccade.experiments.translation.seq2seq import BLEU, BUCKETS, CHRF, beams, pairs, seq2seq


def get_config() -> ConfigDict:
    vocabulary, source_context_length, context_length = FieldReference(32_000), FieldReference(128), FieldReference(128)

    config = seq2seq(
        model=transformer(
            vocabulary=vocabulary,
            source_context_length=source_context_length,
            context_length=context_length,
            width=512,
            heads=8,
            layers=6,
            dropout=0.1,
        ),
        data=pairs(
            dict(use='data.tokenizer.bpe:BPE', vocabulary=vocabulary),
            name='wmt17_translate/de-en',
            buckets=BUCKETS,
            validation=0.001,
            source_context_length=source_context_length,
            context_length=context_length,
        ),
        metrics=[dict(BLEU), dict(CHRF)],
        label_smoothing=0.1,
        search=beams(4, alpha=0.6),  # section 6.1
    )
    config.steps = 100_000
    config.batch_size = 1024
    config.eval_every = 5000
    config.eval_batches = 2
    config.checkpoint_every = 2500
    config.dtype = 'bfloat16'
    config.ema = 0.9995  # instead of the average of the last checkpoints
    config.schedule = dict(use='train.schedule:InverseSqrt', width=512, warmup=4000, scale=1.0)
    config.sample = dict(use='decode.translator:Translated', text='The committee will meet again in October.')
    return config
