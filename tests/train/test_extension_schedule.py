# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The learning rate of a run that is given more steps."""

import numpy as np
import pytest

from saccade.train.extension_schedule import ConstantRate, Rewarmed, rates_of, schedule_of
from saccade.train.schedule import Constant, Cosine, InverseSqrt, WarmupStableDecay
from saccade.types import UserError

SCHEDULES = (
    Cosine(peak=1e-2, warmup=4, floor=1e-3),
    InverseSqrt(width=16, warmup=4),
    WarmupStableDecay(peak=1e-2, warmup=4, decay=10, floor=1e-3),
    Constant(peak=1e-2, warmup=3),
)


@pytest.mark.parametrize('schedule', SCHEDULES, ids=lambda schedule: type(schedule).__name__)
@pytest.mark.parametrize('way', [ConstantRate, Rewarmed])
def test_the_steps_before_keep_their_rates_and_none_jumps(schedule, way):
    before = schedule(40)
    rates = rates_of(schedule_of(schedule, [way.of(before, 40, 60)], 100), 100)
    np.testing.assert_array_equal(rates[:40], rates_of(before, 40))
    steps = np.abs(np.diff(rates))
    assert steps[39:].max() <= max(steps[:39].max(), rates.max() / 4)
    assert steps[39] <= rates.max() / 6


def test_a_held_rate_is_that_of_the_last_step():
    schedule = SCHEDULES[0]
    rates = rates_of(schedule_of(schedule, [ConstantRate(40)], 100), 100)
    assert set(rates[40:]) == {rates[39]}


@pytest.mark.long
def test_a_rewarmed_rate_reaches_the_peak_after_its_warmup_and_the_last_rate_at_the_end():
    schedule = SCHEDULES[0]
    before = schedule(40)
    rates = rates_of(schedule_of(schedule, [Rewarmed.of(before, 40, 60)], 100), 101)
    assert rates[46] == rates.max() == pytest.approx(1e-2)
    assert rates[100] == pytest.approx(rates[39])
    assert (np.diff(rates[39:47]) >= 0).all()
    assert (np.diff(rates[46:]) < 0).all()


@pytest.mark.long
def test_extensions_follow_each_other():
    schedule = SCHEDULES[0]
    first = Rewarmed.of(schedule(40), 40, 60)
    once = schedule_of(schedule, [first], 100)
    twice = rates_of(schedule_of(schedule, [first, ConstantRate.of(once, 100, 20)], 120), 120)
    np.testing.assert_array_equal(twice[:100], rates_of(once, 100))
    assert set(twice[100:]) == {twice[99]}


def test_a_rate_that_has_fallen_to_nothing_is_not_held():
    with pytest.raises(UserError, match='write --extend=rewarmed:60'):
        ConstantRate.of(Cosine(peak=1e-2, warmup=4)(1000), 1000, 60)


def test_extensions_out_of_order_are_refused():
    for after in ([100], [40, 30], [40, 40]):
        with pytest.raises(UserError, match='not in order'):
            schedule_of(SCHEDULES[0], [ConstantRate(each) for each in after], 100)
