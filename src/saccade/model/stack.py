# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layer stack: one tree of stacked parameters, [L, ...], whether the layers are scanned or unrolled.

A pattern of P blocks is repeated L/P times; `layers/pattern_p/...` holds the parameters of block p of the
pattern with a leading axis of L/P. Single blocks before and after the repeated blocks are `layers/first_p` and
`layers/last_p`, with a leading axis of 1: the 26 layers of Gemma 3 are 4 times 6 and 2, the 61 of DeepSeek-V3 3 and 58
times 1. Unrolled or scanned, with or without rematerialisation, the parameters are the same tree and the outputs are
equal.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.core.scope import union_filters
from jaxtyping import Array, Float, Int, PyTree

from saccade.axes import parameters
from saccade.block.base import ResidualStreams
from saccade.layer_paths import HANDED, handed_on, hands_on, in_order, is_group
from saccade.module import Layer
from saccade.taps import EDITS, Tapped
from saccade.types import Block, Hidden, LayerContext, Pages, Part, PRNGKey, Runner, Source, State, UserError

__all__ = ['Scanned', 'Unrolled']

# Collections of the embedded inputs and of each layer's output, which `layer_states` puts in order.
STATES = ('embedded', 'residual_after')
_NOT_REPORTED = ('params', EDITS, HANDED)

# The members of `jax.checkpoint_policies` without arguments.
POLICIES = ('nothing_saveable', 'everything_saveable', 'dots_saveable', 'dots_with_no_batch_dims_saveable')

EarlierValues = dict[str, PyTree]
Carry = tuple[Hidden, EarlierValues]
RunLayer = Callable[[Carry, PyTree], tuple[Carry, PyTree]]


@dataclass(frozen=True)
class Unrolled:
    """Unrolled layers: fastest to run, slower to compile.

    Attributes:
        remat: checkpoint policy, one of POLICIES, which selects the saved residuals of each layer; None saves all.
    """

    remat: str | None = None

    def __call__(self, layer: RunLayer, stacked: PyTree, carry: PyTree) -> tuple[PyTree, PyTree]:
        layer = _rematerialised(layer, self.remat)
        reports = []
        for this in _layers(stacked):
            # A barrier between layers: XLA would otherwise sum the residual stream's gradient of all layers at each.
            carry, report = layer(jax.lax.optimization_barrier(carry), this)
            reports.append(report)
        return carry, jax.tree.map(lambda *leaves: jnp.stack(leaves), *reports)


@dataclass(frozen=True)
class Scanned:
    """Scanned layers: one repeat of the pattern is compiled, so compile time does not grow with depth.

    Attributes:
        remat: as for Unrolled. Without rematerialisation a scan copies every residual of every layer, so the default
            recomputes everything except the matrix products.
    """

    remat: str | None = 'dots_with_no_batch_dims_saveable'

    def __call__(self, layer: RunLayer, stacked: PyTree, carry: PyTree) -> tuple[PyTree, PyTree]:
        return jax.lax.scan(_rematerialised(layer, self.remat), carry, stacked)


def _rematerialised(layer: RunLayer, policy: str | None) -> RunLayer:
    if policy is None:
        return layer
    if policy not in POLICIES:
        raise UserError(f"remat: there is no checkpoint policy '{policy}'; there are {', '.join(POLICIES)}")
    return jax.checkpoint(layer, policy=getattr(jax.checkpoint_policies, policy))


class LayerGroup(NamedTuple):
    """Group of layers with stacked parameters: a repeated sequence of blocks.

    Attributes: name, as in parameter paths; blocks; repeats; first, the number of the group's first layer.
    """

    name: str
    blocks: tuple[Part[Block], ...]
    repeats: int
    first: int

    def names(self) -> tuple[str, ...]:
        """Return the parameter names of the blocks: pattern_0, pattern_1 ..."""
        return tuple(f'{self.name}_{place}' for place in range(len(self.blocks)))

    def numbers(self) -> Int[Array, 'R']:
        """Return the number of the first layer of each repeat, from 0."""
        return self.first + len(self.blocks) * jnp.arange(self.repeats)


