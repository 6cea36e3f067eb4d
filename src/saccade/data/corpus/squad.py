# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sources of questions: files in SQuAD's format, TFDS datasets such as its `squad`, or generated facts.

A file has `data`, a list of articles with `paragraphs`, each a `context` with `qas`: P. Rajpurkar et al., 2016, SQuAD,
https://rajpurkar.github.io/SQuAD-explorer/. All questions on one article are in one split, so no context is in both.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from saccade.data.cache import digest, each
from saccade.data.corpus.dataset import Picked, dataset_digest, pick, require_source
from saccade.data.corpus.document import held_out
from saccade.data.corpus.files import content_of, decoded, visible_files
from saccade.data.corpus.named_splits import named_splits
from saccade.data.corpus.question import Answer, Question, features
from saccade.data.corpus.record_files import require_characters
from saccade.data.dataset_base import DatasetSource
from saccade.data.stratified import both_splits
from saccade.nearest import listed
from saccade.paths import expanded
from saccade.types import UserError


@dataclass(frozen=True, eq=False)
class Inquiry(DatasetSource):
    """Questions by split. Attributes: splits, sequences of `Question`."""

    def __post_init__(self) -> None:
        for name, questions in self.splits.items():
            if not len(questions):
                raise UserError(f'data: there are no questions in the {name} split')


class PickedQuestions(Picked):
    """Questions of a TFDS dataset, read lazily."""

    def __getitem__(self, index: int) -> Question:
        record = super().__getitem__(index)
        texts = [record[field].decode(errors='replace') for field in ('id', 'title', 'question', 'context')]
        given = record['answers']
        pairs = zip(given['text'], given['answer_start'], strict=True)
        return Question(*texts, tuple(Answer(text.decode(errors='replace'), int(start)) for text, start in pairs))


@dataclass(frozen=True, eq=False)
class QuestionTexts(Sequence[Mapping[str, str]]):
    """Questions as records, without their answers."""

    questions: Sequence[Question]

    def __len__(self) -> int:
        return len(self.questions)

    def __getitem__(self, index: int) -> Mapping[str, str]:
        return {name: getattr(self.questions[index], name) for name in ('question', 'context')}

    def place(self, index: int) -> str:
        """Return the place of a question, for messages."""
        return f'question {self.questions[index].id}'


def open_questions(name: str | None, path: str | None, cache: Path, validation: float) -> Inquiry:
    """Open questions; prepare them first if necessary.

    Args:
        name: 'facts', or a TFDS dataset with the features of its `squad`; or
        path: a JSON file; a folder with files named after the splits, as in `named_splits`; or the folder of a prepared
            TFDS dataset.
        cache: folder to prepare into.
        validation: fraction of the articles for validation, if there is no such split.

    Raises:
        UserError: not exactly one of name and path is given, the questions do not exist or cannot be read, or an answer
            is not in its context.
    """
    require_source(name, path, validation)
    if name is not None:
        from saccade.data.corpus.facts import Facts
        from saccade.data.corpus.named import open_named
        from saccade.data.corpus.prepare import opened, prepare_own

        builder = opened(prepare_own(Facts, cache)) if name == 'facts' else open_named(name, cache)
        return _open_dataset(name, builder, validation)
    path = expanded(path)
    if (path / 'dataset_info.json').is_file():
        from saccade.data.corpus.prepare import opened

        return _open_dataset(path.name, opened(path), validation)
    if path.is_dir():
        return _of_folder(path, validation)
    questions, content = read_questions(path)
    return Inquiry(_by_title(str(path), questions, validation), digest(content, validation))


def _open_dataset(name: str, builder: 'tensorflow_datasets.core.DatasetBuilder', validation: float) -> Inquiry:
    lacking = [field for field in features() if field not in builder.info.features]
    if lacking:
        there = listed(sorted(builder.info.features), lacking[0])
        raise UserError(f'{name}: has no feature {" and no ".join(lacking)}, as squad has; it has {there}')
    picked = pick(name, builder, validation)
    if picked['train'].split != picked['validation'].split:
        splits = {split: PickedQuestions(each.source, each.rows, each.split) for split, each in picked.items()}
        return Inquiry(splits, dataset_digest(builder, [each.choice for each in picked.values()]))
    # Split by articles instead, or both splits would have questions about one context.
    source, split = picked['train'].source, picked['train'].split
    whole = PickedQuestions(source, range(len(source)), split)
    tests = {
        name: PickedQuestions(each.source, each.rows, each.split)
        for name, each in picked.items()
        if name not in ('train', 'validation')
    }
    return Inquiry(_by_title(name, whole, validation) | tests, dataset_digest(builder, validation))


