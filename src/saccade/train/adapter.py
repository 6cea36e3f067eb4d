# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trainable parameters: all of the model's, or LoRA factors merged into them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import optax

from saccade.axes import AxesByPath
from saccade.types import Params, PRNGKey

MakeOptimizer = Callable[[Params], optax.GradientTransformation]


@runtime_checkable
class Adapter(Protocol):
    """Protocol of an adapter: it maps the parameters that a run keeps to those that its model is called with."""

    def init(self, key: PRNGKey, params: Params, axes: AxesByPath) -> Params:
        """Return what the run keeps, given the model's parameters as they are initialised, and their axes by path."""
        ...

    def merged(self, params: Params) -> Params:
        """Return the model's parameters, given what the run keeps."""
        ...

    def optimizer(self, make: MakeOptimizer, params: Params) -> optax.GradientTransformation:
        """Return the transformation of what the run keeps, given what makes that of parameters which are trained."""
        ...

    def axes(self, declared: AxesByPath) -> AxesByPath:
        """Return the axes of what the run keeps, by path, given those of the model's parameters."""
        ...

    def lines(self, params: Params) -> list[str]:
        """What is trained, in words; `params` may be shapes."""
        ...


@dataclass(frozen=True)
class Whole:
    """Adapter that trains all of the model's parameters themselves."""

    def init(self, key: PRNGKey, params: Params, axes: AxesByPath) -> Params:
        """Return the model's parameters as they are."""
        return params

    def merged(self, params: Params) -> Params:
        """Return the model's parameters as they are."""
        return params

    def optimizer(self, make: MakeOptimizer, params: Params) -> optax.GradientTransformation:
        """Return the transformation that `make` gives for all parameters."""
        return make(params)

    def axes(self, declared: AxesByPath) -> AxesByPath:
        """Return the axes of the model's parameters as they are declared."""
        return declared

    def lines(self, params: Params) -> list[str]:
        """Return no line: all parameters are trained."""
        return []
