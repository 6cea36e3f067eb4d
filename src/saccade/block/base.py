# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base classes of blocks: one method, `wire`, connects the parts for whole sequences and for decoding.

A block is one file that says how its parts are wired (`wire`); whole sequences and decoding differ only in how the
mixer is called.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float

from saccade.types import (
    CrossMixer,
    FeedForward,
    Hidden,
    LayerContext,
    Mixer,
    Norm,
    Part,
    Real,
    Source,
    State,
    UserError,
    require_result,
)

Mix = Callable[[Mixer, Hidden], tuple[Hidden, Any]]
CrossAttend = Callable[[CrossMixer, Hidden], Hidden]


class BlockBase(nn.Module):
    """Base of blocks.

    A block that means nothing without a feed-forward layer declares that field again, without None.

    Attributes:
        mixer: what moves information between tokens.
        feedforward: None for a block of the mixer alone, as in attention-only Transformers (Elhage et al. 2021, "A
            Mathematical Framework for Transformer Circuits", https://transformer-circuits.pub/2021/framework).
        norm: of which each place makes its own.
        norms: by place, the norms that are others than `norm`; `norm.none:NoNorm` for none. A place is named as its
            parameters are, PLACE_norm.

    A block declares `identity`: whether it returns its input where its mixer and its feed-forward layer return zero.
    """

    identity: ClassVar[bool]

    mixer: Part[Mixer]
    feedforward: Part[FeedForward] | None
    norm: Part[Norm]
    norms: tuple[tuple[str, Part[Norm]], ...] = field(default=(), kw_only=True)

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the branches, in order."""
        return ('mixer',) if self.feedforward is None else ('mixer', 'feedforward')

    @property
    def norm_places(self) -> tuple[str, ...]:
        """The places that have a norm: each branch, unless a subclass has others."""
        return self.branches

    def norm_of(self, place: str, usual: Part[Norm] | None = None) -> Norm:
        """Make the norm of a place.

        Args:
            usual: the norm where `norms` does not name the place; None for `norm`.

        Raises:
            UserError: `norms` names a place that the block has no norm for.
        """
        for name, _ in self.norms:
            if name not in self.norm_places:
                places = ', '.join(self.norm_places)
                raise UserError(f"{Part(type(self)).name}: norms: there is no norm of '{name}', but of {places}")
        return dict(self.norms).get(place, usual or self.norm)(name=f'{place}_norm')

    def wire(self, x: Hidden, train: bool, real: Real | None, mix: Mix) -> tuple[Hidden, Any]:
        """Return the block's output, and the state that `mix` returned with the mixed tokens. To be overridden.

        Args:
            real: which places hold a token, for norms and feed-forward layers with statistics over tokens.
            mix: calls the mixer, for whole sequences or for a chunk.
        """
        raise NotImplementedError

    def __call__(self, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        return self.wire(x, train, context.real, lambda mixer, h: (applied(mixer, h, context, train), None))[0]

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return the mixer's initial state, for `capacity` tokens a row."""
        return self.mixer(parent=None).init_state(x, capacity)

    def step(self, x: Hidden, context: LayerContext, state: State) -> tuple[Hidden, State]:
        """Run a chunk of tokens through the block; return its output and the mixer's state after it."""
        return self.wire(x, False, context.real, lambda mixer, h: mixer.step(h, context, state))

    def precompute_kv(self, x: Hidden, capacity: int, source: Source) -> State:
        """Return the initial state of decoding with a source: without cross-attention that of `init_state`."""
        return self.init_state(x, capacity)


def applied(layer: nn.Module, x: Hidden, *rest: Any) -> Hidden:
    """Apply a layer that keeps the shape of its input.

    Raises:
        UserError: it returns something else.
    """
    y = layer(x, *rest)
    require_result(layer, '__call__', y, x)
    return y


@struct.dataclass
class CrossState:
    """Decoding state of a block with cross-attention.

    Attributes:
        mixer: state of the mixer.
        cross: keys and values of the source, which steps leave as they are.
    """

    mixer: State
    cross: State


