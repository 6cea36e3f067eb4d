# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Files of a matrix: a page that opens offline, the same as Markdown and LaTeX, cells as CSV, pictures as PDF and SVG;
and the reports of its sweeps.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console

from saccade.analysis.report import page, tables
from saccade.analysis.report.compare import StudyQuestion
from saccade.analysis.report.critical import picture_of_ranks
from saccade.analysis.report.crossed import crossed
from saccade.analysis.report.drawing import COLOURS, GLYPHS, ReportPicture
from saccade.analysis.report.effects import effect_words
from saccade.analysis.report.matrix import Matrix, effect_tables, matrix, overview, overview_of
from saccade.analysis.report.matrix_pictures import against_state, by_length, seed_curves
from saccade.analysis.report.runs import Trial
from saccade.analysis.report.standing import CONTROL, controls
from saccade.analysis.report.words import metric_name
from saccade.analysis.report.write import FIGURES, report
from saccade.paths import expanded
from saccade.sweep.suite import Suite
from saccade.train.process.terminal import columns, printable, say, verbatim
from saccade.train.workdir import write_atomically, writing
from saccade.types import UserError

METHOD = (
    'A cell is the mean over seeds with its 95% interval. Its colour is scaled from chance (the baseline) to the best '
    'possible value. Rows are in the order of the names. State bytes are the size of the decoding state of a sequence.'
)


@dataclass(frozen=True)
class MatrixReport:
    """Report of a folder of sweeps. Attributes: the matrix; paths of the files, and of the pictures as files."""

    matrix: Matrix
    files: tuple[Path, ...]
    figures: tuple[Path, ...]

    def summary(self) -> dict[str, Any]:
        """Return every cell and the paths of the files as one JSON object."""
        critical = self.matrix.critical
        pairs = {'said': critical.said, 'pairs': critical.records()}
        cells, others = self.matrix.records(), list(self.matrix.left_out)
        paths = {'files': list(map(str, self.files)), 'figures': list(map(str, self.figures))}
        return {'cells': cells, 'pairs': pairs, 'left_out': others, 'waiting': list(self.matrix.waiting), **paths}

    def show(self, console: Console) -> None:
        """Print the matrix and the paths of the files."""
        for line in (overview(self.matrix), self.matrix.critical.said):
            console.print(verbatim(line))
        console.print(columns(self.matrix.rows()))
        for file in (*self.files, *{figure.parent for figure in self.figures}):
            say(console, str(file))


@dataclass(frozen=True)
class MatrixPictures:
    """Pictures of a matrix.

    Attributes:
        ranks: mean ranks over tasks; None without ranks.
        factors: every task by two crossed factors; None for another number of factors.
        states, lengths: by task, the metric against bytes of state, and by length of the sequences.
    """

    ranks: ReportPicture | None
    factors: ReportPicture | None
    states: Mapping[str, ReportPicture]
    lengths: Mapping[str, ReportPicture]

    @classmethod
    def of(cls, found: Matrix) -> 'MatrixPictures':
        """Draw the pictures of a matrix."""
        return cls(
            picture_of_ranks(found.critical, found.places),
            crossed(found),
            against_state(found.comparisons, found.places),
            by_length(found.comparisons, found.places),
        )

    def files(self) -> dict[str, bytes]:
        """Return the contents of a PDF and an SVG file of each picture, by the file's name."""
        drawn = filter(None, [self.ranks, self.factors, *self.states.values(), *self.lengths.values()])
        return {name: content for picture in drawn for name, content in picture.files().items()}


@dataclass(frozen=True)
class Links:
    """Links of a page to files next to it. Attributes: folder of the page; reports, address of each sweep's report."""

    folder: Path
    reports: Mapping[str, str]

    def of_run(self, trial: Trial) -> list[tuple[str, str]]:
        """Return name and address of each file of a run."""
        return page.links(trial, self.folder)


def published_page(found: Matrix, suite: Suite, now: datetime) -> str:
    """Return the page as one file that can be published: it has no links to the runs."""
    texts = suite.title, overview_of(found, suite), f'Computed on {now:%d %B %Y}.'
    return _html(found, MatrixPictures.of(found), texts, suite=suite)


