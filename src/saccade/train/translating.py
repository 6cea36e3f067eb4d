# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Translator and gap filler of a run or of a Hugging Face folder, with the run's search or another one."""

from dataclasses import dataclass

from saccade.build import build, refused
from saccade.data.pairs.base import FromPairs
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.tokenizer import Around
from saccade.decode.beam import Beam
from saccade.decode.gaps import GapFiller
from saccade.decode.generate import NO_TOKEN
from saccade.decode.greedy import Greedy
from saccade.decode.rules import FREE
from saccade.decode.translator import Translator
from saccade.train.experiment import Experiment
from saccade.train.trained import Trained, open_trained
from saccade.types import DecodingSearch, Part, Seq2Seq, UserError

LENGTH_PENALTY = 0.6


@dataclass(frozen=True)
class TranslationOptions:
    """Options of a translator.

    Attributes:
    workdir, init_from: a run, or a Hugging Face directory in its place.
    which: checkpoint of a run.
    beams: of the search; 0 for the search of the run's evaluation.
    alpha: the exponent of the length penalty.
    start: for a Hugging Face directory, the special token that starts a target; None: as the directory says.
    rows: texts in a batch.
    dtype: of the parameters.
    """

    workdir: str | None
    init_from: str | None
    which: str
    beams: int
    alpha: float
    start: str | None
    rows: int
    dtype: str


def open_translator(asked: TranslationOptions) -> Translator:
    """Open a run or a Hugging Face directory.

    Raises:
        UserError: the path is neither, or the model is not a sequence-to-sequence model.
    """
    trained = open_trained(asked.workdir, asked.init_from, asked.which, asked.dtype)
    return translator_of(trained, asked.beams, asked.alpha, asked.start, asked.rows)


def translator_of(
    trained: Trained, beams: int = 0, alpha: float = LENGTH_PENALTY, start: str | None = None, rows: int = 1
) -> Translator:
    """Return the translator of an opened model. Args: as of `TranslationOptions`.

    Raises:
        UserError: the model is not a sequence-to-sequence model, or has no such start token.
    """
    if not isinstance(trained.model, Seq2Seq):
        raise UserError(refused(Part(type(trained.model)), Seq2Seq))
    frame, search = pair_frame(trained, start), _search(trained, beams, alpha)
    return Translator(trained.model, trained.params, trained.tokenizer, frame, search, rows=rows, step=trained.step)


def pair_frame(trained: Trained, start: str | None = None) -> PairFrame:
    """Return the layout of a sequence-to-sequence model's rows: that of the run's data, else that of texts.

    Args:
        start: as for `text_frame`.

    Raises:
        UserError: `start` is given, and the data of the run define it.
    """
    data = Experiment.of(trained.config).data() if 'data' in trained.config else None
    if isinstance(data, FromPairs):
        if start is not None:
            raise UserError('--start has no effect: the data of the run define the token that starts a target')
        return data.frame(trained.tokenizer)
    return text_frame(trained, start or getattr(data, 'start', None))


def text_frame(trained: Trained, start: str | None) -> PairFrame:
    """Return the frame of texts for a model whose data have none; for a Hugging Face folder with its special tokens.

    Args:
        start: special token that starts a target; None: as the folder says, else the end token.

    Raises:
        UserError: the tokenizer lacks a special token, or a folder does not say how a target starts.
    """
    tokenizer, model, generation = trained.tokenizer, trained.model, trained.generation
    lengths = model.source_context_length, model.context_length
    if generation is None:
        return PairFrame.of(tokenizer, *lengths, start)
    first = generation.start if start is None else tokenizer.special(start)
    if first is None:
        raise UserError(
            'neither generation_config.json nor config.json has a decoder_start_token_id in the vocabulary, which '
            'would start a target; name that token by --start'
        )
    around = tokenizer.source.around or Around((), () if tokenizer.end is None else (tokenizer.end,))
    return PairFrame(*lengths, first, NO_TOKEN if generation.end is None else generation.end, around)


def open_gap_filler(trained: Trained, mode: str | None) -> GapFiller:
    """Return a gap filler with a denoising model, whose data or folder define the start of a target.

    Args:
        mode: special token before the text; None for none.

    Raises:
        UserError: the tokenizer lacks a special token.
    """
    frame = text_frame(trained, trained.config.get('data', {}).get('start'))
    rules = FREE if trained.generation is None else trained.generation.rules
    translator = Translator(trained.model, trained.params, trained.tokenizer, frame, Greedy(rules=rules), rows=1)
    return GapFiller(translator.in_mode(mode))


def _search(trained: Trained, beams: int, alpha: float) -> DecodingSearch:
    rules, most = FREE, 0
    if trained.generation is not None:
        trained.generation.warn()
        room = trained.model.context_length
        rules, most = trained.generation.rules, trained.generation.most(1, room, room)
    if beams > 1:
        return Beam(beams=beams, alpha=alpha, max_tokens=most, rules=rules)
    given = trained.config.get('task', {}).get('search')
    return build(given, 'config.task.search')() if given and not beams else Greedy(most, rules)
