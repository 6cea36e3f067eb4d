# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Model families: the description of a family's config and tensors, and its lookup by `model_type`.

A family is one file of this package, named after `model_type` in its config.json.
"""

import functools
import itertools
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from saccade import build, hub
from saccade.hub.keys import Keys
from saccade.hub.setting import read, require, shortened
from saccade.hub.template import filled
from saccade.trust import trusted
from saccade.types import LayerContext, UserError

Shapes = Mapping[str, tuple[int, ...]]  # of parameters, by path
Order = Callable[[Shapes, str], np.ndarray]
Table = Callable[[int, int], np.ndarray]  # (rows, columns) -> table
Inputs = Callable[[Mapping[str, Any]], tuple[Any, ...]]  # config.json -> arguments of the model's `init`

CONTEXT = LayerContext(np.zeros((1, 1), np.int32))  # one row of one position
ONE_TEXT = np.zeros((1, 1), np.int32), CONTEXT
ZEROS = '0'


@dataclass(frozen=True)
class Weight:
    """Mapping of one Hugging Face tensor to our parameters.

    Attributes:
        theirs: its name, without the family's prefix; * is the number of the layer, # that of the expert.
        layout: from its axes to ours within a layer, as einops writes it, in the letters of the axis table.
            Where the tensor holds several of our parameters, their axis is `part`, and the first of ours; if these
            differ in shape, a tuple has a layout for each, and the tensor has their rows one after another.
        ours: the paths of the parameters that it holds, in order; * is each group of layers, 'pattern_0' and others.
        skipped: how many rows it has before the first of ours.
        needs, without: path of a parameter; a model that lacks it, or that has it, has no such tensor.
        instead: name of the tensor that is read where a folder lacks this one, or ZEROS.
        read_only: True for a second layout of parameters that other weights hold, which is read and never written.
        order: function from the shapes of all parameters by path, and the path of the first of ours, to the places of
            the tensor's rows in the order of ours; None if the order is the same.
        joined: what % in the name stands for, of each of several tensors with as many rows, which are read one after
            another as if they were one.
        layers: numbers of the layers that * is, from 0; of the group, once it is known.
    """

    theirs: str
    layout: str | tuple[str, ...]
    ours: tuple[str, ...]
    skipped: int = 0
    needs: str = ''
    without: str = ''
    instead: str = ''
    read_only: bool = False
    order: Order | None = None
    joined: tuple[str, ...] = ('',)
    layers: range = range(0)

    def in_group(self, group: str, layers: range) -> 'Weight':
        """Return the weight of one group of layers. Args: layers, their numbers."""
        return replace(self.at(lambda path: path.replace('*', group)), layers=layers)

    def at(self, place: Callable[[str], str]) -> 'Weight':
        """Return the weight with other paths of our parameters. Args: place, from each path to the other."""
        ours = tuple(map(place, self.ours))
        return replace(self, ours=ours, needs=place(self.needs), without=place(self.without))

    def parts(self, name: str) -> list[str]:
        """Return the names of the tensors that are one. Args: name, as `tensors` yields it."""
        return [name.replace('%', each) for each in self.joined]

    def tensors(self, leading: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the name of each tensor, and its index in the leading axes of ours.

        Args:
            leading: shape of one of our parameters; its first axes count layers and experts.
        """
        marks = [mark for mark in '*#' if mark in self.theirs]
        counted = [self.layers if mark == '*' else range(size) for mark, size in zip(marks, leading, strict=False)]
        for index in itertools.product(*(range(len(numbers)) for numbers in counted)):
            name = self.theirs
            for mark, numbers, place in zip(marks, counted, index, strict=True):
                name = name.replace(mark, str(numbers[place]))
            yield name, index


def alone(weights: Iterable[Weight], tower: str) -> tuple[Weight, ...]:
    """Return the weights of one tower that is a model of its own. Args: tower, its path in the whole, as 'encoder/'."""
    own = (weight for weight in weights if weight.ours[0].startswith(tower))
    return tuple(weight.at(lambda path: path.removeprefix(tower)) for weight in own)


def instead(weights: Iterable[Weight], *others: Weight) -> tuple[Weight, ...]:
    """Return weights with others in the place of those that hold the same parameters."""
    held = {path for weight in others for path in weight.ours}
    return *(weight for weight in weights if held.isdisjoint(weight.ours)), *others


@dataclass(frozen=True)
class Head:
    """Head of a model, in some architectures of a family.

    Attributes:
        name: ours.
        template: its spec, with leaves for what config.json says.
        weights: its tensors.
        required: key of config.json -> its only supported value.
        prefix: of the other tensors of a model with this head, if it is not the family's.
    """

    name: str
    template: Mapping[str, Any]
    weights: tuple[Weight, ...]
    required: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = ''


@dataclass(frozen=True)
class Trunk:
    """Model without its heads, of architectures that differ from the family's. Attributes: as of `Family`."""

    template: Any
    inputs: Inputs = lambda config: ONE_TEXT


