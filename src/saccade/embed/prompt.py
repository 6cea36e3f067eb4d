# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prompt tuning: trained vectors before the outputs of another embedding; all other parameters are usually frozen.

    x = [p_1, ..., p_M, embed(inputs)]

Lester, Al-Rfou, Constant 2021, "The Power of Scale for Parameter-Efficient Prompt Tuning", section 2,
https://arxiv.org/abs/2104.08691. For encoders whose heads read a row as a whole, such as its mean: a head of each token
would also read the prompt. Prefix tuning (Li, Liang 2021, https://arxiv.org/abs/2101.00190), trained keys and values of
every layer, is `attention.persistent_memory:PersistentMemory`. experiments/sweeps/adapters.py has both. A row is one
segment, and padding stays padding. Cost: M places, M D parameters.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.types import Count, Embedding, Inputs, LayerContext, Part, Table

__all__ = ['Prompt']


class Prompt(Module):
    """Trained prompt before the places of another embedding.

    Attributes: embed, the other embedding; count, number of vectors (M); prompt_init, the initialiser of the prompt.
    """

    embed: Part[Embedding]
    count: Count
    prompt_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    example: ClassVar[dict[str, Any]] = {'embed': {'use': 'embed.token:TokenEmbedding'}, 'count': 3}

    @property
    def reads(self) -> str | tuple[str, ...]:
        """Name of the other embedding's inputs in a batch."""
        return self.embed(parent=None).reads

    @nn.compact
    def __call__(
        self, inputs: Inputs, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        x, context = self.embed(name='embed')(inputs, context, width, table)
        prompt = parameter(self, 'prompt', 'M D', self.prompt_init(), (self.count, width), decays=True)
        first = jnp.broadcast_to(prompt.astype(x.dtype), (len(x), *prompt.shape))
        segments, before = context.numbered, ((0, 0), (self.count, 0))
        return jnp.concatenate([first, x], axis=1), context.replace(
            positions=jnp.pad(context.positions + self.count * (segments != 0), before)
            .at[:, : self.count]
            .set(jnp.arange(self.count)),
            segments=jnp.concatenate([jnp.repeat(segments[:, :1], self.count, axis=1), segments], axis=1),
            types=None if context.types is None else jnp.pad(context.types, before),
        )
