# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Small decoders in which every two parts meet that may meet, by what the catalogue finds and what parts declare.

A cell gives each factor a level: a part by its name, or nothing where there is no place for one.
"""

import functools
import random
import typing
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any, NamedTuple

from routed import feedforwards

from saccade.analysis.catalogue.catalogue import (
    BLOCK,
    CAUSAL,
    FULL,
    KERNEL,
    MASK,
    MIXER,
    NORM,
    PAIR_POSITION,
    PLAIN,
    SOFTMAX,
    TERM,
    TOKEN_POSITION,
    Catalogue,
)
from saccade.analysis.catalogue.matrix import is_causal, terms_of
from saccade.build import build, defaults, fields, lacking, load
from saccade.ops.term import Softcap, reads_content
from saccade.types import Capabilities, Part, ScoreTerm

SEED = 0
VOCABULARY, LENGTH, WIDTH, LAYERS = 13, 9, 16, 2
NOTHING = '-'


class Level(NamedTuple):
    """Attributes: the factor, and the name of one of its levels."""

    factor: str
    name: str

    @property
    def spec(self) -> Any:
        return FACTORS[self.factor][self.name]

    @property
    def target(self) -> Any:
        return _loaded(self.spec['use'])

    @property
    def capabilities(self) -> Capabilities:
        return getattr(self.target, 'capabilities', Capabilities())


_loaded = functools.cache(load)

Cell = Mapping[str, str]  # the name of a level for each factor


def levels(cell: Cell) -> list[Level]:
    return [Level(*item) for item in cell.items()]


def _masks() -> dict[str, Any]:
    """The masks that patterns are made of, made causal, less the one of which nothing would be left."""

    def causal(mask: Any) -> Any:
        return mask if is_causal(mask) else {'use': 'ops.mask:all_of', 'masks': [mask, CAUSAL]}

    masks = Catalogue.ours().specs(MASK)
    # Of more blocks than a row has, few of those chosen would be in it: without residuals nothing would be left.
    masks['RandomBlocks'] = {**masks['RandomBlocks'], 'length': LENGTH}
    return {
        name: causal(given) for name, given in masks.items() if given['use'].startswith('ops.mask:') and given != FULL
    }


def _factors() -> dict[str, dict[str, Any]]:
    """Factor -> level -> spec. The first level of each is what stands beside two that are looked at."""
    ours, nothing = Catalogue.ours(), {NOTHING: None}
    mixers, positions = ours.specs(MIXER), ours.specs(PAIR_POSITION)
    for name in ('Latent', 'GroupedLatent', 'GroupedTied'):
        mixers[name] = {**mixers[name], 'rotated_width': 4}  # some positions turn features by fours
    softmaxes = ours.specs(SOFTMAX)
    softmaxes['TopK'] = {**softmaxes['TopK'], 'k': 5}  # more than a memory has vectors, which may all be chosen
    return {
        'mixer': {'MultiHead': mixers.pop('MultiHead'), **mixers},
        'kernel': {'Plain': PLAIN, **ours.specs(KERNEL), **nothing},
        'softmax': {**nothing, **softmaxes},
        'term': {**nothing, **ours.specs(TERM)},
        'position': {'NoPosition': positions.pop('NoPosition'), **positions, **nothing},
        'mask': {'Causal': CAUSAL, **_masks(), **nothing},
        'tokens': ours.specs(TOKEN_POSITION),
        'norm': ours.specs(NORM),
        'feedforward': feedforwards(ours),
        'block': ours.specs(BLOCK),
        'shared': {**nothing, **ours.specs(PAIR_POSITION)},
        'run': {name: {'use': f'model.stack:{name}'} for name in ('Unrolled', 'Scanned')},
        'dtype': dict.fromkeys(('float32', 'bfloat16')),
    }


FACTORS = _factors()
# The field of a mixer that a factor is given in.
FIELDS = {'kernel': 'kernel', 'softmax': 'kernel', 'term': 'terms', 'position': 'position', 'mask': 'mask'}


def refused_alone(level: Level) -> bool:
    """Whether no decoder can have it."""
    if level.factor == 'shared':
        return level.name != NOTHING and not terms_of(level.spec)
    if level.factor == 'kernel' and level.spec and not level.capabilities.causal:
        return True
    return level.factor in ('mixer', 'feedforward') and any(
        getattr(inner.target, 'sees_others', False) for inner in build(level.spec).walk()
    )


def refuses(first: Level, second: Level) -> bool:
    """Whether two levels cannot meet, by what they declare."""
    return _refuses(*sorted((first, second), key=lambda level: list(FACTORS).index(level.factor)))


@functools.cache
def _refuses(first: Level, second: Level) -> bool:
    if first.factor == 'mixer' and second.factor in FIELDS and _has_no_place(first, second):
        return True
    if (first.factor, second.factor) == ('kernel', 'softmax') and second.spec:
        return not first.spec or not all(_takes(each, 'softmax', second) for each in _kernels(first))
    if (first.factor, second.factor) == ('mixer', 'block'):
        return not _takes(second.target, 'mixer', first)
    if first.factor not in ('mixer', 'kernel') or not first.spec or not second.spec:
        return False
    if (first.factor, second.factor) == ('mixer', 'kernel'):
        unscored = first.capabilities.scores and not second.capabilities.terms
        return unscored or not _takes(first.target, 'kernel', second)
    if (first.factor, second.factor) == ('mixer', 'mask') and _cannot_mask(first.capabilities, second):
        return True
    if (first.factor, second.factor) == ('kernel', 'mask'):
        return _cannot_mask(first.capabilities, second)
    return second.factor in ('term', 'position', 'shared') and _cannot_change_scores(first.capabilities, second)


def _has_no_place(mixer: Level, inner: Level) -> bool:
    """Whether a mixer has no field for a part, or is to have one, which has a default, and gets none."""
    field = FIELDS[inner.factor]
    if inner.spec:
        return field not in fields(mixer.target)
    return isinstance(defaults(mixer.target).get(field), Part) and inner.factor != 'softmax'


def _kernels(kernel: Level) -> Iterator[type]:
    """A kernel, and the one within it that it has by default."""
    yield kernel.target
    if isinstance(within := defaults(kernel.target).get('inner'), Part):
        yield within.target


def _takes(outer: type, field: str, inner: Level) -> bool:
    hint, _ = fields(outer).get(field, (None, None))
    return hint is not None and not lacking(inner.target, typing.get_args(hint)[0])


def _cannot_mask(capabilities: Capabilities, mask: Level) -> bool:
    direction = capabilities.causal if _is_causal(mask) else capabilities.full
    return not direction or (not capabilities.terms and mask.spec not in (CAUSAL, FULL, *_windows(capabilities)))


def _cannot_change_scores(capabilities: Capabilities, maker: Level) -> bool:
    terms = [term for term in _terms(maker) if not (capabilities.softcap and isinstance(term, Softcap))]
    by_content = any(map(reads_content, terms))
    return bool(terms) and (not capabilities.terms or (not capabilities.content and by_content))


def _windows(capabilities: Capabilities) -> list[Any]:
    """The masks of keys that are near, where these are served."""
    near = ('Window', 'all_of')  # the catalogue's all_of is of a causal mask and a window
    return [spec for name, spec in FACTORS['mask'].items() if capabilities.window and name in near]


@functools.cache
def _is_causal(mask: Level) -> bool:
    return is_causal(mask.spec)


@functools.cache
def _terms(maker: Level) -> tuple[ScoreTerm, ...]:
    return terms_of(maker.spec)


@functools.cache
def _known() -> dict[str, tuple[Level, ...]]:
    every = {factor: tuple(Level(factor, name) for name in named) for factor, named in FACTORS.items()}
    return {factor: tuple(level for level in some if not refused_alone(level)) for factor, some in every.items()}


def pairs() -> Iterator[tuple[Level, Level]]:
    """Every two levels of two factors, less those that no decoder can have."""
    for one, two in combinations(_known().values(), 2):
        yield from product(one, two)


def completed(fixed: tuple[Level, ...], left: set[frozenset[Level]], draw: random.Random) -> Cell | None:
    """A cell with these levels whose other levels meet as many of the pairs that are left as one can see."""
    known = _known()
    # In their order: those that may refuse each other come first, so that a dead end is met early.
    free = [factor for factor in known if factor not in {level.factor for level in fixed}]

    def fill(chosen: tuple[Level, ...], free: list[str]) -> Cell | None:
        if not free:
            return {factor: dict(chosen)[factor] for factor in FACTORS}
        fits = [level for level in known[free[0]] if not any(refuses(level, other) for other in chosen)]
        gain = {level: sum(frozenset((level, other)) in left for other in chosen) for level in fits}
        if any(gain.values()):  # or else the first, which is soonest compiled
            draw.shuffle(fits)
        fits.sort(key=gain.get, reverse=True)
        found = (fill((*chosen, level), free[1:]) for level in fits)
        return next((cell for cell in found if cell), None)

    return fill(fixed, free)


@functools.cache
def cover(seed: int = SEED) -> tuple[Cell, ...]:
    """Cells in which every two levels meet that can stand in one decoder."""
    draw, allowed = random.Random(seed), [pair for pair in pairs() if not refuses(*pair)]
    left, cells = {frozenset(pair) for pair in allowed}, []
    for pair in allowed:
        if frozenset(pair) in left:
            cell = completed(pair, left, draw)
            left -= {frozenset(met) for met in combinations(levels(cell), 2)} if cell else {frozenset(pair)}
            cells += [cell] if cell else []
    return tuple(cells)


def refused() -> list[tuple[Level, ...]]:
    """What is to be refused by name: levels alone, and pairs of two parts."""
    every = [Level(factor, name) for factor, named in FACTORS.items() for name in named]
    return [(level,) for level in every if refused_alone(level)] + [
        pair for pair in pairs() if refuses(*pair) and all(level.spec for level in pair)
    ]


def beside(parts: tuple[Level, ...]) -> Cell:
    """A cell with parts that may refuse each other, and beside them what neither refuses."""
    chosen = list(parts)
    for factor, some in _known().items():
        if factor not in {level.factor for level in parts}:
            fits = [level for level in some if not any(refuses(level, other) for other in chosen)]
            chosen.append((fits or some)[0])
    return dict(chosen)


def decoder(cell: Cell) -> dict[str, Any]:
    """The spec of a cell's decoder."""
    given = {level.factor: level.spec for level in levels(cell)}
    softmax = {'softmax': given['softmax']} if given['softmax'] else {}
    inner = {
        'kernel': given['kernel'] and {**given['kernel'], **softmax},
        'mask': given['mask'],
        'position': given['position'],
        'terms': [given['term']] if given['term'] else None,
    }
    mixer = {name: value for name, value in given['mixer'].items() if name not in inner}
    mixer |= {name: value for name, value in inner.items() if value}
    block = {**given['block'], 'mixer': mixer, 'norm': given['norm'], 'feedforward': given['feedforward']}
    return {
        'use': 'model.decoder:Decoder',
        'vocabulary': VOCABULARY,
        'context_length': LENGTH,
        'width': WIDTH,
        'layers': LAYERS,
        'tied': True,
        'block': block,
        'position': given['tokens'],
        'norm': given['norm'],
        'shared': given['shared'],
        'run': given['run'],
    }
