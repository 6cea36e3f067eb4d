# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Translator of a run, with the search it was trained with or another."""

from dataclasses import dataclass

from saccade.build import build, refused
from saccade.data.pairs.base import FromPairs
from saccade.data.rows.pair_frame import PairFrame
from saccade.decode.beam import Beam
from saccade.decode.greedy import Greedy
from saccade.decode.translator import Translator
from saccade.train.experiment import Experiment
from saccade.train.trained import Trained, open_trained
from saccade.types import Part, Search, Seq2Seq, UserError


@dataclass(frozen=True)
class Asked:
    """Options of a translator.

    Attributes:
    workdir, init_from: a run, or a Hugging Face directory in its place.
    which: checkpoint of a run.
    beams: of the search; 0 for the search that the run was evaluated by.
    alpha: the exponent of the length penalty.
    start: of a Hugging Face directory, the special token that a target starts with; None: the end token.
    rows: texts that are translated at once.
    """

    workdir: str | None
    init_from: str | None
    which: str
    beams: int
    alpha: float
    start: str | None
    rows: int


def open_translator(asked: Asked) -> Translator:
    """Open a run or a Hugging Face directory.

    Raises:
        UserError: there is none, or it is no sequence-to-sequence model.
    """
    trained = open_trained(asked.workdir, asked.init_from, asked.which)
    if not isinstance(trained.model, Seq2Seq):
        raise UserError(refused(Part(type(trained.model)), Seq2Seq))
    return Translator(
        trained.model, trained.params, trained.tokenizer, _frame(trained, asked), _search(trained, asked), asked.rows
    )


def _frame(trained: Trained, asked: Asked) -> PairFrame:
    data = Experiment.of(trained.config).data() if 'data' in trained.config else None
    if isinstance(data, FromPairs):
        return data.frame(trained.tokenizer)
    model, start = trained.model, asked.start or getattr(data, 'start', None)
    return PairFrame.of(trained.tokenizer, model.source_context_length, model.context_length, start)


def _search(trained: Trained, asked: Asked) -> Search:
    if asked.beams:
        return Greedy() if asked.beams == 1 else Beam(beams=asked.beams, alpha=asked.alpha)
    given = trained.config.get('task', {}).get('search')
    return build(given, 'config.task.search')() if given else Greedy()
