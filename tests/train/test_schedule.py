# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Schedules at their corners, against their equations, and what they refuse."""

import math

import numpy as np
import pytest

from saccade.build import build
from saccade.train.schedule import Constant, Cosine, InverseSqrt, WarmupStableDecay
from saccade.types import UserError

RELATIVE = 1e-6


def rates(schedule, steps):
    return [float(schedule(step)) for step in steps]


def nanogpt(step, peak, warmup, end, floor):
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    if step > end:
        return floor
    return floor + 0.5 * (1 + math.cos(math.pi * (step - warmup) / (end - warmup))) * (peak - floor)


def test_cosine_is_that_of_nanogpt_at_every_step():
    schedule = Cosine(peak=1e-3, warmup=10, floor=1e-4, decay_steps=40)(steps=50)
    wanted = [nanogpt(step, 1e-3, 10, 40, 1e-4) for step in range(50)]
    np.testing.assert_allclose(rates(schedule, range(50)), wanted, rtol=RELATIVE)


def test_cosine_ends_with_the_run_by_default():
    schedule = Cosine(peak=0.5, warmup=0, floor=0.1)(steps=20)
    np.testing.assert_allclose(rates(schedule, [0, 10, 20, 99]), [0.5, 0.3, 0.1, 0.1], rtol=RELATIVE)


def test_inverse_sqrt_is_the_equation_of_the_paper():
    schedule = InverseSqrt(width=16, warmup=4, scale=2.0)(steps=100)
    wanted = [2 * 16**-0.5 * min(n**-0.5, n * 4**-1.5) for n in range(1, 30)]
    np.testing.assert_allclose(rates(schedule, range(29)), wanted, rtol=RELATIVE)
    assert np.argmax(wanted) == 3


def test_warmup_stable_decay_has_its_three_corners():
    schedule = WarmupStableDecay(peak=1.0, warmup=4, decay=10, floor=0.2)(steps=50)
    steps = [0, 3, 4, 39, 40, 45, 50, 60]
    np.testing.assert_allclose(rates(schedule, steps), [0.2, 0.8, 1, 1, 1, 0.6, 0.2, 0.2], rtol=RELATIVE)


def test_constant_stays_after_its_warmup():
    np.testing.assert_allclose(rates(Constant(peak=0.5)(steps=9), [0, 8]), [0.5, 0.5])
    np.testing.assert_allclose(rates(Constant(peak=0.5, warmup=1)(steps=9), [0, 1, 8]), [0.25, 0.5, 0.5])


def test_config_builds_a_part_that_takes_the_steps():
    part = build({'use': 'train.schedule:Cosine', 'peak': 1e-3, 'warmup': 100})
    assert float(part()(steps=1000)(1000)) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ('part', 'words'),
    [
        (Cosine(peak=1.0, warmup=1, floor=2.0), 'floor'),
        (Cosine(peak=1.0, warmup=10), '10 warmup steps leave none of 10'),
        (Cosine(peak=1.0, warmup=5, decay_steps=4), '5 warmup steps leave none of 4'),
        (WarmupStableDecay(peak=1.0, warmup=6, decay=5), 'do not fit in 10 steps'),
    ],
)
def test_refuses_what_cannot_be(part, words):
    with pytest.raises(UserError, match=words):
        part(steps=10)
