# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dropout by pair of indices: how often, how independent, and the same from any block."""

import jax
import jax.numpy as jnp
import numpy as np

from saccade.ops.dropout import keep_pairs
from saccade.ops.mask import Full
from saccade.ops.scoring import Dropout, Scoring

KEY = jax.random.key(0)
SIZE = 48
KEPT = 0.7
WHOLE = np.asarray(keep_pairs(KEY, KEPT, (2, 3), jnp.arange(SIZE), jnp.arange(SIZE)))
DEVIATIONS = 4  # a fair draw lies farther out once in 16,000


def assert_share(draws, share):
    deviation = np.sqrt(share * (1 - share) / draws.size)
    assert abs(draws.mean() - share) < DEVIATIONS * deviation


def test_the_share_kept():
    assert WHOLE.shape == (2, 3, SIZE, SIZE)
    assert_share(WHOLE, KEPT)


def test_rows_heads_queries_and_keys_are_drawn_independently():
    for one, other in [
        (WHOLE[0], WHOLE[1]),
        (WHOLE[:, 0], WHOLE[:, 1]),
        (WHOLE[:, :, 1:], WHOLE[:, :, :-1]),
        (WHOLE[..., 1:], WHOLE[..., :-1]),
        (WHOLE, WHOLE.swapaxes(-1, -2)[..., ::-1]),
    ]:
        assert_share(one & other, KEPT**2)


def test_a_block_is_the_part_of_the_whole():
    block = keep_pairs(KEY, KEPT, (2, 3), jnp.arange(5, 9), jnp.arange(20, 31))
    np.testing.assert_array_equal(block, WHOLE[:, :, 5:9, 20:31])


def test_another_key_drops_other_pairs():
    other = keep_pairs(jax.random.key(1), KEPT, (2, 3), jnp.arange(SIZE), jnp.arange(SIZE))
    assert_share(WHOLE & np.asarray(other), KEPT**2)


def test_what_is_kept_is_scaled_so_that_the_mean_stays():
    scoring = Scoring(Full(), dropout=Dropout(jax.random.key_data(KEY), 1 - KEPT))
    kept = scoring.kept((2, 3), scoring.pairs(jnp.arange(SIZE), jnp.arange(SIZE)))
    np.testing.assert_allclose(kept, WHOLE / KEPT, rtol=1e-6)
