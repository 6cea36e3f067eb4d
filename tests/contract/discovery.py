# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the catalogue as subjects of tests, each built small: so a new file is tested as it lands."""

import functools
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from routed import feedforwards

from saccade.analysis.catalogue.catalogue import (
    BLOCK,
    CAUSAL,
    FULL,
    NORM,
    PLAIN,
    SOFTMAX,
    TOKEN_POSITION,
    Catalogue,
    can,
    is_ours,
)
from saccade.build import build
from saccade.types import LayerContext, Rows

CHOSEN = os.environ.get('SACCADE_VARIANT')  # by `--variant`
CATALOGUE = Catalogue.of(CHOSEN, '--variant') if CHOSEN else Catalogue.ours()

# Rules of the package's own parts: sources in docstrings, declared costs and axes.
HOUSE_RULES = all(is_ours(part) for parts in CATALOGUE.parts.values() for part in parts)

B, T, D = 2, 9, 16


def mixes_tokens(spec: dict[str, Any]) -> bool:
    """Whether a part that has no context declares that a token depends on the others all the same."""
    return any(getattr(inner.target, 'sees_others', False) for inner in build(spec).walk())


def softmaxes() -> dict[str, dict[str, Any]]:
    """The plain kernel with every softmax."""
    return {name: {**PLAIN, 'softmax': given} for name, given in CATALOGUE.specs(SOFTMAX).items()}


def uncovered(spec: Any) -> Any:
    """A spec whose causal masks, at any depth, hide nothing, save those of parts that are causal alone."""
    if spec == CAUSAL:
        return FULL
    if not isinstance(spec, dict) or ('use' in spec and not can(spec).full):
        return spec
    return {name: uncovered(value) for name, value in spec.items()}


def rows(spec: dict[str, Any]) -> Rows:
    """What the softmax of a part declares; softmax's where it names none."""
    return next((inner.target.rows for inner in build(spec).walk() if hasattr(inner.target, 'rows')), Rows())


def normal(shape: tuple[int, ...], number: int = 0) -> jax.Array:
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


def assert_near(given: jax.Array, expected: jax.Array, relative: float) -> None:
    """Compare, with a tolerance relative to the largest element."""
    given, expected = np.asarray(given, np.float32), np.asarray(expected, np.float32)
    assert np.isfinite(expected).all()  # NaN equals NaN below
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * np.abs(expected).max())


def positions(batch: int = B, length: int = T) -> jax.Array:
    return jnp.tile(jnp.arange(length), (batch, 1))


class Subject:
    """A part under test, called whole: `apply(params, x, *rest)`.

    Attributes:
        rest: arrays that it takes beside the tokens.
        flags: what it takes after these.
        params: drawn by NumPy, which compiles nothing; none is the zero or the one it starts from.
    """

    def __init__(self, spec: dict[str, Any], rest: tuple[Any, ...] = (), flags: tuple[bool, ...] = ()) -> None:
        self.spec, self.module = spec, build(spec)()
        self.rest, self.flags = rest, flags
        self.params = _drawn(lambda: self.module.init(jax.random.key(0), X, *rest, *flags, mutable=['params']))

    def apply(self, params: Any, x: jax.Array, *rest: Any) -> jax.Array:
        return self.module.apply(params, x, *rest, *self.flags)

    @functools.cached_property
    def jitted(self) -> Callable[..., jax.Array]:
        return jax.jit(self.apply)

    @functools.cached_property
    def gradients(self) -> Callable[..., tuple[Any, jax.Array]]:
        """Gradients of (direction * y).sum() by the parameters and by x, as a function of these and the direction.

        To those by the parameters, the gradients of the losses that the part reports are added.
        """

        def run(params: Any, x: jax.Array) -> tuple[jax.Array, Any]:
            return self.module.apply(params, x, *self.rest, *self.flags, mutable=['losses'])

        def along(params: Any, x: jax.Array, direction: jax.Array) -> tuple[Any, jax.Array]:
            (y, losses), pull = jax.vjp(run, params, x)
            by_params, by_x = pull((direction, jax.tree.map(jnp.zeros_like, losses)))
            if jax.tree.leaves(losses):
                by_losses = pull((jnp.zeros_like(y), jax.tree.map(jnp.ones_like, losses)))[0]
                by_params = jax.tree.map(jnp.add, by_params, by_losses)
            return by_params, by_x

        return jax.jit(along)


def _drawn(init: Callable[[], Any]) -> Any:
    random = np.random.default_rng(0)

    def draw(leaf: jax.ShapeDtypeStruct) -> jax.Array:
        around = 1.0 if leaf.ndim == 1 else 0.0
        return jnp.array(random.normal(around, 0.4, leaf.shape), leaf.dtype)

    return jax.tree.map(draw, jax.eval_shape(init))


X = normal((B, T, D))
CONTEXT = LayerContext(positions())


@functools.cache
def pointwise() -> dict[str, tuple[Any, ...]]:
    """What makes the subject of each part that treats every token by itself: spec, rest, flags."""
    norms = {name: (given, (), ()) for name, given in CATALOGUE.specs(NORM).items()}
    layers = {name: (given, (), (False,)) for name, given in feedforwards(CATALOGUE).items()}
    places = {name: (given, (CONTEXT.positions,), ()) for name, given in CATALOGUE.specs(TOKEN_POSITION).items()}
    return {**norms, **layers, **places}


@functools.cache
def mixing() -> dict[str, tuple[Any, ...]]:
    """The same for each part that moves information between tokens."""
    found = CATALOGUE.mixers() | CATALOGUE.specs(BLOCK)
    return {name: (given, (CONTEXT,), (False,)) for name, given in found.items()}


@functools.cache
def subject_of(name: str) -> Subject:
    """The subject of that name, made once, so that tests share what it compiles."""
    return Subject(*{**pointwise(), **mixing()}[name])
