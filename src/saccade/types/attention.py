# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of attention: masks, score terms, softmax and its alternatives, positions, kernels, mixers."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.types.arrays import Hidden, KeyIndex, Keys, Mixed, Queries, QueryIndex, Scores, State, Values
from saccade.types.context import Scope, Source


@dataclass(frozen=True)
class Capabilities:
    """Capabilities that a part declares. The compatibility matrix and the test grid are generated from it.

    Attributes:
        causal, full: serves masks that hide what follows a token, masks that hide nothing.
        cross, packed: serves keys of another length, segment masks.
        terms: makes scores, so that it serves score terms (biases, softcaps, relative positions) and any mask.
        content: serves score terms that read queries and keys too, and not their positions alone.
        scores: is a mixer that needs a kernel which makes scores.
        cached: `step` replays `__call__`.
        weights: can return the attention weights.
        sums: the state adds tokens up, so it is in float32 whatever the tokens are in.
        equivariant: under a full mask and without positions, tokens that change places change places and no more.
        time, memory: order of cost of a whole sequence, in the letters of the axis table.
        state: order of the size of a row's decoding state, S for the tokens there is room for. Of the three, what is
            empty is for a part inside this one to say.
    """

    causal: bool = True
    full: bool = True
    cross: bool = True
    packed: bool = True
    terms: bool = True
    content: bool = True
    scores: bool = False
    cached: bool = True
    weights: bool = False
    sums: bool = False
    equivariant: bool = True
    time: str = ''
    memory: str = ''
    state: str = ''


@runtime_checkable
class Mask(Protocol):
    """Which query may attend to which key; combines with & and |."""

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']: ...

    def live(self, q: range, k: range) -> bool:
        """False where it is known while tracing that no pair of the two ranges may attend."""
        ...


@struct.dataclass
class Pairs:
    """The pairs of a query and a key that a block of scores is of.

    Attributes:
        q_index, k_index: of each query and key; the token's position where decoding looks into a state.
        allowed: which pairs the mask allows. Padding, other documents and empty slots are never among them.
        scale: factor of q.k, for terms that add products of their own.
    """

    q_index: QueryIndex
    k_index: KeyIndex
    allowed: Bool[Array, '#B 1 T S']
    scale: float = struct.field(pytree_node=False, default=1.0)

    @property
    def distance(self) -> Int[Array, '... T S']:
        """Key minus query, in tokens."""
        return self.k_index[..., None, :] - self.q_index[..., :, None]


@runtime_checkable
class ScoreTerm(Protocol):
    """A pytree that changes a block of scores: a bias, a softcap, a relative position.

    Key blocks are visited from the last to the first, and `carry` passes from each to the one before it. Blocks in
    which no pair is allowed may be left out, so a carry must come from allowed pairs alone.
    """

    def init_carry(self, q: Queries) -> PyTree:
        """What the last key block gets for a carry, in the shapes of q. No gradient flows through it."""
        ...

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]: ...


