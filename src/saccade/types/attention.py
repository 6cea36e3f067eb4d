# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of attention: masks, score terms, softmax variants, positions, kernels, mixers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.types.arrays import Features, Hidden, KeyIndex, Keys, Mixed, Queries, QueryIndex, Scores, State, Values
from saccade.types.context import LayerContext, Source
from saccade.types.errors import UserError
from saccade.types.part import Part

SHARED_KV = 'shared_kv'  # name in `context.handed` of keys and values shared by layers


@dataclass(frozen=True)
class Capabilities:
    """Capabilities that a part declares. The compatibility matrix and the test grid are generated from it.

    Attributes:
        causal: supports causal masks.
        full: supports full masks.
        cross: supports keys of another length, as in cross-attention.
        packed: supports segment masks, so rows of several documents.
        terms: computes scores, so it supports score terms (biases, softcaps, relative positions) and any mask.
        softcap: supports a softcap of the scores, possibly without other terms.
        window: supports windows of keys, possibly without other masks.
        content: supports score terms that depend on queries and keys, not only on their positions.
        scores: is a mixer that requires a kernel with scores.
        cached: decoding steps reproduce the outputs of whole sequences.
        sums: the state accumulates tokens, in float32 for any dtype of the tokens; other leaves have the tokens' dtype.
        equivariant: with a full mask and without positions, permuting the tokens only permutes the outputs.
        time: order of the time of a whole sequence, in the letters of the axis table; if empty, an inner part declares
            it.
        memory: order of the memory of a whole sequence; if empty, an inner part declares it.
        state: order of the size of a row's decoding state, S for the capacity in tokens; if empty, an inner part
            declares it.
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
    sums: bool = False
    equivariant: bool = True
    time: str = ''
    memory: str = ''
    state: str = ''


@runtime_checkable
class Mask(Protocol):
    """Attention mask: the query-key pairs that can attend; masks combine with & and |."""

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']: ...

    def live(self, q: range, k: range) -> bool:
        """Return False if it is known while tracing that no pair of the two ranges is allowed."""
        ...


@struct.dataclass
class Pairs:
    """Query-key pairs of a block of scores.

    Attributes:
        q_index, k_index: index of each query and key; the token's position in a decoding step.
        allowed: pairs allowed by the mask; never padding, other documents or empty slots.
        scale: factor of q.k, for terms that add other products.
        features: features of each key, for terms that read the layer's input.
    """

    q_index: QueryIndex
    k_index: KeyIndex
    allowed: Bool[Array, '#B #N T S']
    scale: float = struct.field(pytree_node=False, default=1.0)
    features: Features = struct.field(default_factory=dict)

    @property
    def distance(self) -> Int[Array, '... T S']:
        """Key minus query, in tokens."""
        return self.k_index[..., None, :] - self.q_index[..., :, None]


@runtime_checkable
class ScoreTerm(Protocol):
    """Score term: a pytree that transforms a block of scores, such as a bias, a softcap or a relative position.

    Key blocks are visited from the last to the first, and `carry` passes from each to the one before it. Blocks
    without an allowed pair can be skipped, so a carry must depend only on allowed pairs.
    """

    def init_carry(self, q: Queries) -> PyTree:
        """Return the carry of the last key block, for queries shaped like q. It has no gradient."""
        ...

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]: ...


@runtime_checkable
class TermMaker(Protocol):
    """Module that creates score terms for a number of heads, with parameters of its own."""

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the score terms for attention with this many heads."""
        ...


@runtime_checkable
class KeyFeatures(TermMaker, Protocol):
    """Module whose score terms read the layer's input: E features per key, computed together with the keys.

    They go where the keys go, also into the KV cache. Its terms read them as `pairs.features[name]`, by its name.
    """

    def width(self, heads: int) -> int:
        """Return E, for this number of query heads."""
        ...

    def features(self, x: Hidden, heads: int) -> Float[Array, 'B S E']:
        """Return the features of each key, computed from x, the input of the key projection."""
        ...


