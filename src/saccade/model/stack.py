# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layer stack: one tree of stacked parameters, [L, ...], whether the layers are scanned or unrolled.

A pattern of P blocks is repeated L/P times; `layers/pattern_p/...` holds the parameters of block p of the
pattern with a leading axis of L/P. Unrolled or scanned, with or without rematerialisation, the parameters are
the same tree and the outputs the same numbers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from saccade.axes import parameters
from saccade.block.base import ResidualStreams
from saccade.ops import remat
from saccade.types import Block, Hidden, LayerContext, Part, PRNGKey, Runner, Source, State, UserError

# What layers may report beside their output, by Linen collection; stacked over the layers.
HIDDEN = 'hidden'
REPORTED = ('losses', 'metrics', 'weights', HIDDEN)

# The members of `jax.checkpoint_policies` that need no argument.
POLICIES = ('nothing_saveable', 'everything_saveable', 'dots_saveable', 'dots_with_no_batch_dims_saveable')

Layer = Callable[[Hidden, PyTree], tuple[Hidden, PyTree]]


@dataclass(frozen=True)
class Unrolled:
    """Unrolled layers, one after another in the program: fastest to run, slower to compile.

    Attributes:
        remat: one of POLICIES, which says what the backward pass may keep of each layer; None keeps everything.
    """

    remat: str | None = None

    def __call__(self, layer: Layer, stacked: PyTree, x: Hidden) -> tuple[Hidden, PyTree]:
        layer = _rematerialised(layer, self.remat)
        reports = []
        for number in range(jax.tree.leaves(stacked)[0].shape[0]):
            x, report = layer(x, _slice(stacked, number))
            reports.append(report)
        return x, jax.tree.map(lambda *leaves: jnp.stack(leaves), *reports)


@dataclass(frozen=True)
class Scanned:
    """Scanned layers: one repeat of the pattern is compiled and looped over, so compile time does not grow with depth.

    Attributes:
        remat: as for Unrolled. A bare scan copies every residual of every layer, so the default recomputes
            all but the matrix products.
    """

    remat: str | None = 'dots_with_no_batch_dims_saveable'

    def __call__(self, layer: Layer, stacked: PyTree, x: Hidden) -> tuple[Hidden, PyTree]:
        return jax.lax.scan(_rematerialised(layer, self.remat), x, stacked)


def _rematerialised(layer: Layer, policy: str | None) -> Layer:
    if policy is None:
        return layer
    if policy not in POLICIES:
        raise UserError(f"remat: there is no checkpoint policy '{policy}'; there are {', '.join(POLICIES)}")
    return remat.checkpoint(layer, policy=getattr(jax.checkpoint_policies, policy))


