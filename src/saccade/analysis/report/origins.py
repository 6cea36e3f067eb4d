# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Provenance of the runs of a study: shared and differing code, libraries and hardware."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from saccade.analysis.report.runs import Trial
from saccade.analysis.report.words import UNKNOWN, counted

Start = Mapping[str, Any]

_COMMIT = 10  # shown characters of a commit
_ENDINGS = {'running': 'no end recorded: it was killed, or is running'}


@dataclass(frozen=True)
class OriginGroup:
    """Runs of the same provenance. Attributes: values of the columns of `Origins`; runs, names of the runs."""

    values: tuple[str, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Origins:
    """Provenance of the runs of a study.

    Attributes: shared, fields in which all runs agree; columns, fields in which runs differ; groups of runs that agree
    in these, largest first; unrecorded, names of runs without a record; recorded, number of runs with a record.
    """

    shared: Mapping[str, str]
    columns: tuple[str, ...]
    groups: tuple[OriginGroup, ...]
    unrecorded: tuple[str, ...]
    recorded: int

    def lines(self) -> list[str]:
        """Return sentences on differing fields, missing records and shared fields."""
        if not self.recorded:
            return ['No run has a record of its provenance.']
        shared = ', '.join(text if name in _PLAIN else f'{name} {text}' for name, text in self.shared.items())
        runs = 'All runs' if not self.unrecorded else 'All runs with a record'
        names = '; '.join(self.unrecorded)
        return [
            *([f'Runs differ in {", ".join(self.columns)}.'] if self.columns else []),
            *([f'{counted(len(self.unrecorded), "run")} without a record of provenance: {names}.'] if names else []),
            *([f'{runs}: {shared}.'] if shared else []),
        ]

    def summary(self) -> dict[str, Any]:
        """Return the provenance for JSON output."""
        differing = [
            {'values': dict(zip(self.columns, group.values, strict=True)), 'runs': list(group.runs)}
            for group in self.groups
        ]
        return {'shared': dict(self.shared), 'differing': differing, 'unrecorded': list(self.unrecorded)}


def origins(trials: Sequence[Trial]) -> Origins:
    """Compare the provenance of all started runs."""
    begun = [trial for trial in trials if trial.config]
    recorded = [trial for trial in begun if trial.starts]
    modules = sorted({name for trial in recorded for start in trial.starts for name in start.get('modules', {})})
    own = {f'code {name}': partial(_module, name) for name in modules}
    # A run that was resumed elsewhere has several values of a field, in order of its starts.
    values = {
        name: [', then '.join(dict.fromkeys(say(start) or UNKNOWN for start in trial.starts)) for trial in recorded]
        for name, say in {**_FIELDS, **own}.items()
    }
    # A variant that does not import a module does not differ in it.
    distinct = {name: sorted(set(texts) - ({UNKNOWN} if name in own else set())) for name, texts in values.items()}
    same = {name: texts[0] for name, texts in distinct.items() if len(texts) == 1}
    columns = tuple(name for name, texts in distinct.items() if len(texts) > 1)
    groups: dict[tuple[str, ...], list[str]] = {}
    for trial, *texts in zip(recorded, *(values[name] for name in columns), strict=True):
        groups.setdefault(tuple(texts), []).append(trial.name)
    largest_first = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return Origins(
        shared={name: text for name, text in same.items() if text != UNKNOWN},
        columns=columns,
        groups=tuple(OriginGroup(found, tuple(runs)) for found, runs in largest_first) if columns else (),
        unrecorded=tuple(trial.name for trial in begun if not trial.starts),
        recorded=len(recorded),
    )


def started(start: Start) -> str:
    """Return beginning, end and status of a start as text."""
    times = [start.get(name, '').replace('T', ' ').replace('+00:00', '') for name in ('start', 'end')]
    status = start.get('status', UNKNOWN)
    ending = _ENDINGS.get(status, status)
    error = f' ({start["error"]})' if 'error' in start else ''
    return f'{" to ".join(filter(None, times))} UTC: {ending}{error}'


def _field(name: str) -> Callable[[Start], str | None]:
    return lambda start: start.get(name)


def _commit(start: Start) -> str | None:
    state = {True: ' (clean)', False: ' (with uncommitted changes)'}.get(start.get('clean'), '')
    return f'{start["commit"][:_COMMIT]}{state}' if 'commit' in start else None


def _module(name: str, start: Start) -> str | None:
    """Return the digest of a module outside the package, with the commit and state of its file."""
    module = start.get('modules', {}).get(name)
    if module is None:
        return None
    commit, comma, state = module.get('git', UNKNOWN).partition(', ')
    git = f'{commit[:_COMMIT]}, {state}' if comma else commit
    return f'{module.get("sha256", UNKNOWN)[:_COMMIT]} ({git})'


def _devices(start: Start) -> str | None:
    if 'device' not in start:
        return None
    count, processes = start.get('devices', 1), start.get('processes', 1)
    several = f'{count} x ' if count != 1 else ''
    return f'{several}{start["device"]}' + (f' in {processes} processes' if processes != 1 else '')


def _processor(start: Start) -> str | None:
    if 'processor' not in start:
        return None
    cores = [counted(start['cores'], 'core')] if 'cores' in start else []
    return ', '.join([start['processor'], *cores])


_FIELDS: Mapping[str, Callable[[Start], str | None]] = {
    'Saccade': _field('saccade'),
    'commit': _commit,
    'jax': _field('jax'),
    'jaxlib': _field('jaxlib'),
    'flax': _field('flax'),
    'Python': _field('python'),
    'device': _devices,
    'processor': _processor,
    'host': _field('host'),
}
_PLAIN = ('processor',)  # fields with self-explanatory values
