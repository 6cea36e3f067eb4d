# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Replaced-token detection: a small generator fills masks, and a discriminator detects the tokens it replaced.

    loss = MLM loss of the generator + w * mean over all tokens of -log p(replaced or not | the filled-in row)

A token that the generator predicts correctly counts as original. The generator learns only from its own loss, since
sampling has no gradient. Clark et al. 2020, "ELECTRA", section 2, https://arxiv.org/abs/2003.10555, with w = 50.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.ops.masking import budget, choose_tokens, corrupt, row_keys
from saccade.task.base import LOSS, SCORED, Forward, TaskBase, context_of, scored
from saccade.types import Batch, EncoderModel, Metric, Model, NotNegative, Params, Part, PRNGKey, Range, Scales, Total

__all__ = ['ReplacedToken']


@runtime_checkable
class GeneratorAndDiscriminator(Model, Protocol):
    """Protocol of a model with two encoders, generator and discriminator; `member` returns one with its parameters."""

    generator: Part[EncoderModel]
    discriminator: Part[EncoderModel]

    def member(self, name: str, params: Params) -> tuple[EncoderModel, Params]:
        """Return the encoder of this name, 'generator' or 'discriminator', and its parameters."""
        ...


@dataclass(frozen=True)
class ReplacedToken(TaskBase):
    """Replaced-token detection (ELECTRA). Attributes: share, fraction of word tokens that are masked; weight, w."""

    share: Annotated[float, Range(above=0, below=1)] = 0.15
    weight: Scales[NotNegative] = 50.0

    bare: ClassVar[str] = 'task_loss'
    trains: ClassVar[tuple[type, str]] = (GeneratorAndDiscriminator, 'a generator and a discriminator')
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'generator': ('masked',), 'discriminator': ('tokens',)}
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'segments', 'positions', 'words', 'mask', 'row')
    reports: ClassVar[tuple[Metric, ...]] = (
        LOSS,
        *(each.prefixed('masked') for each in SCORED),
        *(each.prefixed('replaced') for each in SCORED),
        Metric('replaced_share', None, 0.0, 1.0),
    )
    then: ClassVar[dict[str, str]] = {
        'fill masks in': 'launch/fill_mask.py --part=generator --text="The [MASK] argument must be a [MASK]."',
        'compare texts': 'launch/embed.py --part=discriminator --text="Return a list." --text="Close the file."',
    }

    def inputs(self, model: Any, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        at = jnp.zeros((batch['tokens'].shape[0], budget(self.share, batch['tokens'].shape[1])), jnp.int32)
        return batch['tokens'], context_of(batch), False, at

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over the masked tokens (`masked_loss`, `masked_accuracy`) and over all tokens.

        The latter are `replaced_loss`, `replaced_accuracy` and `replaced_share`, the fraction of replaced tokens.
        """
        hide, sample, first, second = jax.random.split(forward.key if forward.train else jax.random.key(0), 4)
        keys = row_keys(hide, batch['row'])
        chosen = choose_tokens(keys, batch['words'], self.share)
        originals, context = chosen.read(batch['tokens']), context_of(batch)
        marks = corrupt(keys, originals, batch['mask'], forward.model.vocabulary, (1.0, 0.0))
        masked = chosen.write(batch['tokens'], marks)
        generator, discriminator = forward.of_member('generator'), forward.of_member('discriminator')
        logits = generator(masked, context, forward.train, chosen.at, key=first)['masked']
        generated = scored(logits, originals, chosen.counts)
        keys, fixed = row_keys(sample, batch['row']), jax.lax.stop_gradient(logits)
        filled = chosen.write(batch['tokens'], jax.vmap(jax.random.categorical)(keys, fixed))
        found = discriminator(filled, context, forward.train, key=second)['tokens'][..., 0]
        told = _detection(found, filled != batch['tokens'], (batch['segments'] != 0).astype(jnp.float32))
        loss = generated['loss'].plus(told['loss'].times(self.weight))
        return {'loss': loss, **_named('masked', generated), **_named('replaced', told)}


def _detection(scores: Array, replaced: Array, there: Array) -> dict[str, Total]:
    """Return totals of the detection of replaced tokens, over tokens other than padding."""
    scores = scores.astype(jnp.float32)
    losses = jax.nn.softplus(jnp.where(replaced, -scores, scores))
    found = {'loss': losses, 'accuracy': (scores > 0) == replaced, 'share': replaced}
    return {name: Total((each * there).sum(), there.sum()) for name, each in found.items()}


def _named(prefix: str, totals: dict[str, Total]) -> dict[str, Total]:
    return {f'{prefix}_{name}': total for name, total in totals.items()}
