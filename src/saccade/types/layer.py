# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of layers: embeddings, norms, feed-forward layers, routers, positions of tokens, blocks."""

from typing import Any, ClassVar, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.types.arrays import Hidden, Inputs, Real, State, Table
from saccade.types.context import LayerContext


@runtime_checkable
class Embedding(Protocol):
    """Embedding of a model's inputs, as E numbers for each place; `reads` names their array in a batch.

    Where it names several, the inputs are a tuple of these arrays.
    It returns the context of the places that it makes: the one it was given, where these are those of the inputs.
    """

    reads: str | tuple[str, ...]

    def __call__(
        self, inputs: Inputs, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        """Embed the inputs. `width` is E; `table` holds a vector for each token of the model's vocabulary, if any."""
        ...


@runtime_checkable
class Norm(Protocol):
    """Norm of each token. `real` is for norms with statistics over tokens, in which padding does not count.

    It may declare in words, by a class attribute `mixes_rows`, what depends on which rows come together, as
    'the statistics of its gradient': under `accumulate` and `pmap` these are fewer than the batch has. So may routers,
    tasks and augmentations.
    """

    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden: ...


@runtime_checkable
class FeedForward(Protocol):
    """Feed-forward layer, of each token by itself. `real` excludes padding where tokens compete, as for experts."""

    def __call__(self, x: Hidden, train: bool, real: Real | None = None) -> Hidden: ...


@runtime_checkable
class Router(Protocol):
    """Router of a mixture of experts: makes `ops.routing:Routes`, A of E experts a token on average.

    T counts all places of a batch, and `real` says which of them hold a token: padding is not routed, and counts in no
    load. `sees_others` declares that the experts of a token depend on the other tokens, later ones too.
    """

    sees_others: ClassVar[bool]

    def __call__(
        self, x: Float[Array, 'T D'], experts: int, active: int, train: bool, real: Bool[Array, 'T']
    ) -> Any: ...


@runtime_checkable
class TokenPosition(Protocol):
    """Position scheme that acts on the embedded tokens, once."""

    def __call__(self, x: Hidden, positions: Int[Array, 'B T']) -> Hidden: ...


@runtime_checkable
class Block(Protocol):
    """Block, one layer of a model: mixer, feed-forward layer, norms and residual connections.

    `saccade.module:Layer` is its base class.
    `identity` declares that it returns its input where its mixer and its feed-forward layer return zero.
    """

    identity: ClassVar[bool]

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run the block over whole sequences, where the state is None, or over a chunk of tokens."""
        ...

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return the state for decoding `capacity` tokens a row, in the batch, width and dtype of x."""
        ...


@runtime_checkable
class Runner(Protocol):
    """Runner of L layers with stacked parameters, one after another: scanned or unrolled."""

    def __call__(self, layer: Any, stacked: PyTree, carry: PyTree) -> tuple[PyTree, PyTree]: ...
