# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Knowledge distillation: a student encoder learns masked tokens from the text and from a trained teacher.

    loss = a t^2 KL(teacher's p_t || student's p_t) + b MLM loss + c (1 - cos(student's h, teacher's h))

p_t is softmax(logits / t) at the hidden tokens; h are the last layer's states of all tokens. Sanh et al. 2019,
"DistilBERT", section 2, https://arxiv.org/abs/1910.01108, with its published training's t = 2, a = 5, b = 2, c = 1
(https://github.com/huggingface/transformers-research-projects, distillation). The temperature: Hinton et al. 2015,
https://arxiv.org/abs/1503.02531. Freeze the teacher: `rates` of the optimizer, `train.rates:Frozen`, match '^teacher/'.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.model.stack import STATES, layer_states
from saccade.task.base import LOSS, SCORED, Forward, context_of, over_targets
from saccade.task.masked_lm import MaskedLM
from saccade.types import (
    Batch,
    EncoderModel,
    Metric,
    Model,
    NotNegative,
    Params,
    Part,
    Positive,
    Scales,
    Total,
)

__all__ = ['Distillation']


@runtime_checkable
class StudentAndTeacher(Model, Protocol):
    """Protocol of a model with two encoders, student and teacher; `member` returns one of them with its parameters."""

    student: Part[EncoderModel]
    teacher: Part[EncoderModel]

    def member(self, name: str, params: Params) -> tuple[EncoderModel, Params]:
        """Return the encoder of this name, 'student' or 'teacher', and its parameters."""
        ...


@dataclass(frozen=True)
class Distillation(MaskedLM):
    """Knowledge distillation of a masked language model.

    Attributes: temperature, t; soft, weight a of the teacher's distributions; hard, weight b of the masked tokens;
    cosine, weight c of the states.
    """

    temperature: Scales[Positive] = 2.0
    soft: Scales[NotNegative] = 5.0
    hard: Scales[NotNegative] = 2.0
    cosine: Scales[NotNegative] = 1.0

    bare: ClassVar[str] = 'task_loss'
    trains: ClassVar[tuple[type, str]] = (StudentAndTeacher, 'a student and a teacher')
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'student': ('masked',), 'teacher': ('masked',)}
    reports: ClassVar[tuple[Metric, ...]] = (
        LOSS,
        LOSS.prefixed('soft'),
        Metric('cosine_loss', 'lowest', 0.0, 2.0),
        *(each.prefixed('masked') for each in SCORED),
    )
    then: ClassVar[dict[str, str]] = {what: f'{command} --part=student' for what, command in MaskedLM.then.items()}

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals `soft_loss`, `masked_loss`, `masked_accuracy`, `cosine_loss`, and `loss`, a weighted sum."""
        drop, hide = self.keys(forward)
        tokens, chosen = self.hide(hide, batch, forward.model.vocabulary)
        forward = replace(forward, collections=(*forward.collections, *STATES))
        # The teacher's reports are neither added to the loss nor logged.
        frozen = replace(forward, params=jax.lax.stop_gradient(forward.params), train=False, reports={})
        taught, learned = (
            each(tokens, context_of(batch), each.train, chosen.at, key=drop, method=self.method(each.model))['masked']
            for each in (frozen.of_member('teacher'), forward.of_member('student'))
        )
        target, states = (
            layer_states({name: each.reports[name][of] for name in STATES})[-1]
            for of, each in (('teacher', frozen), ('student', forward))
        )
        originals = chosen.read(batch['tokens'])
        score = functools.partial(self._both, forward.train)
        (losses, divergences), (_, best) = self.by_chunks(score, (learned, taught), (originals,))
        masked = over_targets(losses, best == originals, chosen.counts)
        soft = Total((divergences * chosen.counts).sum(), masked['loss'].weight)
        there = (batch['segments'] != 0).astype(jnp.float32)
        cosine = Total((_angle(states, target) * there).sum(), there.sum())
        loss = soft.times(self.soft).plus(masked['loss'].times(self.hard), cosine.times(self.cosine))
        parts = {f'masked_{name}': each for name, each in masked.items()}
        return {'loss': loss, 'soft_loss': soft, 'cosine_loss': cosine, **parts}

    def _both(self, train: bool, student: Array, teacher: Array, targets: Array) -> tuple[tuple[Array, Array], Any]:
        losses, facts = self._scores(train, student, targets)
        return (losses, self._divergence(teacher, student)), facts

    def _divergence(self, teacher: Array, student: Array) -> Array:
        """Return t^2 KL of each hidden token, in nats."""
        p, q = (jax.nn.log_softmax(logits.astype(jnp.float32) / self.temperature) for logits in (teacher, student))
        return self.temperature**2 * (jnp.exp(p) * (p - q)).sum(axis=-1)


def _angle(a: Array, b: Array) -> Array:
    """Return 1 - cos of each token."""
    a, b = (x.astype(jnp.float32) for x in (a, b))
    norms = jnp.linalg.norm(a, axis=-1) * jnp.linalg.norm(b, axis=-1)
    return 1.0 - (a * b).sum(axis=-1) / jnp.maximum(norms, 1e-8)
