# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of a comparison: as formatted text, and with full precision for JSON and CSV."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from saccade.analysis.report.compare import Comparison, RankedVariant
from saccade.analysis.report.cost import seconds, speed
from saccade.analysis.report.critical import over_seeds
from saccade.analysis.report.equal_compute import equal_compute
from saccade.analysis.report.interval import Interval
from saccade.analysis.report.margin import MarginTest, margin_test
from saccade.analysis.report.multiplier import multipliers
from saccade.analysis.report.origins import origins
from saccade.analysis.report.runs import Trial
from saccade.analysis.report.solved import SolvedRuns, any_solved, solved_runs
from saccade.analysis.report.tuning import TuningSearch, search_of
from saccade.analysis.report.words import UNKNOWN, amount, decimals, fixed, metric_name
from saccade.sweep.record import read_sweep

# Optional last columns of the ranking: their names, and the fields of a variant's cost.
_COSTS = {
    'parameters': 'parameters',
    'FLOPs a token': 'flops_per_token',
    'tokens/s': 'speed',
    'temporary bytes': 'temp_bytes',
    'state bytes a token': 'state_per_token',
}

# Costs of a variant in its table with full precision.
_SPENT = ('parameters', 'flops', 'seconds', 'speed', 'temp_bytes', 'state_bytes')

TO_TELL = 'seeds to tell apart'  # the column of the power analysis
SOLVED = ('seeds solved', 'median steps to solve')

Row = Mapping[str, Any]
Column = tuple[str, ...]


def places(comparison: Comparison) -> int:
    """Return the number of decimals of the metric."""
    intervals = [standing.interval for standing in comparison.ranked if standing.interval]
    return decimals([(interval.high - interval.low) / 2 for interval in intervals])


def ranking(comparison: Comparison, narrow: bool = False) -> list[list[str]]:
    """Return the ranking as text: the names of its columns, and a row for each variant.

    Args:
        narrow: leave out the costs, the seeds to tell apart, which the summary names, and several columns of fields
            where variants have names.
    """
    digits, named = places(comparison), tells_variants(comparison)
    telling = any_to_tell(comparison) and not narrow
    columns = {} if narrow else cost_columns(comparison)
    fields = () if narrow and named and len(comparison.columns) > 1 else comparison.columns
    heads = [*(['variant'] if named else []), *fields]
    measures = [f'{metric_name(comparison.metric)} [95% interval]', 'difference to the best', 'seeds']
    measures += [TO_TELL] if telling else []
    measures += SOLVED if (outcomes := any_solved(comparison)) else []
    rows = [
        [
            UNKNOWN if standing.mean is None else str(standing.place),
            *([standing.variant] if named else []),
            *standing.fields[: len(fields)],
            with_interval(standing.mean, standing.interval, digits),
            with_interval(standing.difference, standing.difference_interval, digits, sign=True),
            finished(standing) if narrow else seeds(standing),
            *([amount(standing.seeds_to_tell)] if telling else []),
            *(solved(comparison, standing) if outcomes else []),
            *(_cost(comparison, standing, name) for name in columns.values()),
        ]
        for standing in comparison.standings
    ]
    return [['rank', *heads, *measures, *columns], *rows]


def in_parts(comparison: Comparison) -> tuple[list[Column], list[Column], list[Column], list[str]]:
    """Return the ranking in parts without the ranks, each with its columns, a name before the cells.

    Returns:
        The columns that name a variant; its results; its costs; and the results and costs that all variants share, as
        text.
    """
    columns = [*zip(*ranking(comparison, narrow=True), strict=True)]
    start = next(number for number, column in enumerate(columns) if 'interval' in column[0])
    named, spent = tells_variants(comparison), {TO_TELL, *cost_columns(comparison)}
    costs = [column for column in zip(*ranking(comparison), strict=True) if column[0] in spent]
    parts = columns[start + 1 :], costs
    results, costs = ([each for each in part if len(each) == 2 or len({*each[1:]}) > 1] for part in parts)
    same = [f'{each[0]} {each[1]}' for part in parts for each in part if each not in (*results, *costs)]
    return columns[1 : 2 if named else start], [columns[start], *results], costs, same


def at_equal_compute(comparison: Comparison) -> list[list[str]]:
    """Return the metric at equal compute as text, a row for each variant; empty if all spent the same."""
    found = equal_compute(comparison)
    if found is None:
        return []
    digits = places(comparison)
    rows = [
        [row.label, with_interval(mean, interval, digits), str(row.place), amount(row.cost.flops)]
        for row, mean, interval in found.rows
    ]
    metric = f'{metric_name(comparison.metric)} at {amount(found.flops)} FLOPs [95% interval]'
    return [['variant', metric, 'rank at the end', 'FLOPs at the end'], *rows]


