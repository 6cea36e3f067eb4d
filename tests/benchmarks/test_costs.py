# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Costs of one layer by length: the fit of exponents, refusals, and sizes of decoding states."""

import pytest

from benchmarks import costs
from benchmarks.costs import exponent, state_bytes, variants
from saccade.types import UserError

LENGTHS = (1024, 4096, 16384)


def test_exponents_are_of_one_sequence_and_have_an_interval():
    assert exponent((256, 1024, 4096), [256, 1024, 4096], 1) == pytest.approx((2, 0), abs=1e-6)
    assert exponent((256, 1024, 4096), [5.0, 5.0, 5.0], 0) == pytest.approx((0, 0), abs=1e-6)
    slope, half = exponent((1, 10, 100), [1, 1, 1000], 0)  # logarithms 0, 0, 3: residuals 1/2, -1, 1/2
    assert (slope, half) == pytest.approx((1.5, 12.7062 * 0.75**0.5), rel=1e-5)
    assert exponent((1, 10, 100), [1.0, None, 8.0], 0) is None


@pytest.mark.parametrize(
    ('lengths', 'message'),
    [
        ((256, 512), 'needs three lengths or more'),
        ((256, 512, 1000), '--length=1000: rows of a batch of 16384 tokens'),
    ],
)
def test_lengths_that_give_no_exponent_are_refused(lengths, message):
    with pytest.raises(UserError, match=message):
        costs.costs(lengths, 0)


def test_states_are_keys_and_values_of_all_tokens_or_have_a_fixed_size():
    found = {name: [state_bytes(spec, length) for length in LENGTHS] for name, spec in variants(16384).items()}
    token = 2 * 128 * 4 + 4 * 4  # keys and values, float32, and what the cache knows of the token
    assert exponent(LENGTHS, found['multi_head'], 0)[0] == pytest.approx(1, abs=0.01)
    assert found['multi_head'][0] == pytest.approx(1024 * token, rel=0.02)
    for name in ('window', 'retention', 'delta_net', 'mamba2', 'rwkv7', 'lstm', 'linear', 'cosformer'):
        assert len({*found[name]}) == 1, name


@pytest.mark.long
@pytest.mark.parametrize('rounds', [0, 1])
def test_every_layer_has_a_row_in_each_table(monkeypatch, rounds):
    chosen = ('multi_head', 'entmax', 'lstm')  # served in blocks; refuses them; without scores
    given = variants(128)
    monkeypatch.setattr(costs, 'variants', lambda length: {name: given[name] for name in chosen})
    monkeypatch.setattr(costs, 'TOKENS', 128)
    report = costs.costs((128, 32, 64), rounds)
    measured = ('compile_seconds', 'seconds', 'token_seconds') if rounds else ()
    for cost in ('flops', 'temp_bytes', 'state_bytes', *measured):
        assert [*report.figures[cost]] == ['plain', *chosen]
        assert all(len(row) == 3 and min(row) > 0 for row in report.figures[cost].values())
    assert report.figures['flops']['entmax'] == report.figures['flops']['plain']
    assert report.figures['exponents']['flops']['lstm'] == pytest.approx((1, 0), abs=1e-6)
    page = report.markdown()
    assert page.startswith('# Costs\n')
    assert page.count('| lstm |') == 3 + len(measured)
