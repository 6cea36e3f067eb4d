# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rankings by the metrics that runs declare; variants of which seeds failed, diverged or are missing come last."""

import math
from dataclasses import replace

import pytest
from report_study import DECLARED, config, declare, records, write_run

from saccade.analysis.report import page, tables
from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.equal_compute import equal_compute
from saccade.analysis.report.interval import Interval
from saccade.analysis.report.matrix import Matrix
from saccade.analysis.report.multiplier import multipliers
from saccade.analysis.report.runs import read_study
from saccade.sweep.record import Sweep, SweepRun, write_sweep
from saccade.types import Metric, UserError, fraction

# The variants of the fault: one seed of three has finished, and it is lower than the mean of three.
LOSSES = {1: [2.00, 2.02, 2.01], 2: [1.90, None, None], 4: [2.10, 2.12, 2.11]}


def study(folder, losses, declared=DECLARED, name='loss'):
    """Write a sweep over heads: of each seed what is measured at its end, None for a run that failed."""
    listed = []
    for heads, values in losses.items():
        for seed, value in enumerate(values):
            run = f'heads={heads},seed={seed}'
            status = ('failed', 1) if value is None else ('finished', 0)
            listed.append(SweepRun(run, f'heads={heads}', seed, (), 40, *status))
            logged = records(seed, heads, 20 if value is None else 40)
            for record in logged:
                record.pop('bits_per_byte', None)
            if value is not None:
                logged[-1] |= {name: value}
            write_run(folder / run, config(seed, heads), logged, declared=declared)
    write_sweep(folder, Sweep('base.py', 'heads.py', 'Heads', config(), tuple(listed)))
    return read_study(folder)


def order(comparison):
    return [standing.variant for standing in comparison.ranked]


@pytest.mark.parametrize(
    ('metric', 'best'),
    [
        (fraction('masked_accuracy'), 'highest'),
        (fraction('image_to_text_recall_at_5', 'split'), 'highest'),
        (Metric('rouge_2', 'highest', 0.0, 1.0), 'highest'),
        (Metric('mean_squared_error', 'lowest', 0.0), 'lowest'),
    ],
)
def test_a_declared_metric_ranks_by_its_own_end(tmp_path, metric, best):
    found = compare(study(tmp_path, {1: [0.5], 2: [0.9], 4: [0.7]}, [metric], metric.name), StudyQuestion(metric.name))
    assert found.best == best
    assert order(found) == (
        ['heads=2', 'heads=4', 'heads=1'] if best == 'highest' else ['heads=1', 'heads=4', 'heads=2']
    )


def test_a_metric_that_no_run_declares_needs_its_best_end(tmp_path):
    runs = study(tmp_path, {1: [0.5], 2: [0.9]}, name='wit')
    with pytest.raises(UserError) as refused:
        compare(runs, StudyQuestion('wit'))
    assert str(refused.value) == ('--metric=wit: no run declares its direction; give --best=lowest or --best=highest')
    assert order(compare(runs, StudyQuestion('wit', best='highest'))) == ['heads=2', 'heads=1']
    assert order(compare(runs, StudyQuestion('wit', best='lowest'))) == ['heads=1', 'heads=2']


def test_runs_that_declare_a_metric_differently_are_not_ranked_by_guessing(tmp_path):
    study(tmp_path, {1: [0.5], 2: [0.9]})
    declare(tmp_path / 'heads=2,seed=0', [replace(DECLARED[0], best='highest')])
    with pytest.raises(UserError, match='--metric=loss: the runs declare it in different ways; give --best=lowest'):
        compare(read_study(tmp_path), StudyQuestion('loss'))
    assert compare(read_study(tmp_path), StudyQuestion('loss', best='lowest')).best == 'lowest'


def test_declarations_that_are_damaged_are_refused_by_file(tmp_path):
    study(tmp_path, {1: [0.5]})
    file = tmp_path / 'heads=1,seed=0/declared_metrics.json'
    file.write_text('{"best_by": "loss", "metrics": [{"name": "loss", "beast": "lowest"}]}')
    with pytest.raises(UserError, match=f'{file}: not a valid declaration of metrics'):
        read_study(tmp_path)


def test_runs_are_ranked_by_what_ranks_their_checkpoints_where_nothing_is_asked_for(tmp_path):
    runs = study(tmp_path, {1: [0.5], 2: [0.9]}, [*DECLARED, fraction('mrr', 'split')], 'mrr')
    assert compare(runs, StudyQuestion()).metric == 'loss'
    for run in runs.trials:
        declare(run.folder, [*DECLARED, fraction('mrr', 'split')], 'mrr')
    found = compare(read_study(tmp_path), StudyQuestion())
    assert (found.metric, found.best) == ('mrr', 'highest')
    assert order(found) == ['heads=2', 'heads=1']


def test_an_interval_ends_at_the_declared_range(tmp_path):
    near = {1: [0.999, 0.9, 0.9999], 2: [0.001, 0.0001, 0.1], 4: [0.4, 0.5, 0.6]}
    found = compare(
        study(tmp_path / 'a', near, [fraction('masked_accuracy')], 'masked_accuracy'), StudyQuestion('masked_accuracy')
    )
    ends = {standing.variant: standing.interval for standing in found.ranked}
    assert ends['heads=1'].high == 1.0
    assert ends['heads=2'].low == 0.0
    free = compare(study(tmp_path / 'b', near, [Metric('wit', 'highest')], 'wit'), StudyQuestion('wit'))
    assert {row.variant: row.interval for row in free.ranked}['heads=1'].high > 1.0
    assert isinstance(ends['heads=4'], Interval)


