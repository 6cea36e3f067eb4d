# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Segment-level recurrence (Transformer-XL): tokens attend to their segment and a memory of those before it.

    h~ = [stop_gradient(h_before) ; h_segment];   q = h_segment Wq,   k = h~ Wk,   v = h~ Wv

Dai et al. 2019, "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", section 3.2,
https://arxiv.org/abs/1901.02860
The paper carries the memory from one batch to the next; ours has all segments of a row in one, so training needs no
state, and a document's segments begin at every `length`-th of its tokens. They see `ops.mask:ChunkedWithMemory`, and
gradients stop between them. With `position.transformer_xl` it is the paper's layer. It needs a kernel that makes
scores. Cost: the kernel's with every key twice, less the blocks not seen; the state is a ring of R = length + memory.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Int, PyTree

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
    """Mask over keys that occur twice: held, without gradient, for later segments, and for their own segment.

    Attributes:
        number: of each token's segment.
    """

    mask: MaskBase
    number: Int[Array, 'B S']

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        S = self.number.shape[1]
        own = self.number[:, q_index][..., :, None] == self.number[:, k_index % S][..., None, :]
        return self.mask(q_index, k_index % S) & (own == (k_index >= S))

    def live(self, q: range, k: range) -> bool:
        """Return whether the mask is live for the block's keys of either copy, held or own."""
        S = self.number.shape[1]
        held, own = range(k.start, min(k.stop, S)), range(max(k.start, S) - S, max(k.stop, S) - S)
        return self.mask.live(q, held) or self.mask.live(q, own)


@struct.dataclass
class OnceEach:
    """Score term that gives both copies of a key one index.

    Attributes:
        length: S, keys of one copy.
    """

    term: ScoreTerm
    length: int = struct.field(pytree_node=False)

    def init_carry(self, q: Queries) -> PyTree:
        """Return the initial carry of the wrapped term."""
        return self.term.init_carry(q)

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        return self.term(scores, q, k, pairs.replace(k_index=pairs.k_index % self.length), carry)


class SegmentMemory(MultiHead, kw_only=True):
    """Multi-head attention with segment-level recurrence.

    Attributes: those of MultiHead; length of a segment and of the memory before it, in tokens.
    """

    length: Count
    memory: CountOrZero

    capabilities: ClassVar[Capabilities] = Capabilities(cross=False, scores=True, state='R K H')
    example: ClassVar[dict[str, Any]] = {'length': 16, 'memory': 4}

    def mix_sharing(
        self, x: Hidden, context: LayerContext, train: bool, state: State | None
    ) -> tuple[Hidden, State, SharedKV]:
        """Attend to the tokens of a segment and to the memory before it, as MultiHead does.

        Raises:
            UserError: the context has a source, since this mixer does not do cross-attention.
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
        """Attend within the segment and to the memory before it; return the output of each head, and the state."""
        if state is not None:
            return super().attend(q, k, v, scoring, x, context, train, state)
        scoring = visible(scoring, context.replace(source=None))
        terms = tuple(OnceEach(term, q.shape[1]) for term in scoring.terms)
        mask = HeldOrOwn(scoring.mask, jnp.asarray(context.positions) // self.length)
        return self.kernel(name='kernel')(q, k, v, scoring.replace(mask=mask, terms=terms), train), state

    def pair_mask(self) -> MaskBase:
        """Return the mask of pairs that are of one segment, or of a segment and its memory."""
        return super().pair_mask() & ChunkedWithMemory(self.length, self.memory)

    def _twice(self, x: Hidden, context: LayerContext) -> Source:
        """The tokens as they are held, then as they are."""
        place = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf], axis=1), (context.positions, context.segments))
        return Source(jnp.concatenate([jax.lax.stop_gradient(x), x], axis=1), *place)
