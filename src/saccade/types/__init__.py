# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Shared types: axes, arrays, parts, the contents of a batch, and the protocol of each kind of part.

Axes, in every einsum, annotation and comment:

    B batch          N query heads        F feed-forward width
    T query length   K key/value heads    V vocabulary
    S key length     G = N/K              L layers
    D width          H head width         P patches, C classes

Activations are [B T N H], scores [B N T S], projection kernels [D N H], output kernels [N H D].

One file per level, from arrays to tasks; all names can be imported from here. This package contains no computations.
Modules are imported lazily, so a launcher can print its flags, or an error, without importing JAX.
"""

import sys
from typing import Any

_NAMES = {
    'errors': (
        'Count CountOrZero HeldOut NotNegative Positive Probability Range require_positive require_share Share '
        'UserError'
    ),
    'arrays': (
        'Activation ArrayLike CachedKeys Features Hidden Inputs KeyIndex Keys Logits Mixed Params PRNGKey Queries '
        'QueryIndex Real Scores State Table Tokens Values'
    ),
    'part': 'Part',
    'metric': 'Best declares difference fraction Metric',
    'result': 'require_result',
    'scales': 'Scales is_zero',
    'context': 'ONE_SEGMENT LayerContext Source',
    'attention': (
        'BareSoftmaxVariant Capabilities CrossMixer Kernel KeyFeatures KVSharingMixer Mask Mixer OnlineSoftmax '
        'OnlineSoftmaxVariant Pages PairKernel PairPosition Pairs Rows RowSoftmax ScoreTerm ScoringKernel '
        'SHARED_KV SinkSoftmaxVariant SoftmaxVariant SparseKernel TermMaker refuse_terms'
    ),
    'layer': 'Block Embedding FeedForward Norm Router Runner TokenPosition',
    'model': (
        'Compared EncoderModel Head ImageTextModel LanguageModel Model OfOneSequence OfTwoSequences Reading Seq2Seq'
    ),
    'task': (
        'AcrossRows Augmentation Batch ByStep DecodedTokens DecodingSearch Estimate Evaluator IGNORED Metrics Task '
        'TextMetric Total'
    ),
    'log': 'Sink',
    'data': 'AnyLength Bucketed Data Prepared Processor Split',
}
_FILES = {name: file for file, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    file = f'{__name__}.{_FILES[name]}'
    __import__(file)
    found = globals()[name] = getattr(sys.modules[file], name)
    return found


def __dir__() -> list[str]:
    return sorted(_FILES)
