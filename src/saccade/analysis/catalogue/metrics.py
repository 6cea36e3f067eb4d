# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Table of all metrics that Saccade declares: best end, range, unit, and what declares them."""

import inspect
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from saccade.analysis.report.figures import Table
from saccade.build import all_modules
from saccade.parts import sources
from saccade.types import Metric, Part

COLUMNS = ('metric', 'best', 'range', 'unit', 'depends on', 'declared by')

_DECLARES = re.compile(r'^\s*(?:(?:reports|evaluates): |def (?:reports|evaluates)\(|@declares\()', re.MULTILINE)
_AMONG = {'': '', 'batch': 'batch_size', 'split': 'the whole split'}


def metric_table() -> Table:
    """Return the table, by the names of the metrics."""
    owners: dict[Metric, list[str]] = {}
    for owner, metric in declarations():
        owners.setdefault(metric, []).append(Part(owner).name)
    rows = [
        (metric.name, metric.best or 'neither', _range(metric), metric.unit, _AMONG[metric.among], ', '.join(names))
        for metric, names in sorted(owners.items(), key=lambda item: (item[0].name, item[1]))
    ]
    return Table('', COLUMNS, rows)


def declarations() -> Iterator[tuple[Any, Metric]]:
    """Yield each class or function that declares metrics itself, with each of these."""
    rooms = dict.fromkeys(module.split('.')[1] for module, text in sources().items() if _DECLARES.search(text))
    for module in itertools.chain(*map(all_modules, rooms)):
        for owner in vars(module).values():
            if getattr(owner, '__module__', '') == module.__name__:
                yield from ((owner, metric) for metric in _own(owner))


def _own(owner: Any) -> dict[Metric, None]:
    """The declarations that are not inherited, each once."""
    found: dict[Metric, None] = {}
    for kind in ('reports', 'evaluates'):
        declared = vars(owner).get(kind, ()) if hasattr(owner, '__dict__') else ()
        found |= dict.fromkeys(_made(owner, kind) if isinstance(declared, property) else declared)
    if hasattr(owner, 'bare'):  # of a task: its own loss, where parts add losses
        found |= {replace(metric, name=owner.bare): None for metric in found if metric.name == 'loss'}
    return found


def _made(owner: Any, kind: str) -> tuple[Metric, ...]:
    """The declarations of an object of a class by its defaults; none where it has fields without one."""
    required = [each for each in inspect.signature(owner).parameters.values() if each.default is each.empty]
    return () if required else getattr(owner(), kind)


def _range(metric: Metric) -> str:
    low = '' if metric.low is None else f'from {metric.low:g}'
    high = '' if metric.high is None else f'to {metric.high:g}'
    return ' '.join(filter(None, [low, high])) or 'any'
