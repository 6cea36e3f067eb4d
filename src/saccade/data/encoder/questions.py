# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extractive question answering data, as rows for an encoder: [CLS] question [SEP] window of the context [SEP].

A context longer than a row is read in overlapping windows. A window without the whole answer has [CLS] as its target:
Devlin et al. 2019, "BERT", sections 4.2 and 4.3, https://arxiv.org/abs/1810.04805; windows as in
https://github.com/google-research/bert, run_squad.py. An answer with at most as many tokens as the overlap is whole in
one window.
"""

import itertools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import jax
import numpy as np

from saccade.data.cache import each, groups
from saccade.data.corpus.question import Question
from saccade.data.corpus.record_files import read_records
from saccade.data.corpus.records import RecordSource, strings
from saccade.data.corpus.squad import Inquiry, open_questions, read_question_texts
from saccade.data.dataset_base import Arrays, BySplit
from saccade.data.rows.chunk import chunks
from saccade.data.rows.frame import Frame
from saccade.data.rows.ragged import Ragged, encoded, smallest
from saccade.data.split import Row, Split, batch_of
from saccade.data.tokenized_base import TokenizedBase
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.types import Count, HeldOut, Part, UserError

__all__ = ['Questions']

_LOG = logging.getLogger(__name__)
_TEXTS = 'question', 'context'


@dataclass(frozen=True, eq=False)
class QuestionWindows:
    """Rows of a question and a window of its context, built lazily.

    Attributes:
        asked: tokens of each example's question, truncated.
        windows: tokens of the context in each row.
        places: character offsets (start, stop) in its context of each token of all contexts.
        example: [rows], index of the question.
        ends: [rows, 2], first and last token of the answer in the row; 0, the first index, if it is not whole there.
    """

    frame: Frame
    asked: Ragged
    windows: Ragged
    places: np.ndarray
    example: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, frame: Frame, arrays: Arrays, longest_question: int, stride: int) -> 'QuestionWindows':
        """Truncate questions that are too long, and lay windows over the context of each."""
        asked, contexts = (Ragged.of(arrays[name], arrays[f'{name}_lengths']) for name in ('asked', 'contexts'))
        lengths = np.minimum(asked.lengths, longest_question)
        asked = asked.cut(np.arange(len(asked)), np.stack([np.zeros_like(lengths), lengths], axis=-1))
        example, spans = _windows(contexts.lengths[arrays['about']], frame.room(2) - lengths, stride)
        first, last = arrays['answers'][example].T
        whole = (first >= spans[:, 0]) & (last < spans[:, 1])
        _, begins = frame.starts([], [])
        ends = arrays['answers'][example] - spans[:, :1] + begins + lengths[example][:, None]
        windows = contexts.cut(arrays['about'][example], spans)
        return cls(frame, asked, windows, arrays['places'], example, np.where(whole[:, None], ends, 0))

    def __len__(self) -> int:
        return len(self.example)

    def __getitem__(self, row: int) -> Row:
        example, ends = int(self.example[row]), self.ends[row].tolist()
        asked, window = self.asked[example], self.windows[row]
        inside = self.frame.scattered(0, np.zeros_like(asked), np.ones_like(window))
        return self.frame.row(asked, window) | {'window': inside} | _label_row(example, *ends)

    def padding(self) -> Row:
        """Return a row of padding."""
        return _blank(self.frame)

    def place(self, row: int, start: int, stop: int) -> tuple[int, int]:
        """Return the character offsets in the context of the tokens of a row from `start` to `stop` (inclusive)."""
        _, begins = self.frame.starts(self.asked[int(self.example[row])], [])
        moved = self.windows.spans[row, 0] - begins
        return int(self.places[start + moved, 0]), int(self.places[stop + moved, 1])

    def only(self, examples: np.ndarray) -> 'QuestionWindows':
        """Return the rows of some questions."""
        chosen = np.isin(self.example, examples)
        windows = replace(self.windows, spans=self.windows.spans[chosen])
        return replace(self, windows=windows, example=self.example[chosen], ends=self.ends[chosen])


@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionSplit(Split):
    """Split of questions.

    Attributes:
    questions: by index, as in `example` of their rows.
    lost: questions whose first answer is not whole in any window.
    """

    rows: QuestionWindows
    questions: Sequence[Question]
    lost: np.ndarray
    unit: str = 'questions'

    @property
    def examples(self) -> np.ndarray:
        """Question index of each row."""
        return self.rows.example

    def gold(self, example: int) -> list[str]:
        """Return the true answers of a question; an empty list for none."""
        return [answer.text for answer in self.questions[example].answers]

    def place(self, row: int, start: int, stop: int) -> tuple[int, int]:
        """Return the character offsets in the context of the tokens of a row from `start` to `stop` (inclusive).

        White space inside the first or the last token is excluded.
        """
        first, last = self.rows.place(row, start, stop)
        text = self._context(row)[first:last]
        return first + len(text) - len(text.lstrip()), last - len(text) + len(text.rstrip())

    def text(self, row: int, start: int, stop: int) -> str:
        """Return the text in the context of the tokens of a row from `start` to `stop` (inclusive)."""
        return self._context(row)[slice(*self.place(row, start, stop))]

    def _context(self, row: int) -> str:
        return self.questions[int(self.examples[row])].context


@dataclass(frozen=True, kw_only=True)
class QuestionsBase(TokenizedBase):
    """Base of datasets of questions answered by spans of contexts.

    Attributes:
        tokenizer: trainer of the tokenizer, with [CLS] and [SEP], as `data.tokenizer.bpe:BPE`.
        context_length: number of tokens per row.
        stride: tokens from one window of a context to the next; fewer to the last, which stops at the end of the
            context.
        longest_question: maximum number of tokens of a question; the rest is cut off.
    """

    tokenizer: Part[Trainer]
    context_length: int
    stride: Count
    longest_question: Count = 64

    _key: ClassVar[str] = 'questions'

    def __post_init__(self) -> None:
        self._usual()

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(_blank(self._usual()), batch_size)

    @property
    def inputs(self) -> dict[str, str]:
        """Columns of the question and of the context."""
        return {name: name for name in _TEXTS}

    def unanswered(self, records: RecordSource, names: tuple[str, ...], tokenizer: Tokenizer) -> QuestionSplit:
        """Return questions without answers, each in the rows of its context.

        Raises:
            UserError: a question or a context is not text, a context is empty, or the tokenizer cannot encode a
                character.
        """
        places, texts = map(records.place, range(len(records))), (strings(records, name) for name in _TEXTS)
        asked = [Question(place, '', *pair, ()) for place, *pair in zip(places, *texts, strict=True)]
        split = self._split(_tokenised(asked, tokenizer), asked, self.frame(tokenizer))
        for row in np.flatnonzero(split.rows.windows.lengths == 0):
            place = asked[int(split.examples[row])].id
            raise UserError(f'{place}: the context has no words, so it contains no answer')
        return split

    def _texts(self, examples: Sequence[Question]) -> Iterator[str]:
        """Yield each question, and each context once."""
        contexts = set()
        for question in each(examples):
            yield question.question
            if question.context not in contexts:
                contexts.add(question.context)
                yield question.context

    def _arrays(self, source: Inquiry, tokenizer: Tokenizer) -> BySplit:
        return {name: _tokenised(questions, tokenizer) for name, questions in source.splits.items()}

    def _fitting(self, frame: Frame) -> Frame:
        window = frame.room(2) - self.longest_question
        if self.stride > window:
            raise UserError(
                f'data.stride: windows every {self.stride} tokens would skip some: with a question of '
                f'{self.longest_question} tokens, a context of {self.context_length} has room for {max(window, 0)}'
            )
        return frame

    def _splits(self, arrays: BySplit, source: Inquiry, frame: Frame, tokenizer: Tokenizer) -> dict[str, Split]:
        splits = {name: self._split(found, source.splits[name], frame) for name, found in arrays.items()}
        for name, split in splits.items():
            if len(split.lost):
                _LOG.warning(
                    '%s: the answers of %d of %d questions are not whole in any window, and training skips these '
                    'questions; a smaller data.stride fits longer answers',
                    name,
                    len(split.lost),
                    split.targets,
                )
        return {**splits, 'train': _learnable(splits['train'])}

    def _split(self, arrays: Arrays, questions: Sequence[Question], frame: Frame) -> QuestionSplit:
        rows = QuestionWindows.of(frame, arrays, self.longest_question, self.stride)
        answered, found = np.flatnonzero(arrays['answers'][:, 0] >= 0), rows.example[rows.ends[:, 0] > 0]
        lost = np.setdiff1d(answered, found)
        return QuestionSplit(rows=rows, questions=questions, lost=lost, targets=len(questions))


@dataclass(frozen=True, kw_only=True)
class Questions(QuestionsBase):
    """Questions about contexts, answered by spans of them.

    Attributes:
        name: 'facts', or a TFDS dataset with the features of its `squad`.
        path: the user's questions in SQuAD's format, which override a named dataset.
        validation: fraction of articles for validation, if there is no such split.
    """

    name: str | None = None
    path: str | None = None
    validation: HeldOut = 0.1

    @property
    def example(self) -> dict[str, str]:
        """Sample text for each input, for the example commands that a run prints."""
        return {'question': 'What is the home of Ada?', 'context': 'Ada has a red car. The home of Ada is London.'}

    def read(self, path: Path) -> RecordSource:
        """Read a file of questions, without answers: in SQuAD's format if it ends in .json, otherwise of records."""
        if path.name.lower().removesuffix('.gz').endswith('.json'):
            return read_question_texts(path)
        return read_records(path, _TEXTS)

    def _open(self, cache: Path) -> Inquiry:
        return open_questions(None if self.path else self.name, self.path, cache, self.validation)


