# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masked language modelling: predict masked tokens from all others; optionally also classify pairs of texts.

    loss = mean over the hidden tokens of -log p(token | the row with them hidden)
           + mean over the rows of -log p(label | the row)        where the encoder has a head 'pooled'
           + the first mean again, from the boundaries of spans     where it has a head 'boundary'

Devlin et al. 2019, "BERT", section 3.1, https://arxiv.org/abs/1810.04805. The label says if the second text follows the
first (BERT), or if the two are in order (Lan et al. 2020, "ALBERT", section 3.1, https://arxiv.org/abs/1909.11942); the
dataset makes the pairs. Boundaries: `head.span_boundary`. Masks are drawn anew at each step (Liu et al. 2019,
"RoBERTa", section 4.1, https://arxiv.org/abs/1907.11692), or once per row (`static`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.ops.masking import Chosen, budget, choose_tokens, corrupt, row_keys
from saccade.task.base import LOSS, SCORED, Forward, PredictsTokens, context_of, over_targets, scored
from saccade.types import (
    IGNORED,
    Batch,
    EncoderModel,
    Metric,
    Part,
    PRNGKey,
    Probability,
    Range,
    Total,
    UserError,
)

__all__ = ['MaskedLM']


@dataclass(frozen=True)
class MaskedLM(PredictsTokens):
    """Masked language modelling with the head 'masked', and pair classification with 'pooled' if the encoder has it.

    Attributes: as in `task.base:PredictsTokens`, for the head 'masked', and
        share: fraction of word tokens to predict.
        choose: selection of these tokens: `ops.masking:choose_tokens`; for whole words `ops.masking:choose_words`, for
            spans of them `ops.masking:choose_spans`.
        hidden: fraction of the selected tokens that become [MASK].
        noise: fraction of the selected tokens that become a random token. The rest are unchanged.
        static: select the same tokens of a row in every epoch.
    """

    share: Annotated[float, Range(above=0, below=1)] = 0.15
    choose: Part = Part(choose_tokens)  # noqa: RUF009, it is frozen
    hidden: Probability = 0.8
    noise: Probability = 0.1
    static: bool = False

    trains: ClassVar[tuple[type, str]] = (EncoderModel, 'an encoder')
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('masked',)}
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'segments', 'positions', 'words', 'mask', 'row')
    reports: ClassVar[tuple[Metric, ...]] = (
        LOSS,
        *(each.prefixed('masked') for each in SCORED),
        *(each.prefixed('pair') for each in SCORED),  # where the encoder has a head 'pooled'
        *(each.prefixed('boundary') for each in SCORED),  # where it has a head 'boundary'
    )
    then: ClassVar[dict[str, str]] = {
        'fill masks in': 'launch/fill_mask.py {text}',
        'compare texts': 'launch/embed.py {texts}',
    }

    def __post_init__(self) -> None:
        if self.hidden + self.noise > 1:
            raise UserError(f'task: hidden {self.hidden} and noise {self.noise} must be shares of 1')

    def inputs(self, model: Any, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return batch['tokens'], context_of(batch), False, self.places(batch)

    def places(self, batch: Batch) -> Array:
        """Return zeros of the shape of the predicted positions, [rows, positions]."""
        rows, length = batch['tokens'].shape
        return jnp.zeros((rows, budget(self.share, length)), jnp.int32)

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over hidden tokens, `masked_loss` and `masked_accuracy`, and over pairs; `loss` is their sum.

        In evaluation, and if static, the selection depends only on the row.
        """
        drop, hide = self.keys(forward)
        tokens, chosen = self.hide(hide, batch, forward.model.vocabulary)
        given = tokens, context_of(batch), forward.train, chosen.places()
        outputs = forward(*given, key=drop, method=self.method(forward.model))
        originals = chosen.read(batch['tokens'])
        parts = {
            head: self._of_tokens(outputs[head], originals, chosen, forward.train)
            for head in ('masked', 'boundary')
            if head == 'masked' or head in outputs
        }
        if 'pooled' in outputs:
            labels = batch['label']
            there = (labels != IGNORED).astype(jnp.float32)
            parts['pair'] = scored(outputs['pooled'], jnp.maximum(labels, 0), there)
        first, *others = (totals['loss'] for totals in parts.values())
        named = {f'{part}_{name}': total for part, totals in parts.items() for name, total in totals.items()}
        return {'loss': first.plus(*others) if others else first, **named}

    def _of_tokens(self, output: Any, originals: Array, chosen: Chosen, train: bool) -> dict[str, Total]:
        scores = self.each_target(output, originals, train)
        return over_targets(scores.losses, scores.best == originals, chosen.counts)

    def keys(self, forward: Forward) -> tuple[PRNGKey, PRNGKey]:
        """Return the dropout key, and the key of the selection: a fixed one in evaluation, and if static."""
        drop, hide = jax.random.split(forward.key)
        return drop, hide if forward.train and not self.static else jax.random.key(0)

    def hide(self, key: PRNGKey, batch: Batch, vocabulary: int) -> tuple[Array, Chosen]:
        """Return the rows with the selected tokens hidden, and the selection."""
        keys = row_keys(key, batch['row'])
        chosen = self.choose(keys, batch['words'], self.share)
        keys = jax.vmap(jax.random.fold_in, (0, None))(keys, 1)
        new = corrupt(keys, chosen.read(batch['tokens']), batch['mask'], vocabulary, (self.hidden, self.noise))
        return chosen.write(batch['tokens'], new), chosen
