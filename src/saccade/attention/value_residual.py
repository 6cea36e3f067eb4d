# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Value residual: every layer mixes the values of the first layer into its own before it attends.

    v'_l = share v_1 + (1 - share) v_l

Zhou et al. 2024, "Value Residual Learning" (ResFormer), https://arxiv.org/abs/2410.17897, which also has a trained
share per layer: here it is one number. The first layer of the stack passes its values on. Cost: as multi-head
attention. No cross-attention; keys and values shared by layers (`block.shared_keys`) are mixed once.
"""

from typing import Any, ClassVar

from saccade.attention.multi_head import MultiHead, SharedKV
from saccade.layer_paths import earlier, hand_on
from saccade.types import (
    Capabilities,
    Hidden,
    Keys,
    LayerContext,
    Queries,
    Share,
    Values,
)

__all__ = ['ValueResidual']


class ValueResidual(MultiHead):
    """Multi-head attention with a value residual.

    Attributes: the attributes of MultiHead; share of the first layer's values, 0 for none.
    """

    share: Share

    capabilities: ClassVar[Capabilities] = Capabilities(cross=False)
    example: ClassVar[dict[str, Any]] = {'share': 0.5}
    hands_on: ClassVar[tuple[str, ...]] = ('values',)

    def project(self, x: Hidden, context: LayerContext, made: SharedKV | None) -> tuple[Queries, Keys, Values]:
        """Return queries, keys, and values mixed with the first layer's values.

        Raises:
            UserError: the context has a source, whose values no earlier layer has made.
        """
        name = 'attention.value_residual:ValueResidual'
        context.require_no_source(name)
        q, k, v = super().project(x, context, made)
        if made is not None:
            return q, k, v
        first = earlier(context, 'values', v)
        hand_on(self, 'values', first)
        return q, k, self.share * first + (1.0 - self.share) * v
