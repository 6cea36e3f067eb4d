# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trainable parameters: the model's own, or LoRA factors merged into them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import optax

from saccade.axes import AxesByPath
from saccade.types import Params, PRNGKey

MakeOptimizer = Callable[[Params], optax.GradientTransformation]


@runtime_checkable
class Adapter(Protocol):
    """Protocol of an adapter: it maps the trained state of a run to the parameters of its model."""

    def init(self, key: PRNGKey, params: Params, axes: AxesByPath) -> Params:
        """Return the run's parameters, from the model's initial parameters and their axes by path."""
        ...

    def merged(self, params: Params) -> Params:
        """Return the model's parameters, from the run's parameters."""
        ...

    def optimizer(self, make: MakeOptimizer, params: Params) -> optax.GradientTransformation:
        """Return the transformation of the run's parameters; `make` returns the transformation of trained ones."""
        ...

    def axes(self, declared: AxesByPath) -> AxesByPath:
        """Return the axes of the run's parameters by path, from the axes of the model's."""
        ...

    def lines(self, params: Params) -> list[str]:
        """Return a description of the trained parameters; `params` may be shapes."""
        ...


@dataclass(frozen=True)
class Whole:
    """Adapter that trains the model's parameters themselves."""

    def init(self, key: PRNGKey, params: Params, axes: AxesByPath) -> Params:
        """Return the model's parameters unchanged."""
        return params

    def merged(self, params: Params) -> Params:
        """Return the model's parameters unchanged."""
        return params

    def optimizer(self, make: MakeOptimizer, params: Params) -> optax.GradientTransformation:
        """Return the result of `make` for all parameters."""
        return make(params)

    def axes(self, declared: AxesByPath) -> AxesByPath:
        """Return the axes of the model's parameters unchanged."""
        return declared

    def lines(self, params: Params) -> list[str]:
        """Return no lines: all parameters are trained."""
        return []
