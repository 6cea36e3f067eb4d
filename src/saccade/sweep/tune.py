# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tuning of each variant before it is compared: a search over learning rates, say, on seeds of its own.

    tune=dict(by={'schedule.peak': [3e-4, 1e-3, 3e-3, 1e-2]}, seeds=[100])
    tune=dict(by={...}, seeds=[100, 101], metric='accuracy', split='validation_256', best='highest')

Every variant is trained with each combination of the values. The best of them, by the mean over these seeds, is what it
is compared with on the sweep's own seeds, so that no variant is compared by the runs that it was chosen by. Arora et
al. 2023, "Zoology", https://arxiv.org/abs/2312.04927, tune four rates for each; recurrent mixers learn recall in a
narrow window of rates alone (Okpekpe, Orvieto 2025, https://arxiv.org/abs/2508.19029).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from saccade.sweep.naming import names
from saccade.sweep.space import Point, grid
from saccade.types import UserError

_KEYS = ('by', 'seeds', 'metric', 'split', 'best')


@dataclass(frozen=True)
class Tune:
    """Search for the settings of each variant.

    Attributes:
        points: the settings that are tried, by their names.
        seeds: of the search alone.
        metric, split, best: by what they are chosen; see `analysis.report.compare:Question`.
    """

    points: Mapping[str, Point]
    seeds: tuple[int, ...]
    metric: str | None = None
    split: str = 'validation'
    best: Literal['lowest', 'highest'] | None = None

    @classmethod
    def of(cls, spec: Any, seeds: Sequence[int]) -> 'Tune':
        """Read what stands under `tune` in a sweep.

        Args:
            seeds: of the sweep, which the search may not use.

        Raises:
            UserError: it is not as above.
        """
        if not isinstance(spec, Mapping) or not {'by', 'seeds'} <= spec.keys() <= {*_KEYS}:
            raise UserError(f"tune: write dict(by={{'schedule.peak': [1e-3, 3e-3]}}, seeds=[100]), not {spec!r}")
        own = spec['seeds']
        whole = isinstance(own, list | tuple) and own and all(type(seed) is int and seed >= 0 for seed in own)
        if not whole or len({*own}) < len(own):
            raise UserError(f'tune.seeds: write a list of different whole numbers, not {own!r}')
        if shared := sorted({*own} & {*seeds}):
            raise UserError(f'tune.seeds: {shared[0]} is a seed of the comparison too; a search has seeds of its own')
        if spec.get('best') not in (None, 'lowest', 'highest'):
            raise UserError(f"tune.best: must be 'lowest' or 'highest', not {spec['best']!r}")
        tried = grid(spec['by'], 'tune.by')
        if not tried:
            raise UserError('tune.by: it is empty; write a dict of fields and their values')
        rest = {key: spec[key] for key in _KEYS[2:] if key in spec}
        return cls(dict(zip(names(tried), tried, strict=True)), tuple(own), **rest)

    @property
    def fields(self) -> list[str]:
        """What is tuned."""
        return [*next(iter(self.points.values()))]
