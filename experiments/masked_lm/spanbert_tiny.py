# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SpanBERT, small: hidden spans of words, predicted from their tokens and from their boundaries, in single texts.

    python launch/train.py --config=experiments/masked_lm/spanbert_tiny.py --workdir=runs/spans

Joshi et al. 2020, "SpanBERT", https://arxiv.org/abs/1907.10529.
"""

from ml_collections import ConfigDict
from saccade.experiments.masked_lm import bert_tiny
from saccade.experiments.masked_lm.base import GELU, MASKED, NORM, NORMAL


def get_config() -> ConfigDict:
    config = bert_tiny.get_config()
    config.task.choose = dict(use='ops.masking:choose_spans')
    config.data.pairing = dict(use='data.encoder.pairing:OnePassage')
    boundary = dict(use='head.span_boundary:SpanBoundary', activation=GELU, norm=NORM, kernel_init=NORMAL)
    config.model.heads = dict(masked=MASKED, boundary=boundary)
    return config
