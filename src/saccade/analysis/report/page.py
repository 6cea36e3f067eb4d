# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison as files: a page that opens offline, the same as Markdown, its tables as LaTeX and CSV."""

import base64
import csv
import hashlib
import io
import math
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from saccade.analysis.report import margin, tables
from saccade.analysis.report.across import across
from saccade.analysis.report.compare import Comparison, RankedVariant
from saccade.analysis.report.critical import Critical, over_seeds, picture_of_ranks
from saccade.analysis.report.curves import curves, names, training
from saccade.analysis.report.drawing import COLOURS, GLYPHS, ReportPicture
from saccade.analysis.report.effects import effect_words, effects
from saccade.analysis.report.forest import forest
from saccade.analysis.report.lengths import lengths
from saccade.analysis.report.multiplier import Multipliers, multipliers, picture
from saccade.analysis.report.origins import Origins, origins, started
from saccade.analysis.report.papers import cited
from saccade.analysis.report.power import ALPHA, POWER
from saccade.analysis.report.runs import Trial, left_out_words
from saccade.analysis.report.trade import trade
from saccade.analysis.report.tuning import search_of
from saccade.analysis.report.words import MINUS, UNKNOWN, amount, counted, fixed, metric_name
from saccade.sweep.record import read_sweep
from saccade.train.process.terminal import printable

METHOD = (
    'An interval is a bootstrap-t over seeds: the mean and its standard error times quantiles of the studentised mean, '
    'estimated by resampling the standardised residuals of all variants, smoothed towards the normal distribution by '
    "Silverman's rule, so that few seeds give nearly Student's t.",
    'In simulations it contains the true mean, or the true difference of two variants chosen in advance, in about 95 '
    'of 100 studies (90 if the noise is strongly skewed). The best variant is selected by the same numbers, so part of '
    'its lead is luck, and differences to it that barely exclude zero are weak evidence.',
    f'The seeds to tell apart are the number for which a paired t-test at {ALPHA:.0%} detects the difference to the '
    f'best in {POWER:.0%} of studies (J. Cohen 1988, chapter 2), given the observed difference and its standard '
    'deviation over seeds; both are rough estimates with few seeds.',
)

SEARCHED = (
    'Each variant was trained with each of these settings on separate seeds; the comparison uses its best setting (*) '
    'on other seeds. Figures are means over the seeds of the search. A setting with a failed or diverged seed is never '
    'chosen.'
)

HALVED = (
    'By successive halving: all settings were trained for few steps, and the best of each variant for more. A figure '
    'comes from the last round of its setting, with the steps of that round; settings without a star were dropped.'
)

MULTIPLIED = (
    'The cost of {over} divided by the cost of each variant to reach the same {metric}: the worse of the two final '
    "values, reached by both runs of a seed. Geometric means over seeds, with 95% intervals by Student's t of the log "
    'ratios.'
)

SOLVED = (
    'A run ends at the first evaluation that solves its task, by the values of stop_at in its config. The median of '
    'the steps to solve counts a run that has not solved it as longer than its budget (Kaplan and Meier 1958).'
)

STOPPED = (
    'Runs end when they have solved their task, so among variants that solve it, compare the steps to solve: their '
    'metrics differ only by how far the last evaluation exceeds the target.'
)

AT_EQUAL_COMPUTE = (
    'At the total FLOPs of the cheapest variant, interpolated between evaluations. Before the end of a run its '
    'learning rate has not decayed yet, so this is biased against more expensive variants.'
)

BOUNDED = (
    f'Mean difference to the baseline, paired by seed, with its bounds. {margin.JUDGED} The bounds are not corrected '
    'for the number of variants.'
)

_HEAD = 12  # characters of a line in the head of a column for LaTeX, at least
_NAMED = 3  # maximum variants named in a sentence
_FILES = ('samples.jsonl', 'metrics.jsonl', 'config.json', 'provenance.jsonl', 'printed.log')
_FORMULAS = ('=', '+', '-', '@', '\t', '\n', '\uff1d', '\uff0b', '\uff0d', '\uff20')  # of formulas
_LATEX = {
    **{character: rf'\{character}' for character in '&%$#_{}'},
    '\\': r'\textbackslash{}',
    '<': '$<$',  # the usual font has other glyphs in their places
    '>': '$>$',
    '~': r'\textasciitilde{}',
    '^': r'\textasciicircum{}',
    '[': '{[}',  # after a line break it would be the argument of \\
    MINUS: '$-$',
    UNKNOWN: '---',
}
_SPECIAL = re.compile(r'([\\`*_{}\[\]<>|#&~$])')


