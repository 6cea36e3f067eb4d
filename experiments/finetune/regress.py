# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Predict a number for texts or pairs of texts: the similarity of two sentences, the stars of a review.

    python launch/train.py --config=experiments/finetune/regress.py --workdir=runs/regress \
        --config.data.path=FOLDER --config.data.text=0 --config.data.pair=1 --config.data.value=2
    python launch/evaluate.py --workdir=runs/regress
    python launch/predict.py --workdir=runs/regress --text="A man sings." --pair="A man is singing."

The data are required, as in classify.py; for glue/stsb of TFDS set `data.name` and keep the default columns.
`data.pair=None` is for single texts.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.finetune.base import finetune, of_records


def get_config() -> ConfigDict:
    vocabulary, context_length, dropout = FieldReference(8192), FieldReference(64), FieldReference(0.3)
    columns = dict(text='sentence1', pair='sentence2', value='label')

    config = finetune(
        task=dict(use='task.regression:Regression'),
        data=of_records('data.encoder.valued:Valued', vocabulary, overlap=0, **columns),
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=2,
        dropout=dropout,
        heads=dict(
            pooled=dict(use='head.pooled:Pooled', pool=dict(use='ops.pool:mean'), classes=1, dropout=dropout),
        ),
    )
    config.baseline = dict(use='task.regression:mean')
    return config
