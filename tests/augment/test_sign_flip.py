# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random signs of eigenvectors: which numbers change, and that all nodes of a graph change together."""

import jax
import jax.numpy as jnp
import numpy as np

from saccade.augment.sign_flip import SignFlip
from saccade.types import Augmentation

B, T, K = 64, 5, 3
NUMBERS = np.array([0, 0, 1, 2, 3, 1, 2, 3])
BATCH = {
    'frames': jax.random.normal(jax.random.key(0), (B, T, len(NUMBERS))),
    'eigenvectors': jnp.broadcast_to(NUMBERS, (B, len(NUMBERS))),
}


def flipped(batch, seed=0):
    return SignFlip()(jax.random.split(jax.random.key(seed), B), batch)


def test_each_eigenvector_of_each_graph_has_one_sign_in_both_ends_and_all_frames():
    assert isinstance(SignFlip(), Augmentation)
    signs = np.asarray(flipped(BATCH)['frames'] / BATCH['frames'])
    assert (signs == signs[:, :1]).all()
    assert (signs[..., :2] == 1).all()
    np.testing.assert_array_equal(signs[..., 2 : 2 + K], signs[..., 2 + K :])
    drawn = signs[:, 0, 2 : 2 + K]
    assert {*drawn.ravel().tolist()} == {-1, 1}
    assert len(np.unique(drawn, axis=0)) == 2**K
    assert np.abs(drawn.mean(axis=0)).max() < 0.5


def test_other_keys_draw_other_signs_and_what_is_no_eigenvector_stays():
    assert not np.array_equal(flipped(BATCH, 0)['frames'], flipped(BATCH, 1)['frames'])
    unsigned = BATCH | {'eigenvectors': jnp.zeros_like(BATCH['eigenvectors'])}
    np.testing.assert_array_equal(flipped(unsigned)['frames'], BATCH['frames'])
