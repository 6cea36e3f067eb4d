# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of variants: their means over seeds, the intervals of those, and their costs."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from saccade.analysis.report.cost import seconds, speed
from saccade.analysis.report.fields import ABSENT, differing
from saccade.analysis.report.interval import Interval, difference_intervals, mean_intervals
from saccade.analysis.report.power import seeds_to_tell
from saccade.analysis.report.runs import BASELINE, PLAN, Record, Study, Trial
from saccade.nearest import listed, nearest
from saccade.types import Best, Metric, UserError

PICTURED = 12  # variants that can be told apart in one picture
STATES = ('finished', 'failed', 'unfinished', 'not started')

_OF_TEXT = 'bits_per_byte'  # ranks before a loss, as it does not depend on the tokenizer


@dataclass(frozen=True)
class Question:
    """Question to a study.

    Attributes:
        metric: by which variants are ranked; None: bits_per_byte where every finished run has it, or else what their
            checkpoints are ranked by, or loss.
        best: which end of it; None: the one that the runs declare.
        over: the variant over which multipliers are given; None for none.
    """

    metric: str | None = None
    split: str = 'validation'
    best: Best | None = None
    over: str | None = None


@dataclass(frozen=True)
class Cost:
    """Cost of one run of a variant; None where its runs did not log it.

    Attributes:
        flops, seconds: of the whole training.
        speed: tokens a second; its interval over seeds, where there is one.
        temp_bytes: of a step, besides its arguments and results, on a device.
        state_bytes: of the state to decode with a row as long as the context.
        state_per_token: the same over its tokens.
    """

    parameters: int | float | None
    flops_per_token: float | None
    flops: int | float | None
    seconds: float | None
    speed: float | None
    speed_interval: Interval | None
    temp_bytes: int | float | None
    state_bytes: int | float | None
    state_per_token: float | None


@dataclass(frozen=True)
class Standing:
    """Standing of one variant in the ranking.

    Attributes:
        place: 1, 2, ... among all variants of the study; those that are complete come first.
        fields: values of the differing fields, in words.
        scores: the metric at the end of the runs that finished, by seed.
        mean: of the scores; None where no run has finished, and then the variant is not ranked.
        difference: of the mean to the best variant's; None for that one.
        known: seeds that are to be run, finished or not.
        wanted: number of seeds of a complete variant, the most that any variant has.
        seeds_to_tell: how many would tell it from the best variant; None where the interval does so already, or nothing
            is known of the difference.
    """

    place: int
    variant: str
    fields: tuple[str, ...]
    trials: tuple[Trial, ...] = field(repr=False)
    scores: Mapping[int, float]
    known: int
    wanted: int
    cost: Cost
    mean: float | None = None
    interval: Interval | None = None
    difference: float | None = None
    difference_interval: Interval | None = None
    seeds_to_tell: int | None = None

    @property
    def complete(self) -> bool:
        """Whether all seeds have finished with a finite metric: a mean over those that did flatters the others."""
        return len(self.scores) == self.wanted

    @property
    def label(self) -> str:
        """The name of the variant; of an incomplete one, with how many seeds have finished of how many."""
        return self.variant if self.complete else f'{self.variant} ({len(self.scores)} of {self.wanted} seeds)'


@dataclass(frozen=True)
class Comparison:
    """Comparison of variants.

    Attributes:
        declared: the metric by which they are ranked.
        columns: names of the differing fields.
        standings: best first and unranked ones last.
        baseline: the metric of the runs' baseline, where all that have one agree on it.
        over: the variant over which multipliers are given.
    """

    study: Study
    split: str
    declared: Metric
    columns: tuple[str, ...]
    standings: tuple[Standing, ...]
    baseline: float | None = None
    over: str | None = None

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self.declared.name

    @property
    def best(self) -> Best:
        """The end of the metric that is best."""
        return self.declared.best

    @property
    def incomplete(self) -> tuple[Standing, ...]:
        """The ranked variants of which seeds failed, diverged or are missing."""
        return tuple(standing for standing in self.ranked if not standing.complete)

    @property
    def behind(self) -> tuple[Standing, ...]:
        """The ranked variants that are no better than the baseline."""
        if self.baseline is None:
            return ()
        sign = 1 if self.best == 'lowest' else -1
        return tuple(standing for standing in self.ranked if sign * standing.mean >= sign * self.baseline)

    @cached_property
    def states(self) -> Mapping[str, int]:
        """How many runs there are of each state."""
        counts = Counter(trial.state(self.split) for trial in self.study.trials)
        return {state: counts[state] for state in STATES}

    @property
    def ranked(self) -> tuple[Standing, ...]:
        """The variants with a finished run: the complete ones, best first, and then the others, best first."""
        return tuple(standing for standing in self.standings if standing.mean is not None)

    @property
    def pictured(self) -> tuple[Standing, ...]:
        """The variants that are drawn: the best ones, where there are too many."""
        return self.standings[:PICTURED]

    def value(self, trial: Trial) -> float | None:
        """The metric at the end of a run, finite or not; None where it has not finished."""
        return _value(trial.final(self.split), self.metric)


