# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of variants: means over seeds with intervals, and costs."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from saccade.analysis.report.cost import seconds, speed
from saccade.analysis.report.fields import ABSENT, differing
from saccade.analysis.report.interval import Interval, difference_intervals, mean_intervals
from saccade.analysis.report.power import seeds_to_tell
from saccade.analysis.report.runs import BASELINE, PLAN, NothingLoggedError, Record, Study, Trial
from saccade.nearest import listed, nearest
from saccade.train.log.log import OUTCOME, PART
from saccade.types import Best, Metric, UserError, difference

PICTURED = 12  # maximum variants that are distinguishable in one picture
PRIMARY_SPLIT = 'validation'
STATES = ('finished', 'failed', 'unfinished', 'not started')

_OF_TEXT = 'bits_per_byte'  # preferred to a loss, as it does not depend on the tokenizer


@dataclass(frozen=True)
class StudyQuestion:
    """Question to a study.

    Attributes:
        metric: metric of the ranking; None: the sweep's own, or bits_per_byte if every finished run has it, or else the
            metric of their checkpoints, or loss.
        best: direction of the metric; None: as declared by the runs.
        over: baseline variant; None: the sweep's own, if it has one.
        only: regular expression of the names of the variants to compare; '' for all.
    """

    metric: str | None = None
    split: str = PRIMARY_SPLIT
    best: Best | None = None
    over: str | None = None
    only: str = ''


@dataclass(frozen=True)
class RunCost:
    """Cost of one run of a variant; fields are None if its runs did not log them.

    Attributes:
        flops, seconds: FLOPs and time of the whole training, mean over seeds.
        speed: tokens per second, with its interval over seeds, if there is one.
        temp_bytes: temporary memory of a step per device, without arguments and results.
        state_bytes: size of the decoding state of a sequence as long as the context.
        state_per_token: state_bytes divided by the number of tokens.
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
class RankedVariant:
    """Standing of one variant in the ranking.

    Attributes:
        place: 1, 2, ... among all variants of the study; complete variants come first.
        fields: values of the differing fields, as text.
        scores: final metric of the finished runs, by seed.
        mean: mean of the scores; None if no run has finished, and then the variant is not ranked.
        difference: the mean minus the best variant's mean; None for the best variant.
        known: planned seeds, finished or not.
        wanted: number of seeds of a complete variant, the maximum over variants.
        seeds_to_tell: number of seeds that would distinguish it from the best variant; None if the interval already
            does, or the difference is unknown.
    """

    place: int
    variant: str
    fields: tuple[str, ...]
    trials: tuple[Trial, ...] = field(repr=False)
    scores: Mapping[int, float]
    known: int
    wanted: int
    cost: RunCost
    mean: float | None = None
    interval: Interval | None = None
    difference: float | None = None
    difference_interval: Interval | None = None
    seeds_to_tell: int | None = None

    @property
    def complete(self) -> bool:
        """True if all seeds have finished with a finite metric; a mean over some of the seeds would be biased."""
        return len(self.scores) == self.wanted

    @property
    def label(self) -> str:
        """Return the name of the variant; for an incomplete one, with the number of finished and planned seeds."""
        return self.variant if self.complete else f'{self.variant} ({len(self.scores)} of {self.wanted} seeds)'


@dataclass(frozen=True)
class Comparison:
    """Comparison of variants.

    Attributes:
        declared: declaration of the metric of the ranking.
        columns: names of the differing fields.
        standings: best first and unranked ones last.
        baseline: metric of the runs' baseline, if all runs with a baseline agree on it.
        over: baseline variant of differences and multipliers; None without one.
    """

    study: Study
    split: str
    declared: Metric
    columns: tuple[str, ...]
    standings: tuple[RankedVariant, ...]
    baseline: float | None = None
    over: str | None = None

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.declared.name

    @property
    def best(self) -> Best:
        """Direction of the metric."""
        return self.declared.best

    @property
    def margin(self) -> float | None:
        """Margin of the sweep; None without one, or for another comparison than the sweep's primary one."""
        declared = self.study.primary
        own = (declared.metric, PRIMARY_SPLIT, declared.baseline) == (self.metric, self.split, self.over)
        return declared.margin if own else None

    @property
    def loss(self) -> float | None:
        """Difference to the baseline of a variant that loses exactly the margin; None without a margin."""
        return None if self.margin is None else self.margin if self.best == 'lowest' else -self.margin

    @property
    def incomplete(self) -> tuple[RankedVariant, ...]:
        """Ranked variants with failed, diverged or missing seeds."""
        return tuple(standing for standing in self.ranked if not standing.complete)

    @property
    def behind(self) -> tuple[RankedVariant, ...]:
        """Ranked variants that do not beat the baseline."""
        if self.baseline is None:
            return ()
        sign = 1 if self.best == 'lowest' else -1
        return tuple(standing for standing in self.ranked if sign * standing.mean >= sign * self.baseline)

    @cached_property
    def states(self) -> Mapping[str, int]:
        """Number of runs by state."""
        counts = Counter(trial.state(self.split) for trial in self.study.trials)
        return {state: counts[state] for state in STATES}

    @property
    def ranked(self) -> tuple[RankedVariant, ...]:
        """Variants with a finished run: complete ones, best first, and then the others, best first."""
        return tuple(standing for standing in self.standings if standing.mean is not None)

    @property
    def pictured(self) -> tuple[RankedVariant, ...]:
        """Variants to draw: only the best ones, if there are too many."""
        return self.standings[:PICTURED]

    def value(self, trial: Trial) -> float | None:
        """Return the final metric of a run, finite or not; None if it has not finished."""
        return _value(trial.final(self.split), self.metric)


