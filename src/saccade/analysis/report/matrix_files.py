# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Files of a matrix: a page that opens offline, the same as Markdown, cells as CSV; and the reports of its sweeps."""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.table import Table

from saccade.analysis.report import page, tables
from saccade.analysis.report.compare import StudyQuestion
from saccade.analysis.report.critical import picture_of_ranks
from saccade.analysis.report.drawing import COLOURS, GLYPHS
from saccade.analysis.report.matrix import Matrix, matrix, overview
from saccade.analysis.report.matrix_pictures import against_state, by_length
from saccade.analysis.report.words import metric_name
from saccade.analysis.report.write import report
from saccade.paths import expanded
from saccade.train.process.terminal import say, verbatim
from saccade.train.workdir import write_atomically, writing

METHOD = (
    'A cell is the mean over seeds with its 95% interval. Its colour is scaled from chance (the baseline) to the best '
    'possible value. Rows are in the order of the names. State bytes are the size of the decoding state of a sequence.'
)


@dataclass(frozen=True)
class MatrixReport:
    """Report of a folder of sweeps. Attributes: the matrix; paths of the files."""

    matrix: Matrix
    files: tuple[Path, ...]

    def summary(self) -> dict[str, Any]:
        """Return every cell and the paths of the files as one JSON object."""
        critical = self.matrix.critical
        pairs = {'said': critical.said, 'pairs': critical.records()}
        cells, others = self.matrix.records(), list(self.matrix.left_out)
        return {'cells': cells, 'pairs': pairs, 'left_out': others, 'files': [str(file) for file in self.files]}

    def show(self, console: Console) -> None:
        """Print the matrix and the paths of the files."""
        for line in (overview(self.matrix), self.matrix.critical.said):
            console.print(verbatim(line))
        names, *rows = self.matrix.rows()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in names:
            table.add_column(verbatim(name), overflow='fold')
        for row in rows:
            table.add_row(*map(verbatim, row))
        console.print(table)
        for file in self.files:
            say(console, str(file))


def matrix_report(workdir: str | Path, question: StudyQuestion, out: str | Path | None = None) -> MatrixReport:
    """Compare the sweeps of a folder, and write index.html, report.md and cells.csv, and the report of each sweep.

    Args:
        workdir: a folder whose subfolders are sweeps.
        question: metric and split to compare.
        out: output folder; by default `report` in workdir.

    Raises:
        UserError: a sweep has no runs yet, or a file is damaged or cannot be written.
    """
    found, now = matrix(workdir, question), datetime.now().astimezone()
    folder = expanded(out).absolute() if out else found.folder / 'report'
    reports = {
        task: report(
            comparison.study.folder,
            StudyQuestion(comparison.metric, comparison.split, comparison.best, comparison.over),
        )
        for task, comparison in found.comparisons.items()
    }
    links = {task: quote(os.path.relpath(each.files[0], folder)) for task, each in reports.items()}
    contents = {
        'index.html': _html(found, links, now),
        'report.md': _markdown(found, now),
        'cells.csv': page.as_csv(found.records() or [{'variant': None}]),
    }
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return MatrixReport(found, tuple(folder / name for name in contents))


def _html(found: Matrix, links: dict[str, str], now: datetime) -> str:
    return (
        page.templates()
        .get_template('matrix.html.jinja')
        .render(
            title=found.folder.name,
            overview=overview(found),
            matrix=found,
            ranks=picture_of_ranks(found.critical, found.places),
            states=against_state(found.comparisons, found.places),
            lengths=by_length(found.comparisons, found.places),
            glyphs=GLYPHS,
            hues=len(COLOURS),
            links=links,
            tables=tables,
            method=f'{METHOD} Each column links to the report of its sweep.',
            source=_source(found, now),
        )
    )


def _markdown(found: Matrix, now: datetime) -> str:
    parts = [f'# {page.marked(found.folder.name)}', page.marked(overview(found)), page.table(found.rows()), METHOD]
    parts += page.critical_parts(found.critical)
    return '\n\n'.join([*parts, page.marked(_source(found, now))]) + '\n'


def _source(found: Matrix, now: datetime) -> str:
    metrics = sorted({f'{metric_name(each.metric)} of {each.split}' for each in found.comparisons.values()})
    return f'Computed on {now:%Y-%m-%d at %H:%M %Z} from the sweeps in {found.folder}: {", ".join(metrics)}.'
