# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a search found: the best of each variant, what is said of it in a report, and a variant that never trained."""

import json
import math
import re
from datetime import datetime

import pytest
from report_study import LAST_LINES, config, records, start, write_run

from saccade.analysis.report import page, tables
from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.tuning import TuningSearch, search_of, tuning
from saccade.analysis.report.write import report
from saccade.sweep.record import Sweep, SweepRun, write_sweep
from saccade.types import UserError

LOSSES = {
    ('one', 'peak=1'): [3.0, 3.2],
    ('one', 'peak=2'): [2.0, 2.2],
    ('one,more', 'peak=1'): [1.0, 1.2],
    ('one,more', 'peak=2'): [4.0, 4.2],
}
HEADS = {'one': 1, 'one,more': 2}
CHOSEN = {'one': 'peak=2', 'one,more': 'peak=1'}


def write(folder, runs, steps=40, base=None):
    """Write a sweep: of each run its variant, its seed, its config and its loss, None where it failed."""
    listed = []
    for variant, seed, settings, loss in runs:
        name = f'{variant},seed={seed}'
        status = 'failed' if loss is None else 'finished'
        flags = (f'heads={settings["model"]["block"]["mixer"]["heads"]}', f'peak={settings.get("schedule")}')
        flags = (*flags, f'--config.steps={steps}', f'--config.seed={seed}')
        ending = (1, LAST_LINES) if loss is None else (0, ())
        listed.append(SweepRun(name, variant, seed, flags, steps, status, *ending))
        settings = settings | {'steps': steps}
        logged = records(seed, 1, steps // 2 if loss is None else steps)
        if loss is not None:
            logged[-1] |= {'loss': loss, 'accuracy': 1 / loss}
        for record in logged:
            record.pop('bits_per_byte', None)
        write_run(folder / name, settings, logged, [start()])
    write_sweep(folder, Sweep('base.py', 'tuned.py', 'Tuned', base or config(), tuple(listed)))


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
    return tuning(read_study(study / 'tuning'), [*HEADS], StudyQuestion(**question))


def markdown(study):
    return page.markdown(compare(read_study(study), StudyQuestion(metric='loss')), study, datetime.now().astimezone())


def test_the_best_mean_is_chosen_for_each_variant(study):
    assert found(study, metric='loss').chosen() == CHOSEN
    assert found(study, metric='accuracy').chosen() == CHOSEN
    assert found(study, metric='loss', best='highest').chosen() == {'one': 'peak=1', 'one,more': 'peak=2'}


def searched(folder, losses):
    """Write a search over the settings of one variant, and read it."""
    write(folder / 'tuning', [
        (f'one,{setting}', 100 + number, settings('one', setting, 100 + number), loss)
        for setting, found in losses.items() for number, loss in enumerate(found)
    ])  # fmt: skip
    return tuning(read_study(folder / 'tuning'), ['one'], StudyQuestion(metric='loss'))


@pytest.mark.parametrize('lacking', [None, math.nan, math.inf])
def test_a_setting_of_which_a_seed_failed_or_diverged_is_never_chosen(tmp_path, lacking):
    search = searched(tmp_path, {'peak=1': [3.0, 3.2], 'peak=2': [1.0, lacking], 'peak=3': [2.9, 2.9]})
    assert search.means == {'one': pytest.approx({'peak=1': 3.1, 'peak=2': None, 'peak=3': 2.9})}
    assert search.chosen() == {'one': 'peak=3'}
    assert search.kept(2) == {'one': ['peak=1', 'peak=3']}
    assert search.kept(3) == {'one': ['peak=1', 'peak=3']}
    heads, row = TuningSearch({None: search}).table({'one': 'peak=3'})
    assert dict(zip(heads, row, strict=True))['peak=2'] == '— (1 of 2 seeds)'


def test_a_variant_of_which_every_setting_lacks_a_seed_is_refused_and_the_seeds_are_listed(tmp_path):
    search = searched(tmp_path, {'peak=1': [3.0, None], 'peak=2': [math.nan, 1.0]})
    for choose in (search.chosen, lambda: search.kept(1)):
        with pytest.raises(UserError) as refused:
            choose()
        assert str(refused.value) == (
            f'{tmp_path}/tuning: no setting of one has finished all its seeds, so it cannot be tuned: '
            'peak=1, seed 101: failed at step 20 of 40, error: step 7: the loss is not finite; '
            'peak=2, seed 100: diverged, its loss is nan'
        )


@pytest.mark.long
def test_a_report_shows_what_was_tried_and_stars_what_its_runs_have(study):
    written = report(study, StudyQuestion(metric='loss'))
    markdown, html = ((study / 'report' / name).read_text() for name in ('report.md', 'index.html'))
    (heads, _, first, second) = re.findall(r'^\|.*$', markdown.partition('## Tuning')[2].partition('##')[0], re.M)
    assert [cell.strip() for cell in heads.split('|')[1:-1]] == ['variant', 'peak=1', 'peak=2']
    assert [cell.strip().replace('\\', '') for cell in first.split('|')[1:-1]] == ['one', '3.10', '2.10 *']
    assert [cell.strip().replace('\\', '') for cell in second.split('|')[1:-1]] == ['one,more', '1.10 *', '4.10']
    assert '<h2>Tuning</h2>' in html
    assert '2.10 *' in html
    assert {standing.variant for standing in written.comparison.standings} == {*HEADS}


def test_the_chosen_setting_and_whether_it_is_at_an_edge_are_in_the_table_of_variants(study):
    rows = {row['variant']: row for row in tables.variants(compare(read_study(study), StudyQuestion('loss')))}
    assert {name: (row['setting'], row['setting_at_edge']) for name, row in rows.items()} == {
        'one': ('peak=2', 1),
        'one,more': ('peak=1', 1),
    }
    assert 'beyond: one (peak=2), one,more (peak=1).' in markdown(study)


def test_the_report_says_how_many_places_a_setting_for_each_changes(study):
    """With 1 for all `one,more` is first, with 2 it is last; with each its own it is first."""
    assert found(study, metric='loss').moved() == {'peak=1': 0, 'peak=2': 2}
    assert found(study, metric='loss').reordered() == {'peak=1': 0, 'peak=2': 1}
    search = search_of(compare(read_study(study), StudyQuestion(metric='loss')))
    assert search.moved() == (
        'Effect of the search: number of the 2 variants in the runs of the search whose rank with one setting for all '
        'differs from their rank with the best setting of each: 0 with peak=1, 2 with peak=2.'
    )
    assert search.moved() in markdown(study)


def test_variants_that_solved_their_task_alike_are_tied_whatever_their_metric(study):
    for file in (study / 'tuning').glob('*/metrics.jsonl'):
        file.write_text(file.read_text() + json.dumps({'step': 40, 'split': 'outcome', 'solved': 1}) + '\n')
    assert found(study, metric='loss').reordered() == {'peak=1': 0, 'peak=2': 0}
    assert found(study, metric='loss').moved() == {'peak=1': 0, 'peak=2': 0}


def test_the_setting_that_the_config_has_is_named(tmp_path):
    base = config(schedule={'peak': 2})
    write(tmp_path / 'tuning', [
        (f'{variant},{setting}', 7, settings(variant, setting, 7), losses[0])
        for (variant, setting), losses in LOSSES.items()
    ], base=base)  # fmt: skip
    search = TuningSearch({None: tuning(read_study(tmp_path / 'tuning'), [*HEADS], StudyQuestion(metric='loss'))})
    assert search.first.own() == 'peak=2'
    assert search.moved().endswith('2 with peak=2 (the config has it), 0 with peak=1.')


def test_with_halving_the_report_shows_what_was_dropped_when(tmp_path):
    """One goes on with its second setting, more with its first; the last round turns nothing around."""
    for steps, kept in ((20, LOSSES), (40, [key for key in LOSSES if CHOSEN[key[0]] == key[1]])):
        write(tmp_path / f'sweep/tuning/steps={steps}', [
            (f'{variant},{setting}', 7, settings(variant, setting, 7), LOSSES[variant, setting][0] - steps / 100)
            for variant, setting in kept
        ], steps=steps)  # fmt: skip
    write(tmp_path / 'sweep', [
        (variant, seed, settings(variant, CHOSEN[variant], seed), 2.0 + seed) for variant in HEADS for seed in (0, 1)
    ], steps=50)  # fmt: skip
    text = markdown(tmp_path / 'sweep').partition('## Tuning')[2].partition('\n## ')[0]
    rows = [
        [cell.strip().replace('\\', '') for cell in row.split('|')[1:-1]] for row in re.findall(r'^\|.*$', text, re.M)
    ]
    assert rows[2] == ['one', '2.80 (20 steps)', '1.60 (40 steps) *']
    assert rows[3] == ['one,more', '0.60 (40 steps) *', '3.80 (20 steps)']
    assert 'successive halving' in text
    assert 'in the first round of the search, 20 steps' in text


def test_the_best_settings_of_each_variant_go_on(study):
    assert found(study, metric='loss').kept(1) == {'one': ['peak=2'], 'one,more': ['peak=1']}
    assert found(study, metric='loss').kept(2) == {name: ['peak=1', 'peak=2'] for name in HEADS}
    assert found(study, metric='accuracy').kept(1) == {'one': ['peak=2'], 'one,more': ['peak=1']}


@pytest.mark.long
def test_a_report_of_a_sweep_without_search_says_nothing_of_one(study):
    for file in sorted((study / 'tuning').rglob('*'), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    report(study, StudyQuestion(metric='loss'))
    assert 'Tuning' not in (study / 'report/report.md').read_text()
