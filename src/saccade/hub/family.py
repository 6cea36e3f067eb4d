# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Model families: the description of a family's config and tensors, and its lookup by `model_type`.

A family is one file of this package, named after `model_type` in its config.json.
"""

import pkgutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from saccade import build, hub
from saccade.hub.keys import Keys
from saccade.hub.setting import read, shortened
from saccade.types import LayerContext, UserError

Table = Callable[[int, int], np.ndarray]  # (rows, columns) -> table

CONTEXT = LayerContext(np.zeros((1, 1), np.int32))  # one row of one position
ONE_TEXT = np.zeros((1, 1), np.int32), CONTEXT


@dataclass(frozen=True)
class Weight:
    """Mapping of one Hugging Face tensor to our parameters.

    Attributes:
        theirs: name of the tensor, without the family's prefix; * represents the layer number.
        layout: einops pattern from its axes to ours within a layer, in the letters of the axis table. If the tensor
            holds several of our parameters, `part` is the axis over them, the first axis of the result.
        ours: paths of our parameters in the tensor, in order.
        skipped: number of rows of the tensor before the first row of ours.
    """

    theirs: str
    layout: str
    ours: tuple[str, ...]
    skipped: int = 0


@dataclass(frozen=True)
class Head:
    """Head of an encoder, in some models of a family.

    Attributes:
        name: our name of the head.
        spec: returns our spec from a config.json; raises a UserError as `Family.spec` does.
        weights: tensors of the head.
    """

    name: str
    spec: Callable[[Mapping[str, Any]], dict[str, Any]]
    weights: tuple[Weight, ...]


@dataclass(frozen=True)
class Family:
    """Model family: conversion of its folders to our models.

    Attributes:
        spec: returns the spec of our model (config.model) from a config.json; raises a UserError if a setting is
            missing, has the wrong type or an unsupported value.
        weights: all tensors of all models of the family; those whose parameters our model has are required.
        prefix: optional prefix of each name.
        copies: tensors that may be stored in addition to the tensor they are tied to; name -> name.
        ignored: regular expression for names that hold no parameter.
        keys: keys of config.json other than those that `spec`, `heads` and `inputs` read.
        older: endings of names in older folders -> endings in `weights`.
        heads: heads of an encoder, by the architecture in config.json; the first is the default. Tensors of other
            heads may be stored too.
        tokens: defaults of the config class for generation settings that config.json omits.
        inputs: returns the arguments of the model's `init` between key and `train`, for one row, from a config.json.
        constants: names of tables that are equal in every model of the family -> the table.
    """

    spec: Callable[[Mapping[str, Any]], dict[str, Any]]
    weights: tuple[Weight, ...]
    prefix: str
    copies: Mapping[str, str]
    ignored: str
    keys: Keys
    older: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, tuple[Head, ...]] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    inputs: Callable[[Mapping[str, Any]], tuple[Any, ...]] = lambda config: ONE_TEXT
    constants: Mapping[str, Table] = field(default_factory=dict)

    def heads_of(self, config: Mapping[str, Any]) -> tuple[Head, ...]:
        """Return the heads of the model that config.json describes.

        Raises:
            UserError: its architecture is not one of the family's; the message lists them.
        """
        named = read(config, 'architectures', list, [])
        if not self.heads:
            return ()
        name, *_ = (*named, *self.heads)
        if str(name) not in self.heads:
            raise UserError(
                f'config.json: architecture {shortened(str(name))} cannot be loaded; there are {", ".join(self.heads)}'
            )
        return self.heads[name]


def find_family(model_type: str) -> Family:
    """Return FAMILY of the file with this name.

    Raises:
        UserError: there is no such family; the message lists the families.
    """
    files = [name for _, name, _ in pkgutil.iter_modules(hub.__path__)]
    if model_type in files:
        return build.load(f'hub.{model_type}:FAMILY', 'config.json: model_type')
    known = []
    for name in files:
        with suppress(UserError):  # a base module has no FAMILY
            if isinstance(build.load(f'hub.{name}:FAMILY'), Family):
                known.append(name)
    raise UserError(f'config.json: model_type {shortened(model_type)} cannot be loaded; there are {", ".join(known)}')
