# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that leap are skipped: which ones, that nothing changes in them, and that a run counts them and resumes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.train.leaps import SkipLeaps

WINDOW, DEVIATIONS = 8, 3.0
ONES = {'kernel': jnp.ones(4)}


def followed(losses, norms):
    """Return which steps are skipped, and the parameters after each, under Adam with a rate of 1."""
    optimizer = SkipLeaps(WINDOW, DEVIATIONS)(optax.adam(1.0))
    params, state, skipped, kept = ONES, optimizer.init(ONES), [], []
    for loss, norm in zip(losses, norms, strict=True):
        gradient = {'kernel': jnp.full(4, norm / 2)}
        before = state
        updates, state = optimizer.update(gradient, state, params, value=jnp.float32(loss))
        params = optax.apply_updates(params, updates)
        skipped.append(bool(state.skipped > before.skipped))
        kept.append((params, state.inner))
    return skipped, kept


def expected(losses, norms):
    """The rule, by a loop in double precision."""
    window, skipped = [], []
    for found in zip(losses, norms, strict=True):
        last = np.array(window[-WINDOW:], np.float64)
        far = len(last) >= WINDOW // 2 and (np.array(found) > last.mean(0) + DEVIATIONS * last.std(0, ddof=1)).any()
        skipped.append(bool(far or not np.isfinite(found).all()))
        if np.isfinite(found).all():
            window.append(found)
    return skipped


@pytest.mark.parametrize('leap', [(9.0, 1.0), (2.0, 30.0), (np.nan, 1.0), (2.0, np.inf)], ids=str)
def test_a_leap_of_loss_or_gradient_is_skipped_and_changes_nothing(leap):
    draw = np.random.default_rng(0)
    losses, norms = 2 + 0.1 * draw.random(20), 1 + 0.1 * draw.random(20)
    losses[12], norms[12] = leap
    skipped, kept = followed(losses, norms)
    assert skipped == expected(losses, norms)
    assert np.flatnonzero(skipped).tolist() == [12]
    jax.tree.map(np.testing.assert_array_equal, kept[12], kept[11])
    assert not np.array_equal(kept[13][0]['kernel'], kept[12][0]['kernel'])


def test_the_update_of_a_statistic_is_no_leap_of_the_gradient():
    optimizer = SkipLeaps(WINDOW, DEVIATIONS)(optax.identity())
    params = {**ONES, 'norm': {'running_mean': jnp.ones(4)}}
    state = optimizer.init(params)
    for number in range(12):
        gradient = {'kernel': jnp.full(4, 1 + 0.01 * number), 'norm': {'running_mean': jnp.full(4, 100.0**number)}}
        _, state = optimizer.update(gradient, state, params, value=jnp.float32(2 + 0.01 * number))
    assert state.skipped == 0


@pytest.mark.parametrize('first', [(np.inf, 1.0), (2.0, np.nan)], ids=str)
def test_what_is_not_finite_does_not_hide_a_later_leap(first):
    losses, norms = [2 + 0.01 * n for n in range(16)], [1.0 + 0.01 * n for n in range(16)]
    losses[10], norms[10] = first
    losses[12], norms[14] = 9.0, 30.0
    assert np.flatnonzero(followed(losses, norms)[0]).tolist() == [10, 12, 14]


def test_a_lasting_change_is_accepted_and_a_young_window_skips_nothing_finite():
    losses = [2.0, 2.1, 2.0, 50.0, *(2 + 0.01 * n for n in range(12)), *(80 + 0.1 * n for n in range(12))]
    skipped, _ = followed(losses, [1.0] * len(losses))
    assert skipped == expected(losses, [1.0] * len(losses))
    assert not any(skipped[:4])
    assert skipped[16]
    assert not any(skipped[-4:])