def cost_columns(comparison: Comparison) -> dict[str, str]:
    """Return the columns of costs known for any variant, with the name of the cost."""
    rows = comparison.standings
    return {column: name for column, name in _COSTS.items() if any(getattr(row.cost, name) is not None for row in rows)}


def any_to_tell(comparison: Comparison) -> bool:
    """Return True if more seeds would distinguish some variant from the best."""
    return any(standing.seeds_to_tell is not None for standing in comparison.standings)


def cost(comparison: Comparison, standing: RankedVariant, name: str) -> list[tuple[int | float | None, str]]:
    """Return a cost of a variant, and the ends of its interval if it has one: each number with its text."""
    rows = comparison.standings
    intervals = {row.place: getattr(row.cost, f'{name}_interval', None) for row in rows}
    halves = [(interval.high - interval.low) / 2 for interval in intervals.values() if interval]
    value, interval = getattr(standing.cost, name), intervals[standing.place]
    numbers = [value, *((interval.low, interval.high) if interval else ())]
    return [(number, amount(number, halves)) for number in numbers]


def _cost(comparison: Comparison, standing: RankedVariant, name: str) -> str:
    mean, *ends = (text for _, text in cost(comparison, standing, name))
    return f'{mean} [{", ".join(ends)}]' if ends else mean


def tells_variants(comparison: Comparison) -> bool:
    """Return True if the variants' names add information to the columns of their fields."""
    return any(
        standing.variant
        != ','.join(f'{name}={text}' for name, text in zip(comparison.columns, standing.fields, strict=True))
        for standing in comparison.standings
    )


def with_interval(value: float | None, interval: Interval | None, digits: int, sign: bool = False) -> str:
    """Return a number with its interval in brackets, if there is one."""
    number = fixed(value, digits, sign)
    return (
        f'{number} [{fixed(interval.low, digits, sign)}, {fixed(interval.high, digits, sign)}]' if interval else number
    )


def finished(standing: RankedVariant) -> str:
    """Return the number of seeds of a mean, and the planned number if some failed, diverged or are missing."""
    return str(len(standing.scores)) if standing.complete else f'{len(standing.scores)} of {standing.wanted}'


def seeds(standing: RankedVariant) -> str:
    """Return the number of seeds, with a note if the variant is incomplete."""
    return finished(standing) if standing.complete else f'{finished(standing)} seeds, incomplete'


def solved(comparison: Comparison, standing: RankedVariant) -> tuple[str, str]:
    """Return the share of runs that solved their task, and the median of their steps."""
    found = solved_runs(comparison, standing)
    return (UNKNOWN, UNKNOWN) if found is None else found.texts()


def state(comparison: Comparison, trial: Trial) -> str:
    """Return the state of a run as text."""
    reached = trial.state(comparison.split)
    value = comparison.value(trial)
    if reached == 'finished' and (value is None or not math.isfinite(value)):
        found = 'none' if value is None else str(value)
        return f'finished, but its {metric_name(comparison.metric)} is {found}'
    if reached == 'failed':
        ending = ''
        if trial.exit is not None:
            ending = f' (killed by signal {-trial.exit})' if trial.exit < 0 else f' (exit status {trial.exit})'
        return f'failed{ending} at step {trial.step} of {trial.steps}'
    return f'unfinished at step {trial.step} of {trial.steps}' if reached == 'unfinished' else reached


def runs(comparison: Comparison) -> list[Row]:
    """Return every run with full precision; None for unknown values."""
    over = multipliers(comparison)
    return [
        {
            'run': trial.name,
            'variant': standing.variant,
            **{f'config.{name}': text for name, text in zip(comparison.columns, standing.fields, strict=True)},
            'seed': trial.seed,
            'state': trial.state(comparison.split),
            'step': trial.step,
            'steps': trial.steps,
            'task_solved': None if trial.solved is None else int(trial.solved),
            f'{comparison.split}/{comparison.metric}': comparison.value(trial),
            **_spent(trial),
            **(over.of_seed(standing.variant, trial.seed) if over else {}),
        }
        for standing in comparison.standings
        for trial in standing.trials
    ]


