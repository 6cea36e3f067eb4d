# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sentence-BERT on the docstrings of this machine: the first sentence of each retrieves the text that follows it.

    python launch/train.py --config=experiments/pairs/sentence_bert.py --workdir=runs/sbert
    python launch/train.py --config=experiments/pairs/sentence_bert.py --workdir=runs/sbert --config.init_from=runs/bert
    python launch/search.py --workdir=runs/sbert --corpus=README.md --query="how to train a model"

600 steps take 8 minutes of CPU time on two cores. On 448 docstrings of held-out modules, recall at 1 is then 21% (three
seeds, 95% interval 17 to 26) and recall at 10 is 54%; for word overlap they are 11% and 34%. The pairs are few and are
memorised: accuracy is 91% on training batches and 25% on others.

Nothing is downloaded. The loss contrasts each pair with the second texts of the whole batch (multiple-negatives
ranking); a larger batch is harder. For your own pairs, `data.path` is a .csv, .tsv or .jsonl file or a folder with
train.* and dev.* of these, and `data.text` and `data.pair` are the columns. With `data.negative`, the column of a
negative text, the task may be `task.triplet:Triplet`. entailment.py is for classes of pairs, and similarity.py for
numbers; both may start from this run with `init_from`.
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.finetune.base import finetune, of_records

VECTORS = dict(use='head.pooled:Pooled', pool=dict(use='ops.pool:mean'), classes=None)


def get_config() -> ConfigDict:
    vocabulary, context_length, dropout = FieldReference(8192), FieldReference(64), FieldReference(0.1)
    columns = dict(text='summary', pair='body', negative=placeholder(str))

    config = finetune(
        task=dict(use='task.multiple_negatives:MultipleNegatives', temperature=0.05),
        data=of_records('data.encoder.siamese:Positives', vocabulary, **columns) | dict(name='docstrings'),
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=2,
        dropout=dropout,
        heads=dict(pooled=VECTORS),
    )
    config.batch_size = 64
    config.baseline = dict(use='task.multiple_negatives:bag_of_words')
    return config