def compare(study: Study, question: StudyQuestion) -> Comparison:
    """Rank the variants of a study.

    Raises:
        UserError: no run logs this split or metric, `over` names no variant, `only` matches none, or neither the runs
            nor the question give the direction of the metric.
    """
    study = _only(study, question.only)
    over = question.over or study.primary.baseline
    metric = _metric(study, question)
    declared = _declared(study.trials, metric, question.best)
    variants: dict[str, list[Trial]] = {}
    for trial in study.trials:
        variants.setdefault(trial.variant, []).append(trial)
    if over is not None and over not in variants:
        raise UserError(f'--baseline={over}: no variant has this name{nearest(over, variants)}')
    fields = _fields(variants)
    scores = {variant: final_scores(trials, question.split, metric) for variant, trials in variants.items()}
    speeds = _speed_intervals(variants, question.split)
    known = {variant: len({trial.seed for trial in trials}) for variant, trials in variants.items()}
    wanted = max(known.values())
    order = sorted(variants, key=lambda variant: _key(scores[variant], wanted, declared.best, variant))
    standings = [
        RankedVariant(
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
    baseline = _baseline(study.trials, metric) if question.split == 'validation' else None  # of this split only
    return Comparison(study, question.split, declared, tuple(fields), measured, baseline, over)


def _only(study: Study, pattern: str) -> Study:
    """Return the study of the variants whose names match; without its baseline, if that is not among them."""
    if not pattern:
        return study
    try:
        trials = tuple(trial for trial in study.trials if re.search(pattern, trial.variant))
    except re.error as error:
        raise UserError(f'--variants={pattern}: not a regular expression: {error}') from None
    names = {trial.variant for trial in trials}
    if not names:
        there = ', '.join(dict.fromkeys(trial.variant for trial in study.trials))
        raise UserError(f'--variants={pattern}: no variant matches; there are {there}')
    primary = study.primary if study.primary.baseline in names else replace(study.primary, baseline=None)
    return replace(study, trials=trials, primary=primary)


def _metric(study: Study, question: StudyQuestion) -> str:
    trials = study.trials
    there = {record['split'].removesuffix(PART) for trial in trials for record in trial.records if 'split' in record}
    splits = sorted(there - {PLAN, BASELINE, OUTCOME})
    if question.split not in splits:
        listing = ', '.join(splits) or 'no splits yet'
        raise NothingLoggedError(f'--split={question.split}: no run logs it; there are {listing}')
    records = [record for trial in trials for record in trial.of(question.split) or trial.course(question.split)]
    names = sorted({name for record in records for name in record} - {'step', 'split'})
    if not names:
        raise UserError(f'--split={question.split}: its records hold no metrics; name another split')
    asked = question.metric or study.primary.metric
    if asked is not None and asked not in names:
        where = f'--metric={asked}' if question.metric else f"the sweep's metric, {asked}"
        raise UserError(f'{where}: no run logs it for {question.split}; there are {listed(names, asked)}')
    ends = [record for trial in trials if (record := trial.final(question.split))] or records
    ranking = sorted({trial.declared.best_by for trial in trials} - {''})
    preferred = (_OF_TEXT, *(ranking if len(ranking) == 1 else ()), 'loss')
    everywhere = (name for name in preferred if all(name in record for record in ends))
    return asked or next(everywhere, names[0])


def _declared(trials: Sequence[Trial], name: str, best: Best | None) -> Metric:
    """Return the runs' declaration of a metric, with the given direction, if any."""
    found = {trial.declared.metrics[name] for trial in trials if name in trial.declared.metrics}
    declared = found.pop() if len(found) == 1 else Metric(name, None)
    if best is None and declared.best is None:
        why = 'the runs declare it in different ways' if found else 'no run declares its direction'
        raise UserError(f'--metric={name}: {why}; give --best=lowest or --best=highest')
    return replace(declared, best=best or declared.best)


def _baseline(trials: Sequence[Trial], metric: str) -> float | None:
    found = {_value(record, metric) for trial in trials for record in trial.of(BASELINE)}
    return found.pop() if len(found) == 1 else None


def _fields(variants: Mapping[str, Sequence[Trial]]) -> dict[str, dict[str, str]]:
    """Return the values of each differing field by variant; ABSENT for a variant without a started run."""
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
    """Return an interval of a mean of the metric, or of its differences, clipped to its range."""
    if interval is None:
        return None
    low = interval.low if metric.low is None else max(interval.low, metric.low)
    return Interval(low, interval.high if metric.high is None else min(interval.high, metric.high))


def final_scores(trials: Sequence[Trial], split: str, metric: str) -> dict[int, float]:
    """Return the final metric by seed, in the order of seeds; two runs of one seed are averaged.

    A seed with a finished run whose metric is not finite is left out.
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
    """Sort key of the ranking: complete variants, other variants with a finished run, and the rest."""
    sign = 1 if best == 'lowest' else -1
    return not scores, len(scores) < wanted, sign * _mean(scores.values()) if scores else 0.0, variant


def _speed_intervals(variants: Mapping[str, Sequence[Trial]], split: str) -> dict[str, Interval | None]:
    """Return the interval of each variant's mean speed over its finished runs, clipped at zero."""
    speeds = {name: [speed(trial) for trial in trials if trial.final(split)] for name, trials in variants.items()}
    groups = {name: values for name, values in speeds.items() if values and None not in values}
    found = zip(groups, mean_intervals(list(groups.values())), strict=True)
    intervals = {name: interval and Interval(max(interval.low, 0.0), interval.high) for name, interval in found}
    return {name: intervals.get(name) for name in variants}


def _cost(trials: Sequence[Trial], split: str, speed_interval: Interval | None) -> RunCost:
    finished = [trial for trial in trials if trial.final(split)]
    planned = [trial for trial in finished or trials if trial.plan]
    plan = planned[0].plan if planned else {}
    flops, tokens = plan.get('flops'), plan.get('tokens')
    state, rows = plan.get('state_bytes'), trials[0].config.get('batch_size')
    spent = [seconds(trial, [trial.end]) for trial in finished]
    return RunCost(
        parameters=plan.get('parameters'),
        flops_per_token=flops / tokens if tokens else None,
        flops=flops * _mean([float(trial.end) for trial in planned]) if planned else None,
        seconds=_mean_or_none([None if time is None else float(time[0]) for time in spent]),
        speed=_mean_or_none([speed(trial) for trial in finished]),
        speed_interval=speed_interval,
        temp_bytes=plan.get('temp_bytes'),
        state_bytes=state,
        state_per_token=state * rows / tokens if state is not None and rows else None,
    )


def _measured(standings: Sequence[RankedVariant], metric: Metric) -> Iterator[RankedVariant]:
    """Add means, intervals, differences to the best and numbers of seeds, which depend on all variants."""
    scores = [standing.scores for standing in standings if standing.scores]
    intervals = mean_intervals([list(group.values()) for group in scores])
    differences = difference_intervals(scores, best=0) if scores else []
    for standing, interval, span in zip(standings, intervals, differences, strict=False):
        mean = _mean(standing.scores.values())
        change = None if standing.place == 1 else mean - _mean(scores[0].values())
        # The remaining seeds of an incomplete variant are a biased sample.
        unclear = standing.complete and standings[0].complete and span is not None and span.holds(0.0)
        yield replace(
            standing,
            mean=mean,
            interval=bounded(metric, interval),
            difference=change,
            difference_interval=bounded(difference(metric), span),
            seeds_to_tell=seeds_to_tell(standing.scores, scores[0]) if unclear else None,
        )
    yield from standings[len(scores) :]


def _mean(values: Collection[float]) -> float:
    mean = math.fsum(values) / len(values)
    return min(max(mean, min(values)), max(values))  # by rounding it may be outside of equal values


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return _mean(known) if known and len(known) == len(values) else None
