# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-query associative recall: given pairs of keys and values, return the value of each queried key.

    python launch/train.py --config=experiments/diagnostics/recall.py --workdir=runs/recall

Arora et al. 2023, "Zoology", https://arxiv.org/abs/2312.04927: 4 pairs of 8,192 tokens in 64, two layers of width 64.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.diagnostics.base import diagnostic


def get_config() -> ConfigDict:
    vocabulary = FieldReference(8192)
    generator = dict(use='data.diagnostic.recall:MultiQueryRecall', vocabulary=vocabulary, pairs=4)

    return diagnostic(generator, steps=3000, context_length=64, vocabulary=vocabulary)
