# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Extractive question answering from scratch: each text has several facts about people.

    python launch/train.py --config=experiments/finetune/answer.py --workdir=runs/answer
    python launch/predict.py --workdir=runs/answer --question="What is the colour of Ada?" \
        --context="The colour of Boris is red. The city of Ada is New Tarn. The colour of Ada is dark green."

Nothing is downloaded: the facts are generated. For your own questions, `data.path` is a file in SQuAD's format, or a
folder with train.json and dev.json; SQuAD itself is --config.data.name=squad. Real text needs longer rows and a
pretrained model:

    --config.data.path=FOLDER --config.init_from=runs/bert --config.data.context_length=384 --config.data.stride=128 \
        --config.data.longest_question=64 --config.schedule.peak=5e-5

If questions may have no answer, as in SQuAD 2.0, --config.task.null=0.0 lets the model predict that there is none.
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.finetune.base import finetune, of_records


def get_config() -> ConfigDict:
    vocabulary, context_length, dropout = FieldReference(256), FieldReference(40), FieldReference(0.0)

    config = finetune(
        task=dict(use='task.span_qa:SpanQA', longest=30, null=placeholder(float)),
        data=of_records('data.encoder.questions:Questions', vocabulary, stride=14, longest_question=12),
        vocabulary=vocabulary,
        context_length=context_length,
        width=64,
        layers=2,
        dropout=dropout,
        heads=dict(tokens=dict(use='head.each_token:EachToken', classes=2)),
    )
    config.data.name = 'facts'
    # The owner of a fact is at a fixed distance before it, and relative positions are learned faster than absolute
    # ones.
    config.model.position = dict(use='position.none:NoPosition')
    config.model.block.mixer.position = dict(
        use='position.relative_bias:RelativeBias',
        buckets=64,
        furthest=64,
        both_sides=True,
        table_init=dict(use='jax.nn.initializers:normal', stddev=1.0),
    )
    config.steps = 2500
    config.log_every = 100
    config.eval_every = 500
    config.checkpoint_every = 500
    config.optimizer.rule.b2 = 0.99
    config.schedule.peak = 3e-3
    return config
