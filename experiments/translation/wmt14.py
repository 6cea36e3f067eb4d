# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""English to German as in WMT 2014, 4.5 million pairs, on which the models of published sizes are tried first.

The dataset is TFDS's, prepared once where it can be downloaded; `--config.data.path=DIR` takes pairs of the user's own.
An experiment imports it from beside itself.
"""

from typing import Any

from saccade.experiments.translation.seq2seq import BUCKETS, pairs


def wmt14(tokenizer: dict[str, Any], source_context_length: Any, context_length: Any) -> dict[str, Any]:
    """Return the data, of rows so long."""
    sizes = dict(source_context_length=source_context_length, context_length=context_length)
    return pairs(tokenizer, name='wmt14_translate/de-en', buckets=BUCKETS, validation=0.1, **sizes)