class Stack(Layer):
    """Layer stack of L layers. Residual streams are expanded before the first layer and reduced after the last.

    Attributes:
        block: one block, or a repeated pattern of blocks.
        layers: number of layers (L), including `first_blocks` and `last_blocks`.
        run: runner, unrolled or scanned.
        passes: number of passes through the layers, with the same weights.
        first_blocks: blocks of single layers before the repeated pattern.
        last_blocks: blocks of single layers after the repeated pattern.
    """

    block: Part[Block] | tuple[Part[Block], ...]
    layers: int
    run: Part[Runner] = Part(Unrolled)
    passes: int = 1
    first_blocks: tuple[Part[Block], ...] = ()
    last_blocks: tuple[Part[Block], ...] = ()

    def mix(
        self, x: Hidden, context: LayerContext, train: bool, state: tuple[State, ...] | None
    ) -> tuple[Hidden, tuple[State, ...] | None]:
        """Run whole sequences, or a chunk, through all layers; residual streams are expanded before and reduced after.

        For a chunk the parameters can be stacked, or `unstacked` before a loop of steps.
        """
        _, x, state = self._mixed(x, context, train, state)
        return x, state

    def branch(self, x: Hidden, context: LayerContext, train: bool) -> tuple[Hidden, Hidden]:
        """Run whole sequences through all layers; return the input of the last layer, and the output.

        Raises:
            UserError: the last layer is one of a pattern of several blocks, or has residual streams.
        """
        last = self.groups[-1].blocks
        if len(last) > 1 or isinstance(last[0](parent=None), ResidualStreams):
            raise UserError(
                f'a branch before the last layer, {last[-1].name}, needs a single block after the others, without '
                'residual streams; set config.model.last_blocks to one block'
            )
        return self._mixed(x, context, train, None, apart=True)[:2]

    @nn.compact
    def _mixed(
        self, x: Hidden, context: LayerContext, train: bool, state: tuple[State, ...] | None, apart: bool = False
    ) -> tuple[Float[Array, 'B T RD'], Hidden, tuple[State, ...] | None]:
        """Run the layers as in `mix`; return also what `_whole` returns as the input of the last."""
        before = x = self._entered(x)
        if state is None:
            context.require_whole_segments()
            before, x = self._whole(x, context, train, apart)
        else:
            x, state = self._chunk(x, context, state)
        last = self.groups[-1].blocks[-1](name='reduce')
        return before, last.reduce(x) if isinstance(last, ResidualStreams) else x, state

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> tuple[State, ...]:
        """Return one state per layer, as a tuple: a stack would be copied at every step.

        Args:
            source: source of cross-attention; its keys and values are part of the state.
        """
        x = self._entered(x)
        if source is None:
            return tuple(block(parent=None).init_state(x, capacity) for block, *_ in self._places())
        return tuple(
            block(parent=None).apply({'params': params}, x, capacity, source, method='init_state')
            for block, params, *_ in self._layers()
        )

    def init_pages(self, x: Hidden, pages: Pages) -> tuple[State, ...]:
        """Return one state per layer for decoding with a pool of pages; page n of each layer has the same tokens."""
        x = self._entered(x)
        return tuple(block(parent=None).init_pages(x, pages) for block, *_ in self._places())

    @property
    def groups(self) -> tuple[LayerGroup, ...]:
        """The groups of layers, in order.

        Raises:
            UserError: the number of layers between the first and the last is not a multiple of the pattern's.
        """
        pattern = self.block if isinstance(self.block, tuple) else (self.block,)
        before, after = len(self.first_blocks), len(self.last_blocks)
        repeats, rest = divmod(self.layers - before - after, len(pattern))
        if rest or repeats < 1:
            ends = f' between {before} first and {after} last' if before or after else ''
            raise UserError(f'{self.layers} layers cannot be made of a pattern of {len(pattern)} blocks{ends}')
        groups = (
            LayerGroup('first', self.first_blocks, 1, 0),
            LayerGroup('pattern', pattern, repeats, before),
            LayerGroup('last', self.last_blocks, 1, self.layers - after),
        )
        return tuple(group for group in groups if group.blocks)

    def _entered(self, x: Hidden) -> Float[Array, 'B T RD']:
        blocks = [block(parent=None) for group in self.groups for block in group.blocks]
        carried = {_carried(block) for block in blocks}
        if len(carried) > 1:
            raise UserError(
                f'blocks of one model must hand on the same from layer to layer, not {" and ".join(sorted(carried))}'
            )
        return blocks[0].expand(x) if isinstance(blocks[0], ResidualStreams) else x

    def _whole(
        self, x: Hidden, context: LayerContext, train: bool, apart: bool
    ) -> tuple[Float[Array, 'B T RD'], Float[Array, 'B T RD']]:
        """Run whole sequences; return the input and the output of the last repeat, if `apart`, or of the last group."""
        stacked = {group.name: self._stacked(group, x, context) for group in self.groups}
        if self.is_initializing():
            return x, x
        key = self.make_rng('dropout') if train and self.has_rng('dropout') else None
        keys = {group.name: self._keys(group, key) for group in self.groups}
        edits = self._edits()
        any_handed = hands_on(block for group in self.groups for block in group.blocks)
        before, found = x, []
        for turn in range(self.passes):
            reports, handed = {}, {}
            for group in self.groups:
                layer = self._layer(group, context, train)
                of_turn = slice(turn * group.repeats, (turn + 1) * group.repeats)
                changed = {name: _slice(edits.get(name, {}), of_turn) for name in group.names()}
                own_keys = None if key is None else keys[group.name][turn]
                given = stacked[group.name], group.numbers(), own_keys, changed
                if any_handed:
                    handed = self._before(layer, x, handed, given)
                split = apart and group == self.groups[-1] and group.repeats > 1
                parts = [_slice(given, slice(-1)), _slice(given, slice(-1, None))] if split else [given]
                of_group = []
                for part in parts:
                    before = x
                    (x, handed), report = self.run()(layer, part, (x, handed))
                    of_group.append(report)
                reports |= _joined(of_group)
            found.append(reports)
        self._report(_joined(found))
        return before, x

    def _report(self, found: Mapping[str, Mapping[str, PyTree]]) -> None:
        """Store what layers reported: by group name and collection, with a leading axis over the layers."""
        for group, reports in found.items():
            for collection, value in reports.items():
                self.put_variable(collection, group, value)

    def _layer(self, group: LayerGroup, context: LayerContext, train: bool) -> RunLayer:
        """Return the function that runs one repeat of a group on its parameters, first number, key and edits."""

        def layer(carry: Carry, this: PyTree) -> tuple[Carry, PyTree]:
            (x, handed), (params, number, key, edits), reports = carry, this, {}
            for place, (name, block) in enumerate(zip(group.names(), group.blocks, strict=True)):
                rngs = {} if key is None else {'dropout': jax.random.fold_in(key, place)}
                own = context.replace(layer=number + place, layers=self.layers, handed=handed)
                variables = {'params': params[name], EDITS: edits[name]}
                (x, _), handed, reports[name] = self._run(block, variables, x, own, train, None, rngs)
            return (x, handed), reports

        return layer

    def _run(
        self,
        block: Part[Block],
        variables: Mapping[str, PyTree],
        x: Hidden,
        context: LayerContext,
        train: bool,
        state: State | None,
        rngs: Mapping[str, PRNGKey],
    ) -> tuple[tuple[Hidden, State], EarlierValues, PyTree]:
        """Run one layer; return its output and state, what layers so far handed on, and its reports by collection."""
        ends = {}

        def tap(name: str, x: Hidden) -> Hidden:
            x = variables[EDITS][name].of(x, context.real) if name in variables[EDITS] else x
            if self.is_mutable_collection(name):
                ends[name] = {name: Tapped(x, 'B T D')}
            return x

        x, mutable = tap('residual_before', x), union_filters(self.scope.mutable, (HANDED,))
        given = variables, x, context, train, state
        (x, state), report = block(parent=None).apply(*given, rngs=rngs, mutable=mutable, method='mix')
        x, handed = tap('residual_after', x), context.handed | handed_on(report)
        return (x, state), handed, ends | {name: report[name] for name in report if name not in _NOT_REPORTED}

    def _edits(self) -> Mapping[str, PyTree]:
        """Return the edits of the layers by group name, with a leading axis over passes and repeats."""
        return self.variables.get(EDITS, {})

    def _keys(self, group: LayerGroup, key: PRNGKey | None) -> PRNGKey | None:
        """Return dropout keys by pass and repeat."""
        if key is None:
            return None
        own = jax.random.fold_in(key, group.first) if group.first else key
        return jax.random.split(own, (self.passes, group.repeats))

    @staticmethod
    def _before(layer: RunLayer, x: Hidden, handed: EarlierValues, given: PyTree) -> EarlierValues:
        """Add empty entries for the arrays that a group's layers hand on: the carry of a scan must not change."""
        (_, after), _ = jax.eval_shape(layer, (x, handed), _slice(given, 0))
        return {
            name: handed.get(name) or jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), after[name])
            for name in after
        }

    def _chunk(self, x: Hidden, context: LayerContext, states: tuple[State, ...]) -> tuple[Hidden, tuple[State, ...]]:
        advanced, handed, edits = [], {}, self._edits()
        found: dict[str, list[PyTree]] = {}
        for (block, params, number, name), state in zip(self._layers(), states, strict=True):
            handed = handed if number else {}  # reset at each pass
            own = context.replace(layer=jnp.int32(number), layers=self.layers, handed=handed)
            of_group = found.setdefault(name, [])
            variables = {'params': params, EDITS: _slice(edits.get(name, {}), len(of_group))}
            (x, state), handed, report = self._run(block, variables, x, own, False, state, {})
            of_group.append(report)
            advanced.append(state)
        self._report({name: jax.tree.map(lambda *leaves: jnp.stack(leaves), *of) for name, of in found.items()})
        return x, tuple(advanced)

    def _places(self) -> Iterator[tuple[Part[Block], str, int, int]]:
        """Yield each layer's block, parameter name, repeat and number, in the order of the forward pass."""
        for _ in range(self.passes):
            for group in self.groups:
                for number in range(group.repeats * len(group.blocks)):
                    repeat, place = divmod(number, len(group.blocks))
                    yield group.blocks[place], group.names()[place], repeat, group.first + number

    def _layers(self) -> Iterator[tuple[Part[Block], PyTree, int, str]]:
        """Yield each layer's block, parameters, number and group name, in the order of the forward pass."""
        for block, name, repeat, number in self._places():
            yield block, _layer_of(self.get_variable('params', name), repeat), number, name

    def _stacked(self, group: LayerGroup, x: Hidden, context: LayerContext) -> dict[str, Any]:
        context = context.replace(layer=jnp.int32(group.first), layers=self.layers)

        def initialised(block: Part[Block]) -> Callable[[PRNGKey], Any]:
            return lambda key: block(parent=None).init(key, x, context, False)

        return {
            name: parameters(self, name, 'L', group.repeats, initialised(block))
            for name, block in zip(group.names(), group.blocks, strict=True)
        }


