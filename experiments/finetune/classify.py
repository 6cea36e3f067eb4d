# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Classify texts or pairs of texts, your own or from TFDS.

    python launch/train.py --config=experiments/finetune/classify.py --workdir=runs/classify \
        --config.data.path=FOLDER --config.data.text=0 --config.data.label=1
    python launch/evaluate.py --workdir=runs/classify
    python launch/predict.py --workdir=runs/classify --text="A film like no other."

The data are required: `data.path` is a .csv, .tsv or .jsonl file or a folder with train.* and dev.* of these, or
`data.name` is a TFDS dataset such as glue/sst2. `data.text` and `data.label` are columns, by number if the file has no
header; `data.pair` is the column of a second text. `data.classes` is the number of classes. A text longer than
the context is read in chunks.
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.finetune.base import finetune, of_records


def get_config() -> ConfigDict:
    vocabulary, context_length, dropout = FieldReference(8192), FieldReference(64), FieldReference(0.3)
    classes = FieldReference(2)
    columns = dict(text='sentence', pair=placeholder(str), label='label')

    config = finetune(
        task=dict(use='task.classification:Classification', label_smoothing=0.0),
        data=of_records('data.encoder.classified:Classified', vocabulary, classes=classes, overlap=0, **columns),
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=2,
        dropout=dropout,
        heads=dict(
            pooled=dict(use='head.pooled:Pooled', pool=dict(use='ops.pool:mean'), classes=classes, dropout=dropout),
        ),
    )
    config.baseline = dict(use='task.classification:majority')
    return config