class Stack(nn.Module):
    """Layer stack of L layers. Residual streams are expanded before the first layer and reduced after the last.

    Attributes:
        block: one block, or the pattern of blocks that is repeated.
        layers: L, a multiple of the pattern's length.
        run: runner, unrolled or scanned.
        passes: how often tokens pass through the layers, with the same weights.
    """

    block: Part[Block] | tuple[Part[Block], ...]
    layers: int
    run: Part[Runner]
    passes: int = 1

    def __call__(self, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        return self._around(x, lambda x: (self._through(x, context, train), None))[0]

    def init_state(self, x: Hidden, capacity: int) -> tuple[State, ...]:
        """Return one state a layer, as a tuple: a stack would be copied at every step."""
        x = self._entered(x)
        return tuple(block(parent=None).init_state(x, capacity) for block in self.passes * self.repeats * self.pattern)

    def precompute_kv(self, x: Hidden, capacity: int, source: Source) -> tuple[State, ...]:
        """Return one state a layer, as `init_state` does, with precomputed keys and values of the source."""
        x = self._entered(x)
        return tuple(
            block(parent=None).apply({'params': params}, x, capacity, source, method='precompute_kv')
            if hasattr(block.target, 'precompute_kv')
            else block(parent=None).init_state(x, capacity)
            for block, params in self._layers()
        )

    def step(self, x: Hidden, context: LayerContext, states: tuple[State, ...]) -> tuple[Hidden, tuple[State, ...]]:
        """Run a chunk through all layers; the parameters may be stacked, or `unstacked` before a loop of steps."""
        return self._around(x, lambda x: self._step_through(x, context, states))

    @property
    def pattern(self) -> tuple[Part[Block], ...]:
        """The blocks that are repeated, P of them."""
        return self.block if isinstance(self.block, tuple) else (self.block,)

    @property
    def repeats(self) -> int:
        """How often the pattern is repeated: L / P.

        Raises:
            UserError: P does not divide L.
        """
        if self.layers % len(self.pattern):
            raise UserError(f'{self.layers} layers cannot be made of a pattern of {len(self.pattern)} blocks')
        return self.layers // len(self.pattern)

    @nn.compact
    def _around(self, x: Hidden, through: Callable[[Hidden], tuple[Hidden, Any]]) -> tuple[Hidden, Any]:
        """Run the layers, with residual streams expanded before them and reduced after them."""
        x, report = through(self._entered(x))
        last = self.pattern[-1](name='leave')
        return (last.reduce(x) if isinstance(last, ResidualStreams) else x), report

    def _entered(self, x: Hidden) -> Float[Array, 'B T RD']:
        blocks = [block(parent=None) for block in self.pattern]
        carried = {_carried(block) for block in blocks}
        if len(carried) > 1:
            raise UserError(
                f'blocks of one pattern must hand on the same from layer to layer, not {" and ".join(sorted(carried))}'
            )
        return blocks[0].expand(x) if isinstance(blocks[0], ResidualStreams) else x

    def _through(self, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        stacked = self._stacked(x, context)
        if self.is_initializing():
            return x
        wanted = [name for name in REPORTED if self.is_mutable_collection(name)]
        dropped = train and self.has_rng('dropout')
        keys = jax.random.split(self.make_rng('dropout'), (self.passes, self.repeats)) if dropped else None

        def layer(x: Hidden, this: PyTree) -> tuple[Hidden, PyTree]:
            params, key = this
            reports = {}
            for number, block in enumerate(self.pattern):
                rngs = {} if key is None else {'dropout': jax.random.fold_in(key, number)}
                variables = {'params': params[number]}
                x, report = block(parent=None).apply(variables, x, context, train, rngs=rngs, mutable=wanted)
                reports[f'pattern_{number}'] = report | ({HIDDEN: x} if HIDDEN in wanted else {})
            return x, reports

        found = []
        for turn in range(self.passes):
            x, reports = self.run()(layer, (stacked, None if keys is None else keys[turn]), x)
            found.append(reports)
        reports = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *found)
        for name in wanted:
            for pattern, report in reports.items():
                if name in report:
                    self.put_variable(name, pattern, report[name])
        return x

    def _step_through(
        self, x: Hidden, context: LayerContext, states: tuple[State, ...]
    ) -> tuple[Hidden, tuple[State, ...]]:
        advanced = []
        for (block, params), state in zip(self._layers(), states, strict=True):
            x, state = block(parent=None).apply({'params': params}, x, context, state, method='step')
            advanced.append(state)
        return x, tuple(advanced)

    def _layers(self) -> Iterator[tuple[Part[Block], PyTree]]:
        """Each layer with its parameters, in the order in which tokens go through."""
        for number in range(self.passes * self.layers):
            repeat, place = divmod(number % self.layers, len(self.pattern))
            yield self.pattern[place], _layer_of(self.get_variable('params', f'pattern_{place}'), repeat)

    def _stacked(self, x: Hidden, context: LayerContext) -> tuple[Any, ...]:
        def initialised(block: Part[Block]) -> Callable[[PRNGKey], Any]:
            return lambda key: block(parent=None).init(key, x, context, False)

        return tuple(
            parameters(self, f'pattern_{number}', 'L', self.repeats, initialised(block))
            for number, block in enumerate(self.pattern)
        )


def layer_states(reported: Mapping[str, PyTree]) -> list[Hidden]:
    """Return the hidden states that a model reported in HIDDEN: the embedded tokens, then each layer's output."""
    patterns = [reported['layers'][f'pattern_{number}'] for number in range(len(reported['layers']))]
    return [reported['embedded'], *(states[repeat] for repeat in range(len(patterns[0])) for states in patterns)]


def _carried(block: Block) -> str:
    """What a block passes to the next, in words: residual streams or one hidden state."""
    return (
        f'{block.count} streams of {type(block).__name__}' if isinstance(block, ResidualStreams) else 'one hidden state'
    )


def unstacked(params: PyTree) -> PyTree:
    """Return parameters with every stack cut into the tuple of its layers, which `Stack.step` takes too.

    A loop of steps over stacked parameters would copy every layer's parameters at every step.
    """
    if not isinstance(params, Mapping):
        return params
    return {name: _layers(value) if name.startswith('pattern_') else unstacked(value) for name, value in params.items()}


def _layers(stacked: PyTree) -> tuple[PyTree, ...]:
    return tuple(_slice(stacked, repeat) for repeat in range(jax.tree.leaves(stacked)[0].shape[0]))


def _layer_of(params: PyTree, repeat: int) -> PyTree:
    return params[repeat] if isinstance(params, tuple) else _slice(params, repeat)


def _slice(stacked: PyTree, number: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[number], stacked)
