# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of variants that take turns, A B A B ...: the ratios of their speeds, round by round.

A machine's speed drifts over a run, and a ratio within one round does not see it; so what counts is the median of
the rounds' ratios and not the ratio of medians.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol, TypeVar, runtime_checkable

from saccade.analysis.report.figures import Table
from saccade.types import UserError

T = TypeVar('T')


@runtime_checkable
class Variant(Protocol):
    """Protocol of a variant under measurement, as its worker process is called."""

    def ask(self, method: str, **arguments: Any) -> Any:
        """Call a method of the variant in its worker process, and return its value."""
        ...


@dataclass(frozen=True)
class Comparison:
    """Comparison of speeds.

    Attributes: tokens a step; seconds a step of each variant, round by round; which variants are the peers.
    """

    tokens: int
    seconds: Mapping[str, list[float]]
    peers: tuple[str, ...]

    @property
    def ours(self) -> list[str]:
        """Names of our variants: all but the peers."""
        return [name for name in self.seconds if name not in self.peers]

    def tokens_per_second(self, name: str) -> float:
        """Median over the rounds."""
        return median(self.tokens / seconds for seconds in self.seconds[name])

    def ratios(self, ours: str, peer: str) -> list[float]:
        """Our speed over the peer's in each round: above 1 we are faster."""
        pairs = zip(self.seconds[ours], self.seconds[peer], strict=True)
        return [theirs / our_own for our_own, theirs in pairs]

    def against_best(self, ours: str) -> float:
        """Median of our speed over that of the round's fastest peer."""
        rounds = zip(*(self.ratios(ours, peer) for peer in self.peers), strict=True)
        return median(map(min, rounds))

    def data(self) -> dict[str, Any]:
        """All figures, for programs."""
        return {
            'tokens_per_step': self.tokens,
            'variants': {
                name: {'seconds': seconds, 'tokens_per_second': self.tokens_per_second(name)}
                for name, seconds in self.seconds.items()
            },
            'ratios': {
                ours: {
                    **{peer: self._ratio(ours, peer) for peer in self.peers},
                    'best peer': {'median': self.against_best(ours)},
                }
                for ours in self.ours
            },
        }

    def speeds(self, title: str) -> Table:
        """Speed of each variant."""
        rows = [
            (name, f'{1000 * median(seconds):,.1f}', f'{self.tokens_per_second(name):,.0f}')
            for name, seconds in self.seconds.items()
        ]
        return Table(title, ('variant', 'ms', 'tokens/s'), rows)

    def table(self, title: str) -> Table:
        """Ratio of each of ours to each peer, with the spread over the rounds."""
        rows = [(ours, peer, *_spread(self.ratios(ours, peer))) for ours in self.ours for peer in self.peers]
        rows += [
            (ours, 'the faster', f'{self.against_best(ours):.3f}', '') for ours in self.ours if len(self.peers) > 1
        ]
        return Table(title, ('ours', 'peer', 'ratio', 'over the rounds'), rows)

    def _ratio(self, ours: str, peer: str) -> dict[str, Any]:
        ratios = self.ratios(ours, peer)
        return {'median': median(ratios), 'rounds': ratios}


def alternate(variants: Mapping[str, Variant], rounds: int, steps: int, **arguments: Any) -> dict[str, list[float]]:
    """Let the variants step in turn, and return seconds a step of each, round by round.

    One round more is run before, as a warm-up, and does not count.

    Args:
        steps: that each variant takes in its turn.
        arguments: of the variants' `step`, beside `count`.

    Raises:
        UserError: there would be no round, or no step in one.
    """
    for flag, value in (('rounds', rounds), ('steps', steps)):
        if value < 1:
            raise UserError(f'--{flag}={value}: must be at least 1')
    taken: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds + 1):
        for name, variant in variants.items():
            taken[name].append(variant.ask('step', count=steps, **arguments) / steps)
    return {name: seconds[1:] for name, seconds in taken.items()}


def choose(sizes: Mapping[str, T], name: str | None) -> T:
    """Return the size of this name; without one, the first.

    Raises:
        UserError: there is none.
    """
    if name is not None and name not in sizes:
        raise UserError(f'--size={name}: there is no such size; there are {", ".join(sizes)}')
    return next(iter(sizes.values())) if name is None else sizes[name]


def _spread(ratios: list[float]) -> tuple[str, str]:
    return f'{median(ratios):.3f}', f'{min(ratios):.3f} to {max(ratios):.3f}'