def variants(comparison: Comparison) -> list[Row]:
    """Return every variant with full precision; None for unknown values."""
    test, search, sweep = margin_test(comparison), search_of(comparison), read_sweep(comparison.study.folder)
    taken = search.taken(sweep) if search and sweep else {}
    return [
        {
            'rank': None if standing.mean is None else standing.place,
            'variant': standing.variant,
            'metric': f'{comparison.split}/{comparison.metric}',
            'mean': standing.mean,
            **_ends('', standing.interval),
            'seeds': len(standing.scores),
            'complete': standing.complete,
            **{name: getattr(standing.cost, name) for name in _SPENT},
            **_tuned(search, taken, standing),
            **_outcomes(solved_runs(comparison, standing)),
            **_against_baseline(comparison, test, standing),
        }
        for standing in comparison.standings
    ]


def _tuned(search: TuningSearch | None, taken: Mapping[str, str | None], standing: RankedVariant) -> Row:
    setting = taken.get(standing.variant)
    edge = None if search is None or setting is None else search.first.at_edge(standing.variant, setting)
    return {'setting': setting, 'setting_at_edge': None if edge is None else int(edge)}


def _outcomes(found: SolvedRuns | None) -> Row:
    return {
        'seeds_solved': found and len(found.steps),
        'seeds_with_outcome': found and found.runs,
        'median_steps_to_solve': found and found.median,
        'budget': found and found.budget,
    }


def _against_baseline(comparison: Comparison, test: MarginTest | None, standing: RankedVariant) -> Row:
    if test is None:
        return {}
    found = test.of(standing.variant)
    return {
        'baseline': test.over,
        'difference': found and found.mean,
        **_ends('bound_', found and found.bounds),
        'margin': comparison.margin,
        'verdict': found and found.verdict,
    }


def _ends(prefix: str, interval: Interval | None) -> dict[str, float | None]:
    return {f'{prefix}low': interval and interval.low, f'{prefix}high': interval and interval.high}


def summary(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as one JSON object."""
    return {
        'title': comparison.study.title,
        'workdir': str(comparison.study.folder),
        'left_out': list(comparison.study.left_out),
        'split': comparison.split,
        'metric': comparison.metric,
        'best': comparison.best,
        'states': dict(comparison.states),
        'baseline': comparison.baseline,
        'behind_baseline': [standing.variant for standing in comparison.behind],
        'provenance': origins(comparison.study.trials).summary(),
        'pairs': _pairs(comparison),
        'variants': variants(comparison),
        'multipliers': _multipliers(comparison),
        'at_equal_compute': (equal := equal_compute(comparison)) and equal.records(),
        'ranking': [_standing(comparison, standing) for standing in comparison.standings],
        'runs': [
            {
                name: None if isinstance(value, float) and not math.isfinite(value) else value
                for name, value in row.items()
            }
            for row in runs(comparison)
        ],
    }


def as_json(found: Mapping[str, Any]) -> str:
    """Return one line of JSON, with null for numbers that are not finite."""
    return json.dumps(found, allow_nan=False)


def indented(config: Mapping[str, Any]) -> str:
    """Return a config as indented JSON."""
    return json.dumps(config, indent=2, sort_keys=True)


def _standing(comparison: Comparison, standing: RankedVariant) -> dict[str, Any]:
    ends = {name: getattr(standing, name) for name in ('interval', 'difference_interval')}
    speed_interval = standing.cost.speed_interval
    return {
        'rank': None if standing.mean is None else standing.place,
        'variant': standing.variant,
        'fields': dict(zip(comparison.columns, standing.fields, strict=True)),
        'mean': standing.mean,
        'difference': standing.difference,
        **{name: interval and [interval.low, interval.high] for name, interval in ends.items()},
        'scores': {str(seed): score for seed, score in standing.scores.items()},
        'seeds': standing.known,
        'complete': standing.complete,
        'seeds_to_tell': standing.seeds_to_tell,
        **asdict(standing.cost),
        'speed_interval': speed_interval and [speed_interval.low, speed_interval.high],
    }


def _pairs(comparison: Comparison) -> dict[str, Any] | None:
    found = over_seeds(comparison)
    return found and {'said': found.said, 'pairs': found.records()}


def _multipliers(comparison: Comparison) -> dict[str, Any] | None:
    found = multipliers(comparison)
    return found and {'over': found.over, 'variants': found.records()}


def _spent(trial: Trial) -> dict[str, Any]:
    """Return the costs of a run so far."""
    plan = trial.plan or {}
    time = seconds(trial, [max((record['step'] for record in trial.of('train')), default=0)])
    return {
        'parameters': plan.get('parameters'),
        'flops': plan['flops'] * trial.step if plan else None,
        'tokens': plan['tokens'] * trial.step if plan else None,
        'seconds': None if time is None else float(time[0]),
        'tokens_per_second': speed(trial),
    }
