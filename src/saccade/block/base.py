# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What all blocks share: they are called, and they decode, through one wiring.

A block is one file that says how its parts are wired (`wire`); calling and decoding differ only in how its
mixer is asked.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.types import FeedForward, Hidden, Mixer, Norm, Part, Scope, State

Mix = Callable[[Mixer, Hidden], tuple[Hidden, Any]]


class Wiring(nn.Module):
    """Attributes: the mixer, the feed-forward layer, and the norm, of which each place makes its own.

    A block declares `identity`: that it returns its input where its mixer and its feed-forward layer return zero.
    """

    identity: ClassVar[bool]

    mixer: Part[Mixer]
    feedforward: Part[FeedForward]
    norm: Part[Norm]

    def wire(self, x: Hidden, train: bool, mix: Mix) -> tuple[Hidden, Any]:
        """Return the block's output, and whatever `mix` returned beside the mixed tokens. To be overridden."""
        raise NotImplementedError

    def __call__(self, x: Hidden, scope: Scope, train: bool) -> Hidden:
        return self.wire(x, train, lambda mixer, h: (mixer(h, scope, train), None))[0]

    def init_state(self, x: Hidden, capacity: int) -> State:
        return self.mixer(parent=None).init_state(x, capacity)

    def step(self, x: Hidden, scope: Scope, state: State) -> tuple[Hidden, State]:
        return self.wire(x, False, lambda mixer, h: mixer.step(h, scope, state))


class Streams(Wiring):
    """A wiring whose layers hand on R hidden states instead of one, side by side in the width: [B T (R D)].

    The stack calls `enter` before the first layer and `leave` after the last. Blocks of one pattern must agree on R.
    """

    @property
    def count(self) -> int:
        """R. To be overridden."""
        raise NotImplementedError

    def enter(self, x: Hidden) -> Float[Array, 'B T RD']:
        """Make every stream a copy of the hidden state. It has no parameters."""
        return jnp.tile(x, self.count)

    def leave(self, x: Float[Array, 'B T RD']) -> Hidden:
        """Make one hidden state of the streams. Parameters that it needs are to be made in `setup`."""
        raise NotImplementedError

    def init_state(self, x: Float[Array, 'B T RD'], capacity: int) -> State:
        return super().init_state(self.apart(x)[..., 0, :], capacity)

    def apart(self, x: Float[Array, 'B T RD']) -> Float[Array, 'B T R D']:
        return rearrange(x, 'B T (R D) -> B T R D', R=self.count)


def together(streams: Float[Array, 'B T R D']) -> Float[Array, 'B T RD']:
    return rearrange(streams, 'B T R D -> B T (R D)')