def compare(study: Study, question: Question) -> Comparison:
    """Rank the variants of a study.

    Raises:
        UserError: no run logs this split or metric, or no variant has the name to compare with; those there are are
            named. Or the runs do not declare which end of the metric is best, and the question does not say it.
    """
    metric = _metric(study.trials, question)
    declared = _declared(study.trials, metric, question.best)
    variants: dict[str, list[Trial]] = {}
    for trial in study.trials:
        variants.setdefault(trial.variant, []).append(trial)
    if question.over is not None and question.over not in variants:
        raise UserError(f'--baseline={question.over}: no variant is called so{nearest(question.over, variants)}')
    fields = _fields(variants)
    scores = {variant: final_scores(trials, question.split, metric) for variant, trials in variants.items()}
    speeds = _speed_intervals(variants, question.split)
    known = {variant: len({trial.seed for trial in trials}) for variant, trials in variants.items()}
    wanted = max(known.values())
    order = sorted(variants, key=lambda variant: _key(scores[variant], wanted, declared.best, variant))
    standings = [
        Standing(
            place,
            variant,
            fields=tuple(texts[variant] for texts in fields.values()),
            trials=tuple(variants[variant]),
            scores=scores[variant],
            known=known[variant],
            wanted=wanted,
            cost=_cost(variants[variant], question.split, speeds[variant]),
        )
        for place, variant in enumerate(order, start=1)
    ]
    measured = tuple(_measured(standings, declared))
    baseline = _baseline(study.trials, metric)
    return Comparison(study, question.split, declared, tuple(fields), measured, baseline, question.over)


def _metric(trials: Sequence[Trial], question: Question) -> str:
    there = {record['split'] for trial in trials for record in trial.records if 'split' in record}
    splits = sorted(there - {PLAN, BASELINE})
    if question.split not in splits:
        raise UserError(f'--split={question.split}: no run logs it; there are {", ".join(splits) or "no splits yet"}')
    records = [record for trial in trials for record in trial.of(question.split)]
    names = sorted({name for record in records for name in record} - {'step', 'split'})
    if not names:
        raise UserError(f'--split={question.split}: its records hold no metrics; name another split')
    if question.metric is not None and question.metric not in names:
        logged = listed(names, question.metric)
        raise UserError(f'--metric={question.metric}: no run logs it for {question.split}; there are {logged}')
    ends = [record for trial in trials if (record := trial.final(question.split))] or records
    ranking = sorted({trial.declared.best_by for trial in trials} - {''})
    preferred = (_OF_TEXT, *(ranking if len(ranking) == 1 else ()), 'loss')
    everywhere = (name for name in preferred if all(name in record for record in ends))
    return question.metric or next(everywhere, names[0])


def _declared(trials: Sequence[Trial], name: str, best: Best | None) -> Metric:
    """Return the declaration of a metric that the runs agree on, with the end that is asked for."""
    found = {trial.declared.metrics[name] for trial in trials if name in trial.declared.metrics}
    declared = found.pop() if len(found) == 1 else Metric(name, None)
    if best is None and declared.best is None:
        why = 'the runs declare it in different ways' if found else 'no run declares which end of it is best'
        raise UserError(f'--metric={name}: {why}; say --best=lowest or --best=highest')
    return replace(declared, best=best or declared.best)


def _baseline(trials: Sequence[Trial], metric: str) -> float | None:
    found = {_value(record, metric) for trial in trials for record in trial.of(BASELINE)}
    return found.pop() if len(found) == 1 else None