@runtime_checkable
class TermMaker(Protocol):
    """Makes score terms for so many heads, with parameters of its own."""

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the score terms for attention with this many heads."""
        ...


@runtime_checkable
class RowSoftmax(Protocol):
    """A pytree that turns whole rows of scores into attention weights; what is not allowed gets exactly zero."""

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B 1 T S']) -> Scores: ...


@runtime_checkable
class OnlineSoftmax(RowSoftmax, Protocol):
    """Weights that can be made from one block of keys after another, with no more than numbers per row in between.

    Scores that are not allowed come as -inf. Rows are [B N T]; a statistic is a pytree of them, or empty.
    """

    def start(self, rows: tuple[int, int, int]) -> PyTree:
        """The statistic of rows of which no key was seen."""
        ...

    def accumulate(self, statistic: PyTree, scores: Scores) -> tuple[PyTree, Scores, Float[Array, '#B #N #T']]:
        """Take in a block: the new statistic, weights up to a factor of the row, and what the weights of earlier
        blocks are to be multiplied by.
        """
        ...

    def finalise(self, statistic: PyTree) -> tuple[Float[Array, '#B #N #T'], PyTree]:
        """After the last block: that factor of the row, and what the backward pass is to know of the row."""
        ...

    def backward(
        self, scores: Scores, known: PyTree, dweights: Scores, inner: Float[Array, 'B N T 1']
    ) -> tuple[Scores, Scores, Any]:
        """A block's weights once more, the gradient by its scores, and what it adds to that by this pytree itself.

        Args:
            inner: the sum over all keys of weight times dweight.
        """
        ...


@dataclass(frozen=True)
class Rows:
    """Properties of a row of attention weights that has a key, as a softmax or its alternative declares them.

    Attributes:
        least, most: bounds of its sum.
        dense: every key that is allowed gets a weight other than zero.
        continuous: small changes of the scores change the weights little.
    """

    least: float = 1.0
    most: float = 1.0
    dense: bool = True
    continuous: bool = True


@runtime_checkable
class SoftmaxVariant(Protocol):
    """Softmax or an alternative: makes, for so many heads, the value that turns scores into weights."""

    rows: ClassVar[Rows]

    def __call__(self, heads: int) -> RowSoftmax: ...


@runtime_checkable
class OnlineSoftmaxVariant(SoftmaxVariant, Protocol):
    """One with an online form, which never needs a row as a whole. `online` is the class of what it makes."""

    online: ClassVar[type[OnlineSoftmax]]

    def __call__(self, heads: int) -> OnlineSoftmax: ...


@runtime_checkable
class PairPosition(Protocol):
    """A scheme that acts inside attention, on queries and keys or on their scores."""

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]:
        """Return queries and keys changed by their positions, in their own shapes."""
        ...

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the score terms of the scheme for attention with this many heads; none where it acts on q and k."""
        ...


@runtime_checkable
class Kernel(Protocol):
    """How queries, keys and values become one output a query; and the state this needs to do it step by step.

    `scoring` is an `ops.scoring:Scoring`: the scale, the mask and the score terms.
    """

    capabilities: ClassVar[Capabilities]

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Any, train: bool) -> Mixed: ...

    def init_state(self, k: Keys, v: Values, capacity: int) -> State:
        """State for the newest `capacity` tokens a row, in the shapes and dtypes of k and v.

        Where the mask looks back fewer tokens than that, more will come: older ones are then no longer needed.
        """
        ...

    def step(self, q: Queries, k: Keys, v: Values, scoring: Any, state: State, scope: Scope) -> tuple[Mixed, State]:
        """Attend by a chunk of queries to the state and to the chunk; return the output and the state after it."""
        ...


@runtime_checkable
class Mixer(Protocol):
    """The only part that moves information between tokens."""

    def __call__(self, x: Hidden, scope: Scope, train: bool) -> Hidden: ...

    def init_state(self, x: Hidden, capacity: int) -> State:
        """State for `capacity` tokens a row, in the batch, width and dtype of x; axis 0 of each leaf is B."""
        ...

    def step(self, x: Hidden, scope: Scope, state: State) -> tuple[Hidden, State]:
        """Take a chunk of one or more tokens that follow those already in the state.

        Past the capacity the newest slots are overwritten: whoever steps keeps count. A state whose size the capacity
        does not change, as under a mask that looks back fewer tokens, may be stepped for ever.
        """
        ...


@runtime_checkable
class KVSharingMixer(Mixer, Protocol):
    """A mixer whose keys and values other layers of the same spec may use: cross-layer KV sharing.

    `shared_kv` is what the first of these layers made; where it is None, a mixer makes its own.
    """

    def share_kv(self, x: Hidden, scope: Scope, train: bool, shared_kv: PyTree) -> tuple[Hidden, PyTree]:
        """What `__call__` returns, and the keys and values, for the next layers."""
        ...

    def share_kv_step(self, x: Hidden, scope: Scope, state: State, shared_kv: PyTree) -> tuple[Hidden, State, PyTree]:
        """What `step` returns, and the keys and values of this chunk for the next layers; one state serves all."""
        ...


@runtime_checkable
class CrossMixer(Mixer, Protocol):
    """A mixer for cross-attention: keys and values of the source are made once for all steps of decoding."""

    def precompute_kv(self, x: Hidden, source: Source) -> State:
        """Keys and values of the source, for tokens in the width and dtype of x; axis 0 of each leaf is B."""
        ...

    def cross_attend(self, x: Hidden, scope: Scope, state: State) -> Hidden:
        """What `__call__` returns outside of training, from precomputed keys and values; `source.hidden` is None."""
        ...
