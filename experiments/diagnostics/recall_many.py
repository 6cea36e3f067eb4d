# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recall of more pairs than a small state can store: up to 64 keys in rows of 128 tokens, queried when a key recurs.

python launch/train.py --config=experiments/diagnostics/recall_many.py --workdir=runs/recall_many
"""

from ml_collections import ConfigDict
from saccade.experiments.diagnostics.base import diagnostic


def get_config() -> ConfigDict:
    generator = dict(use='data.diagnostic.in_context:InContextRecall', keys=64, values=16)

    config = diagnostic(generator, steps=400, context_length=128, vocabulary=80)
    config.batch_size = 32
    config.data.validation = 400
    return config
