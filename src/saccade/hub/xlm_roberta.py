# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""XLM-RoBERTa: RoBERTa, trained on a hundred languages.

Conneau et al. 2020, "Unsupervised Cross-lingual Representation Learning at Scale", https://arxiv.org/abs/1911.02116;
names and settings are as in `XLMRobertaModel` in transformers, and its heads.
"""

from dataclasses import replace

from saccade.hub import roberta

FAMILY = replace(
    roberta.FAMILY,
    heads={name.replace('Roberta', 'XLMRoberta'): heads for name, heads in roberta.HEADS.items()},
    model_type='xlm-roberta',
)
