# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Span boundary objective (SpanBERT): each token of a hidden span is predicted from the two tokens around the span.

    h = norm(f([x_(s-1) ; x_(e+1) ; p_(i-s+1)] W + b));   logits_i = norm(f(h W' + b')) E^T + c,   i in the span s .. e

Joshi et al. 2020, "SpanBERT: Improving Pre-training by Representing and Predicting Spans", section 3.2,
https://arxiv.org/abs/1907.10529. It is the head 'boundary' of an encoder next to 'masked'; the loss adds both, and
`ops.masking:choose_spans` hides spans. Spans that touch are one. Cost: M (3 D^2 + D E + E V) for M hidden tokens.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saccade.axes import parameter
from saccade.module import Module
from saccade.norm.layer import LayerNorm
from saccade.ops.project import project
from saccade.ops.vocabulary import OutputProjection
from saccade.types import Count, Hidden, Norm, Part, Reading, UserError

__all__ = ['SpanBoundary']

_NAME = 'head.span_boundary:SpanBoundary'


class SpanBoundary(Module):
    """Span boundary head.

    Attributes: longest, the number of places p in a span, later ones share the last; activation f, norm and kernel_init
    of the two hidden layers; position_init, the initialiser of p.
    """

    longest: Count = 10
    activation: Part = Part(nn.gelu)
    norm: Part[Norm] = Part(LayerNorm)
    kernel_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))
    position_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    def __call__(self, x: Hidden, reading: Reading, train: bool = False) -> Float[Array, 'B M V']:
        return self.output_projection(x, reading, train).logits()

    @nn.compact
    def output_projection(self, x: Hidden, reading: Reading, train: bool) -> OutputProjection:
        """Return the output of the hidden layers and its projection to the vocabulary, instead of the logits.

        Raises:
            UserError: the model has no vocabulary, or the task does not give the hidden places.
        """
        if reading.table is None or reading.at is None:
            raise UserError(
                f'{_NAME} predicts hidden tokens of a vocabulary: it needs config.model.vocabulary and MaskedLM'
            )
        (V, E), D = reading.table.shape, x.shape[-1]
        hidden = jnp.zeros(x.shape[:2], bool).at[jnp.arange(len(x))[:, None], reading.at].set(True)
        before, after = (jnp.take_along_axis(side, reading.at, axis=-1) for side in boundaries(hidden))
        place = jnp.minimum(reading.at - before - 1, self.longest - 1)
        table = parameter(self, 'positions', 'T D', self.position_init(), (self.longest, D), dtype=jnp.float32)
        sides = (jnp.take_along_axis(x, side[..., None], axis=-2) for side in (before, after))
        h = jnp.concatenate([*sides, jnp.take(table, place, axis=0).astype(x.dtype)], axis=-1)
        for layer, width in enumerate((D, E)):
            kernel = parameter(self, f'hidden_{layer}', 'D -> D', self.kernel_init(), (h.shape[-1], width))
            h = project(h, kernel) + parameter(self, f'hidden_{layer}_bias', 'D', nn.initializers.zeros, (width,))
            h = self.norm(name=f'norm_{layer}')(self.activation(h))
        return OutputProjection(h, reading.table, True, parameter(self, 'bias', 'V', nn.initializers.zeros, (V,)))


def boundaries(hidden: Bool[Array, 'B T']) -> tuple[Int[Array, 'B T'], Int[Array, 'B T']]:
    """Return, for each place, the nearest place that is not hidden to its left and to its right, within the row."""
    places, T = jnp.arange(hidden.shape[1]), hidden.shape[1]
    before = jax.lax.cummax(jnp.where(hidden, 0, places), axis=1)
    after = jax.lax.cummin(jnp.where(hidden, T - 1, places), axis=1, reverse=True)
    return before, after