def templates() -> jinja2.Environment:
    """Return the templates of pages; values are escaped, and unprintable characters removed."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters.update(amount=amount, fixed=fixed, metric_name=metric_name, started=started)
    return environment


def scripted(environment: jinja2.Environment) -> dict[str, str]:
    """Return the script of pages, and its digest, by which a page allows this script alone."""
    script = environment.get_template('page.js.jinja').render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {'script': Markup(script), 'script_digest': digest}


def pictures(comparison: Comparison) -> list[ReportPicture]:
    """Return the pictures of the page; each is a file of its own too."""
    tests, over, critical = margin.margin_test(comparison), multipliers(comparison), over_seeds(comparison)
    swept, longer = across(comparison), lengths(comparison)
    found = [
        forest(comparison),
        swept and swept.picture,
        tests and margin.picture(tests),
        critical and _ranks(comparison, critical),
        over and picture(over),
        longer and longer.picture,
        *curves(comparison).values(),
        *training(comparison),
        *trade(comparison).pictures.values(),
    ]
    return [each for each in found if each is not None]


def _ranks(comparison: Comparison, critical: Critical) -> ReportPicture | None:
    return picture_of_ranks(critical, {row.variant: row.place for row in comparison.ranked})


def html(comparison: Comparison, folder: Path, now: datetime) -> str:
    """Return the HTML page, with links relative to `folder`."""
    tuning, *searched = _tuning(comparison) or [None]
    environment, over, critical = templates(), multipliers(comparison), over_seeds(comparison)
    margins = margin.margin_test(comparison)
    return environment.get_template('page.html.jinja').render(
        comparison=comparison,
        digits=tables.places(comparison),
        tables=tables,
        overview=overview(comparison),
        verdict=verdict(comparison),
        warning=warning(comparison),
        latex=latex(comparison, now),
        origins=origins(comparison.study.trials),
        **scripted(environment),
        forest=forest(comparison),
        critical=critical,
        ranks=critical and _ranks(comparison, critical),
        margins=margins,
        differences=margins and margin.picture(margins),
        bounded=BOUNDED,
        across=across(comparison),
        effects=effects(comparison),
        effect_words=effect_words,
        lengths=lengths(comparison),
        multipliers=over,
        multiplied=_multiplied(comparison, over),
        times=over and picture(over),
        equal=tables.at_equal_compute(comparison),
        at_equal_compute=AT_EQUAL_COMPUTE,
        curves=curves(comparison),
        training=training(comparison),
        named=any(not name.isdecimal() for name in names(comparison).values()),
        trade=trade(comparison),
        tuning=tuning,
        searched=searched,
        glyphs=GLYPHS,
        hues=len(COLOURS),
        links=lambda trial: links(trial, folder),
        number=number,
        method=_method(comparison),
        cited=cited(comparison),
        source=source(comparison, now),
    )


def markdown(comparison: Comparison, folder: Path, now: datetime) -> str:
    """Return the ranking and the runs in Markdown, with links relative to `folder`."""
    digits = tables.places(comparison)
    runs = [
        [
            trial.name,
            tables.state(comparison, trial),
            fixed(comparison.value(trial), digits),
            Markup(', ').join(Markup(f'[{name}]({link})') for name, link in links(trial, folder)),
        ]
        for standing in comparison.standings
        for trial in standing.trials
    ]
    failures = [_failure(trial) for trial in comparison.study.trials if trial.state(comparison.split) == 'failed']
    parts = [
        f'# {marked(comparison.study.title)}',
        marked(overview(comparison)),
        marked(verdict(comparison)),
        f'**{marked(warning(comparison))}**' if warning(comparison) else '',
        *_origins(origins(comparison.study.trials)),
        table(tables.ranking(comparison)),
        *_margins(comparison),
        *_critical(comparison),
        *_over(comparison),
        *_at_equal_compute(comparison),
        *_effects(comparison),
        *_by_length(comparison),
        *_searched(_tuning(comparison)),
        '## All runs',
        table([['run', 'state', metric_name(comparison.metric), 'files'], *runs]),
        *failures,
        *_papers(comparison),
        '## How this was computed',
        *_method(comparison),
        marked(source(comparison, now)),
    ]
    return '\n\n'.join(part for part in parts if part) + '\n'


def runs_csv(comparison: Comparison) -> str:
    """Return every run as a CSV row with full precision; an apostrophe precedes text that is a spreadsheet formula.

    See OWASP, "CSV Injection", https://owasp.org/www-community/attacks/CSV_Injection
    """
    return as_csv(tables.runs(comparison))


def variants_csv(comparison: Comparison) -> str:
    """Return every variant as a CSV row, as in `runs_csv`."""
    return as_csv(tables.variants(comparison))


def latex(comparison: Comparison, now: datetime) -> str:
    """Return the tables of the ranking, the costs and the differences to the baseline for the LaTeX package booktabs.

    To fit a page, they have no ranks; a column with one value in all rows is only in a comment, and a variant with a
    name of its own is without its fields.
    """
    found = margin.margin_test(comparison)
    keys, results, costs, same = tables.in_parts(comparison)
    lines = [comparison.study.title, source(comparison, now), *([found.said] if found else [])]
    lines += [f'the same in all rows: {"; ".join(same)}'] if same else []
    comments = [f'% {printable(line)}'.replace('\n', ' ') for line in lines]
    parts = [
        tabular([*keys, *results], bold=len(keys) if comparison.ranked else None),
        *([tabular([*keys, *costs])] if costs else []),
        *([tabular([*zip(*found.table(), strict=True)])] if found and found.rows else []),
    ]
    return '\n'.join([*comments, *parts]) + '\n'


def tabular(columns: Sequence[Sequence[str]], bold: int | None = None) -> str:
    """Return a table for LaTeX. Args: bold, column whose first number is bold."""
    heads = ' & '.join(map(_head, columns)) + r' \\'
    rows = [list(map(_in_latex, row)) for row in zip(*(cells for _, *cells in columns), strict=True)]
    if bold is not None:
        number, space, interval = rows[0][bold].partition(' ')
        rows[0][bold] = rf'\textbf{{{number}}}{space}{interval}'
    kinds, lines = 'l' + 'r' * (len(columns) - 1), [' & '.join(row) + r' \\' for row in rows]
    return '\n'.join(
        [rf'\begin{{tabular}}{{{kinds}}}', r'\toprule', heads, r'\midrule', *lines, r'\bottomrule', r'\end{tabular}']
    )


def _head(column: Sequence[str]) -> str:
    """Return the head of a column for LaTeX; one that is wider than the cells has several lines."""
    name, *cells = column
    lines = textwrap.wrap(name, max(_HEAD, *map(len, cells)), break_long_words=False, break_on_hyphens=False)
    stacked = r' \\ '.join(map(_in_latex, lines))
    return stacked if len(lines) < 2 else rf'\begin{{tabular}}[b]{{@{{}}r@{{}}}}{stacked}\end{{tabular}}'


def _in_latex(text: str) -> str:
    return ''.join(_LATEX.get(character, character) for character in printable(text).replace('\n', ' '))


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return records with equal keys as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator='\n')
    writer.writerows([_cell(value) for value in row] for row in (rows[0], *(row.values() for row in rows)))
    return file.getvalue()


def _cell(value: Any) -> Any:
    if type(value) is not str:
        return value
    with suppress(ValueError):
        if math.isfinite(float(value)):
            return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _origins(found: Origins) -> list[str]:
    rows = [[*group.values, ', '.join(group.runs)] for group in found.groups]
    return [*map(marked, found.lines()), *([table([[*found.columns, 'runs'], *rows])] if rows else [])]


def _critical(comparison: Comparison) -> list[str]:
    found = over_seeds(comparison)
    return [] if found is None else critical_parts(found)


def critical_parts(found: Critical) -> list[str]:
    """Return the significant differences in Markdown."""
    rows, ranks = found.table(), [[name, f'{rank:.2f}'] for name, rank in zip(found.variants, found.ranks, strict=True)]
    parts = ['## Which differences are real', marked(found.said)]
    return [*parts, *([table([['variant', 'mean rank'], *ranks])] if ranks else []), *([table(rows)] if rows else [])]


def _over(comparison: Comparison) -> list[str]:
    found = multipliers(comparison)
    if found is None:
        return []
    return [f'## Multipliers over {marked(found.over)}', table(found.table()), marked(_multiplied(comparison, found))]


def _margins(comparison: Comparison) -> list[str]:
    found = margin.margin_test(comparison)
    if found is None:
        return []
    rows = found.table()
    return [f'## Compared with {marked(found.over)}', marked(found.said), *([table(rows), BOUNDED] if rows else [])]


def _at_equal_compute(comparison: Comparison) -> list[str]:
    rows = tables.at_equal_compute(comparison)
    return ['## At equal compute', table(rows), AT_EQUAL_COMPUTE] if rows else []


def _multiplied(comparison: Comparison, found: Multipliers | None) -> str:
    return MULTIPLIED.format(over=found.over, metric=metric_name(comparison.metric)) if found else ''


def _effects(comparison: Comparison) -> list[str]:
    found = effects(comparison)
    if found is None:
        return []
    return ['## Effects of the factors', table(found.table(tables.places(comparison))), effect_words([found])]


def _by_length(comparison: Comparison) -> list[str]:
    found = lengths(comparison)
    if found is None:
        return []
    heads = [f'{tokens} tokens{" (trained)" if place == 0 else ""}' for place, tokens in enumerate(found.lengths)]
    rows = [[standing.label, *map(found.text, cells)] for standing, cells in found.rows]
    return ['## At other lengths', table([['variant', *heads], *rows])]


def _papers(comparison: Comparison) -> list[str]:
    found = cited(comparison)
    lines = [f'- {marked(use)}: {marked("; ".join(paper.words for paper in papers))}' for use, papers in found.items()]
    return ['## Papers of the compared parts', '\n'.join(lines)] if found else []


def _searched(found: Sequence[Any]) -> list[str]:
    return ['## Tuning', table(found[0]), *map(marked, found[1:])] if found else []


def _tuning(comparison: Comparison) -> list[Any]:
    """Return the table of the search and its notes; empty without a search."""
    found, sweep = search_of(comparison), read_sweep(comparison.study.folder)
    if found is None or sweep is None:
        return []
    taken = found.taken(sweep)
    return [
        found.table(taken),
        SEARCHED,
        *([] if None in found.rounds else [HALVED]),
        *filter(None, [found.at_edges(taken), found.moved()]),
    ]


def overview(comparison: Comparison) -> str:
    """Return a line with the size of the study and the runs left out."""
    known = sorted({standing.known for standing in comparison.standings})
    seeds = f'{counted(known[0], "seed")} each' if len(known) == 1 else f'{known[0]} to {known[-1]} seeds each'
    states = ', '.join(f'{count} {state}' for state, count in comparison.states.items() if count or state == 'finished')
    runs = counted(len(comparison.study.trials), 'run')
    others = f' {left_out_words(comparison.study.left_out)}'.rstrip()
    return f'{counted(len(comparison.standings), "variant")}, {seeds}; {runs}: {states}.{others}'


def verdict(comparison: Comparison) -> str:
    """Summarise the ranking: the best variant, significance of its lead, missing seeds, and the baseline."""
    if not comparison.ranked:
        return 'No run has finished yet.'
    best, *others = comparison.ranked
    mean = tables.with_interval(best.mean, best.interval, tables.places(comparison))
    said = [f'{best.variant} has the {comparison.best} {metric_name(comparison.metric)}{_among(comparison)}: {mean}.']
    others = [other for other in others if other.complete]
    known = [other for other in others if other.difference_interval]
    alike = [other for other in known if other.difference_interval.holds(0.0)]
    if alike:
        others_known = counted(len(known), 'other variant')
        said.append(
            f'{len(alike)} of {others_known} may be as good: the 95% interval of the difference to it includes zero.'
        )
    elif known:
        said.append(
            'Each other variant is worse by more than the noise: no 95% interval of a difference includes zero.'
        )
    said += _to_tell(alike)
    if unknown := len(others) - len(known):
        said.append(f'{counted(unknown, "variant")} without an interval, which needs two differing seeds.')
    if comparison.incomplete:
        which = ', '.join(row.label for row in comparison.incomplete)
        said.append(f'Incomplete (seeds failed, diverged or are missing) and ranked last: {which}.')
    if tables.any_solved(comparison):
        said.append(STOPPED)
    if comparison.declared.among == 'batch':
        said.append(f'{metric_name(comparison.metric).capitalize()} depends on batch_size: compare equal sizes.')
    if comparison.baseline is not None and not warning(comparison):
        behind = ', '.join(standing.variant for standing in comparison.behind)
        baseline = _baseline(comparison)
        said.append(f'Not better than {baseline}: {behind}.' if behind else f'Every variant beats {baseline}.')
    return ' '.join(said)


def warning(comparison: Comparison) -> str:
    """Return a sentence if no variant beats the baseline; '' otherwise."""
    if comparison.baseline is None or len(comparison.behind) < len(comparison.ranked) or not comparison.ranked:
        return ''
    return (
        f'No variant beats {_baseline(comparison)}: a simpler predictor of the same data is as good or better, so '
        'differences between these variants say little. Train longer, or larger models.'
    )


def _baseline(comparison: Comparison) -> str:
    return f'the simple baseline ({fixed(comparison.baseline, tables.places(comparison))})'


def _among(comparison: Comparison) -> str:
    """Return a restriction of the ranking to some variants, as text; empty without one."""
    if not comparison.incomplete:
        return ''
    return ' of variants that finished all seeds' if comparison.ranked[0].complete else ' so far'


def source(comparison: Comparison, now: datetime) -> str:
    """Return a sentence with the time and the sources of the report."""
    study = comparison.study
    sweep = f' of the sweep {study.source}' if study.source else ''
    return (
        f'Computed on {now:%Y-%m-%d at %H:%M %Z} from metrics.jsonl and config.json of '
        f'{counted(len(study.trials), "run")}{sweep} in {study.folder}: {metric_name(comparison.metric)} of the '
        f'{comparison.split} split at the last step, {comparison.best} first.'
    )


def _method(comparison: Comparison) -> tuple[str, ...]:
    return (*METHOD, SOLVED) if tables.any_solved(comparison) else METHOD


def links(trial: Trial, folder: Path) -> list[tuple[str, str]]:
    """Return name and address of each existing file of a run."""
    start = os.path.relpath(trial.folder, folder)
    return [(name, quote(os.fsencode(f'{start}/{name}'))) for name in _FILES if (trial.folder / name).exists()]


def _to_tell(alike: Sequence[RankedVariant]) -> list[str]:
    """Estimate the number of seeds that would distinguish the best variant from the others."""
    needed = sorted((row.seeds_to_tell, row.variant) for row in alike if row.seeds_to_tell is not None)
    if not needed:
        return []
    if len(needed) > _NAMED:
        least, most = amount(needed[0][0]), amount(needed[-1][0])
        return [f'With the observed spread, {least} to {most} seeds of each would distinguish them, see the report.']
    each = [f'{amount(seeds)} from {variant}' for seeds, variant in needed]
    return [f'With the observed spread, about this many seeds of each would distinguish it: {", ".join(each)}.']


def number(value: int | float | None, text: str) -> Markup:
    """Return a formatted number, with full precision in a data element."""
    return Markup(text) if value is None else Markup('<data value="{}">{}</data>').format(repr(value), text)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; the first row has the names of the columns."""
    names, *others = rows
    lines = [names, [Markup('---')] * len(names), *others]
    return '\n'.join(f'| {" | ".join(map(marked, line))} |' for line in lines)


def marked(text: str) -> str:
    """Escape text for Markdown; markup is unchanged."""
    if isinstance(text, Markup):
        return str(text)
    return _SPECIAL.sub(r'\\\1', printable(text).replace('\n', ' '))


def _failure(trial: Trial) -> str:
    lines = [f'    {printable(line)}' for line in '\n'.join(trial.last_lines).splitlines()]
    return '\n'.join([f'The last lines of {marked(trial.name)}, which failed:', '', *lines])
