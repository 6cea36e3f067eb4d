# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tuning before a comparison: the runs of the search, those with what it found, and what is refused."""

from pathlib import Path

import pytest
from pretended import sweep_of

from saccade.sweep import plan
from saccade.sweep.folder import SweepFolder
from saccade.sweep.plan import SweepPlan
from saccade.sweep.tune import Tune
from saccade.train.config import load_config
from saccade.types import UserError

CONFIG = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
RUNS = {'list': [{'name': 'narrow', 'model.width': 48}, {'name': 'wide', 'model.width': 96}]}
RATES = {'schedule.peak': [0.001, 0.003]}


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Write a sweep file that returns a dict, and plan it, without counting what a variant costs."""
    monkeypatch.setattr(plan.ExperimentCost, 'of', lambda experiment: plan.ExperimentCost(10, 60, 2, experiment.steps))

    def make(**spec):
        file = tmp_path / 'my_sweep.py'
        file.write_text(f'"""Title."""\n\n\ndef get_sweep():\n    return {spec!r}\n')
        return SweepPlan.of(CONFIG, str(file))

    return make


def resolved(sweep):
    """Of each run: width, rate and seed, as the run itself resolves them."""
    configs = [load_config(sweep.config, run.overrides) for run in sweep.runs]
    return [(config['model']['width'], config['schedule']['peak'], config['seed']) for config in configs]


def test_every_variant_is_trained_with_every_setting_on_the_seeds_of_the_search(make):
    planned = make(runs=RUNS, seeds=2, tune=dict(by=RATES, seeds=[7]))
    assert [run.name for run in planned.search().runs] == [
        'narrow,peak=0.001,seed=7', 'narrow,peak=0.003,seed=7', 'wide,peak=0.001,seed=7', 'wide,peak=0.003,seed=7',
    ]  # fmt: skip
    assert [run.variant for run in planned.search().runs][:2] == ['narrow,peak=0.001', 'narrow,peak=0.003']
    assert resolved(planned.search()) == [(48, 0.001, 7), (48, 0.003, 7), (96, 0.001, 7), (96, 0.003, 7)]
    assert planned.search().title == 'Title: tuning'
    assert any(line.startswith('tuning      4: 2 variants x 2 of schedule.peak x 1 seeds') for line in planned.lines())


def test_each_variant_is_compared_with_what_was_chosen_for_it_on_other_seeds(make):
    planned = make(runs=RUNS, seeds=[0, 1], tune=dict(by=RATES, seeds=[7]))
    tuned = planned.tuned({'narrow': 'peak=0.003', 'wide': 'peak=0.001'})
    assert resolved(tuned.sweep) == [(48, 0.003, 0), (48, 0.003, 1), (96, 0.001, 0), (96, 0.001, 1)]
    assert [run.name for run in tuned.sweep.runs] == [run.name for run in planned.sweep.runs]


def test_the_cost_is_of_the_search_too(make):
    def tokens(**more):
        (line,) = [line for line in make(runs=RUNS, seeds=2, **more).lines() if line.startswith('cost')]
        return int(line.split()[1].replace(',', ''))

    assert tokens(tune=dict(by=RATES, seeds=[7])) == 2 * tokens()


def test_several_fields_are_searched_together(make):
    by = RATES | {'optimizer.weight_decay': [0.0, 0.1]}
    planned = make(runs=RUNS, tune=dict(by=by, seeds=[7, 8]))
    assert len(planned.search().runs) == 2 * 4 * 2
    assert 'wide,peak=0.003,weight_decay=0.1,seed=8' in {run.name for run in planned.search().runs}


def test_a_metric_is_declared_by_a_part_or_has_its_best_end(make):
    assert make(runs=RUNS, tune=dict(by=RATES, seeds=[7], metric='accuracy')).tune.best is None
    assert make(runs=RUNS, tune=dict(by=RATES, seeds=[7], metric='wit', best='highest')).tune.best == 'highest'


def test_no_sweep_without_tuning_has_a_search(make):
    assert make(runs=RUNS).tune is None


REFUSED = {
    "tune: write dict(by={'schedule.peak': [1e-3, 3e-3]}, seeds=[100]), not 3": 3,
    "tune: write dict(by={'schedule.peak': [1e-3, 3e-3]}, seeds=[100]), not {'by': {}}": dict(by={}),
    'tune.seeds: write a list of different whole numbers, not 2': dict(by=RATES, seeds=2),
    'tune.seeds: write a list of different whole numbers, not [7, 7]': dict(by=RATES, seeds=[7, 7]),
    'tune.seeds: 0 is also a seed of the comparison': dict(by=RATES, seeds=[0, 7]),
    "tune.best: must be 'lowest' or 'highest', not 'most'": dict(by=RATES, seeds=[7], best='most'),
    "tune.metric: 'wit' is not declared by any part; it has accuracy": dict(by=RATES, seeds=[7], metric='wit'),
    "tune.metric: 'acuracy' is not declared by any part; did you mean 'accuracy'?": dict(
        by=RATES, seeds=[7], metric='acuracy'
    ),
    'tune.by: it is empty': dict(by={}, seeds=[7]),
    'tune.by.schedule.peak: it is empty': dict(by={'schedule.peak': []}, seeds=[7]),
    'tune.by: model.width is set by runs; it cannot be tuned as well': dict(by={'model.width': [48]}, seeds=[7]),
    'tune.by: model is set by runs; it cannot be tuned as well': dict(by={'model': [{}]}, seeds=[7]),
    'tune.by: all runs of a search have the same steps': dict(by={'steps': [5]}, seeds=[7]),
    'tune.halving: write dict(steps=[250, 500, 1000], eta=2), not 3': dict(by=RATES, seeds=[7], halving=3),
    'tune.halving.steps: write an increasing list': dict(by=RATES, seeds=[7], halving=dict(steps=[3, 2])),
    'tune.halving.steps: 99999 is more than the': dict(by=RATES, seeds=[7], halving=dict(steps=[2, 99999])),
    'tune.halving.eta: must be a whole number from 2': dict(by=RATES, seeds=[7], halving=dict(steps=[2], eta=1)),
    '--config.schedule.peak: ': dict(by={'schedule.peak': ['fast']}, seeds=[7]),
    'tune.extend: must be a number above 1, by which to extend an edge, not 1': dict(by=RATES, seeds=[7], extend=1),
    "tune.extend: must be a number above 1, by which to extend an edge, not '3'": dict(by=RATES, seeds=[7], extend='3'),
    'tune.extend: a search by halving has no edges': dict(by=RATES, seeds=[7], extend=3, halving=dict(steps=[2])),
    'tune.extend: needs one field with increasing positive numbers, not schedule.peak with [0.003, 0.001]': dict(
        by={'schedule.peak': [0.003, 0.001]}, seeds=[7], extend=3
    ),
    'tune.extend: needs one field with increasing positive numbers, not schedule.peak with [0.001]': dict(
        by={'schedule.peak': [0.001]}, seeds=[7], extend=3
    ),
    'tune.extend: needs one field with increasing positive numbers, not schedule.peak, seed with': dict(
        by={**RATES, 'seed': [1, 2]}, seeds=[7], extend=3
    ),
}


@pytest.mark.parametrize('message', REFUSED)
def test_what_cannot_be_searched_is_refused_in_a_line(make, message):
    with pytest.raises(UserError) as refused:
        make(runs=RUNS, tune=REFUSED[message])
    assert str(refused.value).startswith(message)
    assert '\n' not in str(refused.value)


@pytest.mark.parametrize(('steps', 'words'), [(None, 'missing'), ('x', "wants int, not 'x'")])
def test_rounds_of_halving_need_a_config_with_steps(tmp_path, steps, words):
    config, sweep = tmp_path / 'config.py', tmp_path / 'sweep.py'
    change = 'del config["steps"]' if steps is None else f'config["steps"] = {steps!r}'
    config.write_text(
        'from saccade.experiments.causal_lm import quickstart\n\n\ndef get_config():\n'
        f'    config = quickstart.get_config().to_dict()\n    {change}\n    return config\n'
    )
    tune = dict(by=RATES, seeds=[7], halving=dict(steps=[2]))
    sweep.write_text(f'def get_sweep():\n    return {dict(runs=RUNS, tune=tune)!r}\n')
    with pytest.raises(UserError, match=rf'^config.steps: .*{words}'):
        SweepPlan.of(str(config), str(sweep))


@pytest.mark.long
def test_rounds_of_halving_train_fewer_settings_for_more_steps(make):
    rates = {'schedule.peak': [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]}
    planned = make(runs=RUNS, seeds=2, tune=dict(by=rates, seeds=[7], halving=dict(steps=[2, 4, 6, 8])))
    assert planned.tune.counts == {2: 5, 4: 3, 6: 2}  # of two the better one is known after the third round
    first = planned.search(2)
    assert {run.steps for run in first.runs} == {2}
    assert len(first.runs) == 2 * 5
    assert {load_config(first.config, run.overrides)['schedule']['warmup'] for run in first.runs} == {0}
    second = planned.search(4, {'narrow': ['peak=0.01'], 'wide': ['peak=0.0003', 'peak=0.001']})
    assert [run.variant for run in second.runs] == ['narrow,peak=0.01', 'wide,peak=0.0003', 'wide,peak=0.001']
    assert second.title == 'Title: tuning, 4 steps'
    (line,) = [line for line in planned.lines() if line.startswith('tuning')]
    assert line.endswith('x 1 seeds, before; 5 of 2 steps, then 3 of 4 steps, then 2 of 6 steps')
    assert sum(planned.run_steps()['wide']) == 5 * 2 + 3 * 4 + 2 * 6 + 2 * planned.variants[1].cost.steps


def test_eta_is_how_many_times_fewer_settings_go_on(make):
    tune = make(runs=RUNS, tune=dict(by=RATES, seeds=[7], halving=dict(steps=[2, 4], eta=3))).tune
    assert [tune.kept(count) for count in (9, 4, 3, 2)] == [3, 2, 1, 1]
    assert tune.counts == {2: 2}


def test_each_round_has_a_folder_and_a_search_of_another_kind_is_refused(tmp_path):
    folder = SweepFolder.of(tmp_path / 'sweep').tuning
    for steps in (500, 1000, 90):
        folder.rung(steps).path.mkdir(parents=True)
        folder.rung(steps).write(sweep_of(''))
    assert [rung.rung_steps for rung in folder.rungs] == [90, 500, 1000]
    with pytest.raises(UserError, match='not a sweep; it holds steps=1000, steps=500, steps=90'):
        folder.joined(sweep_of(''))
    folder.write(sweep_of(''))
    assert [rung.rung_steps for rung in folder.rungs] == [None]
    with pytest.raises(UserError, match='holds a search without halving'):
        folder.rung(500)


def test_points_are_named_by_what_differs():
    tune = Tune.of(dict(by=RATES, seeds=[7], metric='accuracy', best='highest'), [0])
    assert {**tune.points} == {'peak=0.001': {'schedule.peak': 0.001}, 'peak=0.003': {'schedule.peak': 0.003}}
    assert (tune.fields, tune.metric, tune.best) == (['schedule.peak'], 'accuracy', 'highest')


def test_a_folder_that_holds_the_search_alone_is_the_sweeps(make, tmp_path):
    planned = make(runs=RUNS, tune=dict(by=RATES, seeds=[7]))
    folder = SweepFolder.of(tmp_path / 'sweep')
    folder.tuning.path.mkdir(parents=True)
    folder.tuning.write(planned.search())
    assert folder.joined(planned.sweep) == planned.sweep
    assert folder.tuning.joined(planned.search()) == planned.search()


def test_a_field_that_match_solves_for_cannot_be_tuned(make):
    match = dict(what='parameters', by={'model.block.feedforward.ratio': 0.01})
    with pytest.raises(UserError, match=r'^tune\.by: model\.block\.feedforward\.ratio is solved for by match'):
        make(runs=RUNS, match=match, tune=dict(by={'model.block.feedforward.ratio': [2.0]}, seeds=[7]))