@runtime_checkable
class RowSoftmax(Protocol):
    """Softmax variant as a pytree: maps whole rows of scores to attention weights, exactly 0 for pairs not allowed."""

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores: ...


@runtime_checkable
class OnlineSoftmax(RowSoftmax, Protocol):
    """Online softmax variant: weights are computed from successive blocks of keys, with a row statistic.

    Scores that are not allowed are -inf. Rows are [B N T]; a statistic is a pytree of arrays of this shape, or empty.
    """

    def start(self, rows: tuple[int, int, int]) -> PyTree:
        """Return the statistic of rows before the first key block."""
        ...

    def accumulate(self, statistic: PyTree, scores: Scores) -> tuple[PyTree, Scores, Float[Array, '#B #N #T']]:
        """Update the statistic with a block; return it, the block's weights up to a factor per row, and the factor
        for the weights of earlier blocks.
        """
        ...

    def finalise(self, statistic: PyTree) -> tuple[Float[Array, '#B #N #T'], PyTree]:
        """Return, after the last block, the factor of each row, and the row's residuals for the backward pass."""
        ...

    def backward(
        self, scores: Scores, known: PyTree, dweights: Scores, inner: Float[Array, 'B N T 1']
    ) -> tuple[Scores, Scores, Any]:
        """Recompute a block's weights; return them, the gradient of its scores, and its part of this pytree's gradient.

        Args:
            known: residuals that `finalise` returned for the backward pass.
            inner: sum over all keys of weight times dweight.
        """
        ...


@dataclass(frozen=True)
class Rows:
    """Properties of a row of attention weights with at least one key, declared by a softmax variant.

    Attributes:
        least: lower bound of the sum of a row.
        most: upper bound of the sum of a row.
        dense: every allowed key has a nonzero weight.
        continuous: the weights are a continuous function of the scores.
    """

    least: float = 1.0
    most: float = 1.0
    dense: bool = True
    continuous: bool = True


@runtime_checkable
class SoftmaxVariant(Protocol):
    """Softmax variant: creates, for a number of heads, the pytree that maps scores to weights."""

    rows: ClassVar[Rows]

    def __call__(self, heads: int) -> RowSoftmax: ...


@runtime_checkable
class OnlineSoftmaxVariant(SoftmaxVariant, Protocol):
    """Softmax variant with an online form, which never requires a whole row. `online` is the class of its pytrees."""

    online: ClassVar[type[OnlineSoftmax]]

    def __call__(self, heads: int) -> OnlineSoftmax: ...


@runtime_checkable
class SinkSoftmaxVariant(OnlineSoftmaxVariant, Protocol):
    """The standard softmax, optionally with a sink logit per head: the softmax of external fused kernels.

    `sink` is True for a softmax with a sink.
    """

    sink: ClassVar[bool]


@runtime_checkable
class BareSoftmaxVariant(SinkSoftmaxVariant, Protocol):
    """The standard softmax without a sink. A variant with a sink declares in `why_not` that it is not one of these."""


@runtime_checkable
class PairPosition(Protocol):
    """Position scheme inside attention: transforms queries and keys, or their scores."""

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]:
        """Return queries and keys transformed by their positions, with unchanged shapes."""
        ...

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the scheme's score terms for attention with this many heads; none if it transforms q and k."""
        ...


@runtime_checkable
class Kernel(Protocol):
    """Attention kernel: maps queries, keys and values to one output per query, for whole sequences or step by step.

    `scoring` is an `ops.scoring:Scoring`: the scale, the mask and the score terms.
    """

    capabilities: ClassVar[Capabilities]

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Any, train: bool) -> Mixed: ...

    def init_state(self, k: Keys, v: Values, features: Features, capacity: int) -> State:
        """Return the state for the newest `capacity` tokens per row, in the shapes and dtypes of k, v and features.

        If the mask looks back fewer tokens, more than `capacity` tokens can follow: older tokens are not needed.
        """
        ...

    def step(
        self, q: Queries, k: Keys, v: Values, scoring: Any, state: State, context: LayerContext
    ) -> tuple[Mixed, State]:
        """Attend from a chunk of queries to the state and to the chunk; return the output and the new state."""
        ...


