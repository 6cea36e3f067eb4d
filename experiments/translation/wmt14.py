# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Data of WMT 2014 English to German, 4.5 million pairs, for models of published sizes.

The dataset comes from TFDS, prepared once with access to a network; `--config.data.path=DIR` takes your own pairs.
An experiment imports it with `from .wmt14 import ...`.
"""

from typing import Any

from saccade.experiments.translation.seq2seq import BUCKETS, pairs


def wmt14(tokenizer: dict[str, Any], source_context_length: Any, context_length: Any) -> dict[str, Any]:
    """Return the data, with these maximum lengths of source and target in tokens."""
    sizes = dict(source_context_length=source_context_length, context_length=context_length)
    return pairs(tokenizer, name='wmt14_translate/de-en', buckets=BUCKETS, validation=0.1, **sizes)
