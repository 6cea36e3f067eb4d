# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Catalogue of parts: each is found by the protocol it satisfies among those listed in the packages of its kind.

Each has a small spec. A part that needs values other than `VALUES` has `example`, a class variable with
arguments for its spec.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import get_protocol_members

from saccade.build import build, fields, lacking, load
from saccade.parts import parts_in
from saccade.types import (
    Block,
    Capabilities,
    Embedding,
    FeedForward,
    Kernel,
    Mask,
    Mixer,
    Norm,
    PairPosition,
    Part,
    Router,
    ScoreTerm,
    SoftmaxVariant,
    TermMaker,
    TokenPosition,
    UserError,
)


@dataclass(frozen=True)
class Kind:
    """Kind of parts, as mixers or norms.

    Attributes:
        protocols: one of which its parts satisfy; places, the packages of Saccade where they live.
        values: what a field is given in the place of `VALUES`.
    """

    name: str
    protocols: tuple[type, ...]
    places: tuple[str, ...]
    values: tuple[tuple[str, Any], ...] = ()

    def has(self, part: Any) -> bool:
        """Return whether a part satisfies one of the kind's protocols."""
        return any(_satisfies(part, protocol) for protocol in self.protocols)

    def found(self) -> Iterator[Any]:
        """The parts that Saccade has of this kind."""
        yield from filter(self.has, (load(use) for place in self.places for use in parts_in(place)))

    def spec(self, part: Any) -> dict[str, Any]:
        """A spec that builds a part small.

        A part from outside the package keeps its own defaults: there `VALUES` serves fields without one, and those
        whose default is a part that a base class in the package declares, such as the mask of `MultiHead`.

        Raises:
            UserError: it needs an argument that no value is known for.
        """
        known, needed = {**VALUES, **dict(self.values)}, fields(part)
        small = [
            name
            for name, (_, required) in needed.items()
            if name in known and (required or is_ours(part) or _has_part_of_ours(part, name))
        ]
        given = {name: known[name] for name in small} | getattr(part, 'example', {})
        for name, (_, required) in needed.items():
            if required and name not in given:
                raise UserError(
                    f"{Part(part).name}: no value is known to try its field '{name}' with; give one in a class "
                    f'variable, example = dict({name}=...)'
                )
        return {'use': Part(part).name, **given}


MIXER = Kind('mixer', (Mixer,), ('attention', 'recurrent.mixer'))
KERNEL = Kind('kernel', (Kernel,), ('attention',))
SOFTMAX = Kind('softmax variant', (SoftmaxVariant,), ('softmax',))
MASK = Kind('mask', (Mask,), ('ops',), (('length', 4),))
TERM = Kind('score term', (TermMaker, ScoreTerm), ('score', 'ops'))
PAIR_POSITION = Kind('pairwise position', (PairPosition,), ('position',))
TOKEN_POSITION = Kind('token position', (TokenPosition,), ('position',))
EMBEDDING = Kind('embedding', (Embedding,), ('embed',))
NORM = Kind('norm', (Norm,), ('norm',))
FEEDFORWARD = Kind('feed-forward', (FeedForward,), ('feedforward',))
ROUTER = Kind('router', (Router,), ('feedforward',))
BLOCK = Kind('block', (Block,), ('block',))

KINDS = (
    MIXER,
    KERNEL,
    SOFTMAX,
    MASK,
    TERM,
    PAIR_POSITION,
    TOKEN_POSITION,
    EMBEDDING,
    NORM,
    FEEDFORWARD,
    ROUTER,
    BLOCK,
)

PLAIN: dict[str, Any] = {'use': 'attention.plain:Plain'}
CAUSAL, FULL = {'use': 'ops.mask:Causal'}, {'use': 'ops.mask:Full'}
MULTI_HEAD: dict[str, Any] = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 4,
    'key_value_heads': 2,
    'kernel': PLAIN,
    'mask': CAUSAL,
    'position': {'use': 'position.none:NoPosition'},
}

# Value of a field by its name, where parts share it; a field of one class has its value in that class's `example`.
VALUES: dict[str, Any] = {
    'heads': 4,
    'key_value_heads': 2,
    'length': 32,
    'query_block': 4,
    'key_block': 3,
    'query_chunks': 2,
    'activation': {'use': 'jax.nn:gelu'},
    'kernel': PLAIN,
    'mask': CAUSAL,
    'position': MULTI_HEAD['position'],
    'mixer': MULTI_HEAD,
    'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}},
    'norm': {'use': 'norm.layer:LayerNorm'},
    'left': 3,
    'right': 1,
    'dilation': 2,
    'stride': 3,
    'count': 2,
    'tokens': 1,
    'side': 1,
    'size': 3,
    'seed': 0,
    'masks': [CAUSAL, {'use': 'ops.mask:Window', 'left': 3}],
}