def published_picture(found: Matrix) -> str:
    """Return the picture of the factors as an SVG file.

    Raises:
        UserError: the sweeps do not cross two factors.
    """
    picture = crossed(found)
    if picture is None:
        raise UserError('a picture needs two factors that every sweep crosses; `factors` of a sweep file names them')
    return picture.files()[f'{picture.name}.svg'].decode()


def matrix_report(workdir: str | Path, question: StudyQuestion, out: str | Path | None = None) -> MatrixReport:
    """Compare the sweeps of a folder; write index.html, report.md, table.tex, cells.csv, figures and each report.

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
            StudyQuestion(comparison.metric, comparison.split, comparison.best, comparison.over, question.only),
        )
        for task, comparison in found.comparisons.items()
    }
    links = {task: quote(os.path.relpath(each.files[0], folder)) for task, each in reports.items()}
    pictures = MatrixPictures.of(found)
    contents = {
        folder / 'index.html': _html(
            found, pictures, (found.folder.name, overview(found), _source(found, now)), Links(folder, links)
        ),
        folder / 'report.md': _markdown(found, now),
        folder / 'table.tex': _latex(found, found.folder.name, _source(found, now)),
        folder / 'cells.csv': page.as_csv(found.records() or [{'variant': None}]),
    }
    figures = folder / FIGURES
    drawn = {figures / name: content for name, content in pictures.files().items()}
    with writing(folder):
        figures.mkdir(parents=True, exist_ok=True)
    for file, content in (drawn | contents).items():
        write_atomically(file, content)
    return MatrixReport(found, tuple(contents), tuple(drawn))


def _html(
    found: Matrix,
    pictures: MatrixPictures,
    texts: tuple[str, str, str],
    links: Links | None = None,
    suite: Suite | None = None,
) -> str:
    """Return the page.

    Args:
        texts: its title, its first sentence and its last.
        suite: its notes and controls are on the page, in place of ranks over tasks.
    """
    title, lead, source = texts
    opened = f'A cell opens its runs{"; each column links to the report of its sweep" if links else ""}.'
    stopped = page.STOPPED if any(map(tables.any_solved, found.comparisons.values())) else ''
    environment = page.templates()
    return environment.get_template('matrix.html.jinja').render(
        title=title,
        overview=lead,
        matrix=found,
        latex=_latex(found, title, source),
        ranks=pictures.ranks,
        factors=pictures.factors,
        states=pictures.states,
        lengths=pictures.lengths,
        effects=effect_tables(found),
        effect_words=effect_words([*found.effects.values()]),
        curves=seed_curves,
        glyphs=GLYPHS,
        hues=len(COLOURS),
        reports=links.reports if links else {},
        links=links.of_run if links else lambda _: [],
        number=page.number,
        tables=tables,
        method=[f'{METHOD} {opened} {stopped}'.rstrip(), *found.at_edges],
        suite=suite,
        controls=controls(found, suite) if suite else [],
        control=CONTROL,
        source=source,
        **page.scripted(environment),
    )


def _markdown(found: Matrix, now: datetime) -> str:
    parts = [f'# {page.marked(found.folder.name)}', page.marked(overview(found)), page.table(found.rows()), METHOD]
    parts += page.critical_parts(found.critical)
    return '\n\n'.join([*parts, page.marked(_source(found, now))]) + '\n'


def _latex(found: Matrix, title: str, source: str) -> str:
    comments = [f'% {printable(line)}'.replace('\n', ' ') for line in (title, source)]
    return '\n'.join([*comments, page.tabular([*zip(*found.rows(), strict=True)])]) + '\n'


def _source(found: Matrix, now: datetime) -> str:
    metrics = sorted({f'{metric_name(each.metric)} of {each.split}' for each in found.comparisons.values()})
    return f'Computed on {now:%Y-%m-%d at %H:%M %Z} from the sweeps in {found.folder}: {", ".join(metrics)}.'
