# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Live page of a sweep, `live.html` in its folder: the board, with a link to the live page of each run."""

import time
from contextlib import suppress
from urllib.parse import quote

from markupsafe import Markup

from saccade.sweep.board import COLUMNS, SweepProgress
from saccade.sweep.folder import SweepFolder
from saccade.sweep.record import Sweep, SweepRun
from saccade.train.log.live_page import RELOAD, SECONDS, page
from saccade.train.process.terminal import printable
from saccade.train.workdir import Workdir, write_atomically
from saccade.types import UserError

_TEXTS = 2  # columns of text, which precede the columns of numbers


class LiveBoard:
    """Live page of a sweep. The sweep continues if it cannot be written."""

    def __init__(self, folder: SweepFolder) -> None:
        self._folder, self._progress = folder, SweepProgress(folder)
        self._written = -float(SECONDS)

    def changed(self, run: SweepRun) -> None:
        """Store the time at which a run began."""
        self._progress.changed(run)

    def refresh(self, sweep: Sweep) -> None:
        """Write the page if its last version is `SECONDS` old."""
        if time.monotonic() - self._written >= SECONDS:
            self._write(sweep, RELOAD)

    def close(self, sweep: Sweep) -> None:
        """Write the last version of the page, which does not reload."""
        self._write(sweep, Markup(''))

    def _write(self, sweep: Sweep, reload: Markup) -> None:
        heads = Markup('').join(_cell('th', number, name) for number, name in enumerate(COLUMNS))
        rows = Markup('\n').join(map(self._row, sweep.runs))
        body = Markup('<div class="scroll"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody></table></div>')
        content = page(sweep.title, self._progress.line(sweep), body.format(heads, rows), reload)
        with suppress(UserError):
            write_atomically(self._folder.path / 'live.html', content)
        self._written = time.monotonic()

    def _row(self, run: SweepRun) -> Markup:
        name, *others = self._progress.row(run)
        live = Workdir(self._folder.run(run)).live
        link = Markup('<a href="{}">{}</a>').format(quote(f'{run.name}/{live.name}'), printable(name))
        cells = [link if live.exists() else printable(name), *others]
        texts = Markup('').join(_cell('td', number, cell) for number, cell in enumerate(cells))
        return Markup('<tr class="{}">{}</tr>').format(run.status, texts)


def _cell(tag: str, number: int, text: str) -> Markup:
    kind = '' if number < _TEXTS else Markup(' class="number"')
    return Markup('<{0}{1}>{2}</{0}>').format(tag, kind, text)
