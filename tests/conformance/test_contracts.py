# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each contract passes a right layer and catches a broken one: attention in NumPy, and what a library may get wrong."""

import numpy as np
import pytest

from conformance.contracts import CONTRACTS, normal, rounded
from conformance.layer import Layer, NotOffered, Weights, mask_of
from conformance.run import verdict


class Attention(Layer):
    """Causal attention with one head; `broken` names the fault."""

    def __init__(self, broken: str = '', chunk: int = 4) -> None:
        self.broken, self.chunk = broken, chunk
        self.query, self.value = normal((16, 16), 3) / 4, normal((16, 16), 4) / 4

    def mask(self, segments):
        seen = mask_of(segments, causal=True)
        if self.broken == 'leaks':
            seen = mask_of((segments != 0) * 1, causal=True)
        if self.broken == 'looks ahead':
            seen = seen | mask_of(segments, causal=False) & np.eye(segments.shape[1], k=1, dtype=bool)
        if self.broken == 'reads padding':
            seen = np.broadcast_to(np.tri(segments.shape[1], dtype=bool), seen.shape)
        if self.broken == 'forgets chunks':
            seen = seen & (np.arange(seen.shape[1])[:, None] // self.chunk == np.arange(seen.shape[1]) // self.chunk)
        return seen

    def weigh(self, x, segments):
        scores = np.where(self.mask(segments), x @ self.query @ x.swapaxes(1, 2), -1e30)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True)) * self.mask(segments)
        total = weights.sum(axis=-1, keepdims=True)
        return weights / (total if self.broken == 'divides by zero' else np.maximum(total, 1e-30))

    def call(self, x, segments=None):
        if self.broken == 'even lengths' and x.shape[1] % 2:
            raise ValueError('lengths are even')
        if self.broken == 'one' and x.shape[1] == 1:
            return np.zeros_like(x)
        if self.broken == 'batch':
            x = x - x.mean(axis=0)
        segments = np.ones(x.shape[:2], int) if segments is None else segments
        if self.broken == 'counts padding':
            x = x * (segments != 0).mean(axis=1)[:, None, None]
        with np.errstate(invalid='ignore'):
            return self.weigh(x, segments) @ (x @ self.value)

    def gradients(self, x, direction, segments=None):
        """By the values alone, the weights being constants."""
        segments = np.ones(x.shape[:2], int) if segments is None else segments
        mixed = self.weigh(x, segments).swapaxes(1, 2) @ direction
        return mixed @ self.value.T, {'value': np.einsum('btd,bte->de', x, mixed)}

    def init_state(self, batch, capacity):
        return np.zeros((batch, 0, 16)), np.zeros((batch, 0), int)

    def step(self, x, state, segments=None):
        before, numbers = state
        if self.broken == 'forgets':
            before, numbers = before[:, -3:], numbers[:, -3:]
        x = np.concatenate([before, x], axis=1)
        now = np.ones((len(x), x.shape[1] - before.shape[1]), int) if segments is None else segments
        numbers = np.concatenate([numbers, now], axis=1)
        return self.call(x, numbers)[:, before.shape[1] :], (x, numbers)

    def in_bfloat16(self):
        return Scaled(1.1 if self.broken == 'rounds' else 1.001), Attention()

    def with_chunk(self, size):
        return Attention(self.broken, size)

    def kernels(self):
        return {'other': Scaled(1.1 if self.broken == 'kernel' else 1.0)}

    def weights(self, x):
        weights, values = self.weigh(x, np.ones(x.shape[:2], int)), x @ self.value
        shown = weights * (1.1 if self.broken == 'weights' else 1.0)
        return Weights(shown[:, None], values[:, None], (weights @ values)[:, None])


class Scaled(Attention):
    """Attention whose outputs are multiplied."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def call(self, x, segments=None):
        return self.factor * super().call(x, segments)


BROKEN = {
    'packed_values': 'leaks',
    'packed_gradients': 'leaks',
    'steps': 'forgets',
    'chunks': 'forgets',
    'prompt': 'forgets',
    'decoding_padded': 'reads padding',
    'decoding_packed': 'leaks',
    'causal': 'looks ahead',
    'left_padding': 'reads padding',
    'right_padding': 'counts padding',
    'padding_not_read': 'reads padding',
    'padding_alone': 'divides by zero',
    'padding_gradients': 'divides by zero',
    'bfloat16': 'rounds',
    'chunk_size': 'forgets chunks',
    'kernel': 'kernel',
    'lengths': 'even lengths',
    'one_token': 'one',
    'one_row': 'batch',
    'weights': 'weights',
}


@pytest.mark.parametrize('name', CONTRACTS)
def test_a_contract_passes_the_right_layer_and_catches_the_broken_one(name):
    assert verdict(CONTRACTS[name], Attention(BROKEN[name]))['verdict'] == 'fail'
    assert verdict(CONTRACTS[name], Attention())['verdict'] == 'pass'


def test_rounding_to_bfloat16_is_to_the_nearest():
    x = np.float32([1.0, 1.0 + 2**-8, 1.0 + 3 * 2**-8, 1.0 + 2**-9, -3.14159274, 1e-3])
    np.testing.assert_array_equal(rounded(x), np.float32([1.0, 1.0, 1.0 + 2**-6, 1.0, -3.140625, 0.00099945068359375]))


def test_what_a_library_does_not_offer_is_no_failure():
    class Bare(Attention):
        def call(self, x, segments=None):
            if segments is not None:
                raise NotOffered('no masks')
            return super().call(x)

    assert verdict(CONTRACTS['left_padding'], Bare()) == {'verdict': 'not offered', 'note': 'no masks'}
