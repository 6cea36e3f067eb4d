# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of crossed factors: main effects, effects within levels, interactions, and their intervals."""

from dataclasses import replace

import pytest
from report_study import config, start, write_run
from scipy import stats

from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.effects import effects
from saccade.analysis.report.margin import margin_test
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.write import report
from saccade.sweep.record import PrimaryComparison, Sweep, SweepRun, read_sweep, write_sweep
from saccade.types import UserError

# Luck of a seed that all cells share, and of each cell.
SHARED = (0.00, 0.04, -0.03, 0.01, 0.02)
CELLS = {
    'attention,off': (0.30, 0.32, 0.31),
    'attention,on': (0.90, 0.93, 0.88),
    'delta,off': (0.60, 0.62, 0.61),
    'delta,on': (0.70, 0.71, 0.75),
}


def write(folder, cells, factors):
    runs = []
    for variant, values in cells.items():
        for seed, value in enumerate(values):
            run = SweepRun(f'{variant},seed={seed}', variant, seed, (), 40, 'finished', 0)
            logged = [{'step': 40, 'split': 'validation', 'accuracy': value + SHARED[seed], 'loss': 1.0}]
            write_run(folder / run.name, config(seed), logged, [start()])
            runs.append(run)
    write_sweep(folder, Sweep('base.py', 'mixers.py', 'Mixers', config(), tuple(runs), (), factors))
    return folder


def found(folder, cells, factors=('mixer', 'convolution')):
    study = read_study(write(folder / 'sweep', cells, factors))
    return effects(compare(study, StudyQuestion(metric='accuracy')))


def change(cells, left, right):
    return [a - b for a, b in zip(cells[left], cells[right], strict=True)]


def test_the_changes_are_those_of_each_seed(tmp_path):
    all_effects = {(each.factor, each.level, each.within): each for each in found(tmp_path, CELLS).effects}
    attention, delta = change(CELLS, 'attention,on', 'attention,off'), change(CELLS, 'delta,on', 'delta,off')
    main = [(a + b) / 2 for a, b in zip(attention, delta, strict=True)]
    for within, changes in {None: main, 'attention': attention, 'delta': delta}.items():
        effect = all_effects['convolution', 'on', within]
        assert effect.change == pytest.approx(sum(changes) / 3)
        assert effect.interval.holds(effect.change)
        assert effect.seeds == 3
    assert all_effects['convolution', 'on', None].interaction is None
    apart = [a - m for a, m in zip(attention, main, strict=True)]
    assert all_effects['convolution', 'on', 'attention'].interaction == pytest.approx(sum(apart) / 3)
    assert all_effects['convolution', 'on', 'delta'].interaction == pytest.approx(-sum(apart) / 3)
    assert all_effects['mixer', 'delta', None].change == pytest.approx((0.61 + 0.72) / 2 - (0.31 + 2.71 / 3) / 2)


def test_luck_that_the_cells_of_a_seed_share_is_in_no_interval(tmp_path):
    (tmp_path / 'equal').mkdir()
    equal = {variant: (values[0],) * 3 for variant, values in CELLS.items()}
    main, *_ = (each for each in found(tmp_path / 'equal', equal).effects if each.factor == 'convolution')
    assert main.change == pytest.approx(0.35)
    assert main.interval is None  # equal to rounding


def test_with_two_seeds_an_interval_is_that_of_students_t(tmp_path):
    cells = {variant: values[:2] for variant, values in CELLS.items()}
    (within,) = (each for each in found(tmp_path, cells).effects if (each.level, each.within) == ('on', 'delta'))
    changes = change(cells, 'delta,on', 'delta,off')
    low, high = stats.t.interval(0.95, 1, sum(changes) / 2, stats.sem(changes))
    assert (within.interval.low, within.interval.high) == pytest.approx((low, high))


def test_a_cell_without_its_counterpart_is_left_out(tmp_path):
    cells = {variant: values for variant, values in CELLS.items() if variant != 'delta,off'}
    rows = found(tmp_path, cells).effects
    assert [(each.level, each.within) for each in rows if each.factor == 'convolution'] == [
        ('on', None),
        ('on', 'attention'),
    ]


def test_three_factors_have_main_effects_only(tmp_path):
    cells = {f'{variant},{size}': values for size in ('small', 'large') for variant, values in CELLS.items()}
    rows = found(tmp_path, cells, ('mixer', 'convolution', 'size')).effects
    assert [(each.factor, each.within) for each in rows] == [('mixer', None), ('convolution', None), ('size', None)]
    assert rows[2].change == 0


@pytest.mark.long
def test_the_report_has_them_and_one_without_factors_has_none(tmp_path):
    written = report(write(tmp_path / 'crossed', CELLS, ('mixer', 'convolution')), StudyQuestion(metric='accuracy'))
    page, text, *_ = (file.read_text() for file in written.files)
    assert '<h2>Effects of the factors</h2>' in page
    assert '\n| convolution | on | all | +0.35' in text
    assert len(written.summary()['effects']) == 6
    plain = report(write(tmp_path / 'plain', CELLS, ()), StudyQuestion(metric='accuracy'))
    assert not any('Effects of the factors' in file.read_text() for file in plain.files)


