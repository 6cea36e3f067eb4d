# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What all blocks share: they are called, and they decode, through one wiring.

A block is one file that says how its parts are wired (`wire`); calling and decoding differ only in how its
mixer is asked.
"""

from collections.abc import Callable
from typing import Any

import flax.linen as nn

from saccade.types import FeedForward, Hidden, Mixer, Norm, Part, Scope, State

Mix = Callable[[Mixer, Hidden], tuple[Hidden, Any]]


class Wiring(nn.Module):
    """Attributes: the mixer, the feed-forward layer, and the norm, of which each place makes its own."""

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