def _fields(variants: Mapping[str, Sequence[Trial]]) -> dict[str, dict[str, str]]:
    """Value of each differing field by variant; ABSENT for one of which no run has begun."""
    configs = {variant: next((run.config for run in runs if run.config), None) for variant, runs in variants.items()}
    begun = {
        variant: {name: value for name, value in config.items() if name != 'seed'}
        for variant, config in configs.items()
        if config
    }
    found = differing(list(begun.values()))
    absent = dict.fromkeys(variants, ABSENT)
    return {name: {**absent, **dict(zip(begun, texts, strict=True))} for name, texts in found.items()}


def bounded(metric: Metric, interval: Interval | None) -> Interval | None:
    """Return an interval of a mean without what is outside the range of the metric."""
    if interval is None:
        return None
    low = interval.low if metric.low is None else max(interval.low, metric.low)
    return Interval(low, interval.high if metric.high is None else min(interval.high, metric.high))


def final_scores(trials: Sequence[Trial], split: str, metric: str) -> dict[int, float]:
    """The final metric by seed, in the order of seeds; a seed that was run twice counts once, by its mean.

    A seed is left out where a run of it has finished with a metric that is not finite.
    """
    found: dict[int, list[float]] = {}
    for trial in trials:
        value = _value(trial.final(split), metric)
        if value is not None:
            found.setdefault(trial.seed, []).append(value)
    return {seed: _mean(found[seed]) for seed in sorted(found) if all(map(math.isfinite, found[seed]))}


def _value(record: Record | None, metric: str) -> float | None:
    return None if record is None or metric not in record else float(record[metric])


def _key(scores: Mapping[int, float], wanted: int, best: Best, variant: str) -> tuple[bool, bool, float, str]:
    """Order of the ranking: variants that are complete, others that have a finished run, and the rest."""
    sign = 1 if best == 'lowest' else -1
    return not scores, len(scores) < wanted, sign * _mean(scores.values()) if scores else 0.0, variant


def _speed_intervals(variants: Mapping[str, Sequence[Trial]], split: str) -> dict[str, Interval | None]:
    """The interval of each variant's mean speed over its finished runs; no speed is below zero."""
    speeds = {name: [speed(trial) for trial in trials if trial.final(split)] for name, trials in variants.items()}
    groups = {name: values for name, values in speeds.items() if values and None not in values}
    found = zip(groups, mean_intervals(list(groups.values())), strict=True)
    intervals = {name: interval and Interval(max(interval.low, 0.0), interval.high) for name, interval in found}
    return {name: intervals.get(name) for name in variants}


def _cost(trials: Sequence[Trial], split: str, speed_interval: Interval | None) -> Cost:
    finished = [trial for trial in trials if trial.final(split)]
    plans = [(trial.plan, trial.steps) for trial in finished or trials if trial.plan]
    plan, steps = plans[0] if plans else ({}, None)
    flops, tokens = plan.get('flops'), plan.get('tokens')
    state, rows = plan.get('state_bytes'), trials[0].config.get('batch_size')
    spent = [seconds(trial, [trial.steps]) for trial in finished]
    return Cost(
        parameters=plan.get('parameters'),
        flops_per_token=flops / tokens if tokens else None,
        flops=flops * steps if steps else None,
        seconds=_mean_or_none([None if time is None else float(time[0]) for time in spent]),
        speed=_mean_or_none([speed(trial) for trial in finished]),
        speed_interval=speed_interval,
        temp_bytes=plan.get('temp_bytes'),
        state_bytes=state,
        state_per_token=state * rows / tokens if state is not None and rows else None,
    )


def _measured(standings: Sequence[Standing], metric: Metric) -> Iterator[Standing]:
    """Add what depends on all standings: means, intervals, differences to the best, seeds to tell apart."""
    scores = [standing.scores for standing in standings if standing.scores]
    intervals = mean_intervals([list(group.values()) for group in scores])
    differences = difference_intervals(scores, best=0) if scores else []
    for standing, interval, beside in zip(standings, intervals, differences, strict=False):
        mean = _mean(standing.scores.values())
        difference = None if standing.place == 1 else mean - _mean(scores[0].values())
        # The seeds that an incomplete variant has left are no sample of its seeds.
        unclear = standing.complete and standings[0].complete and beside is not None and beside.holds(0.0)
        yield replace(
            standing,
            mean=mean,
            interval=bounded(metric, interval),
            difference=difference,
            difference_interval=beside,
            seeds_to_tell=seeds_to_tell(standing.scores, scores[0]) if unclear else None,
        )
    yield from standings[len(scores) :]


def _mean(values: Collection[float]) -> float:
    return math.fsum(values) / len(values)


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return _mean(known) if known and len(known) == len(values) else None