@dataclass(frozen=True)
class Family:
    """Model family: conversion of its folders to our models, and of our models to such folders.

    Attributes:
        template: spec of the model, as under config.model, with leaves for what config.json says (`hub.template`).
        weights: every tensor of every model of the family; one is asked for if the model at hand has its parameters.
        keys: of their config.json, but for those that `spec`, `heads` and `inputs` read.
        prefix: may stand before each name, or be absent.
        copies: tensors that may be stored next to the one they are tied to; name -> name.
        ignored: a regular expression of the names that hold no parameter.
        older: a regular expression of a part of a name in older folders -> that part in `weights`, as for `re.sub`.
        heads: by the architecture that config.json names. Tensors of another architecture's heads may be stored too, in
            a family without `architecture`.
        trunks: by the architecture that config.json names, where the model under the heads is not `template`.
        tokens: what config.json says of generation where it does not mention it: the defaults of their config class.
        inputs: arguments of such a model's `init`, after the key and before `train`, by their config.json: one row.
        constants: names of tables that are the same in every model of the family -> the table.
        like: family of which this is a variant; a model that fits both is exported as the other.
        architecture: name of the class in transformers of a model without heads, also of a folder that names none of
            the architectures with heads; '' in a family whose folders name one of these.
        outside: a regular expression of the names that never have the prefix, as of heads.
        model_type: in config.json, if it is not the name of the file.
        sizes: settings that only the shapes of our parameters give, as the channels of images; from shapes by path.
    """

    template: Any
    weights: tuple[Weight, ...]
    keys: Keys
    prefix: str = ''
    copies: Mapping[str, str] = field(default_factory=dict)
    ignored: str = ''
    older: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, tuple[Head, ...]] = field(default_factory=dict)
    trunks: Mapping[str, Trunk] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    inputs: Inputs = lambda config: ONE_TEXT
    constants: Mapping[str, Table] = field(default_factory=dict)
    like: str = ''
    architecture: str = ''
    outside: str = ''
    model_type: str = ''
    sizes: Callable[[Shapes], dict[str, Any]] = lambda shapes: {}

    def spec(self, config: Mapping[str, Any], heads: tuple[Head, ...] = ()) -> dict[str, Any]:
        """Return the spec of the model that config.json describes, with these heads.

        Raises:
            UserError: a setting is missing, has the wrong type, or asks for what we cannot represent.
        """
        spec = filled(self.trunk(self.named(config)).template, config)
        for head in heads:
            for key, value in head.required.items():
                require(config, key, value)
        return {**spec, 'heads': {head.name: filled(head.template, config) for head in heads}} if heads else spec

    def heads_of(self, config: Mapping[str, Any]) -> tuple[Head, ...]:
        """Return the heads of the model that config.json describes.

        Raises:
            UserError: its architecture is not one of the family's; the message lists them.
        """
        name = self.named(config)
        if self.heads and name not in self.heads and not self.architecture:
            raise UserError(
                f'config.json: architecture {shortened(name)} cannot be loaded; there are {", ".join(self.heads)}'
            )
        return self.heads.get(name, ())

    def inputs_of(self, config: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of `init` of the model that config.json describes."""
        return self.trunk(self.named(config)).inputs(config)

    def trunk(self, architecture: str) -> Trunk:
        """Return the model without heads of an architecture."""
        return self.trunks.get(architecture, Trunk(self.template, self.inputs))

    @property
    def architectures(self) -> dict[str, tuple[Head, ...]]:
        """Heads of each architecture; the first architecture is that of a folder that names none."""
        return ({self.architecture: ()} if self.architecture else {}) | self.heads

    def named(self, config: Mapping[str, Any]) -> str:
        """Return the architecture that config.json names, or else the family's first."""
        named = (*read(config, 'architectures', list, []), *self.architectures)
        name = str(next(iter(named), ''))  # a family of layouts alone has none
        if name in self.trunks and not self.heads[name] and self._tied(config):
            return self.architecture  # the output layer of a language model is its embedding
        return name

    def untied(self, architecture: str) -> dict[str, bool]:
        """Return the setting by which a model without an output layer is read as one, where `named` asks for it."""
        alone = architecture in self.trunks and not self.heads[architecture]
        return {self.template['tied'].key: False} if alone and self._tied({}) else {}

    def _tied(self, config: Mapping[str, Any]) -> bool:
        return filled({'tied': self.template.get('tied')}, config)['tied'] is True

    def prefix_with(self, heads: tuple[Head, ...]) -> str:
        """Return the prefix of the tensors of a model with these heads."""
        return next((head.prefix for head in heads if head.prefix), self.prefix)


def find_family(model_type: str) -> Family:
    """Return the family with this `model_type`.

    Raises:
        UserError: there is no such family; the message lists the families.
    """
    known = families()
    if model_type in known:
        return known[model_type]
    there = ', '.join(known)
    raise UserError(f'config.json: model_type {shortened(model_type)} cannot be loaded; there are {there}')


def families() -> dict[str, Family]:
    """Return all families by `model_type`: of this package, and FAMILY of each module that the user trusts.

    Raises:
        UserError: a trusted FAMILY cannot be imported.
    """
    foreign = [use for use in trusted() if use.endswith(':FAMILY')]
    found = {use.partition(':')[0].rpartition('.')[2]: build.load(use, '--trust') for use in foreign}
    return _ours() | _by_type(found)


@functools.cache
def _ours() -> Mapping[str, Family]:
    found = {}
    for _, name, _ in pkgutil.iter_modules(hub.__path__):
        with suppress(UserError):  # a file that is no family has no FAMILY
            found[name] = build.load(f'hub.{name}:FAMILY')
    return _by_type(found)


def _by_type(found: Mapping[str, Any]) -> dict[str, Family]:
    """Return the families by `model_type`. Args: found, FAMILY by the name of its file."""
    return {family.model_type or name: family for name, family in found.items() if isinstance(family, Family)}
