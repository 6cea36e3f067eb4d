# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of attention: masks, score terms, softmax and its alternatives, positions, kernels, mixers."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.types.arrays import Hidden, KeyIndex, Keys, Mixed, Queries, QueryIndex, Scores, State, Values
from saccade.types.context import LayerContext, Source

SHARED_KV = 'shared_kv'  # the name in `context.handed` of keys and values that several layers share


@dataclass(frozen=True)
class Capabilities:
    """Capabilities that a part declares. The compatibility matrix and the test grid are generated from it.

    Attributes:
        causal, full: serves masks that hide what follows a token, masks that hide nothing.
        cross, packed: serves keys of another length, segment masks.
        terms: makes scores, so that it serves score terms (biases, softcaps, relative positions) and any mask.
        softcap: serves a softcap of the scores, though it may serve no other terms.
        window: serves windows of keys, though it may serve no other masks.
        content: serves score terms that depend on queries and keys, and not on their positions alone.
        scores: is a mixer that needs a kernel which makes scores.
        cached: `step` replays `__call__`.
        weights: can return the attention weights.
        sums: the state adds tokens up, in float32 whatever the tokens are in; other leaves are in their dtype.
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
    softcap: bool = False
    window: bool = False
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
    """Attention mask: which query may attend to which key; combines with & and |."""

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']: ...

    def live(self, q: range, k: range) -> bool:
        """False where it is known while tracing that no pair of the two ranges may attend."""
        ...


@struct.dataclass
class Pairs:
    """Query-key pairs of a block of scores.

    Attributes:
        q_index, k_index: of each query and key; the token's position in a decoding step.
        allowed: which pairs the mask allows. Padding, other documents and empty slots are never among them.
        scale: factor of q.k, for terms that add products of their own.
    """

    q_index: QueryIndex
    k_index: KeyIndex
    allowed: Bool[Array, '#B #N T S']
    scale: float = struct.field(pytree_node=False, default=1.0)

    @property
    def distance(self) -> Int[Array, '... T S']:
        """Key minus query, in tokens."""
        return self.k_index[..., None, :] - self.q_index[..., :, None]


@runtime_checkable
class ScoreTerm(Protocol):
    """Score term: a pytree that changes a block of scores, as a bias, a softcap or a relative position does.

    Key blocks are visited from the last to the first, and `carry` passes from each to the one before it. Blocks in
    which no pair is allowed may be left out, so a carry must come from allowed pairs alone.
    """

    def init_carry(self, q: Queries) -> PyTree:
        """Return the carry of the last key block, in the shapes of q. No gradient flows through it."""
        ...

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]: ...


@runtime_checkable
class TermMaker(Protocol):
    """Module that makes score terms for a number of heads, with parameters of its own."""

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the score terms for attention with this many heads."""
        ...


@runtime_checkable
class KeyFeatures(TermMaker, Protocol):
    """Maker of score terms that read the layer's input: E numbers of each key head, made where the keys are.

    They stand beside the keys, in the KV cache too, and the terms are given them in place of the keys.
    """

    def width(self, groups: int) -> int:
        """Return E, for so many query heads to a key head."""
        ...

    def features(self, x: Hidden, key_heads: int, groups: int) -> Float[Array, 'B S K E']:
        """Return the features of each key, from the input x that the keys are made of."""
        ...


@runtime_checkable
class RowSoftmax(Protocol):
    """Softmax or an alternative as a pytree: whole rows of scores to attention weights, exactly 0 where not allowed."""

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores: ...


