# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Description of a model of ours as one of Hugging Face: its family, its architecture, its config.json."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from saccade.hub.family import Family, Head, Shapes, families
from saccade.hub.keys import START, TOKENS
from saccade.hub.load import shapes_of
from saccade.hub.place import weights_of
from saccade.hub.template import Place, Written, resolved, written
from saccade.nearest import nearest
from saccade.ops.statistic import is_record
from saccade.types import Part, UserError

_SHOWN = 3  # fields of a message that do not fit


# Fields without which a model is of another kind: a decoder is no near encoder, and a reader of images none of text.
_KIND = re.compile(r'(^config\.model|\.embed|\.mask) is ')


@dataclass(frozen=True)
class Description:
    """Model of ours in the terms of a family.

    Attributes:
        family: the family.
        heads: the family's heads that the model has.
        config: config.json.
        shapes: shapes of the parameters of such a model, by path.
    """

    family: Family
    heads: tuple[Head, ...]
    config: dict[str, Any]
    shapes: Shapes


@dataclass(frozen=True)
class _Candidate:
    """Family with the settings that describe a model. Attributes: misses, fields that it lacks; fits, those it has."""

    name: str
    family: Family
    heads: tuple[Head, ...]
    architecture: str
    settings: Mapping[str, Any]
    misses: tuple[str, ...]
    fits: int

    @property
    def rank(self) -> tuple[int | float, ...]:
        """Lowest for the family that fits with the fewest settings, else for the one that the most fields fit."""
        if self.misses:
            other_kind = sum(_KIND.search(miss) is not None for miss in self.misses)
            return 2, other_kind, -self.fits / (self.fits + len(self.misses)), len(self.misses)
        return bool(self.family.like), len(self.settings)

    def config(self, tokens: Mapping[str, Any]) -> dict[str, Any]:
        """Return config.json. Args: tokens, settings of special tokens by dotted key."""
        # What is not said is the default of the class, which may be beyond the vocabulary.
        required = {key: self.family.keys.required.get(key) for key in TOKENS} | self._start()
        given = {key: value for key, value in tokens.items() if value is not None}
        config = _nested({**required, **given, **self.settings})
        return {'architectures': [self.architecture], 'model_type': self.name, **config}

    def _start(self) -> dict[str, int]:
        """Return the setting of the first token of a target, of an encoder-decoder, which generates from no other."""
        if not {**self.family.keys.required, **self.settings}.get('is_encoder_decoder'):
            return {}
        usual = self.family.tokens.get(START, 0)
        return {START: usual if usual < self.settings.get('vocab_size', 0) else 0}


def describe(
    model: Part, shapes: Shapes, tokens: Mapping[str, Any], family: str | None = None, ending: str = ''
) -> Description:
    """Find the family that can hold a model, and describe the model in its terms.

    Args:
        model: as under config.model.
        shapes: of its parameters, by path.
        tokens: settings of config.json for special tokens, None for none.
        family: its name; None: the one that needs the fewest settings.
        ending: of the name of the architecture where several fit, as 'ForQuestionAnswering'.

    Raises:
        UserError: no family can hold it; the nearest is named, with the fields that do not fit.
    """
    found = families()
    if family is not None and family not in found:
        raise UserError(f'there is no family {family!r}; there are {", ".join(found)}{nearest(family, found)}')
    candidates = [
        _candidate(name, each, model, shapes, tokens, ending) for name, each in found.items() if family in (None, name)
    ]
    best = min(candidates, key=lambda each: each.rank)
    if best.misses and family is None and best.misses[0].startswith(f'config.model is {model.name},'):
        raise UserError(f'no family of Hugging Face holds a model like {model.name}')
    if best.misses:
        more = f'; and {len(best.misses) - _SHOWN} more' if len(best.misses) > _SHOWN else ''
        raise UserError(
            f'no family of Hugging Face holds this model; nearest is {best.name}, but '
            f'{"; ".join(best.misses[:_SHOWN])}{more}'
        )
    config = best.config(tokens)
    settings = best.family.keys.settings(config)
    theirs = shapes_of(best.family.spec(settings, best.heads), best.family.inputs_of(settings))
    shapes = {path: shape for path, shape in shapes.items() if not is_record(path)}
    held = {path for weight in weights_of(best.family, best.heads, theirs) for path in weight.ours}
    if wrong := sorted(path for path, shape in shapes.items() if path not in held or theirs.get(path) != shape):
        raise UserError(f'{best.name} has no place for the parameter {wrong[0]}, of shape {shapes[wrong[0]]}')
    return Description(best.family, best.heads, config, theirs)


def _candidate(
    name: str, family: Family, model: Part, shapes: Shapes, tokens: Mapping[str, Any], ending: str
) -> _Candidate:
    place, heads = Place('config.model'), dict(dict(model.arguments).get('heads', ()))
    trunk = model.replace(heads=()) if family.heads and heads else model
    fitting = {name: own for name, own in family.architectures.items() if {head.name for head in own} == heads.keys()}
    if not (heads or fitting):  # a pooler without scores is written as zeros
        fitting = {name: own for name, own in family.heads.items() if all(_is_pooler(head) for head in own)}
    lacks = []
    if family.heads and not fitting:
        there = ' and '.join(sorted(heads)) or 'none'
        lacks = [f'config.model.heads: {there} is not among the heads of the family']
    described = [
        (each, own, [*written(family.trunk(each).template, trunk, place), *_of_heads(own, heads), *lacks])
        for each, own in (fitting or {'': ()}).items()
    ]
    architecture, own, found = min(described, key=lambda each: _misfit(*each, ending))
    fits = [each for each in found if isinstance(each, Written)]
    if misses := tuple(each for each in found if isinstance(each, str)):
        return _Candidate(name, family, own, architecture, {}, misses, len(fits))
    settings, misses = resolved(fits)
    misses += [
        f'{key} must be {value}' for key, value in family.keys.fixed.items() if settings.pop(key, value) != value
    ]
    settings |= family.sizes(shapes) | family.untied(architecture)
    candidate = _Candidate(name, family, own, architecture, settings, tuple(misses), len(fits))
    try:
        family.keys.settings(candidate.config(tokens))
    except UserError as error:
        return replace(candidate, misses=(*misses, str(error).removeprefix('config.json: ')))
    return candidate


def _of_heads(own: tuple[Head, ...], heads: Mapping[str, Part]) -> Iterator[Written | str]:
    """Yield the settings and messages of the heads of a model. Args: own, the family's heads of the same names."""
    for head in own:
        if head.name in heads:
            yield from written(head.template, heads[head.name], Place(f'config.model.heads.{head.name}'))


def _is_pooler(head: Head) -> bool:
    return head.template.get('classes', 0) is None


def _misfit(architecture: str, own: tuple[Head, ...], found: list[Written | str], ending: str) -> tuple[int, bool]:
    """Return the number of fields that an architecture lacks, and whether its name has another ending."""
    return sum(isinstance(each, str) for each in found), not (ending and architecture.endswith(ending))


def _nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by dotted key as objects within objects."""
    made: dict[str, Any] = {}
    for key, value in settings.items():
        *outer, last = key.split('.')
        inner = made
        for name in outer:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return made