@runtime_checkable
class ScoringKernel(Kernel, Protocol):
    """Attention kernel that checks its inputs, and attends under a complete scoring, without parameters."""

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Any) -> None:
        """Check that the kernel supports these inputs.

        Raises:
            UserError: a feature is not supported; the message names it and the kernel.
        """
        ...

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Any) -> Mixed:
        """Return the attention output."""
        ...


@runtime_checkable
class PairKernel(Kernel, Protocol):
    """A kernel that attends to given query-key pairs, which can differ between heads."""

    def complete(self, scoring: Any, heads: int, train: bool) -> Any:
        """Return the scoring with the kernel's additions."""
        ...

    def attend_to_pairs(
        self, q: Queries, k: Keys, v: Values, scoring: Any, pairs: Any
    ) -> tuple[Mixed, Float[Array, 'B N T S']]:
        """Return the output for a complete scoring and its `Pairs`, and the weights before dropout."""
        ...


@runtime_checkable
class SparseKernel(ScoringKernel, Protocol):
    """A kernel that attends to keys chosen for each query, which can differ between groups of heads."""

    def complete(self, scoring: Any, heads: int, train: bool) -> Any:
        """Return the scoring with the kernel's additions."""
        ...

    def block_sizes(self, T: int, S: int) -> tuple[int, int]:
        """Return the number of queries and of keys for which a selection is computed at a time."""
        ...

    def attend_to_blocks(self, q: Queries, k: Keys, v: Values, scoring: Any, chosen: Any) -> Mixed:
        """Return the output of attention to `ops.blocks:ChosenBlocks` of whole rows."""
        ...

    def attend_to_tokens(
        self, q: Queries, k: Keys, v: Values, scoring: Any, chosen: Any
    ) -> tuple[Mixed, Float[Array, 'B T C']]:
        """Return the output of attention to `ops.gathered:ChosenTokens`, and the magnitudes of each chosen key's
        weights before dropout, summed over heads.
        """
        ...


@dataclass(frozen=True)
class Pages:
    """Sizes of a pool of pages for decoding.

    Attributes: count, pages of the pool; size, tokens of a page; most, pages of one row.
    """

    count: int
    size: int
    most: int

    @property
    def capacity(self) -> int:
        """Tokens of one row."""
        return self.most * self.size


@runtime_checkable
class Mixer(Protocol):
    """Token mixer: the only part that moves information between tokens. `Layer` is its base class."""

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Mix whole sequences, if the state is None, or a chunk of tokens that follows the tokens in the state.

        Beyond the capacity the newest slots are overwritten: the caller must count tokens. If the size of the state
        does not depend on the capacity, as with a mask that looks back fewer tokens, the number of steps is unlimited.
        """
        ...

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return the state for `capacity` tokens, in the batch, width and dtype of x; axis 0 of each leaf is B."""
        ...


@runtime_checkable
class KVSharingMixer(Mixer, Protocol):
    """A mixer whose keys and values other layers with the same config can use: cross-layer KV sharing."""

    def mix_sharing(
        self, x: Hidden, context: LayerContext, train: bool, state: State | None
    ) -> tuple[Hidden, State, PyTree]:
        """Return the output and the state of `mix`, and the keys and values of x, or of this chunk.

        If an earlier layer handed on keys and values, as `context.handed[SHARED_KV]`, these are used.
        """
        ...


@runtime_checkable
class CrossMixer(Mixer, Protocol):
    """A mixer for cross-attention: keys and values of the source are computed once for all decoding steps."""

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> State:
        """Return the state for `capacity` tokens, or for a source: its keys and values, which stay constant.

        Chunks that attend to the state of a source have a context whose `source.hidden` is None.
        """
        ...


def refuse_terms(name: str, terms: Sequence[ScoreTerm]) -> None:
    """Check that a part without scores has no score terms.

    Raises:
        UserError: there is a score term; the message names it.
    """
    for term in terms:
        raise UserError(f'{name} has no scores for {Part(type(term)).name} to change')
