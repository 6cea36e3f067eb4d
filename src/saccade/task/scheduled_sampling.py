# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Scheduled sampling: in training, a share of the decoder's input tokens are its own samples, not the targets.

    input_t = y_t with probability 1 - r,    a sample of p(. | input_<t, source) with probability r

Bengio et al. 2015, "Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks", sections 2.3 and 2.4,
https://arxiv.org/abs/1506.03099, with r = 1 - epsilon. No gradient passes through a sample, so the inputs are written
first, token by token without dropout, and then read at once as in teacher forcing. That serves every encoder-decoder,
recurrent or not. With r = 0 it is `task.translation:Translation`. Cost: the decoding of a batch, in addition. An
evaluation also reports the loss of the targets after the model's own samples; its excess over the loss is the exposure
bias, where a target is the right continuation of any prefix, as in copying.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.model.stack import unstacked
from saccade.ops.masking import row_keys
from saccade.task.base import LOSS, Forward
from saccade.task.translation import Translation, given
from saccade.types import (
    Batch,
    Metric,
    Part,
    Positive,
    PRNGKey,
    Probability,
    Range,
    Scales,
    Tokens,
    Total,
    is_zero,
)

__all__ = ['Exponential', 'InverseSigmoid', 'Linear', 'ScheduledSampling']


@dataclass(frozen=True)
class Linear:
    """Linear schedule: r = min(most, start + slope i) at step i (section 2.4: epsilon = max(e, k - c i)).

    Attributes: slope, c, per step; start, 1 - k; most, 1 - e.
    """

    slope: Positive
    start: Probability = 0.0
    most: Probability = 1.0

    def __call__(self, step: Int[Array, '']) -> Float[Array, '']:
        return jnp.minimum(self.most, self.start + self.slope * step)


@dataclass(frozen=True)
class Exponential:
    """Exponential schedule: r = 1 - k^i at step i.

    Attributes: base, k, below 1.
    """

    base: Annotated[float, Range(above=0, below=1)]

    def __call__(self, step: Int[Array, '']) -> Float[Array, '']:
        return 1.0 - self.base ** step.astype(jnp.float32)


@dataclass(frozen=True)
class InverseSigmoid:
    """Inverse sigmoid schedule: r = 1 - k / (k + exp(i / k)) at step i; r is 1/2 at step k log k.

    Attributes: scale, k, at least 1.
    """

    scale: Annotated[float, Range(least=1)]

    def __call__(self, step: Int[Array, '']) -> Float[Array, '']:
        return jax.nn.sigmoid(step / self.scale - jnp.log(self.scale))


@dataclass(frozen=True)
class ScheduledSampling(Translation):
    """Sequence-to-sequence task with scheduled sampling.

    Attributes: the attributes of Translation, and
        ratio: r, constant.
        schedule: r by step, as `task.scheduled_sampling:InverseSigmoid`, in place of `ratio`; None for the ratio.
    """

    ratio: Scales[Probability] = 0.0
    schedule: Part | None = None

    reads: ClassVar[tuple[str, ...]] = (*Translation.reads, 'row')

    @property
    def evaluates(self) -> tuple[Metric, ...]:
        """Metrics of Translation, and the loss after the model's own tokens."""
        return (*super().evaluates, replace(LOSS, name='own_loss'))

    def at_step(self, step: Int[Array, '']) -> 'ScheduledSampling':
        """Return the task with the ratio of a training step."""
        return self if self.schedule is None else replace(self, ratio=self.schedule()(step), schedule=None)

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return the totals of Translation; in training after mixed inputs, in evaluation with `own_loss`."""
        if forward.train:
            return super().totals(forward, batch) if is_zero(self.ratio) else self._mixed(forward, batch, self.ratio)
        own = self._mixed(replace(forward, reports={}), batch, 1.0)
        return {**super().totals(forward, batch), 'own_loss': own['loss']}

    def _mixed(self, forward: Forward, batch: Batch, ratio: float | Float[Array, '']) -> dict[str, Total]:
        """Return the totals after inputs of which a share are samples."""
        source, source_context, _, context = given(batch)
        return self.totals_after(forward, batch, source, source_context, mixed(forward, batch, ratio), context)


def mixed(forward: Forward, batch: Batch, ratio: float | Float[Array, '']) -> Tokens:
    """Return the tokens of a batch, of which a share are replaced by samples of the model, one by one."""
    source, source_context, tokens, context = given(batch)
    params = {'params': forward.params}
    state = forward.model.apply(params, source, source_context, tokens.shape[1], method='encode')
    layers = {'params': unstacked(forward.params)}
    keys = row_keys(jax.random.fold_in(forward.key, 1), batch['row'])

    def body(carry: tuple, this: tuple) -> tuple[tuple, Int[Array, 'B']]:
        fed, state = carry
        target, segment, number = this
        logits, state = forward.model.apply(layers, fed[:, None], segment[:, None], state, method='step')
        of_token = jax.vmap(jax.random.fold_in, (0, None))(keys, number)
        fed = jax.vmap(_drawn, (0, 0, 0, None))(of_token, logits[:, 0], target, ratio)
        return (fed, state), fed

    columns = tokens[:, 1:].T, context.numbered[:, :-1].T, jnp.arange(tokens.shape[1] - 1)
    _, written = jax.lax.scan(body, (tokens[:, 0], state), columns)
    return jnp.concatenate([tokens[:, :1], written.T], axis=1)


def _drawn(
    key: PRNGKey, logits: Float[Array, 'V'], target: Int[Array, ''], ratio: float | Float[Array, '']
) -> Int[Array, '']:
    """Return a sample with the probability `ratio`, otherwise the target."""
    coin, sample = jax.random.split(key)
    own = jax.random.categorical(sample, logits.astype(jnp.float32)).astype(target.dtype)
    return jnp.where(jax.random.uniform(coin) < ratio, own, target)
