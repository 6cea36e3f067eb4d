# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masked diffusion language modelling (MDLM): masked tokens of a row are predicted at every noise level.

    loss = mean over rows and times t of 1/t sum over the masked tokens of -log p(token | the row at t) / tokens

Sahoo et al. 2024, "Simple and Effective Masked Diffusion Language Models", equation 10,
https://arxiv.org/abs/2406.07524; LLaDA is trained so (Nie et al. 2025, https://arxiv.org/abs/2502.09992). The loss is
an upper bound of the negative log-likelihood per token, and equal to it where each prediction is exact. Times below
epsilon and masked shares above 1 - epsilon are left out, as in the authors' code, which lowers it by a share of about
epsilon. The times of a training batch are antithetic: evenly spread, with one random offset. [MASK] has probability 0,
tokens that are not masked are never predicted, and the model does not read t. Special tokens are not masked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.ops.loss import cross_entropy
from saccade.ops.masked_diffusion import noised, places_of, spread_times, without_mask
from saccade.ops.masking import row_keys
from saccade.task.base import SCORED, Forward, TaskBase, context_of
from saccade.types import Batch, EncoderModel, Metric, PRNGKey, Range, Total

__all__ = ['MaskedDiffusion']


@dataclass(frozen=True)
class MaskedDiffusion(TaskBase):
    """Masked diffusion with the head 'masked' of an encoder.

    Also called: MDLM, LLaDA, absorbing diffusion, discrete diffusion.

    Attributes: epsilon, the first time, and the probability that a token is not masked at time 1.
    """

    epsilon: Annotated[float, Range(above=0, below=1)] = 1e-3

    trains: ClassVar[tuple[type, str]] = (EncoderModel, 'an encoder')
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('masked',)}
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'segments', 'positions', 'words', 'mask', 'row')
    reports: ClassVar[tuple[Metric, ...]] = SCORED
    mixes_rows: ClassVar[str] = 'the times, which are spread evenly over them'
    then: ClassVar[dict[str, str]] = {'sample from it': 'launch/generate.py --steps=64 {prompt}'}

    def inputs(self, model: EncoderModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return batch['tokens'], context_of(batch), False

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals: `loss` in nats per token, and the `accuracy` of the masked tokens.

        In evaluation the noise depends only on the row.
        """
        drop, noise = jax.random.split(forward.key)
        of_time, of_tokens = jax.random.split(noise if forward.train else jax.random.key(0))
        times, tokens = self.times(of_time, batch, forward.train), batch['tokens']
        hidden = noised(row_keys(of_tokens, batch['row']), batch['words'], times, self.epsilon)
        given = jnp.where(hidden, batch['mask'][:, None], tokens), context_of(batch), forward.train
        logits = without_mask(forward(*given, key=drop)['masked'], batch['mask'])
        losses = jnp.where(hidden, cross_entropy(logits, jnp.where(hidden, tokens, 0), 0.0), 0.0)
        hits = hidden & (jnp.argmax(logits, axis=-1) == tokens)
        loss = Total((losses / times[:, None]).sum(), (batch['words'] > 0).sum().astype(jnp.float32))
        counts = (each.sum().astype(jnp.float32) for each in (hits, hidden))
        return {'loss': loss, 'accuracy': Total(*counts)}

    def times(self, key: PRNGKey, batch: Batch, train: bool) -> Float[Array, 'B']:
        """Return the time of each row: evenly spread over a training batch, and over all rows of an evaluation."""
        rows = len(batch['row'])
        places = jnp.arange(rows) / rows if train else places_of(batch['row'])
        return spread_times(key, places, self.epsilon)
