# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Writer of the report of a folder of runs."""

import itertools
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from saccade.analysis.report import page, tables
from saccade.analysis.report.compare import Comparison, StudyQuestion, compare
from saccade.analysis.report.effects import effects
from saccade.analysis.report.margin import margin_test
from saccade.analysis.report.multiplier import multipliers
from saccade.analysis.report.origins import origins
from saccade.analysis.report.papers import bibliography, cited
from saccade.analysis.report.runs import read_study
from saccade.paths import expanded
from saccade.train.process.terminal import columns, say, verbatim
from saccade.train.workdir import write_atomically, writing

ANY = StudyQuestion()
FIGURES = 'figures'  # subfolder of the pictures


@dataclass(frozen=True)
class RunsReport:
    """Report of a folder of runs. Attributes: the comparison; paths of the files, and of the pictures as files."""

    comparison: Comparison
    files: tuple[Path, ...]
    figures: tuple[Path, ...]

    def summary(self) -> dict[str, Any]:
        """Return the comparison and the paths of the files as one JSON object."""
        found = effects(self.comparison)
        crossed = {'effects': [asdict(each) for each in found.effects]} if found else {}
        return {**tables.summary(self.comparison), **crossed, **self._paths()}

    def _paths(self) -> dict[str, list[str]]:
        return {'files': list(map(str, self.files)), 'figures': list(map(str, self.figures))}

    def show(self, console: Console) -> None:
        """Print the ranking and the paths of the files."""
        console.print(verbatim(self.comparison.study.title, style='bold'))
        ran = origins(self.comparison.study.trials).lines()
        warned = filter(None, [page.warning(self.comparison)])
        for line in (page.overview(self.comparison), page.verdict(self.comparison), *warned, *ran):
            console.print(verbatim(line))
        over, test = multipliers(self.comparison), margin_test(self.comparison)
        # Columns that fit a terminal.
        shown = [tables.ranking(self.comparison, narrow=True), test and test.table(), over and over.table()]
        for rows in filter(None, shown):
            console.print(columns(rows))
        if test:
            console.print(verbatim(test.said))
        if over:
            console.print(verbatim(f'Multipliers over {over.over}: above 1 is cheaper for the same metric.'))
        for file in (*self.files, *{figure.parent for figure in self.figures}):
            say(console, str(file))


def report(workdir: str | Path, question: StudyQuestion = ANY, out: str | Path | None = None) -> RunsReport:
    """Compare the runs of a folder, and write index.html, report.md, tables, references.bib and figures/.

    Args:
        workdir: a sweep's folder, or one whose subfolders are runs.
        question: metric and split to compare.
        out: output folder; by default `report` in workdir.

    Raises:
        UserError: there is nothing to compare, or a file is damaged or cannot be written.
    """
    comparison, now = compare(read_study(workdir), question), datetime.now().astimezone()
    folder = expanded(out).absolute() if out else comparison.study.folder / 'report'
    figures = folder / FIGURES
    contents = {
        folder / 'index.html': page.html(comparison, folder, now),
        folder / 'report.md': page.markdown(comparison, folder, now),
        folder / 'table.tex': page.latex(comparison, now),
        folder / 'variants.csv': page.variants_csv(comparison),
        folder / 'runs.csv': page.runs_csv(comparison),
    }
    if found := bibliography(itertools.chain.from_iterable(cited(comparison).values())):
        contents[folder / 'references.bib'] = found
    drawn = {figures / name: data for picture in page.pictures(comparison) for name, data in picture.files().items()}
    with writing(folder):
        figures.mkdir(parents=True, exist_ok=True)
    for file, content in (drawn | contents).items():
        write_atomically(file, content)
    return RunsReport(comparison, tuple(contents), tuple(drawn))
