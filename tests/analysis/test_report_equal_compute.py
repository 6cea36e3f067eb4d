# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The metric at equal compute: where curves are read, which way is best, and when nothing is said."""

import json
import math
from datetime import datetime
from pathlib import Path

import pytest
from report_study import config, write_run

from saccade.analysis.report import page, tables
from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.equal_compute import equal_compute
from saccade.analysis.report.runs import read_study

NOW = datetime(2026, 11, 25)
FLOPS = {'cheap': 100, 'dear': 300}  # a step; the dear one is read between two evaluations


def write(folder, flops, every=10, seeds=2):
    """Runs of 40 steps whose loss falls linearly in the logarithm of FLOPs, the dear ones' from half as much more."""
    for heads, (name, cost) in enumerate(flops.items(), start=1):
        for seed in range(seeds):
            logged = [{'step': 0, 'split': 'plan', 'parameters': heads, 'flops': cost, 'tokens': 8}]
            for step in range(every, 41, every):
                loss = 1 - math.log(cost * step) * heads / 40 + 0.01 * seed
                logged.append({'step': step, 'split': 'validation', 'loss': loss, 'accuracy': 1 - loss})
            write_run(folder / f'{name}{seed}', config(seed, heads, note=name), logged)
    return folder


def compared(folder, metric='loss'):
    return compare(read_study(folder), StudyQuestion(metric=metric))


@pytest.mark.parametrize('metric', ['loss', 'accuracy'])
def test_each_is_read_where_it_has_spent_what_the_cheapest_spends_in_all(tmp_path, metric):
    found = equal_compute(compared(write(tmp_path, FLOPS), metric))
    assert found.flops == 4000
    means = {row.variant.rpartition('=')[2]: mean for row, mean, _ in found.rows}
    losses = {'dear': 1 - 2 * math.log(4000) / 40 + 0.005, 'cheap': 1 - math.log(4000) / 40 + 0.005}
    assert means == pytest.approx({name: loss if metric == 'loss' else 1 - loss for name, loss in losses.items()})
    assert [*means] == ['dear', 'cheap']
    assert all(interval.low <= mean <= interval.high for _, mean, interval in found.rows)


def test_nothing_is_said_where_all_spend_alike_or_flops_are_unknown(tmp_path):
    assert equal_compute(compared(write(tmp_path / 'alike', {'cheap': 100, 'dear': 100.5}))) is None
    for file in write(tmp_path / 'unknown', FLOPS).rglob('metrics.jsonl'):
        lines = [line for line in file.read_text().splitlines(keepends=True) if '"plan"' not in line]
        file.write_text(''.join(lines))
    assert equal_compute(compared(tmp_path / 'unknown')) is None


def test_nothing_is_extrapolated(tmp_path):
    write(tmp_path, FLOPS | {'same': 100}, every=20)
    found = equal_compute(compared(tmp_path))
    assert [mean is None for _, mean, _ in found.rows] == [False, False, True]
    assert [row[1] for row in tables.at_equal_compute(compared(tmp_path))[1:]][2] == '—'


def test_nothing_is_said_of_the_cheapest_alone(tmp_path):
    assert equal_compute(compared(write(tmp_path, FLOPS, every=20))) is None


def test_every_report_has_it(tmp_path):
    comparison = compared(write(tmp_path, FLOPS))
    heads, first, second = tables.at_equal_compute(comparison)
    assert heads == ['variant', 'loss at 4.00 k FLOPs [95% interval]', 'rank at the end', 'FLOPs at the end']
    assert (first[2:], second[2:]) == (['1', '12.0 k'], ['2', '4.00 k'])
    text = page.markdown(comparison, tmp_path, NOW)
    assert '## At equal compute' in text
    assert '<h2>At equal compute</h2>' in page.html(comparison, Path(tmp_path), NOW)
    assert json.loads(tables.as_json(tables.summary(comparison)))['at_equal_compute']['flops'] == 4000
