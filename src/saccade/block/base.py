# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base classes of blocks: one method, `mix`, connects the parts for whole sequences and for decoding."""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float

from saccade.feedforward.mlp import MLP
from saccade.module import Layer
from saccade.norm.layer import LayerNorm
from saccade.types import (
    CrossMixer,
    FeedForward,
    Hidden,
    LayerContext,
    Mixer,
    Norm,
    Pages,
    Part,
    Real,
    Source,
    State,
    UserError,
    require_result,
)


class BlockBase(Layer):
    """Base class of blocks. A block overrides `mix`, which calls `run_mixer` to run its mixer.

    A block that requires a feed-forward layer redeclares that field without None.

    Attributes:
        mixer: token mixer, such as attention.
        feedforward: feed-forward layer; None for a block with only the mixer, as in attention-only Transformers (Elhage
            et al. 2021, "A Mathematical Framework for Transformer Circuits",
            https://transformer-circuits.pub/2021/framework).
        norm: norm of every place; each has its own parameters.
        norms: norms that differ from `norm`, by place; `norm.none:NoNorm` for none. The parameters of the norm of
            PLACE are in PLACE_norm.

    A block declares `identity`: True if it returns its input when its mixer and its feed-forward layer return zero.
    """

    identity: ClassVar[bool]

    mixer: Part[Mixer]
    feedforward: Part[FeedForward] | None = Part(MLP)
    norm: Part[Norm] = Part(LayerNorm)
    norms: tuple[tuple[str, Part[Norm]], ...] = ()

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the branches, in order."""
        return ('mixer',) if self.feedforward is None else ('mixer', 'feedforward')

    @property
    def norm_places(self) -> tuple[str, ...]:
        """Places that have a norm: each branch, unless a subclass overrides this."""
        return self.branches

    def norm_of(self, place: str, usual: Part[Norm] | None = None) -> Norm:
        """Create the norm of a place.

        Args:
            usual: default for a place that `norms` does not name; None for `norm`.

        Raises:
            UserError: `norms` names a place without a norm in this block.
        """
        for name, _ in self.norms:
            if name not in self.norm_places:
                places = ', '.join(self.norm_places)
                raise UserError(f"{Part(type(self)).name}: norms: there is no norm of '{name}', but of {places}")
        return dict(self.norms).get(place, usual or self.norm)(name=f'{place}_norm')

    def run_mixer(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run the mixer; return its output, in the shape of x, and the new state.

        Raises:
            UserError: the output has another shape than x.
        """
        mixer = self.mixer(name='mixer')
        found = mixer.mix(x, context, train, state)
        after = found[1] if isinstance(found, tuple) and len(found) == 2 else None
        require_result(mixer, 'mix', found, (x, after))
        return self.tap('mixer_output', 'B T D', found[0], real=context.real), after

    def run_feedforward(self, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        """Run the feed-forward layer; return its output, in the shape of x."""
        y = applied(self.feedforward(name='feedforward'), x, train, context.real)
        return self.tap('feedforward_output', 'B T D', y, real=context.real)

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> State:
        """Return the mixer's initial state for `capacity` tokens per row; `source` is used by cross-attention only."""
        return self.mixer(parent=None).init_state(x, capacity)

    def init_pages(self, x: Hidden, pages: Pages) -> State:
        """Return the mixer's initial state for decoding with a pool of pages."""
        return self.mixer(parent=None).init_pages(x, pages)


def applied(layer: nn.Module, x: Hidden, *rest: Any) -> Hidden:
    """Apply a layer whose output must have the shape of its input.

    Raises:
        UserError: the output has another shape.
    """
    y = layer(x, *rest)
    require_result(layer, '__call__', y, x)
    return y


@struct.dataclass
class CrossState:
    """Decoding state of a block with cross-attention.

    Attributes:
        mixer: state of the mixer.
        cross: keys and values of the source; constant during decoding.
    """

    mixer: State
    cross: State


class SequentialBlock(BlockBase):
    """Sequential block: one residual branch after another, the mixer, `cross`, the feed-forward layer.

    A subclass overrides `before` and `after`, which apply to each branch; a branch has the name of its parameters.

    Attributes:
        cross: cross-attention to a source, with a norm of its own (Vaswani et al. 2017, section 3.1, "encoder-decoder
            attention"). The mixer does not read the source, and the score terms shared by layers apply only to the
            mixer. None for a block without cross-attention.
    """

    of_source: ClassVar[tuple[str, ...]] = ('cross',)  # fields of parts that read another sequence

    cross: Part[CrossMixer] | None = None

    def before(self, branch: str, x: Hidden, real: Real | None) -> Hidden:
        """Return the input of a branch: norm(x), unless a subclass overrides this."""
        return applied(self.norm_of(branch), x, real)

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return the residual sum of x and a branch's output y. Abstract."""
        raise NotImplementedError

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run the mixer, then `cross`, then the feed-forward layer."""
        own, across = (context, None) if self.cross is None else self._apart(context)
        before = state if self.cross is None or state is None else state.mixer
        real = context.real
        mixed, after = self.run_mixer(self.before('mixer', x, real), own, train, before)
        x = self.tap('residual_after_mixer', 'B T D', self.after('mixer', x, mixed, real), real=real)
        if self.cross is not None:
            h, of_source = self.before('cross', x, real), None if state is None else state.cross
            y, of_source = self.cross(name='cross').mix(h, across, train, of_source)
            x = self.after('cross', x, self.tap('cross_output', 'B T D', y, real=real), real)
            x, after = self.tap('residual_after_cross', 'B T D', x, real=real), CrossState(after, of_source)
        if self.feedforward is not None:
            h = self.before('feedforward', x, real)
            x = self.after('feedforward', x, self.run_feedforward(h, context, train), real)
        return x, after

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> State:
        """Return the mixer's initial state for `capacity` tokens per row, and `cross`'s keys and values of the source.

        Raises:
            UserError: the block has `cross`, but there is no source.
        """
        state = super().init_state(x, capacity)
        if self.cross is None:
            return state
        if source is None:
            raise UserError(f'{Part(type(self)).name}: cross needs a source to decode: start with `encode`')
        params = {'params': self.get_variable('params', 'cross')}
        return CrossState(state, self.cross(parent=None).apply(params, x, capacity, source, method='init_state'))

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the branches, in order."""
        mixer, *rest = super().branches
        return (mixer, *rest) if self.cross is None else (mixer, 'cross', *rest)

    def _apart(self, context: LayerContext) -> tuple[LayerContext, LayerContext]:
        """Return the context of the mixer, without the source, and that of `cross`, without score terms."""
        if context.source is None:
            raise UserError(
                f'{Part(type(self)).name}: cross requires a source; only the decoder of '
                f'model.encoder_decoder:EncoderDecoder has one'
            )
        return context.replace(source=None), context.replace(terms=())


class ResidualStreams(BlockBase):
    """Base class of blocks with R residual streams, concatenated along the width: [B T (R D)].

    The stack calls `expand` before the first layer and `reduce` after the last. All blocks of a model must have the
    same R.
    """

    @property
    def count(self) -> int:
        """R, the number of residual streams. Abstract."""
        raise NotImplementedError

    def expand(self, x: Hidden) -> Float[Array, 'B T RD']:
        """Return R copies of the hidden state as streams. There are no parameters."""
        return jnp.tile(x, self.count)

    def reduce(self, x: Float[Array, 'B T RD']) -> Hidden:
        """Reduce the streams to one hidden state. Its parameters, if any, are created in `setup`."""
        raise NotImplementedError

    def init_state(self, x: Float[Array, 'B T RD'], capacity: int, source: Source | None = None) -> State:
        """Return the mixer's initial state, for inputs of the width D of one stream."""
        return super().init_state(self.apart(x)[..., 0, :], capacity)

    def init_pages(self, x: Float[Array, 'B T RD'], pages: Pages) -> State:
        """Return the mixer's initial state with pages, for inputs of the width D of one stream."""
        return super().init_pages(self.apart(x)[..., 0, :], pages)

    def apart(self, x: Float[Array, 'B T RD']) -> Float[Array, 'B T R D']:
        """Split the width into the R streams."""
        return rearrange(x, 'B T (R D) -> B T R D', R=self.count)


def together(streams: Float[Array, 'B T R D']) -> Float[Array, 'B T RD']:
    """Join R streams into one width; the inverse of `ResidualStreams.apart`."""
    return rearrange(streams, 'B T R D -> B T (R D)')
