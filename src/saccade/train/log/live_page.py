# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Live page of a run, `live.html` in its folder: curves of the loss, speed, time left and the last sample.

The page is a file that the run rewrites as a whole and that reloads itself: no server, no script. When the run has
ended it stays, and reloads no more.
"""

import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from saccade.train.log.display import clock
from saccade.train.log.log import OUTCOME, PART, is_finished, read
from saccade.train.process.terminal import printable
from saccade.train.workdir import Workdir, write_atomically
from saccade.types import Metrics

SECONDS = 5  # between two versions of a page, and between two reloads
_POINTS = 400  # of a curve; of twice as many, every other is dropped
_PLACE = ('step', 'split')  # keys of a record that are not metrics
_COLOURS = {'train': '--first', 'validation': '--second'}
_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 400, 220, 44, 24, 10  # of the picture, in its own units
RELOAD = Markup('<meta http-equiv="refresh" content="{}">\n').format(SECONDS)
_FRAME = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
{reload}<link rel="icon" href="data:,">
<title>{title}</title>
<style>
:root {{
  color-scheme: light dark;
  --ink: #1b1d20; --faint: #63676e; --page: #fff; --card: #f6f7f8; --rule: #dcdfe3; --first: #0068a8; --second: #c04f00;
}}
@media (prefers-color-scheme: dark) {{
  :root {{
    --ink: #e6e8eb; --faint: #a0a6ae; --page: #14161a; --card: #1d2025; --rule: #343941; --first: #4aa8e8;
    --second: #f0833a;
  }}
}}
body {{
  margin: 0 auto; padding: 1.25rem 1rem 3rem; max-width: 60rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, "Liberation Sans", sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}}
h1 {{ font-size: 1.4rem; margin: 0; }}
h2 {{ font-size: 1rem; margin: 1.5rem 0 .25rem; }}
p {{ margin: 0 0 .5rem; }}
a {{ color: var(--first); }}
.faint, figcaption, dt, th {{ color: var(--faint); font-size: .875rem; }}
progress {{ width: 100%; accent-color: var(--first); }}
dl {{ display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: .75rem 0; }}
dd {{ margin: 0; font-size: 1.125rem; }}
figure {{ margin: 0; max-width: 38rem; }}
svg {{ display: block; width: 100%; height: auto; }}
svg text {{ fill: var(--faint); font-size: 11px; }}
pre {{
  margin: .25rem 0; padding: .6rem .75rem; background: var(--card); border-radius: .4rem; white-space: pre-wrap;
  font: .8125rem/1.45 ui-monospace, Menlo, "Liberation Mono", monospace;
}}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-size: .875rem; }}
th, td {{
  padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--rule); text-align: left; font-weight: 400;
  overflow-wrap: normal;
}}
td.number, th.number {{ text-align: right; white-space: nowrap; }}
tr.failed td, tr.running td {{ font-weight: 600; }}
tr.waiting td {{ color: var(--faint); }}
@media (max-width: 30rem) {{
  table, th {{ font-size: .75rem; }}
  th, td {{ padding-right: .4rem; }}
}}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="faint">{status}, {written}</p>
{body}
</body>
</html>
""")


