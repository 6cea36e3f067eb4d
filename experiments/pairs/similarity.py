# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Sentence-BERT on pairs of texts with a similarity score, predicted by the cosine of their embeddings.

    python launch/train.py --config=experiments/pairs/similarity.py --workdir=runs/similar \
        --config.data.path=FOLDER --config.data.text=0 --config.data.pair=1 --config.data.value=2 \
        --config.init_from=runs/sbert
    python launch/predict.py --workdir=runs/similar --text="A man sings." --pair="A man is singing."

On the STS benchmark's development set, after 400 steps in rows of 32 tokens, from runs/sbert: Spearman 0.680 (three
seeds, 95% interval 0.663 to 0.697), in 1.3 minutes of CPU time; from masked_lm/quickstart.py at half of its steps 0.694
(one seed), in 2.5 minutes; for token overlap 0.654. The cross-encoder of finetune/regress.py has 0.212 (0.187 to 0.236)
after as many steps from runs/sbert.

The data are required, as in finetune/regress.py, which reads both texts in one row (a cross-encoder); for glue/stsb of
TFDS set `data.name` and keep the default columns. `task.highest` is the score of two texts with the same meaning: 5 in
STS.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.finetune.base import finetune, of_records
from saccade.experiments.pairs.sentence_bert import VECTORS


def get_config() -> ConfigDict:
    vocabulary, context_length, dropout = FieldReference(8192), FieldReference(64), FieldReference(0.1)
    columns, highest = dict(text='sentence1', pair='sentence2', value='label'), FieldReference(5.0)

    config = finetune(
        task=dict(use='task.cosine_regression:CosineRegression', highest=highest),
        data=of_records('data.encoder.siamese:SiameseValued', vocabulary, **columns),
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=2,
        dropout=dropout,
        heads=dict(pooled=VECTORS),
    )
    config.baseline = dict(use='task.cosine_regression:bag_of_words', highest=highest)
    return config
