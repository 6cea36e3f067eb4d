# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prediction by a Hugging Face directory: its architecture says the task, and config.json the names of the classes.

As in transformers, a classifier of texts with `problem_type` regression predicts a number, and with one class a
probability.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from saccade.build import build
from saccade.data.encoder.classified import Classified
from saccade.data.encoder.questions import Questions
from saccade.data.encoder.tagged import Tagged
from saccade.data.encoder.valued import Valued
from saccade.data.image.folder import ImageFolder
from saccade.data.image.processor import ImageProcessor
from saccade.data.tokenizer.byte import Byte
from saccade.decode.predict import Predictor
from saccade.hub import load as hub
from saccade.hub.download import local
from saccade.task.classification import Classification
from saccade.task.regression import PredictedNumber, Regression
from saccade.task.span_qa import SpanQA
from saccade.task.tagging import Tagging
from saccade.train.predicting import PredictiveModel, predictive_run
from saccade.train.trained import is_hub, require_latest
from saccade.train.workdir import absolute
from saccade.types import Part, Task, UserError

INPUTS = ('text', 'pair')
LONGEST, LONGEST_QUESTION, STRIDE = 512, 64, 128  # tokens, at most, of a row; of a question; between windows
_UNUSED = Part(Byte)  # trainer of a tokenizer that is never trained, since a directory has its own


def predictive_of(workdir: str | None, init_from: str | None, columns: Sequence[str]) -> PredictiveModel:
    """Return a run, or the model of a Hugging Face directory; `init_from` may be either.

    Args:
        columns: as of `predictive_folder`.

    Raises:
        UserError: neither or both are given; the folder is missing, or holds no model that predicts for examples.
    """
    if bool(workdir) == bool(init_from):
        raise UserError('give either --workdir, the folder of a run, or --init_from, a run or a Hugging Face directory')
    if init_from and is_hub(init_from):
        return predictive_folder(init_from, columns)
    return predictive_run(workdir or init_from)


def predictive_folder(path: str, columns: Sequence[str]) -> PredictiveModel:
    """Return the model of a Hugging Face directory.

    Args:
        columns: of the texts in a file of records; there are two for pairs of texts.

    Raises:
        UserError: the directory is damaged, or its architecture predicts no class, number, tags or answer.
    """
    if len(columns) > len(INPUTS):
        raise UserError(f'--columns={",".join(columns)}: a model reads one text, or two')
    architecture = hub.architecture_of(path)
    reads = next((reads for ending, reads in _READERS.items() if architecture.name.endswith(ending)), None)
    if reads is None:
        raise UserError(
            f'{path}: {architecture.name} predicts no class, number, tags or answer; a model does whose architecture '
            f'ends in {" or ".join(_READERS)}'
        )
    model = build(hub.spec_of(path), 'model')
    reader = reads(_Asked(path, architecture, min(model().context_length, LONGEST), tuple(columns)))

    def opened(which: str, rows: int) -> Predictor:
        require_latest(path, which)
        processor = reader.data.open_processor(_folder(path))
        if processor is None:
            raise UserError(f'{path}: there is no tokenizer.json, vocab.txt, or vocab.json with merges.txt')
        reader.data.require_model(model, processor)
        params = hub.load(path).params
        return Predictor(reader.task, reader.data, model(), params, processor, reader.names, rows)

    return PredictiveModel(reader.data, opened)


@dataclass(frozen=True)
class _Asked:
    """Request for a reader. Attributes: path; its architecture; tokens of a row; columns of the texts."""

    path: str
    architecture: hub.Architecture
    length: int
    columns: tuple[str, ...]

    def require_columns(self, read: str, fit: bool) -> None:
        """Refuse columns that do not fit what the architecture reads."""
        if not fit:
            raise UserError(f'--columns={",".join(self.columns)}: {self.architecture.name} reads {read}')


@dataclass(frozen=True)
class _Reader:
    """Task and data of a directory. Attributes: names, of the classes."""

    task: Task
    data: Any
    names: tuple[str, ...] = ()


class _OneClass(Regression):
    """Classifier with one class, as a cross-encoder: its probability is the sigmoid of its score."""

    def outputs(self, predictions: Mapping[str, np.ndarray], split: Any) -> Iterator[PredictedNumber]:
        """Yield the probability for each example."""
        for found in super().outputs(predictions, split):
            yield PredictedNumber(float(expit(found.value)))


def _texts(asked: _Asked) -> _Reader:
    names, problem = asked.architecture.labels, asked.architecture.problem
    if problem == 'multi_label_classification':
        raise UserError(f'{asked.path}: config.json: problem_type {problem}, several classes a text, is not supported')
    row = {'tokenizer': _UNUSED, 'context_length': asked.length, **dict(zip(INPUTS, asked.columns, strict=False))}
    if problem == 'regression' or len(names) == 1:
        task = Regression() if problem == 'regression' else _OneClass()
        return _Reader(task, Valued(value='value', **row))
    return _Reader(Classification(), Classified(label='label', classes=len(names), **row), names)


def _words(asked: _Asked) -> _Reader:
    asked.require_columns('one text', len(asked.columns) == 1)
    length, names = asked.length, asked.architecture.labels
    data = Tagged(
        tokenizer=_UNUSED, context_length=length, overlap=length // 4, classes=len(names), tokens=asked.columns[0]
    )
    return _Reader(Tagging(), data, names)


def _questions(asked: _Asked) -> _Reader:
    asked.require_columns('the fields question and context of a file', asked.columns == INPUTS[:1])
    longest, stride = min(LONGEST_QUESTION, asked.length // 4), min(STRIDE, asked.length // 4)
    data = Questions(tokenizer=_UNUSED, context_length=asked.length, longest_question=longest, stride=stride)
    return _Reader(SpanQA(), data)


def _images(asked: _Asked) -> _Reader:
    asked.require_columns('a path per line of a file', asked.columns == INPUTS[:1])
    processor = ImageProcessor.load(_folder(asked.path))
    if processor is None:
        raise UserError(f'{asked.path}: there is no preprocessor_config.json, which says how images are scaled')
    names = asked.architecture.labels
    made = Part(ImageProcessor, tuple(asdict(processor).items()))
    return _Reader(Classification(), ImageFolder(classes=len(names), processor=made), names)


_READERS: Mapping[str, Callable[[_Asked], _Reader]] = {
    'ForSequenceClassification': _texts,
    'ForTokenClassification': _words,
    'ForQuestionAnswering': _questions,
    'ForImageClassification': _images,
}


def _folder(path: str) -> Path:
    return absolute(local(path))