def layer_states(reported: Mapping[str, PyTree]) -> list[Hidden]:
    """Return the hidden states that a model reported in STATES: the embedded inputs, then each layer's output."""
    layers = {name: found['residual_after'].value for name, found in reported['residual_after']['layers'].items()}
    repeats = {name: len(states) for name, states in layers.items()}
    return [reported['embedded']['embedded'].value, *(layers[name][repeat] for name, repeat in in_order(repeats))]


def _carried(block: Block) -> str:
    """Return a description of the block's output: residual streams or one hidden state."""
    return (
        f'{block.count} streams of {type(block).__name__}' if isinstance(block, ResidualStreams) else 'one hidden state'
    )


def unstacked(params: PyTree) -> PyTree:
    """Return parameters with every stack split into a tuple of layers, which `Stack.mix` also accepts.

    A loop of steps over stacked parameters would copy every layer's parameters at every step.
    """
    if not isinstance(params, Mapping):
        return params
    return {name: _layers(value) if is_group(name) else unstacked(value) for name, value in params.items()}


def _layers(stacked: PyTree) -> tuple[PyTree, ...]:
    # Not by slices: the gradient of each slice would be a whole stack of zeros except for one layer, all summed.
    leaves, structure = jax.tree.flatten(stacked)
    return tuple(structure.unflatten(layer) for layer in zip(*map(jnp.unstack, leaves), strict=True))


def _layer_of(params: PyTree, repeat: int) -> PyTree:
    return params[repeat] if isinstance(params, tuple) else _slice(params, repeat)


def _joined(reports: list[PyTree]) -> PyTree:
    """Return the reports of several runs of layers, one after another along the axis of layers."""
    return reports[0] if len(reports) == 1 else jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *reports)


def _slice(stacked: PyTree, number: int | slice) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[number], stacked)