def test_a_variant_that_lacks_seeds_ranks_after_the_complete_ones(tmp_path):
    found = compare(study(tmp_path, LOSSES), StudyQuestion('loss'))
    assert order(found) == ['heads=1', 'heads=4', 'heads=2']
    assert [standing.complete for standing in found.ranked] == [True, True, False]
    row = dict(zip(*(tables.ranking(found)[place] for place in (0, 3)), strict=True))
    assert row['seeds'] == '1 of 3 seeds, incomplete'
    assert row['loss [95% interval]'].startswith('1.9')
    said = page.verdict(found)
    assert said.startswith('heads=1 has the lowest loss of variants that finished all seeds: 2.010')
    assert 'ranked last: heads=2 (1 of 3 seeds).' in said
    assert found.standings[2].seeds_to_tell is None


@pytest.mark.parametrize('value', [math.nan, -math.inf])
def test_a_seed_that_diverged_is_no_seed(tmp_path, value):
    found = compare(study(tmp_path, {1: [2.0, 2.1], 2: [1.0, value]}), StudyQuestion('loss'))
    assert order(found) == ['heads=1', 'heads=2']
    assert found.ranked[1].scores == {0: 1.0}
    assert found.ranked[1].label == 'heads=2 (1 of 2 seeds)'


def test_where_no_variant_is_complete_the_best_is_only_so_far(tmp_path):
    found = compare(study(tmp_path, {1: [2.0, None], 2: [1.9, None]}), StudyQuestion('loss'))
    assert order(found) == ['heads=2', 'heads=1']
    assert page.verdict(found).startswith('heads=2 has the lowest loss so far: ')


def test_in_a_plain_folder_a_variant_with_fewer_seeds_is_incomplete(tmp_path):
    for heads, values in {1: [2.0, 2.1], 2: [1.9]}.items():
        for seed, value in enumerate(values):
            logged = records(seed, heads)
            logged[-1]['loss'] = value
            write_run(tmp_path / f'{heads}-{seed}', config(seed, heads), logged)
    found = compare(read_study(tmp_path), StudyQuestion('loss'))
    assert order(found) == ['heads=1', 'heads=2']
    assert tables.seeds(found.ranked[1]) == '1 of 2 seeds, incomplete'


def test_at_equal_compute_and_in_multipliers_a_variant_that_lacks_seeds_comes_last_and_is_said(tmp_path):
    found = compare(study(tmp_path, LOSSES), replace(StudyQuestion('loss'), over='heads=1'))
    rows = equal_compute(found).rows
    assert [row.variant for row, _, _ in rows][-1] == 'heads=2'
    assert [row[0] for row in tables.at_equal_compute(found)][-1] == 'heads=2 (1 of 3 seeds)'
    over = multipliers(found)
    (note,) = {row[-1] for row in over.table() if row[0] == 'heads=2 (1 of 3 seeds)'}
    assert '1 of 3 seeds finished by both' in note


def test_a_matrix_says_which_seeds_a_variant_lacks_and_has_the_order_of_the_names(tmp_path):
    named = [fraction('accuracy')]
    values = {1: [0.5, 0.6], 2: [0.99, None], 4: [0.4, 0.5]}
    tasks = {
        'a': compare(study(tmp_path / 'a', values, named, 'accuracy'), StudyQuestion('accuracy')),
        'b': compare(study(tmp_path / 'b', {**values, 2: [0.99, 0.99]}, named, 'accuracy'), StudyQuestion('accuracy')),
    }
    tasks = {name: replace(each, baseline=0.0) for name, each in tasks.items()}
    found = Matrix(tmp_path, tasks)
    assert [*found.cells] == ['heads=1', 'heads=2', 'heads=4']
    assert found.text('heads=2', 'a') == '0.99 (1 of 2 seeds, incomplete)'
    assert found.text('heads=1', 'a').startswith('0.55')


def test_the_share_of_a_matrix_is_of_the_greatest_value_of_the_metric(tmp_path):
    """BLEU goes up to 100: a mean of 40 is no more than 0.4 of it."""
    declared = [Metric('bleu', 'highest', 0.0, 100.0)]
    found = compare(study(tmp_path, {1: [40.0], 2: [20.0]}, declared, 'bleu'), StudyQuestion('bleu'))
    matrix = Matrix(tmp_path, {'a': replace(found, baseline=0.0)})
    shares = {variant: matrix.share('a', cells['a']) for variant, cells in matrix.cells.items()}
    assert shares == {'heads=1': 0.4, 'heads=2': 0.2}


def test_a_loss_that_depends_on_the_size_of_a_batch_is_said_to(tmp_path):
    declared = [replace(DECLARED[0], among='batch')]
    said = page.verdict(compare(study(tmp_path, {1: [1.0], 2: [2.0]}, declared), StudyQuestion('loss')))
    assert 'Loss depends on batch_size' in said
