# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Segment-level recurrence (Transformer-XL): tokens attend to their segment and a memory of earlier segments.

    h~ = [stop_gradient(h_before) ; h_segment];   q = h_segment Wq,   k = h~ Wk,   v = h~ Wv

Dai et al. 2019, "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", section 3.2,
https://arxiv.org/abs/1901.02860
The paper carries the memory from one batch to the next; ours processes all segments of a row at once, so training needs
no state, and segments of a document begin at every `length`-th token. The mask is `ops.mask:ChunkedWithMemory`, and
gradients stop between segments. With `position.transformer_xl` it is the paper's layer. It needs a score-based kernel.
Cost: the kernel's with every key twice, without masked blocks; the state is a ring of R = length + memory.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Int, PyTree

from saccade.attention.cache import slots_for
from saccade.attention.multi_head import MultiHead, SharedKV, visible
from saccade.ops.mask import ChunkedWithMemory, MaskBase
from saccade.ops.scoring import Scoring
from saccade.types import (
    Capabilities,
    Count,
    CountOrZero,
    Hidden,
    KeyIndex,
    Keys,
    LayerContext,
    Mixed,
    PairPosition,
    Pairs,
    Queries,
    QueryIndex,
    Scores,
    ScoreTerm,
    Source,
    State,
    Values,
)

__all__ = ['SegmentMemory']


@struct.dataclass
class HeldOrOwn(MaskBase):
    """Mask over keys that occur twice: without gradient for later segments, and with gradient for their own segment.

    Attributes:
        number: number of each token's segment.
    """

    mask: MaskBase
    number: Int[Array, 'B S']

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        S = self.number.shape[1]
        own = self.number[:, q_index][..., :, None] == self.number[:, k_index % S][..., None, :]
        return self.mask(q_index, k_index % S) & (own == (k_index >= S))

    def live(self, q: range, k: range) -> bool:
        """Return True if the mask is live for the block's keys of either copy."""
        S = self.number.shape[1]
        held, own = range(k.start, min(k.stop, S)), range(max(k.start, S) - S, max(k.stop, S) - S)
        return self.mask.live(q, held) or self.mask.live(q, own)


@struct.dataclass
class OnceEach:
    """Score term that gives both copies of a key the same index.

    Attributes:
        length: number of keys per copy (S).
    """

    term: ScoreTerm
    length: int = struct.field(pytree_node=False)

    def init_carry(self, q: Queries) -> PyTree:
        """Return the initial carry of the wrapped term."""
        return self.term.init_carry(q)

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        return self.term(scores, q, k, pairs.replace(k_index=pairs.k_index % self.length), carry)


class SegmentMemory(MultiHead):
    """Multi-head attention with segment-level recurrence.

    Attributes: the attributes of MultiHead, and
        length: tokens of a segment.
        memory: tokens of the memory before a segment.
    """

    length: Count
    memory: CountOrZero

    capabilities: ClassVar[Capabilities] = Capabilities(cross=False, scores=True, state='R K H')
    example: ClassVar[dict[str, Any]] = {'length': 16, 'memory': 4}

    def mix_sharing(
        self, x: Hidden, context: LayerContext, train: bool, state: State | None
    ) -> tuple[Hidden, State, SharedKV]:
        """Attend to the tokens of a segment and to the memory before it, as in MultiHead.

        Raises:
            UserError: the context has a source; cross-attention is not supported.
        """
        if state is None:
            context.require_no_source('attention.segment_memory:SegmentMemory')
            context = context.replace(source=self._twice(x, context))
        return super().mix_sharing(x, context, train, state)

    def attend(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        scoring: Scoring,
        x: Hidden,
        context: LayerContext,
        train: bool,
        state: State | None,
    ) -> tuple[Mixed, State]:
        """Attend within the segment and to the memory before it; return the output of each head, and the new state."""
        if state is not None:
            return super().attend(q, k, v, scoring, x, context, train, state)
        scoring = visible(scoring, context.replace(source=None))
        terms = tuple(OnceEach(term, q.shape[1]) for term in scoring.terms)
        mask = HeldOrOwn(scoring.mask, jnp.asarray(context.positions) // self.length)
        return self.kernel(name='kernel')(q, k, v, scoring.replace(mask=mask, terms=terms), train), state

    def scoring(self, x: Hidden, context: LayerContext, position: PairPosition, made: SharedKV | None) -> Scoring:
        """Return the scoring of multi-head attention within a segment and its memory."""
        scoring = super().scoring(x, context, position, made)
        return scoring.replace(mask=scoring.mask & ChunkedWithMemory(self.length, self.memory))

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> State:
        """Return an empty KV cache for a segment and its memory."""
        return super().init_state(x, slots_for(ChunkedWithMemory(self.length, self.memory), capacity), source)

    def _twice(self, x: Hidden, context: LayerContext) -> Source:
        """Return the tokens twice: without gradient, then with gradient."""
        place = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf], axis=1), (context.positions, context.segments))
        return Source(jnp.concatenate([jax.lax.stop_gradient(x), x], axis=1), *place)
