# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The standing page of a suite: its command, its table, longer rows, the search, and what was left out."""

import dataclasses
import json
import re
from datetime import datetime

import pytest
from report_study import config, start, write_run

from saccade.analysis.report.compare import StudyQuestion
from saccade.analysis.report.matrix import matrix
from saccade.analysis.report.standing import standing_page
from saccade.analysis.report.tuning import Tuning
from saccade.sweep.record import Sweep, SweepRun, write_sweep
from saccade.sweep.suite import Suite, SuiteTask
from saccade.types import UserError

SWEEP = '''"""Mixers."""


def get_sweep():
    return dict(runs=dict(list=[{'name': name} for name in ('soft', 'delta', 'slow')]))
'''
COMMAND = 'python launch/suite.py --suite=my.py --workdir=runs/suite --page=table.md'


def write(folder, source, accuracies, setting=None, commit=40 * 'c', rate=None):
    """Write a sweep, of each run its variant, its seed and its accuracy; `setting` makes it a part of a search.

    `rate` is the setting that was chosen before.
    """
    runs = []
    for variant, seed, value in accuracies:
        name = f'{variant},{setting},seed={seed}' if setting else f'{variant},seed={seed}'
        called = name.rpartition(',seed')[0]
        runs.append(SweepRun(name, called, seed, (f'--config.{setting or rate}',), 40, 'finished', 0, seconds=90.0))
        logged = [
            {'step': 0, 'split': 'plan', 'parameters': 1, 'flops': 2, 'tokens': 3, 'state_bytes': 2048},
            {'step': 40, 'split': 'validation_64', 'accuracy': value / 2, 'loss': 1.0},
            {'step': 40, 'split': 'validation', 'accuracy': value, 'loss': 1 - value},
            {'step': 40, 'split': 'baseline', 'accuracy': 0.25, 'loss': 1.0},
        ]
        write_run(
            folder / name, config(seed, data={'use': 'd:D', 'context_length': 32}), logged, [start(commit=commit)]
        )
    return Sweep('base.py', source, 'Mixers', config(steps=3000), tuple(runs))


@pytest.fixture
def page(tmp_path):
    source = tmp_path / 'mixers.py'
    source.write_text(SWEEP)
    suite = tmp_path / 'suite'
    for task in ('recall', 'parity'):
        runs = [('soft', 0, 0.5), ('soft', 1, 0.6), ('delta', 0, 0.9), ('delta', 1, 1.0)]
        write_sweep(suite / task, write(suite / task, str(source), runs, rate='rate=2'))
    low, high = (
        write(suite / 'parity/tuning', str(source), [('soft', 9, soft), ('delta', 9, delta)], setting)
        for setting, soft, delta in (('rate=1', 0.3, 0.2), ('rate=2', 0.4, 0.9))
    )
    write_sweep(suite / 'parity/tuning', Sweep('base.py', str(source), 'Search', config(), low.runs + high.runs))
    return standing_page(matrix(suite, StudyQuestion()), Suite('What can it do?', ()), COMMAND, datetime(2026, 11, 25))


def test_it_has_the_command_the_provenance_and_the_work(page):
    assert page.startswith('# What can it do?\n')
    assert f'```shell\n{COMMAND}\n```' in page
    assert 'All runs: Saccade 0.1.0, commit cccccccccc (clean)' in page
    assert 'AMD EPYC 9654' in page
    assert '12 runs, including searches, took 0.3 hours of one process. Made on 25 November 2026.' in page


def test_it_counts_the_runs_of_each_commit_where_they_differ(tmp_path):
    source = tmp_path / 'mixers.py'
    source.write_text(SWEEP)
    for task, commit in (('recall', 40 * 'a'), ('parity', 40 * 'b')):
        folder = tmp_path / 'suite' / task
        write_sweep(folder, write(folder, str(source), [('soft', 0, 0.5), ('soft', 1, 0.5)], commit=commit))
    page = standing_page(
        matrix(tmp_path / 'suite', StudyQuestion()), Suite('What?', ()), COMMAND, datetime(2026, 11, 25)
    )
    assert 'Runs differ in commit.' in page
    assert re.search(r'\| commit \| runs \|\n.*\n\| a{10} \(clean\) \| 2 \|\n\| b{10} \(clean\) \| 2 \|', page), page


def test_it_has_the_matrix_with_chance_and_bytes(page):
    assert '| variant | parity | recall | state bytes |' in page
    assert '| chance | 0.250 | 0.250 |  |' in page
    assert '| 2.05 k |' in page
    assert 'rank |' not in page


def test_it_has_longer_rows(page):
    assert '| variant | parity, 32 tokens | parity, 64 tokens | recall, 32 tokens | recall, 64 tokens |' in page
    assert '| delta | 0.95 (0.90 to 1.00) | 0.47 (0.45 to 0.50) | 0.95' in page


def test_it_says_how_many_pairs_the_search_reorders(page):
    assert '| task | pairs | rate=1 | rate=2 |' in page
    assert '| parity | 1 | 1 | 0 |' in page


def test_it_says_what_was_left_out(page):
    assert page.endswith('## Runs left out\n\n- parity, recall: 40 steps, 2 seeds; without slow.\n')