@dataclass(frozen=True)
class Catalogue:
    """Catalogue of variants. Attributes: the parts of each kind."""

    parts: Mapping[Kind, tuple[Any, ...]]

    @classmethod
    @functools.cache
    def ours(cls) -> 'Catalogue':
        """Every part that Saccade has."""
        return cls({kind: tuple(kind.found()) for kind in KINDS})

    @classmethod
    def of(cls, use: str, where: str) -> 'Catalogue':
        """One part alone, by its import path, under every kind that it is of.

        Raises:
            UserError: it cannot be imported, is of no kind, or needs an argument that no value is known for.
        """
        part = load(use, where)
        kinds = kinds_of(part)
        if not kinds:
            raise UserError(f'{where}: {use} is no part with contract tests: {_nearest_miss(part)}')
        for kind in kinds:
            kind.spec(part)
        return cls({kind: (part,) if kind in kinds else () for kind in KINDS})

    def specs(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """A small spec of each part of a kind, by its name."""
        return {part.__name__: kind.spec(part) for part in self.parts[kind]}

    def mixers(self) -> dict[str, dict[str, Any]]:
        """Every mixer; and multi-head attention with every kernel, softmax, score term and pairwise position."""
        softmaxes = {name: {**PLAIN, 'softmax': given} for name, given in self.specs(SOFTMAX).items()}
        within = {
            **{name: in_multi_head(given) for name, given in (self.specs(KERNEL) | softmaxes).items()},
            **{name: {**MULTI_HEAD, 'terms': [given]} for name, given in self.specs(TERM).items()},
            **{name: {**MULTI_HEAD, 'position': given} for name, given in self.specs(PAIR_POSITION).items()},
        }
        return _joined(self.specs(MIXER), {f'MultiHead, {name}': given for name, given in within.items()})


def is_ours(part: Any) -> bool:
    """True if the package defines a part."""
    return part.__module__.startswith('saccade.')


def _has_part_of_ours(made: Any, name: str) -> bool:
    """True if a base class in the package declares the default of a field, and that is a part."""
    owners = (base for base in getattr(made, '__mro__', ()) if name in vars(base))
    return any(is_ours(owner) and isinstance(vars(owner)[name], Part) for owner in itertools.islice(owners, 1))


def kinds_of(part: Any) -> list[Kind]:
    """The kinds that a part is of, less those all of whose methods are another's that it is of too."""
    satisfied = [
        (kind, get_protocol_members(protocol))
        for kind in KINDS
        for protocol in kind.protocols
        if _satisfies(part, protocol)
    ]
    return [kind for kind, members in satisfied if not any(members < more for _, more in satisfied)]


def in_multi_head(kernel: Mapping[str, Any]) -> dict[str, Any]:
    """Multi-head attention with a kernel, causal if the kernel can be."""
    return {**MULTI_HEAD, 'kernel': kernel, 'mask': CAUSAL if can(kernel).causal else FULL}


def can(spec: Mapping[str, Any]) -> Capabilities:
    """Capabilities of a part with its inner parts.

    What a part can unless it is declared that it cannot, all of them must; what is declared alone, any of them may.
    Orders of cost are the outermost part's that says them.
    """
    declared = [inner.target.capabilities for inner in build(spec).walk() if hasattr(inner.target, 'capabilities')]

    def folded(name: str, default: Any) -> Any:
        said = [getattr(one, name) for one in declared]
        if isinstance(default, str):
            return next(filter(None, said), default)
        return all(said) if default else any(said)

    return Capabilities(**{field.name: folded(field.name, field.default) for field in dataclasses.fields(Capabilities)})


def _satisfies(part: Any, protocol: type) -> bool:
    return _says_what_it_makes(part) and not lacking(part, protocol)


def _says_what_it_makes(part: Any) -> bool:
    """True if it is a class, or a function that names the class of what it returns."""
    return isinstance(part, type) or isinstance(getattr(part, '__annotations__', {}).get('return'), type)


def _joined(specs: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the specs, and the additional specs in `more`."""
    return specs | {name: given for name, given in more.items() if given not in specs.values()}


def _nearest_miss(part: Any) -> str:
    """Missing members of the nearest kinds."""
    if not _says_what_it_makes(part):
        return 'it is no class, nor a function that says which class it returns'
    misses = []
    for kind in KINDS:
        for protocol in kind.protocols:
            members, missing = get_protocol_members(protocol), lacking(part, protocol)
            absent = sum(not hasattr(part, name) for name in members)  # others are there, with other arguments
            misses.append(((len(missing) / len(members), absent), kind, missing))
    least = min(distance for distance, *_ in misses)
    return '; '.join(f'as {kind.name} {missing[0]}' for distance, kind, missing in misses if distance == least)
