# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Named entity recognition, or other tagging of words, on your own files or TFDS.

    python launch/train.py --config=experiments/finetune/tag.py --workdir=runs/tag \
        --config.data.path=FOLDER --config.data.classes=13
    python launch/evaluate.py --workdir=runs/tag
    python launch/predict.py --workdir=runs/tag --text="Ada Lovelace lived in London ."

The data are required: `data.path` is a file of CoNLL columns or a folder with train.conll and dev.conll, or
`data.name` is a TFDS dataset such as conll2003, whose entity column is --config.data.tags=ner. `data.classes` is the
number of tags. For tags that are not BIO, such as parts of speech, set `data.check` to None, and both `task.measure`
and `baseline.measure` to "{'use': 'metric.sequence:matched'}".
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.finetune.base import finetune, of_records


def get_config() -> ConfigDict:
    vocabulary, context_length, dropout = FieldReference(4096), FieldReference(64), FieldReference(0.3)
    classes = FieldReference(9)
    measure, check = dict(use='metric.entity:tagged'), dict(use='metric.entity:require_bio')
    columns = dict(tokens='tokens', tags='tags', check=check)

    config = finetune(
        task=dict(use='task.tagging:Tagging', measure=measure),
        data=of_records(
            'data.encoder.tagged:Tagged',
            vocabulary,
            lowercase=False,
            classes=classes,
            overlap=context_length // 4,
            **columns,
        ),
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=2,
        dropout=dropout,
        heads=dict(tokens=dict(use='head.each_token:EachToken', classes=classes, dropout=dropout)),
    )
    config.baseline = dict(use='task.tagging:majority', measure=measure)
    return config