class SequentialBlock(BlockBase):
    """Sequential block: one residual branch after another, the mixer, `cross`, the feed-forward layer.

    A subclass says what is done before and after a branch; a branch has the name of its part's parameters.

    Attributes:
        cross: cross-attention to a source, with a norm of its own (Vaswani et al. 2017, section 3.1, "encoder-decoder
            attention"). The mixer then sees the tokens alone, and the score terms that layers share are for the mixer
            alone. None for a block without cross-attention.
    """

    of_source: ClassVar[tuple[str, ...]] = ('cross',)  # fields of parts that read another sequence

    cross: Part[CrossMixer] | None = field(default=None, kw_only=True)

    def before(self, branch: str, x: Hidden, real: Real | None) -> Hidden:
        """Return the input of a branch: norm(x), unless a subclass has the norm elsewhere."""
        return applied(self.norm_of(branch), x, real)

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return x with a branch's output y added to it, as the block does that. To be overridden."""
        raise NotImplementedError

    @nn.compact
    def wire(
        self, x: Hidden, train: bool, real: Real | None, mix: Mix, cross_attend: CrossAttend | None = None
    ) -> tuple[Hidden, Any]:
        """Run the mixer, then `cross` where `cross_attend` is given, then the feed-forward layer."""
        mixed, state = mix(self.mixer(name='mixer'), self.before('mixer', x, real))
        x = self.after('mixer', x, mixed, real)
        if cross_attend is not None:
            x = self.after('cross', x, cross_attend(self.cross(name='cross'), self.before('cross', x, real)), real)
        if self.feedforward is not None:
            h = self.before('feedforward', x, real)
            branch = applied(self.feedforward(name='feedforward'), h, train, real)
            x = self.after('feedforward', x, branch, real)
        return x, state

    def __call__(self, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        if self.cross is None:
            return super().__call__(x, context, train)
        own, across = self._apart(context)
        return self.wire(
            x,
            train,
            context.real,
            lambda mixer, h: (applied(mixer, h, own, train), None),
            lambda cross, h: cross(h, across, train),
        )[0]

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return the mixer's initial state, for `capacity` tokens a row.

        Raises:
            UserError: the block has `cross`, whose state `precompute_kv` makes.
        """
        if self.cross is not None:
            raise UserError(f'{Part(type(self)).name}: cross needs a source to decode beside: start with `encode`')
        return super().init_state(x, capacity)

    def precompute_kv(self, x: Hidden, capacity: int, source: Source) -> State:
        """Return keys and values of the source for `cross`, and the initial state of the mixer."""
        if self.cross is None:
            return super().precompute_kv(x, capacity, source)
        params = {'params': self.get_variable('params', 'cross')}
        cross = self.cross(parent=None).apply(params, x, source, method='precompute_kv')
        return CrossState(self.mixer(parent=None).init_state(x, capacity), cross)

    def step(self, x: Hidden, context: LayerContext, state: State) -> tuple[Hidden, State]:
        """Run a chunk of tokens through the block; with `cross` it attends to the precomputed keys and values."""
        if self.cross is None:
            return super().step(x, context, state)
        own, across = self._apart(context)
        x, mixer = self.wire(
            x,
            False,
            context.real,
            lambda mixer, h: mixer.step(h, own, state.mixer),
            lambda cross, h: cross.cross_attend(h, across, state.cross),
        )
        return x, state.replace(mixer=mixer)

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the branches, in order."""
        mixer, *rest = super().branches
        return (mixer, *rest) if self.cross is None else (mixer, 'cross', *rest)

    def _apart(self, context: LayerContext) -> tuple[LayerContext, LayerContext]:
        """Return the context of the mixer, without the source, and that of `cross`, without score terms."""
        if context.source is None:
            raise UserError(
                f'{Part(type(self)).name}: cross reads a source, and there is none; the decoder of '
                f'model.encoder_decoder:EncoderDecoder has one'
            )
        return context.replace(source=None), context.replace(terms=())


class ResidualStreams(BlockBase):
    """Base of blocks with R residual streams, which are concatenated along the width: [B T (R D)].

    The stack calls `expand` before the first layer and `reduce` after the last. Blocks of one pattern must agree on R.
    """

    @property
    def count(self) -> int:
        """R, the number of residual streams. To be overridden."""
        raise NotImplementedError

    def expand(self, x: Hidden) -> Float[Array, 'B T RD']:
        """Return R streams, each a copy of the hidden state. It has no parameters."""
        return jnp.tile(x, self.count)

    def reduce(self, x: Float[Array, 'B T RD']) -> Hidden:
        """Return one hidden state made of the streams. Parameters that it needs are made in `setup`."""
        raise NotImplementedError

    def init_state(self, x: Float[Array, 'B T RD'], capacity: int) -> State:
        """Return the mixer's initial state, for tokens of the width D of one stream."""
        return super().init_state(self.apart(x)[..., 0, :], capacity)

    def apart(self, x: Float[Array, 'B T RD']) -> Float[Array, 'B T R D']:
        """Split the width into the R streams."""
        return rearrange(x, 'B T (R D) -> B T R D', R=self.count)


def together(streams: Float[Array, 'B T R D']) -> Float[Array, 'B T RD']:
    """Join R streams into one width; the inverse of `ResidualStreams.apart`."""
    return rearrange(streams, 'B T R D -> B T (R D)')