def _of_folder(folder: Path, validation: float) -> Inquiry:
    files = [file for file in visible_files(folder) if file.name.lower().endswith(('.json', '.json.gz'))]
    named = {split: chosen for split, chosen in named_splits(folder, files, {'.json'}).items() if chosen}
    if not named or any(len(chosen) > 1 for chosen in named.values()):
        there = listed([file.relative_to(folder).as_posix() for file in files]) or 'none'
        raise UserError(f'{folder}: needs one train.json, and one dev.json or test.json; there are {there}')
    read = {split: read_questions(file) for split, (file,) in named.items()}
    splits: dict[str, Sequence[Question]] = {split: questions for split, (questions, _) in read.items()}
    contents = [content for _, content in read.values()]
    if 'validation' not in splits:
        splits |= _by_title(str(folder), splits['train'], validation)
        contents.append(str(validation))
    return Inquiry(splits, digest(*contents))


def _by_title(name: str, questions: Sequence[Question], validation: float) -> dict[str, list[Question]]:
    """Split by a draw per article, so that no article changes its split when others come or go."""
    read = list(each(questions))
    titles = {question.title for question in read}
    if len(titles) < 2 and validation < 1:
        raise UserError(
            f'{name}: {len(titles)} article leaves none for validation; give a folder with train.json and dev.json'
        )
    chosen = held_out(titles, validation)
    parts = both_splits([question.title in chosen for question in read], validation)
    return {split: list(itertools.compress(read, part)) for split, part in parts.items()}


def read_questions(file: Path) -> tuple[list[Question], str]:
    """Return the questions of a file in SQuAD's format, and a digest of its content.

    Raises:
        UserError: the file cannot be read, or has another format.
    """
    content = content_of(file)
    questions = [
        replace(question, answers=_answers(record, place)) for question, record, place in _parsed(content, file)
    ]
    return questions, hashlib.sha256(content).hexdigest()


def read_question_texts(file: Path) -> QuestionTexts:
    """Return the questions of a file in SQuAD's format without their `answers`, which may be missing.

    Raises:
        UserError: the file cannot be read, or has another format.
    """
    return QuestionTexts([question for question, _, _ in _parsed(content_of(file), file)])


def _parsed(content: bytes, file: Path) -> Iterator[tuple[Question, Any, str]]:
    """Yield each question without its answers, its JSON record, and the place of that record."""
    try:
        articles = json.loads(decoded(content, file))
        require_characters(articles, str(file))
    except (ValueError, RecursionError) as error:  # RecursionError: deeply nested brackets
        raise UserError(f'{file}: is not JSON ({error})') from error
    for article, at_article in _items(articles, 'data', str(file)):
        paragraphs = list(_items(article, 'paragraphs', at_article))
        # Without a title, use the place within the file: the draw must not depend on the file's path.
        title = (
            _field(article, 'title', str, at_article) if article.get('title') else at_article.removeprefix(str(file))
        )
        for paragraph, at_paragraph in paragraphs:
            context = _field(paragraph, 'context', str, at_paragraph)
            for asked, at in _items(paragraph, 'qas', at_paragraph):
                number, question = str(_field(asked, 'id', str | int, at)), _field(asked, 'question', str, at)
                yield Question(number, title, question, context, ()), asked, at


def _answers(record: Any, at: str) -> tuple[Answer, ...]:
    return tuple(
        Answer(_field(answer, 'text', str, place), _field(answer, 'answer_start', int, place))
        for answer, place in _items(record, 'answers', at)
    )


def _items(record: Any, name: str, at: str) -> Iterator[tuple[Any, str]]:
    """Yield the items of a list, each with its place."""
    for number, item in enumerate(_field(record, name, list, at)):
        yield item, f'{at}/{name}[{number}]'


def _field(record: Any, name: str, kind: Any, at: str) -> Any:
    value = record.get(name) if isinstance(record, dict) else None
    if isinstance(value, bool) or not isinstance(value, kind):
        raise UserError(f"{at}: has no '{name}', which SQuAD's format has there")
    return value
