# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causal language modelling: predict each token from those before it.

    loss = - sum over t of log p(token_{t+1} | token_{<= t}) / number of targets

Targets never cross from one packed document into the next, and padding is no target. In training, losses that layers
report (the balance of a mixture of experts) are added, summed over the layers as in Fedus et al. 2021 (Switch
Transformers), section 2.2; the bare loss is then `cross_entropy`. Metrics that they report are means over the layers.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from saccade.ops.loss import cross_entropy
from saccade.ops.reinforce import choices_in, surrogate
from saccade.types import Batch, LanguageModel, Logits, Params, PRNGKey, Scope, Total, UserError


@dataclass(frozen=True)
class CausalLM:
    """Attributes: label_smoothing, the share of the target distribution that is uniform, in training."""

    label_smoothing: float = 0.0

    then: ClassVar[dict[str, str]] = {'sample from it': 'launch/generate.py --prompt="def "'}

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 1:
            raise UserError(f'task.label_smoothing: a share is at least 0 and below 1, not {self.label_smoothing}')

    def init(self, model: LanguageModel, key: PRNGKey, batch: Batch) -> Params:
        """Initialise the model's parameters for batches of this shape."""
        return model.init(key, batch['tokens'][:, :-1], scope_of(batch), False)['params']

    def loss(self, model: LanguageModel, params: Params, batch: Batch, key: PRNGKey, train: bool) -> dict[str, Total]:
        """Return totals over targets: `loss` in nats, `accuracy`, and what the model's layers report."""
        reporting = ['losses', 'metrics'] if train else ['metrics']
        logits, reports = model.apply(
            {'params': params},
            batch['tokens'][:, :-1],
            scope_of(batch),
            train,
            rngs={'dropout': key},
            mutable=reporting,
        )
        return totals_of(logits, reports, batch, self.label_smoothing if train else 0.0)


def totals_of(logits: Logits, reports: PyTree, batch: Batch, smoothing: float) -> dict[str, Total]:
    """Return totals of the logits of each next token, and of what the model's layers report.

    Args:
        reports: the Linen collections 'losses', 'metrics' and 'choices', where there are any.
    """
    targets, weights = batch['tokens'][:, 1:], is_target(batch).astype(jnp.float32)
    losses = cross_entropy(logits, targets, smoothing)
    # A maximum, which the loss takes too, in place of an argmax; a tie counts as a hit.
    hits = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0] >= logits.max(axis=-1)
    count = weights.sum()
    totals = {'loss': Total((losses * weights).sum(), count), 'accuracy': Total((hits * weights).sum(), count)}
    return _with_reports(totals, reports, [surrogate(losses, weights, made) for made in choices_in(reports)])


def is_target(batch: Batch) -> Bool[Array, 'B T']:
    """Where the next token belongs to the same document."""
    segments = batch['segments']
    return (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] != 0)


def _with_reports(totals: dict[str, Total], reports: PyTree, surrogates: list[Array]) -> dict[str, Total]:
    """Add the losses that layers report, and their metrics, weighted so that both are means over targets.

    Args:
        surrogates: of the choices that were made by chance, summed over targets.
    """
    loss = totals['loss']
    means = _means(reports.get('metrics', {}))
    totals = {name: Total(loss.weight * mean, loss.weight) for name, mean in means.items()} | totals
    losses = jax.tree.leaves(reports.get('losses', {}))
    if not losses and not surrogates:
        return totals
    added = loss.weight * sum(leaf.sum() for leaf in losses) + sum(surrogates)
    return {**totals, 'cross_entropy': loss, 'loss': Total(loss.total + added, loss.weight)}


def _means(reported: PyTree) -> dict[str, Array]:
    """Return, by the last name on its path, the mean of everything that was reported."""
    named: dict[str, list[Array]] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(reported):
        (*_, name) = (entry.key for entry in path if isinstance(entry, jax.tree_util.DictKey))
        named.setdefault(name, []).append(leaf.ravel())
    return {name: jnp.concatenate(leaves).mean() for name, leaves in named.items()}


def scope_of(batch: Batch) -> Scope:
    """What the layers may know of the tokens that each have a next one."""
    return Scope(batch['positions'][:, :-1], batch['segments'][:, :-1])