def _windows(lengths: np.ndarray, rooms: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the question of each window, and its start and stop in the context, [windows, 2]."""
    found = [chunks(length, room, room - stride) for length, room in zip(lengths.tolist(), rooms.tolist(), strict=True)]
    example = np.repeat(np.arange(len(found)), [len(each) for each in found])
    return example, np.array(list(itertools.chain.from_iterable(found)))


def _label_row(example: int, start: int, stop: int) -> Row:
    return {'example': np.int32(example), 'start': np.int32(start), 'stop': np.int32(stop)}


def _blank(frame: Frame) -> Row:
    return frame.padding() | {'window': frame.scattered(0, [], [])} | _label_row(-1, 0, 0)


def _tokenised(questions: Sequence[Question], tokenizer: Tokenizer) -> Arrays:
    """Return the tokens of questions and of contexts, each context once, and their relations.

    `about` is the context of each question; `answers` are the first and the last token of its first answer in the
    context.
    """
    read, numbers = list(each(questions)), {}
    about = np.array([numbers.setdefault(question.context, len(numbers)) for question in read])
    asked, asked_lengths = encoded([question.question for question in read], tokenizer)
    contexts, contexts_lengths, places = _placed(list(numbers), tokenizer)
    by_context = Ragged.of(places, contexts_lengths)
    pairs = zip(read, about.tolist(), strict=True)
    answers = np.array([_answer(question, by_context[context]) for question, context in pairs])
    return {
        'asked': asked,
        'asked_lengths': asked_lengths,
        'contexts': contexts,
        'contexts_lengths': contexts_lengths,
        'places': places,
        'about': about,
        'answers': answers,
    }


def _placed(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the tokens of all texts, the number of each, and the character offsets of each token, [tokens, 2]."""
    found = [pair for group in groups(each(texts), len) for pair in tokenizer.encode_places(group)]
    ids, places = (itertools.chain.from_iterable(items) for items in zip(*found, strict=True))
    tokens = np.fromiter(ids, smallest(tokenizer.size))
    lengths = np.array([len(ids) for ids, _ in found], np.int64)
    return tokens, lengths, np.array(list(places), np.int32).reshape(len(tokens), 2)


def _answer(question: Question, places: np.ndarray) -> tuple[int, int]:
    """Return the first and the last token that overlap the first answer; -1 if there is no answer."""
    if not question.answers:
        return -1, -1
    text, start = question.answers[0]
    first = np.searchsorted(places[:, 1], start, side='right')
    last = np.searchsorted(places[:, 0], start + len(text)) - 1
    if last < first:
        raise UserError(f'question {question.id}: the tokenizer drops its answer {text!r}')
    return int(first), int(last)


def _learnable(split: QuestionSplit) -> QuestionSplit:
    """Drop questions whose answer is not whole in any window, since their targets would falsely be no answer."""
    found = np.setdiff1d(np.arange(len(split.questions)), split.lost)
    if not len(found):
        raise UserError(
            'data: no answer of the training split is whole in a window; raise context_length or lower stride'
        )
    return replace(split, rows=split.rows.only(found), targets=len(found))
