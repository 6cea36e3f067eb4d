# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Costs of one layer by length: the published page and its records, the fit of exponents, refusals, decoding states."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from benchmarks import costs
from benchmarks.cost_page import LINEAR, QUADRATIC, REASONS, degree, exponent, kind_of, reason, report
from benchmarks.costs import FIGURES, layers, measure, measured, read, state_bytes, variants
from benchmarks.one_layer import forward_and_backward, params_like
from saccade.types import UserError

LENGTHS = (1024, 4096, 16384)
RESULTS = Path(__file__).parents[2] / 'docs/results'
RECORDS = read(RESULTS / 'costs.csv')
LAYERS = layers(256)
QUICK = ('window', 'linear')  # layers that are recounted in seconds


def test_the_page_is_written_from_its_records():
    assert (RESULTS / 'costs.md').read_text(encoding='utf-8') == report(RECORDS).markdown()


def test_every_layer_is_recorded_at_every_length():
    assert {*RECORDS} == {(name, length) for name in LAYERS for length in costs.LENGTHS}


@pytest.mark.parametrize('name', LAYERS)
def test_memory_is_linear_in_the_length_or_the_page_has_the_reason(name):
    row = [RECORDS[name, length]['temp_bytes'] for length in costs.LENGTHS]
    slope, _ = exponent(costs.LENGTHS, row, 1)
    assert (kind_of(LAYERS[name]) == QUADRATIC) == (slope > 1.5)
    if slope > LINEAR:
        assert reason(name)
    else:
        assert name not in REASONS


@pytest.mark.long
def test_a_single_row_of_s4d_is_linear_as_the_page_says():
    lengths, rows = (256, 1024, 4096), []
    for length in lengths:
        x = jax.ShapeDtypeStruct((1, length, costs.WIDTH), jnp.float32)
        program = forward_and_backward(LAYERS['s4d']).lower(params_like(LAYERS['s4d'], x), x).compile()
        rows.append(program.memory_analysis().temp_size_in_bytes)
    assert exponent(lengths, rows, 0)[0] < LINEAR


@pytest.mark.parametrize('length', [256, 1024])
@pytest.mark.parametrize(
    'name', [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in LAYERS]
)
def test_a_recount_gives_the_records(name, length):
    """FLOPs do not depend on the compiler, and bytes do: jax 0.12 has 0.80 (scalable) to 1.32 (normalised heads) times
    those of jax 0.10. 10% at each of two lengths are 0.15 of the exponent between them.
    """
    found, record = measure(layers(length)[name], length, 0), RECORDS[name, length]
    assert [found[each] for each in ('flops', 'state_bytes')] == [record[each] for each in ('flops', 'state_bytes')]
    near = 1.1 if jax.__version__ == record['jax'] else 1.4
    assert record['temp_bytes'] / near <= found['temp_bytes'] <= near * record['temp_bytes']


def test_a_layer_that_was_only_counted_has_a_row_without_seconds():
    seconds = dict.fromkeys(('compile_seconds', 'seconds', 'token_seconds'))
    counted = {key: record | (seconds if key[0] == 'lstm' else {}) for key, record in RECORDS.items()}
    page = report(counted).markdown()
    assert '| lstm | - | - | - | - |' in page
    layers_compared = len(LAYERS) - 1
    assert f'of {layers_compared} layers compile in at most' in report(RECORDS).markdown()
    assert f'of {layers_compared - 1} layers compile in at most' in page


@pytest.mark.parametrize(
    ('order', 'of_length'),
    [
        ('B N T S', 2),
        ('S^2 + S K H', 2),
        ('S (K H + X)', 1),
        ('B T N (V + log T)', 1),
        ('B T D log^2 T', 1),
        ('B T D log T + D M sqrt(T)', 1),
        ('N H V log T', 0),
    ],
)
def test_the_degree_of_an_order_counts_lengths_without_logarithms_and_roots(order, of_length):
    assert degree(order) == of_length


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
        measured(lengths, 0)


def test_an_interrupted_count_continues_from_its_file(monkeypatch, tmp_path):
    given, seen, file = variants(128), [], tmp_path / 'costs.csv'
    monkeypatch.setattr(costs, 'variants', lambda length: {name: given[name] for name in ('multi_head', 'lstm')})

    def counted(spec, length, rounds):
        if len(seen) == 5:
            raise KeyboardInterrupt
        seen.append(length)
        return dict.fromkeys(FIGURES) | {'flops': length, 'compile_seconds': 0.5 if rounds else None}

    monkeypatch.setattr(costs, 'measure', counted)
    with pytest.raises(KeyboardInterrupt):
        measured(LENGTHS, 0, file)
    assert len(read(file)) == 5
    seen.clear()
    found = measured(LENGTHS, 0, file)
    assert seen == [4096, *[16384] * 3]
    assert read(file) == found
    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        measured(LENGTHS, 1, file)  # no record has seconds
    assert seen == [*[1024] * 3, 4096, 4096]
    assert [each['compile_seconds'] for each in read(file).values()].count(0.5) == 5


@pytest.mark.parametrize('text', ['', 'layer,length\n'])
def test_other_files_are_refused_as_records(text, tmp_path):
    file = tmp_path / 'other.csv'
    file.write_text(text)
    with pytest.raises(UserError, match=r'other\.csv: it has the columns'):
        measured(costs.LENGTHS, 0, file)


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
    found = report(measured((128, 32, 64), rounds))
    seconds = ('compile_seconds', 'seconds', 'token_seconds') if rounds else ()
    for cost in ('flops', 'temp_bytes', 'state_bytes', *seconds):
        assert {*found.figures[cost]} == {'plain', *chosen}
        assert all(len(row) == 3 and min(row) > 0 for row in found.figures[cost].values())
    assert found.figures['flops']['entmax'] == found.figures['flops']['plain']
    assert found.figures['exponents']['flops']['lstm'] == pytest.approx((1, 0), abs=1e-6)
    page = found.markdown()
    assert page.startswith('# Costs\n')
    assert page.count('| lstm |') == 1 + 3 + len(seconds)
    assert ('Not measured' in page) == (not rounds)
