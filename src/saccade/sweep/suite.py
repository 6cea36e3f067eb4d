# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Suite: several sweeps, of the same variants or of published claims, each in its own subfolder.

A suite file defines `get_suite()`, which returns a dict from the name of each sweep to a dict with

    config  experiment file
    sweep   sweep file
    fields  config fields for all runs: {'batch_size': 32}; optional
    size    name of a size of the sweep, used if the command line gives none; optional
    control name of a variant that must solve the task for the sweep to be evidence, a positive control; optional
    claim   fields of a `Claim`, declared before the runs; optional

The first paragraph of its docstring is the suite's title, and the others, but for indented commands, are the notes
at the head of the suite's pages.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from saccade.sweep.plan import as_overrides
from saccade.train.config_file import run_file
from saccade.types import UserError

_NAME = re.compile(r'[A-Za-z0-9][\w.-]*')  # also a folder's name
_KEYS = ('config', 'sweep', 'fields', 'size', 'control', 'claim')


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Published claim: one variant is better than others by more than a margin.

    Attributes:
        says: the claim, in words.
        source: address of the publication.
        better: variant that is better according to the claim.
        worse: variants that it is better than.
        metric: metric that decides.
        margin: smallest difference that confirms the claim, in the metric's unit; negative for a loss that the claim
            allows.
        splits: splits on which the claim is made; all must agree.
        since: split whose metric is subtracted, for a claim about a change; None for the metric itself.
    """

    says: str
    source: str
    better: str
    worse: tuple[str, ...]
    metric: str
    margin: float
    splits: tuple[str, ...] = ('validation',)
    since: str | None = None


@dataclass(frozen=True)
class SuiteTask:
    """Task of a suite: a sweep.

    Attributes: name; config and sweep, files; overrides of the config; size of the sweep, None for the whole sweep;
    claim that the sweep decides, None without one; control, variant that is the positive control, None without one.
    """

    name: str
    config: str
    sweep: str
    overrides: tuple[str, ...]
    size: str | None
    claim: Claim | None = None
    control: str | None = None

    def flags(self, workdir: Path) -> list[str]:
        """Return its flags of launch/sweep.py, with its own folder below the suite's."""
        files = [f'--config={self.config}', f'--sweep={self.sweep}']
        return [*files, f'--workdir={workdir / self.name}', *self.overrides]


@dataclass(frozen=True)
class Suite:
    """Suite of sweeps. Attributes: title; tasks, in order; notes, paragraphs for the reader of its pages."""

    title: str
    tasks: tuple[SuiteTask, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: str) -> 'Suite':
        """Read a suite file.

        Raises:
            UserError: the file is not a suite; the message names the task and the key.
        """
        spec, doc = run_file('suite', path, 'get_suite')
        if not isinstance(spec, Mapping) or not spec:
            raise UserError(
                f'--suite={path}: get_suite() must return a dict of tasks, name=dict(config=..., sweep=...)'
            )
        title, *others = inspect.cleandoc(doc).split('\n\n')
        notes = (' '.join(each.split()) for each in others if not each.startswith(' '))
        tasks = (_task(f'--suite={path}', *item) for item in spec.items())
        return cls(' '.join(title.split()).rstrip('.') or Path(path).stem, tuple(tasks), tuple(notes))


def _task(where: str, name: Any, spec: Any) -> SuiteTask:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UserError(f'{where}: {name!r} cannot be the name of a folder; write letters, digits, _, - and .')
    if not isinstance(spec, Mapping) or not {'config', 'sweep'} <= set(spec) <= {*_KEYS}:
        raise UserError(
            f'{where}: {name}: write a dict of config, sweep and, optionally, fields, size, control and claim'
        )
    overrides, claim = tuple(as_overrides(spec.get('fields', {}))), spec.get('claim')
    for key in ('worse', 'splits'):
        if isinstance(claim, Mapping) and isinstance(claim.get(key), str):
            raise UserError(f'{where}: {name}: claim.{key}: write a list of names, not {claim[key]!r}')
    try:
        decided = None if claim is None else Claim(**{key: _immutable(value) for key, value in claim.items()})
    except (TypeError, AttributeError):
        needed = ', '.join(field.name for field in fields(Claim) if field.default is MISSING)
        raise UserError(f'{where}: {name}: a claim is a dict of {needed} and, optionally, splits and since') from None
    return SuiteTask(name, spec['config'], spec['sweep'], overrides, spec.get('size'), decided, spec.get('control'))


def _immutable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
