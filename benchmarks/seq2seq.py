# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of an encoder-decoder against Marian or T5 of `transformers`: training and greedy decoding."""

from collections.abc import Sequence

from benchmarks.decoding import SOURCES, decoding
from benchmarks.size import Both
from benchmarks.training import PAIRS, training
from saccade.analysis.report.figures import MeasurementReport


def seq2seq(size: Both, peers: Sequence[str], rounds: int, steps: int) -> MeasurementReport:
    """Measure target tokens/s in training, then new tokens/s in greedy decoding, the reading of sources included.

    Raises:
        UserError: torch or transformers is missing, a variant fails, or the two are not the same model.
    """
    trained = training(PAIRS, size.training, peers, rounds, steps)
    written = decoding(SOURCES, size.decoding, rounds, steps)
    figures = {'training': trained.figures, 'decoding': written.figures}
    return MeasurementReport('seq2seq', figures, (*trained.tables, *written.tables), (*trained.notes, *written.notes))
