# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a report says of other lengths, of the baseline, and of memory."""

import statistics

import pytest
from report_study import config, records, write_run

from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.interval import mean_intervals
from saccade.analysis.report.lengths import lengths
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.tables import summary
from saccade.analysis.report.write import report

CONTEXT, ROWS = 32, 8
BYTES = {'temp_bytes': 3 * 2**20, 'state_bytes': 512 * CONTEXT}
LONGER = {(heads, seed): 2.0 * heads + 0.1 * seed for heads in (1, 2) for seed in range(3)}


def run(folder, heads, seed, baseline=None):
    settings = config(seed, heads, data={'context_length': CONTEXT}, batch_size=ROWS)
    logged = records(seed, heads)
    logged[0] |= BYTES
    logged.append({'step': 40, 'split': 'validation_64', 'bits_per_byte': LONGER[heads, seed]})
    if baseline:
        logged.append({'step': 40, 'split': 'baseline', 'bits_per_byte': baseline})
    write_run(folder / f'heads={heads},seed={seed}', settings, logged)


def compared(folder, baselines=(None, None, None)):
    for heads, seed in LONGER:
        run(folder, heads, seed, baselines[heads])
    return compare(read_study(folder), StudyQuestion())


def ends(heads):
    """What the runs of a variant log last."""
    return [records(seed, heads)[-1] for seed in range(3)]


def test_each_variant_is_measured_at_each_length(tmp_path):
    comparison = compared(tmp_path)
    found = lengths(comparison)
    assert found.lengths == (CONTEXT, 64)
    scores = {heads: [LONGER[heads, seed] for seed in range(3)] for heads in (1, 2)}
    intervals = dict(zip((2, 1), mean_intervals([scores[2], scores[1]]), strict=True))
    for standing, (trained, longer) in found.rows:
        heads = standing.trials[0].config['model']['block']['mixer']['heads']
        assert trained.mean == pytest.approx(standing.mean)
        assert longer.mean == pytest.approx(statistics.fmean(scores[heads]))
        assert longer.interval == intervals[heads]


def test_lines_run_from_the_shortest_length_on_though_the_trained_one_leads_the_table(tmp_path):
    shorter = {'step': 40, 'split': 'validation_16', 'bits_per_byte': 1.5}
    longer = {'step': 40, 'split': 'validation_64', 'bits_per_byte': 3.5}
    settings = config(data={'context_length': CONTEXT})
    write_run(tmp_path / 'alone', settings, [*records(0, 1), longer, shorter])
    found = lengths(compare(read_study(tmp_path), StudyQuestion()))
    assert found.lengths == (CONTEXT, 16, 64)
    ((_, line),) = found.lines
    assert line == [(16.0, 1.5), (32.0, pytest.approx(ends(1)[0]['bits_per_byte'])), (64.0, 3.5)]


@pytest.mark.long
def test_page_and_markdown_show_them(tmp_path):
    compared(tmp_path)
    page, markdown, *_ = (file.read_text() for file in report(tmp_path).files)
    for text in (page, markdown):
        assert '64 tokens' in text
        assert '32 tokens (trained)' in text.replace('\\', '')
    assert '4.10' in markdown


def test_runs_that_were_measured_at_one_length_have_no_such_table(tmp_path):
    write_run(tmp_path / 'alone', config(data={'context_length': CONTEXT}), records(0, 1))
    assert lengths(compare(read_study(tmp_path), StudyQuestion())) is None


@pytest.mark.long
def test_what_is_behind_the_baseline_is_named(tmp_path):
    baseline = statistics.fmean(record['bits_per_byte'] for record in ends(1))
    comparison = compared(tmp_path, (None, baseline, baseline))
    assert comparison.baseline == baseline
    expected = ['heads=1']
    assert summary(comparison)['behind_baseline'] == expected
    assert f'): {expected[0]}.' in report(tmp_path).files[1].read_text().replace('\\', '')


def test_a_baseline_is_compared_with_its_own_split_alone(tmp_path):
    compared(tmp_path, (None, 1.5, 1.5))
    assert compare(read_study(tmp_path), StudyQuestion()).baseline == 1.5
    assert compare(read_study(tmp_path), StudyQuestion(split='validation_64')).baseline is None


def test_runs_of_different_baselines_have_none_in_common(tmp_path):
    assert compared(tmp_path, (None, 1.5, 1.6)).baseline is None


def test_memory_is_that_of_the_plan(tmp_path):
    for standing in compared(tmp_path).standings:
        assert standing.cost.temp_bytes == BYTES['temp_bytes']
        assert standing.cost.state_per_token == 512
