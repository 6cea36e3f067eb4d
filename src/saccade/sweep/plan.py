# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Plan of a sweep: runs from a config and a sweep file, all built once, with their costs.

A sweep file defines `get_sweep()`, which returns a dict with

    runs    search space: see `saccade.sweep.space`
    seeds   number of seeds, or a list of them; default: the config's seed
    match   matching of the variants in size: see `saccade.sweep.match`
    tune    search per variant before the comparison: see `saccade.sweep.tune`
    metric  primary metric, by which the report ranks
    baseline  name of the variant that the others are compared with
    margin  smallest loss against the baseline that matters, in the unit of `metric`, chosen before the runs
    sizes   smaller versions of the sweep: see `saccade.sweep.sizes`
    needs   fields that the command line must set, with an explanation: dict(init_from='a pretrained run')
    factors names of the spaces of a product, which the report then compares as factors: ['mixer', 'convolution']

The first line of its docstring is the sweep's title.
"""

import difflib
import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from saccade.build import plain
from saccade.nearest import listed, nearest
from saccade.sweep.match import FIGURES, Match, Settings
from saccade.sweep.naming import names, short_fields
from saccade.sweep.record import PrimaryComparison, Sweep, SweepRun
from saccade.sweep.sizes import size_of
from saccade.sweep.space import NAME, Point, points
from saccade.sweep.tune import Tune, are_seeds
from saccade.train.config import PREFIX, load_config, value_of
from saccade.train.config_file import run_file
from saccade.train.declared import declared
from saccade.train.experiment import Experiment
from saccade.train.process.terminal import verbatim
from saccade.train.setup import ExperimentCost
from saccade.types import UserError

_COSTLESS = re.compile(r'(?:steps|seed|schedule)[.=]')  # overrides that change neither parameters nor FLOPs of a step
_KEYS = ('runs', 'seeds', 'match', 'tune', 'metric', 'baseline', 'margin', 'factors', 'sizes', 'needs')
_SHOWN = 6  # broken variants, or reasons, that are shown; the rest are counted


@dataclass(frozen=True)
class Variant:
    """Variant of a sweep. Attributes: overrides of the base; cost of a run; solved, the fields solved to match."""

    name: str
    overrides: tuple[str, ...]
    cost: ExperimentCost
    solved: Settings

    def run(self, seed: int) -> SweepRun:
        """Return the run with a seed."""
        flags = (*self.overrides, f'{PREFIX}seed={seed}')
        return SweepRun(f'{self.name},seed={seed}', self.name, seed, flags, self.cost.steps)

    def with_settings(self, point: Point, name: str = '') -> 'Variant':
        """Return the variant with more settings, whose name is appended to its name."""
        return replace(
            self, name=','.join(filter(None, [self.name, name])), overrides=(*self.overrides, *as_overrides(point))
        )

    def with_steps(self, steps: int | None) -> 'Variant':
        """Return the variant with this number of steps; None keeps its own."""
        if steps is None:
            return self
        cost, overrides = replace(self.cost, steps=steps), (*self.overrides, f'{PREFIX}steps={steps}')
        return replace(self, cost=cost, overrides=overrides)


@dataclass(frozen=True)
class SweepPlan:
    """Plan of a sweep that has not begun, with its variants in order.

    Attributes: tune, the search for each variant before the comparison; None for none.
    """

    sweep: Sweep
    variants: tuple[Variant, ...]
    tune: Tune | None = None

    @classmethod
    def of(
        cls,
        config: str,
        sweep: str,
        overrides: Sequence[str] = (),
        size: str | None = None,
        costs: dict[tuple[str, ...], ExperimentCost] | None = None,
    ) -> 'SweepPlan':
        """Read both files and build every variant.

        Args:
            config: file of the base config.
            sweep: file with `get_sweep()`.
            overrides: overrides of the base config, as on the command line; they hold for every run that does not set
                the same field.
            size: name of one of the sweep's sizes; None for the whole sweep.
            costs: cache of costs by overrides (without steps, seed and schedule), to avoid repeated tracing; extended.

        Raises:
            UserError: a file, a field or the sweep is invalid, or variants cannot be built; the message names them.
        """
        title, spec = read_sweep_file(sweep)
        if size is not None:
            chosen = size_of(spec, size)
            spec, overrides = chosen.applied(spec), [*as_overrides(chosen.config), *overrides]
        base = load_config(config, overrides)
        for field, what in spec.get('needs', {}).items():
            if not value_of(base, field):
                raise UserError(f'{PREFIX}{field}: required by this sweep: {what}')
        seeds = _seeds(spec.get('seeds'), base.get('seed', 0))
        tune = None if spec.get('tune') is None else Tune.of(plain(spec['tune']), seeds)
        primary = _primary(spec)
        tune = tune and replace(tune, metric=tune.metric or primary.metric)
        made = _Variants(config, overrides, spec, {} if costs is None else costs)
        made.require_comparable(primary)
        made.require_tunable(tune)
        variants = made.built()
        runs = tuple(variant.run(seed) for variant in variants for seed in seeds)
        factors = _factors(spec.get('factors', ()), variants)
        whole = Sweep(config, sweep, title, base, runs, tuple(overrides), factors, primary)
        return cls(whole, variants, tune)

    def search(self, steps: int | None = None, settings: Mapping[str, Sequence[str]] | None = None) -> Sweep:
        """Return the runs of one round of the search that tunes each variant.

        Args:
            steps: steps per run; None for the config's own.
            settings: names of the points of `tune` to train, by variant; None for those that every variant tries.
        """
        runs = tuple(
            variant.with_settings(self.tune.points[name], name).with_steps(steps).run(seed)
            for variant in self.variants
            for name in (self.tune.first if settings is None else settings[variant.name])
            for seed in self.tune.seeds
        )
        rung = '' if steps is None else f', {steps:,} steps'
        title = f'{self.sweep.title}: tuning{rung}'
        return replace(self.sweep, title=title, runs=runs, primary=PrimaryComparison())

    def settings(self, recorded: Sweep | None, best: Mapping[str, str] | None = None) -> dict[str, list[str]]:
        """Return the settings of each variant in the first round of the search.

        Args:
            recorded: that round, if it has begun.
            best: best setting of each variant, once it is known.
        """
        begun = {run.variant for run in recorded.runs} if recorded else ()
        return {each.name: self.tune.tried(each.name, begun, (best or {}).get(each.name)) for each in self.variants}

    def timing(self, steps: int) -> Sweep:
        """Return a short run of each variant, with as many evaluations as a run of the plan.

        Raises:
            UserError: the config has no steps or no eval_every, which the sweep may set in its place.
        """
        for field in ('steps', 'eval_every'):
            if field not in self.sweep.base:
                raise UserError(f'config.{field}: missing; --budget plans with that of {self.sweep.config}')
        whole, every = self.sweep.base['steps'], self.sweep.base['eval_every']
        often = {'eval_every': max(1, min(steps, round(steps * every / whole))), 'log_every': max(1, steps // 4)}
        fields = {**often, 'checkpoint_every': steps}
        seed = self.sweep.runs[0].seed
        runs = tuple(variant.with_settings(fields).with_steps(steps).run(seed) for variant in self.variants)
        return replace(self.sweep, title=f'{self.sweep.title}: timing', runs=runs, primary=PrimaryComparison())

    def tuned(self, chosen: Mapping[str, str]) -> 'SweepPlan':
        """Return the plan with the chosen settings: for each variant the name of a point of `tune`."""
        seeds = dict.fromkeys(run.seed for run in self.sweep.runs)
        variants = {
            variant.name: variant.with_settings(self.tune.points[chosen[variant.name]]) for variant in self.variants
        }
        runs = tuple(variant.run(seed) for variant in variants.values() for seed in seeds)
        return replace(self, sweep=replace(self.sweep, runs=runs), variants=tuple(variants.values()))

    def lines(self) -> list[str]:
        """Return a description of the sweep, in lines."""
        seeds = len({run.seed for run in self.sweep.runs})
        tokens, flops = self.cost()
        search = []
        if self.tune:
            counts = self.tune.counts
            each = sum(counts.values()) * len(self.tune.seeds)
            tried = f'{len(self.tune.first)} of {", ".join(self.tune.fields)} x {len(self.tune.seeds)} seeds'
            rounds = '' if None in counts else _rounds(counts)
            rounds += '; one more where the best is at an edge' if self.tune.beyond else ''
            count = each * len(self.variants)
            search = [f'tuning      {count}: {len(self.variants)} variants x {tried}, before{rounds}']
        return [
            f'sweep       {self.sweep.title}',
            f'files       {self.sweep.config}, {self.sweep.sweep}',
            f'runs        {len(self.sweep.runs)}: {len(self.variants)} variants x {seeds} seeds',
            *search,
            f'cost        {tokens:,.0f} tokens, {flops:.3g} FLOPs in matrix products',
        ]

    def cost(self) -> tuple[int, int]:
        """Return the tokens and FLOPs of all runs, including the search."""
        steps = {name: sum(found) for name, found in self.run_steps().items()}
        tokens = sum(variant.cost.tokens * steps[variant.name] for variant in self.variants)
        return tokens, sum(variant.cost.flops * steps[variant.name] for variant in self.variants)

    def run_steps(self) -> dict[str, list[int]]:
        """Return the steps of each run of each variant, at most; runs of the search come first."""
        found = {}
        for variant in self.variants:
            counts = self.tune.counts if self.tune else {}
            rounds = [
                [variant.cost.steps if steps is None else steps]
                * ((count + bool(self.tune.beyond)) * len(self.tune.seeds))
                for steps, count in counts.items()
            ]
            compared = [run.steps for run in self.sweep.runs if run.variant == variant.name]
            found[variant.name] = [*chain(*rounds), *compared]
        return found

    def table(self) -> Table:
        """Return a table of the variants with their costs."""
        solved = short_fields({field: None for variant in self.variants for field in variant.solved})
        table = Table()
        table.add_column('variant', overflow='fold')
        for column in ('steps', 'parameters', 'FLOPs a token', *solved.values()):
            table.add_column(verbatim(column), justify='right')
        for variant in self.variants:
            cost = variant.cost
            matched = (f'{variant.solved[field]:g}' if field in variant.solved else '' for field in solved)
            costs = (f'{cost.steps:,}', f'{cost.parameters:,}', f'{cost.flops_per_token:.4g}')
            table.add_row(verbatim(variant.name), *costs, *matched)
        return table


class _Variants:
    """Builder of the variants of a sweep."""

    def __init__(
        self,
        config: str,
        overrides: Sequence[str],
        spec: Mapping[str, Any],
        costs: dict[tuple[str, ...], ExperimentCost],
    ) -> None:
        self._config, self._overrides, self._costs = config, tuple(overrides), costs
        self._seeded = {} if spec.get('seeds') is None else {'seed': spec['seeds']}
        self._points: list[Point] = plain(points(spec['runs']))
        self._match = Match.of(spec['match']) if spec.get('match') is not None else None
        self._refuse_clashes()

    def require_tunable(self, tune: Tune | None) -> None:
        """Check that the tuned fields are not set by the sweep, fit the config, and that the metric has a direction.

        Raises:
            UserError: the sweep sets a tuned field, a setting does not fit, or no config declares the metric.
        """
        for field in tune.fields if tune else ():
            points = [point | self._seeded for point in self._points]
            if any(_sets(point, field) or _sets({field: None}, own) for point in points for own in point):
                raise UserError(f'tune.by: {field} is set by runs; it cannot be tuned as well')
            if self._match and field in self._match.by:
                raise UserError(f'tune.by: {field} is solved for by match; it cannot be tuned as well')
            if field == 'steps':
                raise UserError('tune.by: all runs of a search have the same steps; `halving` trains the best for more')
        if tune and tune.rungs[-1] is not None:
            self._require_shorter(tune.rungs[-1])
        for point in tune.points.values() if tune else ():
            Experiment.of(load_config(self._config, [*self._overrides, *as_overrides(point)]))

        if tune and tune.metric and tune.best is None and (known := self._undeclared(tune.metric)) is not None:
            raise UserError(
                f"tune.metric: '{tune.metric}' is not declared by any part{nearest(tune.metric, known)}; for a metric "
                "of your own, set best='lowest' or best='highest' in tune"
            )

    def require_comparable(self, primary: PrimaryComparison) -> None:
        """Check that the baseline is a variant, and that a part declares the direction of the metric.

        Raises:
            UserError: it is not, or none does.
        """
        variants = names(self._points)
        if primary.baseline is not None and primary.baseline not in variants:
            raise UserError(
                f"baseline: '{primary.baseline}' is not a variant of this sweep; they are "
                f'{listed(variants, primary.baseline)}'
            )
        if primary.metric is not None and (known := self._undeclared(primary.metric)) is not None:
            raise UserError(f"metric: '{primary.metric}' is not declared by any part{nearest(primary.metric, known)}")

    def _undeclared(self, metric: str) -> set[str] | None:
        """Return the metrics whose direction is declared if `metric` is not one of them; else None."""
        known: set[str] = set()
        for point in ({}, *self._points):
            experiment = Experiment.of(load_config(self._config, [*self._overrides, *as_overrides(point)]))
            known |= {name for name, each in declared(experiment).metrics.items() if each.best}
            if metric in known:
                return None
        return known

    def _require_shorter(self, steps: int) -> None:
        if any(_sets(point, 'steps') for point in self._points):
            raise UserError('tune.halving: steps is set by runs; the rounds of a search cannot set it as well')
        whole = Experiment.of(load_config(self._config, self._overrides)).steps
        if steps > whole:
            raise UserError(f'tune.halving.steps: {steps} is more than the {whole} steps of the compared runs')

    def built(self) -> tuple[Variant, ...]:
        """Build every variant; raise an error if one is broken."""
        found, broken = [], {}
        for name, point in zip(names(self._points), self._points, strict=True):
            try:
                found.append(self._variant(name, point))
            except Exception as error:  # a user's part may raise anything
                broken.setdefault(_first_line(error), []).append(name)
        if broken:
            count = sum(map(len, broken.values()))
            reasons = [f'{_some(which, ", ")}: {reason}' for reason, which in broken.items()]
            raise UserError(f'{count} of {len(self._points)} variants cannot be built: {_some(reasons, "; ")}')
        return tuple(found)

    def _refuse_clashes(self) -> None:
        """Check that no field is set in two places, since one would be lost silently."""
        swept = {field for point in self._points for field in point}
        if 'seed' in swept:
            raise UserError('runs: seeds are not variants; write seeds=[...] next to runs')
        for field in self._match.by if self._match else ():
            if field in swept:
                raise UserError(f'match.by: {field} is set by runs; it cannot be solved for as well')
        for override in self._overrides:
            flag = override.removeprefix(PREFIX)
            field = flag.partition('=')[0]
            if self._match and not _COSTLESS.match(flag):
                continue  # holds for the base, whose size the variants get
            if all(_sets(point | self._seeded, field) for point in self._points):
                raise UserError(
                    f'{override}: has no effect, since every run sets {field}; set it in the sweep, or leave it out'
                )

    def _variant(self, name: str, point: Point) -> Variant:
        overrides = as_overrides(point)
        figure = functools.cache(lambda *solved: self._figure([*overrides, *solved]))
        solved: Settings = {}
        if self._match:
            config = load_config(self._config, [*self._overrides, *overrides])
            start = {field: _number(config, field) for field in self._match.by}
            solved = self._match.solve(lambda settings: figure(*as_overrides(settings)), start, self._target)
        overrides.extend(as_overrides(solved))
        return Variant(name, tuple(overrides), self._cost(overrides), solved)

    @functools.cached_property
    def _target(self) -> int | float:
        return self._match.to or self._figure(())

    def _figure(self, overrides: Sequence[str]) -> int | float:
        return FIGURES[self._match.what](self._experiment(overrides))

    def _experiment(self, overrides: Sequence[str]) -> Experiment:
        return Experiment.of(load_config(self._config, (*self._overrides, *overrides)))

    def _cost(self, overrides: Sequence[str]) -> ExperimentCost:
        experiment = self._experiment(overrides)
        key = tuple(flag for flag in (*self._overrides, *overrides) if not _COSTLESS.match(flag.removeprefix(PREFIX)))
        if key not in self._costs:
            self._costs[key] = ExperimentCost.of(experiment)
        return replace(self._costs[key], steps=experiment.steps)


def as_overrides(point: Mapping[str, Any]) -> list[str]:
    """Return a point as command-line overrides: a part before the fields inside it."""
    fields = sorted((field for field in point if field != NAME), key=lambda field: field.count('.'))
    return [f'{PREFIX}{field}={_text(point[field])}' for field in fields]


def _sets(point: Point, field: str) -> bool:
    """True if a point sets a field, or replaces a part that contains it."""
    return any(f'{field}.'.startswith(f'{own}.') for own in point)


def _text(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str) else repr(value)


def read_sweep_file(path: str) -> tuple[str, Mapping[str, Any]]:
    """Return the title of a sweep file and the result of its `get_sweep()`."""
    spec, doc = run_file('sweep', path, 'get_sweep')
    if not isinstance(spec, Mapping) or 'runs' not in spec:
        raise UserError(f'--sweep={path}: get_sweep() must return a dict with runs, and may give seeds and match')
    for key in spec:
        if key not in _KEYS:
            match = difflib.get_close_matches(str(key), _KEYS, n=1)
            hint = f"did you mean '{match[0]}'?" if match else f'a sweep has {", ".join(_KEYS)}'
            raise UserError(f"--sweep={path}: there is no '{key}'; {hint}")
    title = doc.strip().partition('\n')[0].rstrip('.')
    return title or Path(path).stem, spec


def _primary(spec: Mapping[str, Any]) -> PrimaryComparison:
    """Read the primary comparison of a sweep file.

    Raises:
        UserError: a name is not text, the margin is not positive, or it lacks its metric or its baseline.
    """
    metric, baseline, margin = (spec.get(name) for name in ('metric', 'baseline', 'margin'))
    for name, value in {'metric': metric, 'baseline': baseline}.items():
        if not isinstance(value, str | None):
            raise UserError(f'{name}: write a name, not {value!r}')
    if margin is None:
        return PrimaryComparison(metric, baseline)
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 < margin < math.inf:
        raise UserError(f'margin: must be a positive number in the unit of the metric, not {margin!r}')
    if metric is None or baseline is None:
        raise UserError("margin: name its metric and its baseline too, as in metric='accuracy', baseline='attention'")
    return PrimaryComparison(metric, baseline, float(margin))


def _rounds(counts: Mapping[int, int]) -> str:
    return '; ' + ', then '.join(f'{count} of {steps:,} steps' for steps, count in counts.items())


def _seeds(asked: Any, base: int) -> list[int]:
    seeds = [base] if asked is None else list(range(asked)) if type(asked) is int else asked
    if not are_seeds(seeds):
        raise UserError(f'seeds: write their number, or a list of different whole numbers, not {asked!r}')
    return list(seeds)


def _factors(asked: Any, variants: Sequence[Variant]) -> tuple[str, ...]:
    if not isinstance(asked, list | tuple) or not all(isinstance(name, str) for name in asked):
        raise UserError(f"factors: write a list of names, as in ['mixer', 'convolution'], not {asked!r}")
    for variant in variants:
        if asked and len(levels := variant.name.split(',')) != len(asked):
            raise UserError(
                f"factors: '{variant.name}' has {len(levels)} of {len(asked)} levels; let runs be a product of "
                f'{len(asked)} lists of points with names, one for each factor'
            )
    return tuple(asked)


def _number(config: Mapping[str, Any], field: str) -> int | float:
    value = value_of(config, field)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise UserError(f'match.by: {field} is {value!r}, which is not a number to start from')
    return value


def _some(items: Sequence[str], between: str) -> str:
    more = [f'and {len(items) - _SHOWN} more'] if len(items) > _SHOWN else []
    return between.join([*items[:_SHOWN], *more])


def _first_line(error: Exception) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), '')
    return text if isinstance(error, UserError) else f'{type(error).__name__}: {text}'