@pytest.mark.long
def test_a_margin_gives_each_effect_the_verdict_of_its_bounds(tmp_path):
    jitter = (0.01, -0.01, 0.0, 0.005, -0.005)
    cells = {'attention,off': [0.5] * 5, 'attention,on': [0.9 + x for x in jitter]}
    cells |= {'delta,off': [0.3 - x for x in jitter], 'delta,on': [0.26 + x for x in jitter]}
    runs = write(tmp_path / 'sweep', cells, ('mixer', 'convolution'))
    sweep = replace(read_sweep(runs), primary=PrimaryComparison('accuracy', 'attention,off', 0.05))
    write_sweep(runs, sweep)
    rows = effects(compare(read_study(runs), StudyQuestion())).effects
    verdicts = {(each.factor, each.within): each.verdict for each in rows}
    assert verdicts['convolution', 'attention'] == 'better'
    assert verdicts['convolution', 'delta'] == 'inconclusive'  # a loss of 0.04, whose bounds hold the margin
    assert verdicts['mixer', 'off'] == 'worse'
    assert '| mixer | delta | off |' in (text := report(runs).files[1].read_text())
    assert '| worse |' in text
    assert '| one-sided 95% bounds | verdict |' in text
    (worse,) = (each for each in rows if (each.factor, each.within) == ('mixer', 'off'))
    assert worse.judged.bounds.high < -0.05
    assert worse.interval.low < worse.judged.bounds.low < worse.judged.bounds.high < worse.interval.high


@pytest.mark.long
def test_a_sweep_without_a_finished_run_has_no_effects(tmp_path):
    folder = write(tmp_path / 'sweep', CELLS, ('mixer', 'convolution'))
    for file in folder.glob('*/metrics.jsonl'):
        file.write_text(file.read_text().replace('"step": 40', '"step": 10'))
    comparison = compare(read_study(folder), StudyQuestion(metric='accuracy'))
    assert comparison.ranked == ()
    assert effects(comparison) is None
    report(folder, StudyQuestion(metric='accuracy'))


def test_the_first_level_is_that_of_the_sweep_and_a_cell_that_lacks_a_seed_is_left_out(tmp_path):
    folder = write(tmp_path / 'sweep', CELLS, ('mixer', 'convolution'))
    file = folder / 'attention,off,seed=1/metrics.jsonl'
    file.write_text(file.read_text().replace('"step": 40', '"step": 10'))
    rows = effects(compare(read_study(folder), StudyQuestion(metric='accuracy'))).effects
    # attention,off stays the first cell, so delta is compared with attention only where the convolution is on, and
    # nothing has a main effect, from which it could differ.
    assert [(each.level, each.within, each.interaction) for each in rows] == [
        ('delta', 'on', None),
        ('on', 'delta', None),
    ]


def test_a_verdict_is_by_one_sided_bounds_of_95_percent(tmp_path):
    shape = (1.0, -1.0, 0.0, 0.5, -0.5)
    cells = {'attention,off': [0.5] * 5, 'attention,on': [0.48 + 0.035 * each for each in shape]}
    runs = write(tmp_path / 'sweep', cells, ('mixer', 'convolution'))
    write_sweep(runs, replace(read_sweep(runs), primary=PrimaryComparison('accuracy', 'attention,off', 0.05)))
    main, _ = effects(compare(read_study(runs), StudyQuestion())).effects
    assert main.interval.low < -0.05  # of the interval with two sides, which would not exclude the margin
    assert main.verdict == 'not worse'


def test_effects_of_some_variants_are_means_over_these(tmp_path):
    study = read_study(write(tmp_path / 'sweep', CELLS, ('mixer', 'convolution')))
    study = replace(study, primary=PrimaryComparison('accuracy', 'delta,off', 0.05))
    question = StudyQuestion(metric='accuracy', only='^attention')
    compared = compare(study, question)
    (effect, _) = effects(compared).effects
    attention = change(CELLS, 'attention,on', 'attention,off')
    assert (effect.factor, effect.level, effect.within) == ('convolution', 'on', None)
    assert effect.change == pytest.approx(sum(attention) / 3)
    assert compared.over is None  # the sweep's baseline is not among them
    with pytest.raises(UserError, match='--variants=lstm: no variant matches; there are attention,off, attention,on'):
        compare(study, replace(question, only='lstm'))
    with pytest.raises(UserError, match=r'--variants=\(: not a regular expression'):
        compare(study, replace(question, only='('))


def test_the_interval_of_a_difference_of_accuracies_is_within_1(tmp_path):
    cells = {
        'soft,off': (0.0, 0.1, 0.0),
        'soft,on': (1.0, 0.1, 1.0),
        'delta,off': (0.0, 0.0, 0.1),
        'delta,on': (0.9, 1.0, 0.9),
    }
    folder = write(tmp_path / 'sweep', cells, ('mixer', 'convolution'))
    compared = compare(read_study(folder), StudyQuestion(metric='accuracy', over='soft,off'))
    wide = next(each for each in effects(compared).effects if (each.level, each.within) == ('on', 'soft'))
    assert (wide.interval.low, wide.interval.high) == (-1.0, 1.0)
    spans = [row.difference_interval for row in compared.ranked[1:]] + [
        row.bounds for row in margin_test(compared).rows
    ]
    assert all(-1 <= span.low <= span.high <= 1 for span in filter(None, spans))
    assert any(span.low == -1 or span.high == 1 for span in filter(None, spans))
