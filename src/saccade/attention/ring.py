# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Ring attention: keys and values pass from device to device along the mesh axis `sequence`; queries stay.

    m, l, y  <-  maximum, normaliser and output of  softmax(scale Q_i K_j^T + terms, masked) V_j,  j = i, i-1, i-2 ...

Liu, Zaharia, Abbeel 2023, "Ring Attention with Blockwise Transformers for Near-Infinite Context", section 3,
https://arxiv.org/abs/2310.01889; work is balanced as in Brandon et al. 2023, "Striped Attention",
https://arxiv.org/abs/2311.09431, but by halves from both ends of a row instead of stripes, which keeps blocks whole.
Ours is `attention.blockwise` in each round, with every mask, term and online softmax except terms with a carry (CoPE,
the forget gate); without a sequence axis it is that kernel. Cost per device, for n devices: B N T S / n in time,
B N T H / n in memory; 2 (n-1) S K H / n numbers sent forward, and again backward with their gradients. It cannot return
weights.
"""

from typing import ClassVar

import jax

from saccade.attention.blockwise import Blockwise
from saccade.ops import blockwise, devices, ring
from saccade.ops.scoring import Scoring
from saccade.types import Capabilities, Keys, Mixed, Part, Queries, UserError, Values

__all__ = ['Ring']

NAME = 'attention.ring:Ring'


class Ring(Blockwise):
    """Ring attention kernel.

    Attributes:
        query_block, key_block, softmax, dropout: as in the blockwise kernel; blocks are of each device's tokens.
        alone: also allow a mesh that does not split tokens, and act as the blockwise kernel.
    """

    alone: bool = True

    capabilities: ClassVar[Capabilities] = Capabilities(time='B N T S', memory='B N T H', state='S K H')

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check softmax variant and blocks; if tokens are split, check divisibility and that no term has a carry.

        Raises:
            UserError: one of these is not supported; the message names it.
        """
        super().require_served(q, k, v, scoring)
        if (parts := devices.token_parts()) == 1:
            if not self.alone:
                raise UserError(f'{NAME} needs tokens split by config.mesh.sequence')
            return
        for length in (q.shape[1], k.shape[1]):
            if length % parts:
                raise UserError(f'config.mesh.sequence: {parts} devices cannot share {length} tokens equally ({NAME})')
        for term in scoring.terms:
            if jax.tree.leaves(jax.eval_shape(term.init_carry, q)):
                raise UserError(
                    f'{NAME} visits keys out of order; it does not support {Part(type(term)).name}, which counts them'
                )

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend block by block to the keys and values of each device in turn."""
        blocks = self.query_block, self.key_block
        if devices.token_parts() == 1:
            return blockwise.attend(q, k, v, scoring, *blocks)
        return ring.attend(q, k, v, scoring, blocks, devices.current())
