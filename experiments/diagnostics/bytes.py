# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Byte-level text classification: each byte is a token, and words must be learned.

    python launch/train.py --config=experiments/diagnostics/bytes.py --workdir=runs/bytes --config.data.path=FOLDER

or, from TFDS, `--config.data.name=imdb_reviews`.

Tay et al. 2020, "Long Range Arena", table 1, https://arxiv.org/abs/2011.04006, use IMDb reviews of 4,096 bytes,
`--config.data.context_length=4096 --config.model.context_length=4096`; the accuracy of Transformers without a causal
mask is 64.3%, with linear attention 65.9%. FOLDER has train.* and dev.*, .csv, .tsv or .jsonl, with columns
`text` and `label`; `data.text`, `data.label` and `data.classes` change this. A longer text is read in chunks.
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.diagnostics.base import ROTARY_ATTENTION, small_model
from saccade.experiments.run_settings import settings


def get_config() -> ConfigDict:
    length, classes = FieldReference(512), FieldReference(2)

    config = settings(steps=2000)
    config.batch_size = 16
    config.eval_every = 500
    config.task = dict(use='task.classification:Classification', label_smoothing=0.0)
    config.baseline = dict(use='task.classification:majority')
    config.data = dict(
        use='data.encoder.classified:Classified',
        name=placeholder(str),
        path=placeholder(str),
        validation=0.1,
        tokenizer=dict(
            use='data.tokenizer.byte:Byte', end=None, specials=['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
        ),
        text='text',
        pair=placeholder(str),
        label='label',
        classes=classes,
        overlap=0,
        context_length=length,
    )
    config.model = small_model(ROTARY_ATTENTION) | dict(
        use='model.encoder:Encoder',
        vocabulary=261,  # bytes and the special tokens of an encoder
        context_length=length,
        types=2,
        heads=dict(pooled=dict(use='head.pooled:Pooled', classes=classes, pool=dict(use='ops.pool:mean'))),
    )
    return config
