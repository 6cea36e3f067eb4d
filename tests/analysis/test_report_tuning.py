# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a search found: the best of each variant, what is said of it in a report, and a variant that never trained."""

import re

import pytest
from report_study import config, records, start, write_run

from saccade.analysis.report.compare import Question
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.tuning import tuning
from saccade.analysis.report.write import report
from saccade.sweep.record import Run, Sweep, write_sweep
from saccade.types import UserError

LOSSES = {
    ('one', 'peak=1'): [3.0, 3.2],
    ('one', 'peak=2'): [2.0, 2.2],
    ('one,more', 'peak=1'): [1.0, 1.2],
    ('one,more', 'peak=2'): [4.0, None],
}
HEADS = {'one': 1, 'one,more': 2}
CHOSEN = {'one': 'peak=2', 'one,more': 'peak=1'}


def write(folder, runs):
    """Write a sweep: of each run its variant, its seed, its config and its loss, None where it failed."""
    listed = []
    for variant, seed, settings, loss in runs:
        name = f'{variant},seed={seed}'
        status = 'failed' if loss is None else 'finished'
        listed.append(Run(name, variant, seed, (), 40, status, 1 if loss is None else 0))
        logged = records(seed, 1, 20 if loss is None else 40)
        if loss is not None:
            logged[-1] |= {'loss': loss, 'accuracy': 1 / loss}
        for record in logged:
            record.pop('bits_per_byte', None)
        write_run(folder / name, settings, logged, [start()])
    write_sweep(folder, Sweep('base.py', 'tuned.py', 'Tuned', config(), tuple(listed)))


def settings(variant, setting, seed):
    return config(seed, HEADS[variant], schedule={'peak': int(setting[-1])})


@pytest.fixture
def study(tmp_path):
    write(tmp_path / 'sweep/tuning', [
        (f'{variant},{setting}', 100 + number, settings(variant, setting, 100 + number), loss)
        for (variant, setting), losses in LOSSES.items() for number, loss in enumerate(losses)
    ])  # fmt: skip
    write(tmp_path / 'sweep', [
        (variant, seed, settings(variant, CHOSEN[variant], seed), 2.0 + seed) for variant in HEADS for seed in (0, 1)
    ])  # fmt: skip
    return tmp_path / 'sweep'


def found(study, **question):
    return tuning(read_study(study / 'tuning'), [*HEADS], Question(**question))


def test_the_best_mean_is_chosen_for_each_variant(study):
    assert found(study, metric='loss').chosen() == CHOSEN
    assert found(study, metric='accuracy').chosen() == CHOSEN
    assert found(study, metric='loss', best='highest').chosen() == {'one': 'peak=1', 'one,more': 'peak=2'}


def test_a_mean_is_of_the_seeds_that_finished(study):
    means = found(study, metric='loss').means
    assert means['one']['peak=1'] == pytest.approx(3.1)
    assert means['one,more'] == pytest.approx({'peak=1': 1.1, 'peak=2': 4.0})


def test_a_variant_that_never_trained_is_refused(tmp_path):
    runs = [('one,peak=1', 7, settings('one', 'peak=1', 7), 3.0), ('two,peak=1', 7, config(7, 2), None)]
    write(tmp_path / 'tuning', runs)
    with pytest.raises(UserError, match='tuning: no run of two has finished, so it cannot be tuned'):
        tuning(read_study(tmp_path / 'tuning'), ['one', 'two'], Question(metric='loss')).chosen()


def test_a_report_shows_what_was_tried_and_stars_what_its_runs_have(study):
    written = report(study, Question(metric='loss'))
    markdown, html = ((study / 'report' / name).read_text() for name in ('report.md', 'index.html'))
    (heads, _, first, second) = re.findall(r'^\|.*$', markdown.partition('## Tuning')[2].partition('##')[0], re.M)
    assert [cell.strip() for cell in heads.split('|')[1:-1]] == ['variant', 'peak=1', 'peak=2']
    assert [cell.strip().replace('\\', '') for cell in first.split('|')[1:-1]] == ['one', '3.10', '2.10 *']
    assert [cell.strip().replace('\\', '') for cell in second.split('|')[1:-1]] == ['one,more', '1.10 *', '4.00']
    assert '<h2>Tuning</h2>' in html
    assert '2.10 *' in html
    assert {standing.variant for standing in written.comparison.standings} == {*HEADS}


def test_a_report_of_a_sweep_without_search_says_nothing_of_one(study):
    for file in sorted((study / 'tuning').rglob('*'), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    report(study, Question(metric='loss'))
    assert 'Tuning' not in (study / 'report/report.md').read_text()
