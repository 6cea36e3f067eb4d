# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Distillation of an encoder into a student of half its depth, with DistilBERT's three losses.

    python launch/train.py --config=experiments/masked_lm/distil.py --workdir=runs/distilled \
        --config.init_from=runs/bert
    python launch/train.py --config=experiments/finetune/classify.py --workdir=runs/sst2 \
        --config.init_from=runs/distilled --config.init_part=student ...

Sanh et al. 2019, https://arxiv.org/abs/1910.01108. `init_from` names the teacher, a run or a Hugging Face
directory; the student here fits the quickstart's encoder. For BERT base as teacher it has 66,362,880 parameters:

    --config.model.student.width=768 --config.model.student.layers=6 ... with experiments/masked_lm/bert_base.py's sizes
"""

from ml_collections import ConfigDict
from saccade.experiments.masked_lm import quickstart
from saccade.experiments.masked_lm.base import MASKED


def get_config() -> ConfigDict:
    config = quickstart.get_config()
    student = dict(config.model.items(preserve_field_references=True)) | dict(layers=2, heads=dict(masked=MASKED))
    config.model = dict(use='model.together:Distilled', student=student, teacher=None)
    config.inherit = 'model.teacher'
    config.init_part = ''
    config.adapt = dict(use='train.init.partial:teacher', every=2)
    config.task.use = 'task.distillation:Distillation'
    config.task.update(dict(temperature=2.0, soft=5.0, hard=2.0, cosine=1.0))
    config.optimizer.rates = dict(use='train.rates:Frozen', match='^teacher/')
    config.sample = None
    config.steps = 1500
    return config
