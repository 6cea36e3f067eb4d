# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""discretax: its state space models and DeltaNet as sequence mixers, without arguments for documents or padding."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from discretax import sequence_mixers

from conformance.jax_layer import JaxLayer
from conformance.layer import Array, Layer, NotOffered, refuse_documents, refuse_padding
from conformance.run import SHAPE

TITLE = 'discretax'
REQUIRES = ('discretax==0.3.0', 'equinox==0.13.8', 'jax==0.12.0.1')
PYTHON = '3.12'
SMALL = {'state_dim': 8}


class Mixer(JaxLayer):
    """A sequence mixer, mapped over the batch."""

    def __init__(self, kind: type, options: dict[str, Any]) -> None:
        module = kind(in_features=self.width, key=jax.random.key(0), **options)
        parameters, static = eqx.partition(module, eqx.is_inexact_array)
        self.kind, self.options = kind, options

        def forward(parameters: Any, x: jax.Array, _: None) -> jax.Array:
            layer = eqx.combine(parameters, static)
            return jax.vmap(lambda row: layer(row, jax.random.key(0)))(x)

        super().__init__(forward, parameters)

    def given(self, segments: Array | None) -> None:
        refuse_documents(segments)
        refuse_padding(segments)


class Chunked(Mixer):
    """DeltaNet, whose documentation asks for lengths that are multiples of its chunk."""

    def call(self, x: Array, segments: Array | None = None) -> Array:
        if x.shape[1] % self.options['chunk_size']:
            raise NotOffered('documented: the chunk must divide the length')
        return super().call(x, segments)

    def with_chunk(self, size: int) -> Layer:
        return Chunked(self.kind, {**self.options, 'chunk_size': min(size, SHAPE[1])})


def layers() -> dict[str, Callable[[], Layer]]:
    """The sequence mixers."""
    kinds: dict[str, tuple[type, dict[str, Any]]] = {
        'S4D': (sequence_mixers.S4DSequenceMixer, SMALL),
        'S5': (sequence_mixers.S5SequenceMixer, SMALL),
        'LRU': (sequence_mixers.LRUSequenceMixer, SMALL),
        'LinOSS, IM': (sequence_mixers.LinOSSSequenceMixer, {**SMALL, 'discretization': 'IM', 'damping': False}),
        'LinOSS, IMEX': (sequence_mixers.LinOSSSequenceMixer, {**SMALL, 'discretization': 'IMEX', 'damping': False}),
        'LinOSS, IMEX, damped': (sequence_mixers.LinOSSSequenceMixer, {**SMALL, 'discretization': 'IMEX'}),
    }
    mixers = {name: functools.partial(Mixer, *given) for name, given in kinds.items()}
    delta = functools.partial(Chunked, sequence_mixers.DeltaNetSequenceMixer, {'n_heads': 2, 'chunk_size': 4})
    return {**mixers, 'DeltaNet': delta}
