# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for every task and model with every part: by tracing, what a part reports reaches the loss and the log.

Here each part is in one decoder, one encoder and one encoder-decoder; tests/grid has all pairs, and what must be run.
"""

import pytest
from reach import assert_reports_arrive
from wholes import by_name, pairs, triples

ONE_OF_EACH = ('CausalLM Decoder', 'MaskedLM Encoder', 'Translation EncoderDecoder')


def test_pairs_are_found_in_the_experiments():
    assert {pair.name for pair in pairs()} >= {
        *ONE_OF_EACH, 'ReplacedToken Electra', 'Distillation Distilled', 'Classification Encoder', 'Regression Encoder',
        'Tagging Encoder', 'SpanQA Encoder', 'Denoising EncoderDecoder', 'Denoising PrefixDecoder',
        'Translation RecurrentSeq2Seq', 'SkipGram WordVectors', 'MaskedDiffusion Encoder',
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(('pair', 'swap'), triples(map(by_name, ONE_OF_EACH)))
def test_what_a_part_reports_reaches_loss_and_log(pair, swap):
    assert_reports_arrive(pair, swap)