class LivePage:
    """Live page sink, for a run of `steps` steps in all."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._last: dict[str, Metrics] = {}
        self._curves: dict[str, list[tuple[int, float]]] = {split: [] for split in _COLOURS}
        self._finished, self._sample = False, ''

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        """Read the earlier records of the run, and write the page.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        workdir = Workdir(folder)
        self._file, self._name, self._step, self._start = workdir.live, folder.name, start, start
        self._since = time.monotonic()
        earlier = [record for record in read(workdir.metrics) if record['step'] <= start]  # later ones are written
        for record in earlier:
            self._add(record['step'], record['split'], {name: record[name] for name in record if name not in _PLACE})
        for record in read(workdir.samples):
            self._sample = record['text']
        self._write('training', RELOAD)

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        """Add the metrics of one step; write the page if its last version is `SECONDS` old.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        self._add(step, split, metrics)
        self._write_if_due()

    def sample(self, step: int, text: str) -> None:
        """Replace the sample; write the page if its last version is `SECONDS` old.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        self._sample = text
        self._write_if_due()

    def close(self) -> None:
        """Write the last version of the page, which does not reload.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        failed = sys.exc_info()[0] is not None
        self._write('failed' if failed else 'finished' if self._finished else 'stopped', Markup(''))

    def _add(self, step: int, split: str, metrics: Metrics) -> None:
        self._step, self._last[split.removesuffix(PART)] = max(self._step, step), metrics
        self._finished |= is_finished([{'step': step, 'split': split, **metrics}], self._steps)
        self._finished |= split == OUTCOME and bool(metrics['solved'])
        loss = float(metrics.get('loss', math.nan))
        curve = self._curves.get(split.removesuffix(PART))
        if curve is None or not math.isfinite(loss) or (curve and curve[-1][0] == step):
            return  # the whole split at the end, after a part of it
        curve.append((step, loss))
        if len(curve) > 2 * _POINTS:
            del curve[1::2]

    def _write_if_due(self) -> None:
        if time.monotonic() - self._written >= SECONDS:
            self._write('training', RELOAD)

    def _write(self, status: str, reload: Markup) -> None:
        facts = {'step': f'{self._step:,} of {self._steps:,}', **self._facts()}
        if reload and self._start < self._step < self._steps:
            pace = (time.monotonic() - self._since) / (self._step - self._start)
            facts['time left'] = clock(pace * (self._steps - self._step))
        cells = Markup('').join(Markup('<div><dt>{}</dt><dd>{}</dd></div>').format(*fact) for fact in facts.items())
        parts = [
            Markup('<progress value="{}" max="{}"></progress>\n<dl>{}</dl>').format(self._step, self._steps, cells)
        ]
        if any(self._curves.values()):
            parts.append(picture(self._curves, self._steps))
        if self._sample:
            parts.append(Markup('<h2>Last sample</h2>\n<pre>{}</pre>').format(printable(self._sample)))
        write_atomically(self._file, page(self._name, status, Markup('\n').join(parts), reload))
        self._written = time.monotonic()

    def _facts(self) -> dict[str, str]:
        train, validation = (self._last.get(split, {}) for split in _COLOURS)
        found = {'training loss': train.get('loss'), 'validation loss': validation.get('loss')}
        facts = {name: f'{float(value):.4f}' for name, value in found.items() if value is not None}
        speed = train.get('tokens_per_second')
        return facts if speed is None else facts | {'tokens/s': f'{speed:,.0f}'}


def page(title: str, status: str, body: Markup, reload: Markup) -> str:
    """Return a live page.

    Args:
        status: state of the run or the sweep, in words.
        reload: `RELOAD`, which makes the page reload, or '' for the last version.
    """
    written = time.strftime('written %Y-%m-%d %H:%M:%S')
    return _FRAME.format(title=printable(title), status=status, written=written, body=body, reload=reload)


def picture(curves: Mapping[str, Sequence[tuple[int, float]]], steps: int) -> Markup:
    """Return a figure of losses against steps, from 0 to `steps`, with the value of each evaluation on hover.

    Losses of the first tenth of the steps may be cut off: they are far above all later ones.
    """
    last = max(step for curve in curves.values() for step, _ in curve)
    shown = [loss for curve in curves.values() for step, loss in curve if step >= last / 10]
    marks = ticks(min(shown), max(shown))
    low, high = min(*shown, *marks), max(*shown, *marks)

    def place(step: int, loss: float) -> tuple[float, float]:
        across = _LEFT + (_WIDTH - _LEFT - _ABOVE) * step / steps
        return across, _ABOVE + (_HEIGHT - _ABOVE - _BELOW) * (high - loss) / ((high - low) or 1.0)

    drawn = []
    for mark in marks:
        line = (
            '<path d="M{0} {1:.1f}H{2}" stroke="var(--rule)"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5:g}</text>'
        )
        y = place(0, mark)[1]
        drawn.append(Markup(line).format(_LEFT, y, _WIDTH - _ABOVE, _LEFT - 5, y + 4, mark))
    for step, anchor in ((0, 'start'), (steps, 'end')):
        text = '<text x="{:.1f}" y="{}" text-anchor="{}">{:,}</text>'
        drawn.append(Markup(text).format(place(step, high)[0], _HEIGHT - 6, anchor, step))
    for split, curve in curves.items():
        points = ' '.join('{:.1f},{:.1f}'.format(*place(*point)) for point in curve)
        line = '<polyline points="{}" fill="none" stroke="var({})" stroke-width="1.5"/>'
        drawn.append(Markup(line).format(points, _COLOURS[split]))
    for step, loss in curves['validation']:
        dot = '<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="var(--second)"><title>step {:,}: {:.4f}</title></circle>'
        drawn.append(Markup(dot).format(*place(step, loss), step, loss))
    svg = '<svg viewBox="0 0 {} {}" role="img" aria-label="loss against steps">{}</svg>'
    key = ' '.join(f'<span style="color: var({colour})">● {split}</span>' for split, colour in _COLOURS.items())
    caption = Markup('<figcaption>Loss against steps. {}</figcaption>').format(Markup(key))
    figure = Markup(svg).format(_WIDTH, _HEIGHT, Markup('\n').join(drawn))
    return Markup('<figure>\n{}\n{}\n</figure>').format(figure, caption)


def ticks(low: float, high: float) -> list[float]:
    """Return two to six round numbers that span an interval: multiples of 1, 2 or 5 times a power of ten."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    gap = next(factor * power for factor in (1, 2, 5, 10) if span <= 4 * factor * power)
    first = math.floor(low / gap)
    return [round(gap * number, 12) for number in range(first, max(math.ceil(high / gap), first + 1) + 1)]
