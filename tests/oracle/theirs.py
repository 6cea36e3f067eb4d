# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Libraries that the oracles compare with, without what they warn of as they are imported.

A file of tests that imports one is skipped where the oracle extra is not installed.
"""

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    torch, transformers, peft, sentence_transformers = (
        pytest.importorskip(name, reason=f'the oracle extra is not installed: {name}')
        for name in ('torch', 'transformers', 'peft', 'sentence_transformers')
    )
