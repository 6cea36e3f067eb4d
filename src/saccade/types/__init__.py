# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Shared types: axes, arrays, parts, what a batch holds, and the protocol of each kind of part.

Axes, in every einsum, annotation and comment:

    B batch          N query heads        F feed-forward width
    T query length   K key/value heads    V vocabulary
    S key length     G = N/K              L layers
    D width          H head width         P patches, C classes

Activations are [B T N H], scores [B N T S], projection kernels [D N H], output kernels [N H D].

A file for each floor, from arrays up to tasks; all names can be imported from here. Not here: anything that computes.
"""

from saccade.types.arrays import (
    Activation,
    Hidden,
    KeyIndex,
    Keys,
    Logits,
    Mixed,
    Params,
    PRNGKey,
    Queries,
    QueryIndex,
    Real,
    Scores,
    State,
    Table,
    Tokens,
    Values,
)
from saccade.types.attention import (
    Capabilities,
    CrossMixer,
    HeadedMixer,
    Kernel,
    KeyFeatures,
    KVSharingMixer,
    Mask,
    Mixer,
    OnlineSoftmax,
    OnlineSoftmaxVariant,
    PairPosition,
    Pairs,
    Rows,
    RowSoftmax,
    ScoreTerm,
    SoftmaxVariant,
    TermMaker,
)
from saccade.types.context import LayerContext, Source
from saccade.types.data import Bucketed, Data, Prepared, Processor, Split
from saccade.types.errors import (
    Count,
    CountOrZero,
    NotNegative,
    Positive,
    Probability,
    Range,
    Share,
    UserError,
    require_positive,
    require_share,
)
from saccade.types.layer import Block, Embedding, FeedForward, Norm, Router, Runner, TokenPosition
from saccade.types.log import Sink
from saccade.types.model import EncoderModel, Head, LanguageModel, Model, OfOneSequence, Reading, Seq2Seq
from saccade.types.part import Part
from saccade.types.task import (
    IGNORED,
    Augmentation,
    Batch,
    Estimate,
    Evaluator,
    Metrics,
    Search,
    Task,
    TextMetric,
    Total,
    Written,
)

__all__ = [
    'IGNORED',
    'Activation',
    'Augmentation',
    'Batch',
    'Block',
    'Bucketed',
    'Capabilities',
    'Count',
    'CountOrZero',
    'CrossMixer',
    'Data',
    'Embedding',
    'EncoderModel',
    'Estimate',
    'Evaluator',
    'FeedForward',
    'Head',
    'HeadedMixer',
    'Hidden',
    'KVSharingMixer',
    'Kernel',
    'KeyFeatures',
    'KeyIndex',
    'Keys',
    'LanguageModel',
    'LayerContext',
    'Logits',
    'Mask',
    'Metrics',
    'Mixed',
    'Mixer',
    'Model',
    'Norm',
    'NotNegative',
    'OfOneSequence',
    'OnlineSoftmax',
    'OnlineSoftmaxVariant',
    'PRNGKey',
    'PairPosition',
    'Pairs',
    'Params',
    'Part',
    'Positive',
    'Prepared',
    'Probability',
    'Processor',
    'Queries',
    'QueryIndex',
    'Range',
    'Reading',
    'Real',
    'Router',
    'RowSoftmax',
    'Rows',
    'Runner',
    'ScoreTerm',
    'Scores',
    'Search',
    'Seq2Seq',
    'Share',
    'Sink',
    'SoftmaxVariant',
    'Source',
    'Split',
    'State',
    'Table',
    'Task',
    'TermMaker',
    'TextMetric',
    'TokenPosition',
    'Tokens',
    'Total',
    'UserError',
    'Values',
    'Written',
    'require_positive',
    'require_share',
]
