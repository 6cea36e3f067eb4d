# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Find the parts by themselves and build each small, so that a new file is tested as it lands.

A part that needs more than `VALUES` knows offers `example`, a class variable with arguments for its spec.
"""

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from typing_extensions import get_protocol_members

import saccade
from saccade.build import build
from saccade.types import (
    Block,
    Can,
    FeedForward,
    Kernel,
    Mixer,
    Norm,
    PairPosition,
    Router,
    Rows,
    Scope,
    TermMaker,
    TokenPosition,
    Weighting,
)

PROTOCOLS = {
    'norm': (Norm,),
    'position': (TokenPosition, PairPosition),
    'feedforward': (FeedForward, Router),
    'score': (TermMaker,),
    'weighting': (Weighting,),
    'attention': (Kernel, Mixer),
    'block': (Block,),
}

PLAIN = {'use': 'attention.plain:Plain'}
MULTI_HEAD = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 4,
    'key_value_heads': 2,
    'kernel': PLAIN,
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}

# What a field of this name is given, whether it is required or not.
VALUES = {
    'heads': 4,
    'key_value_heads': 2,
    'length': 32,
    'query_block': 4,
    'key_block': 3,
    'query_chunks': 2,
    'activation': {'use': 'jax.nn:gelu'},
    'kernel': PLAIN,
    'mask': MULTI_HEAD['mask'],
    'position': MULTI_HEAD['position'],
    'mixer': MULTI_HEAD,
    'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}},
    'norm': {'use': 'norm.layer:LayerNorm'},
}

B, T, D = 2, 9, 16


def modules(family: str) -> Iterator[ModuleType]:
    """The files of a family, less `base` and `..._base`, which are for parts to inherit."""
    package = importlib.import_module(f'saccade.{family}')
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.split('_')[-1] != 'base':
            yield importlib.import_module(f'{package.__name__}.{found.name}')


def classes(module: ModuleType) -> list[type]:
    """The classes that a file itself defines."""
    return [value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__]


def satisfies(candidate: type, protocol: type) -> bool:
    """Whether a class has the methods of the protocol: takes their arguments by name, and requires no others."""
    wanted = ((name, getattr(protocol, name, None)) for name in get_protocol_members(protocol))
    return all(_takes(candidate, name, method) for name, method in wanted if callable(method))


def _takes(candidate: type, name: str, wanted: Callable[..., Any]) -> bool:
    given = inspect.getattr_static(candidate, name, None)
    if not inspect.isfunction(given):
        return False
    parameters = inspect.signature(given).parameters.values()
    required = {parameter.name for parameter in parameters if parameter.default is parameter.empty}
    return required <= inspect.signature(wanted).parameters.keys() <= {parameter.name for parameter in parameters}


def find(family: str, protocol: type) -> list[type]:
    return [part for module in modules(family) for part in classes(module) if satisfies(part, protocol)]


def spec(part: type) -> dict[str, Any]:
    """A spec that builds the part small."""
    use = f'{part.__module__.removeprefix(saccade.__name__ + ".")}:{part.__name__}'
    known = {name: VALUES[name] for name in inspect.signature(part).parameters if name in VALUES}
    return {'use': use, **known, **getattr(part, 'example', {})}


def specs(family: str, protocol: type) -> dict[str, dict[str, Any]]:
    return {part.__name__: spec(part) for part in find(family, protocol)}


def mixers() -> dict[str, dict[str, Any]]:
    """Every mixer; and multi-head attention with every kernel, weighting, term and pairwise position."""
    kernels = {f'MultiHead, {name}': multi_head(given) for name, given in kernel_specs().items()}
    pairs = {
        f'MultiHead, {name}': {**MULTI_HEAD, 'position': given}
        for name, given in specs('position', PairPosition).items()
    }
    weightings = {f'MultiHead, {name}': {**MULTI_HEAD, 'kernel': given} for name, given in weighting_specs().items()}
    terms = {
        f'MultiHead, {name}': {**MULTI_HEAD, 'terms': [given]} for name, given in specs('score', TermMaker).items()
    }
    found = {**specs('attention', Mixer), **kernels, **weightings, **terms, **pairs}
    return {
        name: given for number, (name, given) in enumerate(found.items()) if given not in [*found.values()][:number]
    }


def feedforwards() -> dict[str, dict[str, Any]]:
    """Every feed-forward layer; and the mixture of experts with every router."""
    layers = specs('feedforward', FeedForward)
    mixture, routers = layers['Mixture'], specs('feedforward', Router).items()
    others = {f'Mixture, {name}': given for name, given in routers if given != mixture['router']}
    return {**layers, **{name: {**mixture, 'router': given} for name, given in others.items()}}


def mixes_tokens(spec: dict[str, Any]) -> bool:
    """Whether a part that has no scope declares that a token depends on the others all the same."""
    return any(getattr(inner.target, 'sees_others', False) for inner in build(spec).within())


def can(spec: dict[str, Any], what: str) -> bool:
    """Whether a mixer or a block can: no part that it is made of declares that it cannot."""
    return all(getattr(getattr(inner.target, 'can', Can()), what) for inner in build(spec).within())


def sums(spec: dict[str, Any]) -> bool:
    """Whether the state of a mixer or a block adds tokens up."""
    return any(getattr(inner.target, 'can', Can()).sums for inner in build(spec).within())


def multi_head(kernel: dict[str, Any]) -> dict[str, Any]:
    """Multi-head attention with a kernel, causal if the kernel can be."""
    mask = MULTI_HEAD['mask'] if can(kernel, 'causal') else {'use': 'ops.mask:Full'}
    return {**MULTI_HEAD, 'kernel': kernel, 'mask': mask}


def kernel_specs() -> dict[str, dict[str, Any]]:
    return specs('attention', Kernel)


def weighting_specs() -> dict[str, dict[str, Any]]:
    """The plain kernel with every weighting."""
    return {name: {**PLAIN, 'weighting': given} for name, given in specs('weighting', Weighting).items()}


def rows(spec: dict[str, Any]) -> Rows:
    """What the weighting of a part declares; softmax's where it names none."""
    return next((inner.target.rows for inner in build(spec).within() if hasattr(inner.target, 'rows')), Rows())


def normal(shape: tuple[int, ...], number: int = 0) -> jax.Array:
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


def assert_near(given: jax.Array, expected: jax.Array, relative: float) -> None:
    """Compare, with a tolerance relative to the largest element."""
    given, expected = np.asarray(given, np.float32), np.asarray(expected, np.float32)
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
SCOPE = Scope(positions())


def pointwise() -> dict[str, tuple[Any, ...]]:
    """What makes the subject of each part that treats every token by itself: spec, rest, flags."""
    norms = {name: (given, (), ()) for name, given in specs('norm', Norm).items()}
    layers = {name: (given, (), (False,)) for name, given in feedforwards().items()}
    places = {name: (given, (SCOPE.positions,), ()) for name, given in specs('position', TokenPosition).items()}
    return {**norms, **layers, **places}


def mixing() -> dict[str, tuple[Any, ...]]:
    """The same for each part that moves information between tokens."""
    return {name: (given, (SCOPE,), (False,)) for name, given in {**mixers(), **specs('block', Block)}.items()}


@functools.cache
def subject_of(name: str) -> Subject:
    """The subject of that name, made once, so that tests share what it compiles."""
    return Subject(*{**pointwise(), **mixing()}[name])
