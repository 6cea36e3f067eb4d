# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of layers: norms, feed-forward layers, routers, positions of tokens, blocks."""

from typing import Any, ClassVar, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.types.arrays import Hidden, Real, State
from saccade.types.context import Scope


@runtime_checkable
class Norm(Protocol):
    """Normalises each token. `real` is for those that keep statistics over tokens, in which padding does not count."""

    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden: ...


@runtime_checkable
class FeedForward(Protocol):
    """A layer of each token by itself. `real` is for those in which tokens compete, as padding does not."""

    def __call__(self, x: Hidden, train: bool, real: Real | None = None) -> Hidden: ...


@runtime_checkable
class Router(Protocol):
    """Which of E experts serve which token, A of them on average: makes `ops.routing:Routes`. T counts all places.

    `real` says which of them hold a token: padding is not routed, and counts in no load. `sees_others` declares that
    the experts of a token depend on the other tokens, later ones too.
    """

    sees_others: ClassVar[bool]

    def __call__(
        self, x: Float[Array, 'T D'], experts: int, active: int, train: bool, real: Bool[Array, 'T']
    ) -> Any: ...


@runtime_checkable
class TokenPosition(Protocol):
    """A scheme that acts on the embedded tokens, once."""

    def __call__(self, x: Hidden, positions: Int[Array, 'B T']) -> Hidden: ...


@runtime_checkable
class Block(Protocol):
    """One layer: mixer, feed-forward, norms and residual connections.

    `identity` declares that it returns its input where its mixer and its feed-forward layer return zero.
    """

    identity: ClassVar[bool]

    def __call__(self, x: Hidden, scope: Scope, train: bool) -> Hidden: ...

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return the state for decoding `capacity` tokens a row, in the batch, width and dtype of x."""
        ...

    def step(self, x: Hidden, scope: Scope, state: State) -> tuple[Hidden, State]:
        """Run a chunk of tokens through the block; return its output and the state after it."""
        ...


@runtime_checkable
class Runner(Protocol):
    """How L layers with stacked parameters are run one after another."""

    def __call__(self, layer: Any, stacked: PyTree, x: Hidden) -> tuple[Hidden, PyTree]: ...