@pytest.fixture
def crossed(tmp_path):
    """A suite of two factors on one task, whose runs stop when they have solved it: only `delta,on` does."""
    source, names = tmp_path / 'mixers.py', ('soft,off', 'soft,on', 'delta,off', 'delta,on')
    source.write_text(SWEEP.replace("('soft', 'delta', 'slow')", str(names)))
    means = dict(zip(names, (0.2, 0.5, 0.4, 1.0), strict=True))
    scores = [(name, seed, means[name] - 0.02 * seed * (name != 'delta,on')) for name in names for seed in range(5)]
    written = write(tmp_path / 'crossed/recall', str(source), scores)
    for run in written.runs:
        solved = run.variant == 'delta,on' and run.seed
        with (tmp_path / 'crossed/recall' / run.name / 'metrics.jsonl').open('a') as log:
            log.write(json.dumps({'step': 40, 'split': 'outcome', 'solved': int(bool(solved))}) + '\n')
    write_sweep(tmp_path / 'crossed/recall', dataclasses.replace(written, factors=('mixer', 'convolution')))

    def page(control):
        found = matrix(tmp_path / 'crossed', StudyQuestion())
        tasks = [SuiteTask(name, 'base.py', str(source), (), None, control=control) for name in ('recall', 'parity')]
        return standing_page(found, Suite('What can it do?', tuple(tasks)), COMMAND, datetime(2026, 11, 25))

    return page


def test_a_task_is_evidence_if_four_of_five_seeds_of_its_control_solve_it(crossed):
    assert '| task | control | seeds solved | evidence |' in crossed('delta,on')
    assert '| recall | delta,on | 4 of 5 | yes |' in crossed('delta,on')
    assert '| recall | soft,on | 0 of 5 | no |' in crossed('soft,on')
    assert 'Positive controls' not in crossed(None)
    with pytest.raises(UserError, match='recall: the control is lstm, but the sweep has'):
        crossed('lstm')


def test_a_control_that_has_not_run_has_not_failed(tmp_path, crossed):
    for seed in range(5):
        file = tmp_path / f'crossed/recall/soft,on,seed={seed}/metrics.jsonl'
        file.write_text(file.read_text().replace('"step": 40', '"step": 20').replace('outcome', 'other') * (seed < 3))
    assert '| recall | soft,on | 0 of 0, 5 to run | not yet |' in crossed('soft,on')


def test_it_names_the_tasks_without_a_result(crossed, page):
    assert '\n4 variants in 1 sweep. Without a result yet: parity.\n' in crossed(None)
    assert 'Without a result yet' not in page


def test_it_has_seeds_solved_and_the_effects_of_factors(crossed):
    page = crossed(None)
    assert '| delta,on | 4/5; 40 |' in page
    assert '| soft,on | 0/5; \\> 40 |' in page
    assert 'among variants that solve it, compare the steps to solve' in page
    assert '### recall' in page
    effect = re.search(r'\| convolution \| on \| all \| \+([\d.]+) ', page)
    assert float(effect[1]) == pytest.approx(0.47)  # means of 0.30 in soft, and of 0.60 and 0.04 less luck in delta


def test_it_has_the_settings_that_were_chosen(page):
    assert '## Chosen settings\n\n| variant | parity | recall |' in page
    assert '| delta | rate=2 | — |' in page


def test_it_names_the_settings_at_an_edge_of_those_tried(tmp_path, monkeypatch, page):
    found = matrix(tmp_path / 'suite', StudyQuestion())
    assert found.at_edges == ()  # the settings of this search differ in no field
    monkeypatch.setattr(Tuning, 'at_edge', lambda self, variant, setting: variant == 'delta')
    found = matrix(tmp_path / 'suite', StudyQuestion())
    text = standing_page(found, Suite('What?', (), ('Read the protocol.',)), COMMAND, datetime(2026, 11, 25))
    said = 'The chosen setting is at an edge of the tried values, so a better one may be beyond: delta (rate=2).'
    assert f'\n\nparity: {said}\n\n' in text
    assert '\n\nRead the protocol.\n\n```shell' in text


def test_some_variants_have_their_part_of_the_search(page, tmp_path):
    found = matrix(tmp_path / 'suite', StudyQuestion(only='delta'))
    assert {*found.cells} == {'delta'}
    some = standing_page(found, Suite('What can it do?', ()), COMMAND, datetime(2026, 11, 25))
    assert '| delta | rate=2 | — |' in some
    assert '| soft' not in some


def test_variants_without_a_name_of_their_own_are_named_by_their_fields(tmp_path):
    source, folder = tmp_path / 'heads.py', tmp_path / 'suite/recall'
    source.write_text('"""Heads."""\n\n\ndef get_sweep():\n    return dict(runs=dict(grid={"heads": [1, 2]}))\n')
    write_sweep(folder, write(folder, str(source), [('heads=1', 0, 0.5), ('heads=1', 1, 0.6)]))
    found = matrix(tmp_path / 'suite', StudyQuestion())
    page = standing_page(found, Suite('What?', ()), COMMAND, datetime(2026, 11, 25))
    assert page.endswith('recall: 40 steps, 2 seeds; without heads=2.\n')
