# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of predictions: texts from flags, from a file or from standard input."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from saccade.decode.predict import Record, Unanswered
from saccade.decode.translator import texts_of
from saccade.paths import expanded
from saccade.types import UserError

_RECORDS = ('.csv', '.tsv', '.jsonl', '.conll', '.json')  # a .txt always has one text per line


def placed_records(
    data: Unanswered, given: Mapping[str, Sequence[str]], file: str | None
) -> Iterable[tuple[str, Record]]:
    """Yield records by the data's columns, each with its place: a file and line, or a flag.

    Args:
        given: values of each of the data's inputs from flags; a single value is repeated for all records; or empty.
        file: file of records in the format of the data's files, or with one text per line; None for lines of standard
            input. Several inputs on a line are separated by tabs. A file's lines are all checked first, lines of
            standard input one by one.

    Raises:
        UserError: both are given, or other inputs than the data's; the file cannot be read; a line has too few fields.
    """
    if given and file:
        raise UserError(f'give either {_flags(given)} or --file')
    if given:
        return [*_of_flags(data.inputs, given)]
    if file and Path(file.lower().removesuffix('.gz')).suffix in _RECORDS:
        source = data.read(expanded(file))
        return ((source.place(index), source[index]) for index in range(len(source)))
    lines = _of_lines(data.inputs, texts_of(None, file), f'{file}, ' if file else '')
    return [*lines] if file else lines


def _of_flags(inputs: Mapping[str, str], given: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Record]]:
    if given.keys() != inputs.keys():
        raise UserError(f'this model reads {_flags(inputs)}, not {_flags(given)}')
    count = max(map(len, given.values()))
    for name, values in given.items():
        if len(values) not in (1, count):
            raise UserError(f'--{name} is given {len(values)} times; give it once, or {count} times like another flag')
    for number in range(count):
        yield (
            f'text {number + 1}',
            {column: given[name][number if len(given[name]) > 1 else 0] for name, column in inputs.items()},
        )


def _of_lines(inputs: Mapping[str, str], lines: Iterator[str], before: str) -> Iterator[tuple[str, Record]]:
    for number, line in enumerate(lines, start=1):
        fields = line.split('\t') if len(inputs) > 1 else [line]
        if len(fields) != len(inputs):
            raise UserError(
                f'{before}line {number}: {len(fields)} field{"s" * (len(fields) > 1)}, expected '
                f'{" and ".join(inputs)}, separated by a tab'
            )
        yield f'{before}line {number}', dict(zip(inputs.values(), fields, strict=True))


def _flags(names: Mapping[str, object]) -> str:
    return ' and '.join(f'--{name}' for name in names)