@runtime_checkable
class OnlineSoftmax(RowSoftmax, Protocol):
    """Online softmax or an alternative: weights are made from one block of keys after another, with a row statistic.

    Scores that are not allowed come as -inf. Rows are [B N T]; a statistic is a pytree of them, or empty.
    """

    def start(self, rows: tuple[int, int, int]) -> PyTree:
        """Return the statistic of rows before the first key block."""
        ...

    def accumulate(self, statistic: PyTree, scores: Scores) -> tuple[PyTree, Scores, Float[Array, '#B #N #T']]:
        """Update the statistic by a block; return it, the block's weights up to a factor of the row, and the factor
        that rescales the weights of earlier blocks.
        """
        ...

    def finalise(self, statistic: PyTree) -> tuple[Float[Array, '#B #N #T'], PyTree]:
        """Return, after the last block, the factor of each row, and what the backward pass needs of the row."""
        ...

    def backward(
        self, scores: Scores, known: PyTree, dweights: Scores, inner: Float[Array, 'B N T 1']
    ) -> tuple[Scores, Scores, Any]:
        """Recompute a block's weights; return them, the gradient by its scores, and its part of that by this pytree.

        Args:
            known: what `finalise` returned for the backward pass.
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
    """Softmax variant: makes, for a number of heads, the pytree that turns scores into weights."""

    rows: ClassVar[Rows]

    def __call__(self, heads: int) -> RowSoftmax: ...


@runtime_checkable
class OnlineSoftmaxVariant(SoftmaxVariant, Protocol):
    """Softmax variant with an online form, which never needs a whole row. `online` is the class of what it makes."""

    online: ClassVar[type[OnlineSoftmax]]

    def __call__(self, heads: int) -> OnlineSoftmax: ...


@runtime_checkable
class SinkSoftmaxVariant(OnlineSoftmaxVariant, Protocol):
    """The softmax itself, with a logit a head beside the scores or without: what fused kernels of others have.

    `sink` says whether there is one.
    """

    sink: ClassVar[bool]


@runtime_checkable
class BareSoftmaxVariant(SinkSoftmaxVariant, Protocol):
    """The softmax itself, without a sink: what has one declares that it is none of these."""


@runtime_checkable
class PairPosition(Protocol):
    """Position scheme inside attention, which acts on queries and keys or on their scores."""

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
    """Attention kernel: queries, keys and values to one output a query, and the state to do so step by step.

    `scoring` is an `ops.scoring:Scoring`: the scale, the mask and the score terms.
    """

    capabilities: ClassVar[Capabilities]

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Any, train: bool) -> Mixed: ...

    def init_state(self, k: Keys, v: Values, capacity: int) -> State:
        """Return the state for the newest `capacity` tokens a row, in the shapes and dtypes of k and v.

        Where the mask looks back fewer tokens than that, more may follow: older ones are then no longer needed.
        """
        ...

    def step(
        self, q: Queries, k: Keys, v: Values, scoring: Any, state: State, context: LayerContext
    ) -> tuple[Mixed, State]:
        """Attend by a chunk of queries to the state and to the chunk; return the output and the state after it."""
        ...


@runtime_checkable
class ScoringKernel(Kernel, Protocol):
    """Attention kernel that says what it can serve, and attends under a complete scoring, without parameters."""

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Any) -> None:
        """Check that the kernel has what is asked of it.

        Raises:
            UserError: it has not; the kernel and what it lacks are named.
        """
        ...

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Any) -> Mixed:
        """Return the attention output."""
        ...


@runtime_checkable
class PairKernel(Kernel, Protocol):
    """A kernel that attends to whichever pairs it is given, which may differ between heads."""

    def complete(self, scoring: Any, heads: int, train: bool) -> Any:
        """Return the scoring with what the kernel adds to it."""
        ...

    def attend_to_pairs(
        self, q: Queries, k: Keys, v: Values, scoring: Any, pairs: Any
    ) -> tuple[Mixed, Float[Array, 'B N T S']]:
        """Return the output for a completed scoring and its `Pairs`, and the weights before dropout."""
        ...


@runtime_checkable
class Mixer(Protocol):
    """Token mixer: the only part that moves information between tokens. `Layer` is its base."""

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Mix whole sequences, where the state is None, or a chunk of tokens that follow those already in the state.

        Past the capacity the newest slots are overwritten: the caller keeps count. A state whose size the capacity does
        not change, as under a mask that looks back fewer tokens, may be stepped for ever.
        """
        ...

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return the state for `capacity` tokens, in the batch, width and dtype of x; axis 0 of each leaf is B."""
        ...


@runtime_checkable
class KVSharingMixer(Mixer, Protocol):
    """A mixer whose keys and values other layers of the same spec may use: cross-layer KV sharing."""

    def mix_sharing(
        self, x: Hidden, context: LayerContext, train: bool, state: State | None
    ) -> tuple[Hidden, State, PyTree]:
        """Return the output and the state of `mix`, and the keys and values of x, or of this chunk.

        The keys and values are those of `context.handed[SHARED_KV]`, where an earlier layer handed them on.
        """
        ...


@runtime_checkable
class CrossMixer(Mixer, Protocol):
    """A mixer for cross-attention: keys and values of the source are made once for all steps of decoding."""

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> State:
        """Return the state for `capacity` tokens, or of a source: its keys and values, which steps leave as they are.

        Chunks that attend to such a state have a context whose `source.hidden` is None.
        """
        ...
