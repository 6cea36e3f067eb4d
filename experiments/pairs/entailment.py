# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Sentence-BERT on classified pairs of texts, such as entailment: softmax over (u, v, |u - v|).

    python launch/train.py --config=experiments/pairs/entailment.py --workdir=runs/entail \
        --config.data.path=FOLDER --config.data.text=0 --config.data.pair=1 --config.data.label=2
    python launch/search.py --workdir=runs/entail --corpus=README.md --query="how to train a model"

The data are required, as in finetune/classify.py, which reads both texts in one row (a cross-encoder); for snli and
multi_nli of TFDS set `data.name` and keep the default columns. The embeddings are the output of the head `pooled`.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.finetune.base import finetune, of_records
from saccade.experiments.pairs.sentence_bert import VECTORS


def get_config() -> ConfigDict:
    vocabulary, context_length, dropout = FieldReference(8192), FieldReference(64), FieldReference(0.1)
    columns, classes = dict(text='premise', pair='hypothesis', label='label'), FieldReference(3)
    compared = dict(use='head.compared:Compared', pool=VECTORS['pool'], classes=classes)

    config = finetune(
        task=dict(use='task.siamese_classification:SiameseClassification', label_smoothing=0.0),
        data=of_records('data.encoder.siamese:SiameseClassified', vocabulary, classes=classes, **columns),
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=2,
        dropout=dropout,
        heads=dict(pooled=VECTORS, compared=compared),
    )
    config.baseline = dict(use='task.classification:majority')
    return config
