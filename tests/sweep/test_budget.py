# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A budget in minutes: what a size is predicted to take, which one is chosen, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from saccade.experiments.sweeps.diagnostics import FEW, PROJECTED, get_sweep, mixers

from saccade.analysis.catalogue.catalogue import MIXER, Catalogue, can
from saccade.sweep import plan
from saccade.sweep.budget import Timing, choose, smaller
from saccade.sweep.folder import SweepFolder
from saccade.sweep.plan import SweepPlan
from saccade.sweep.sizes import sizes_of
from saccade.train.config import load_config
from saccade.types import UserError

CONFIG = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
NARROW, WIDE = {'name': 'narrow', 'model.width': 48}, {'name': 'wide', 'model.width': 96}
RATES = {'schedule.peak': [0.0003, 0.001, 0.003, 0.01]}
SPEC = dict(
    runs={'list': [NARROW, WIDE]},
    seeds=5,
    tune=dict(by=RATES, seeds=[7]),
    sizes=[
        dict(name='full', config={'steps': 100}),
        dict(name='half', config={'steps': 50}, tune=dict(by=RATES, seeds=[7], halving=dict(steps=[10, 20]))),
        dict(name='small', config={'steps': 50}, seeds=3, runs={'list': [WIDE]}, tune=None),
    ],
)
FLOPS = {48: 60, 96: 120}


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Plan a size of the sweep, without counting what a variant costs; its FLOPs grow with the width."""
    configs = []

    def cost(experiment):
        width = experiment.config['model']['width'] if hasattr(experiment, 'config') else configs[-1]
        return plan.ExperimentCost(10, FLOPS[width], 2, experiment.steps)

    def load(path, overrides=()):
        config = load_config(path, overrides)
        configs.append(config['model']['width'])
        return config

    monkeypatch.setattr(plan, 'load_config', load)
    monkeypatch.setattr(plan.ExperimentCost, 'of', cost)
    file = tmp_path / 'my_sweep.py'
    file.write_text(f'"""Title."""\n\n\ndef get_sweep():\n    return {SPEC!r}\n')
    return lambda size=None, *overrides, **known: SweepPlan.of(CONFIG, str(file), overrides, size, **known)


def timed(folder, planned, jobs=2, seconds=30.0):
    """The short runs as if they had taken so long: a step of narrow 0.1 s, of wide 0.2 s; the first log is slow."""
    asked = planned.timing(20)
    for run in asked.runs:
        folder.run(run).mkdir(parents=True)
        speed = 20 if run.variant == 'narrow' else 10
        logged = [f'{{"step": {step}, "split": "train", "tokens_per_second": {speed}}}' for step in (10, 15, 20)]
        slow = '{"step": 5, "split": "train", "tokens_per_second": 1}'
        (folder.run(run) / 'metrics.jsonl').write_text('\n'.join([slow, *logged]) + '\n')
    runs = tuple(replace(run, status='finished', seconds=seconds) for run in asked.runs)
    return Timing.of(folder, replace(asked, runs=runs), planned, jobs)


def test_a_short_run_of_each_variant_evaluates_as_often_as_a_run_of_the_sweep(make):
    whole = make('full', '--config.eval_every=25')
    asked = whole.timing(20)
    assert [run.name for run in asked.runs] == ['narrow,seed=0', 'wide,seed=0']
    configs = [load_config(asked.config, [*asked.overrides, *run.overrides]) for run in asked.runs]
    assert {(config['steps'], config['eval_every'], config['log_every']) for config in configs} == {(20, 5, 5)}


@pytest.mark.parametrize('field', ['steps', 'eval_every'])
def test_a_field_that_only_the_runs_set_is_refused(make, field):
    whole = make('full')
    base = {name: value for name, value in whole.sweep.base.items() if name != field}
    with pytest.raises(UserError, match=rf'^config.{field}: missing; --budget plans with that of .*quickstart.py$'):
        replace(whole, sweep=replace(whole.sweep, base=base)).timing(20)


@pytest.mark.long
def test_minutes_are_those_of_the_search_and_of_the_comparison_with_what_is_beside_the_steps(make, tmp_path):
    whole = make('full')
    timing = timed(SweepFolder.of(tmp_path / 'sizing'), whole)
    narrow, wide = timing.speeds['narrow'], timing.speeds['wide']
    assert (narrow.overhead, narrow.step) == pytest.approx((30 - 20 * 0.1, 0.1))
    assert (wide.overhead, wide.step) == pytest.approx((30 - 20 * 0.2, 0.2))
    timing_itself = 2 * 30 / 2 / 60
    full = 9 * (28 + 100 * 0.1) + 9 * (26 + 100 * 0.2)  # four rates and five seeds of each
    assert timing.predict(whole) == pytest.approx(timing_itself + full / 2 / 60)
    rounds = 4 * (28 + 10 * 0.1) + 2 * (28 + 20 * 0.1) + 4 * (26 + 10 * 0.2) + 2 * (26 + 20 * 0.2)
    half = rounds + 5 * (28 + 50 * 0.1) + 5 * (26 + 50 * 0.2)
    assert timing.predict(make('half')) == pytest.approx(timing_itself + half / 2 / 60)
    assert timing.predict(make('small')) == pytest.approx(timing_itself + 3 * (26 + 50 * 0.2) / 2 / 60)


@pytest.mark.long
def test_what_a_size_leaves_out_is_said(make):
    whole = make('full')
    assert smaller(whole, whole) == ''
    assert smaller(make('half'), whole) == 'steps 50 instead of 100; runs of the search 12 instead of 8'
    assert smaller(make('small'), whole) == (
        'steps 50 instead of 100; seeds 3 instead of 5; runs of the search 0 instead of 8; without narrow'
    )


@pytest.mark.long
def test_the_command_lines_fields_come_after_a_sizes(make):
    assert make('half', '--config.steps=70').sweep.base['steps'] == 70
    assert make('half').sweep.base['steps'] == 50
    assert make().sweep.base['steps'] == load_config(CONFIG)['steps']


@pytest.mark.long
def test_sizes_that_differ_in_steps_are_traced_once(make):
    costs = {}
    whole = make('full', costs=costs)
    assert len(costs) == 2
    costs |= {key: replace(cost, parameters=11) for key, cost in costs.items()}
    make('full', '--config.schedule.warmup=2', costs=costs)
    assert len(costs) == 2
    half = make('half', costs=costs)
    assert [variant.cost for variant in half.variants] == [
        replace(variant.cost, parameters=11, steps=50) for variant in whole.variants
    ]


def test_the_largest_size_that_fits_is_chosen():
    predicted = [('full', 90.0), ('half', 40.0), ('small', 9.6)]
    assert [choose(minutes, predicted) for minutes in (100.0, 90.0, 60.0, 10.0)] == ['full', 'full', 'half', 'small']
    with pytest.raises(
        UserError, match=r"^--budget=5: even the smallest size, 'small', .* 10 minutes: give 10 or more$"
    ):
        choose(5.0, predicted)


def test_runs_that_were_not_timed_are_refused_by_name(make, tmp_path):
    whole, folder = make('full'), SweepFolder.of(tmp_path / 'sizing')
    with pytest.raises(UserError, match=r'narrow,seed=0: this run cannot be timed, its status is waiting'):
        Timing.of(folder, whole.timing(20), whole, 2)


def test_a_folder_that_holds_the_timing_alone_is_the_sweeps(make, tmp_path):
    planned, folder = make('full'), SweepFolder.of(tmp_path / 'sweep')
    folder.sizing.path.mkdir(parents=True)
    folder.sizing.write(planned.timing(20))
    assert folder.joined(planned.sweep) == planned.sweep


def test_the_diagnostics_list_their_sizes():
    spec = get_sweep()
    sizes = {size.name: size.applied(spec) for size in sizes_of(spec)}
    assert [*sizes] == ['all', 'halving', 'short', 'quick', 'few', 'least']
    assert [point['name'] for point in sizes['few']['runs']['list']] == [name for name in mixers() if name in FEW]
    assert {*FEW} <= mixers().keys()
    assert [size['seeds'] for size in sizes.values()] == [5, 5, 5, 3, 5, 3]
    left = mixers().keys() - {point['name'] for point in sizes['quick']['runs']['list']}
    assert left == {*PROJECTED}


def test_the_diagnostics_have_every_mixer_that_can_be_causal():
    ours = Catalogue.ours()
    there = {part['use'] for part in ours.specs(MIXER).values() if can(part).causal}
    assert there - {spec['use'] for spec in mixers().values()} == {
        'recurrent.mixer.channel_mixing:ChannelMixing',  # a feed-forward layer, which reads the token before alone
        'attention.dense_synthesizer:DenseSynthesizer',  # parameters for one length, and the tasks have several
        'attention.random_synthesizer:RandomSynthesizer',
        'attention.shared_indices:SharedIndices',  # a pattern of layers; in a layer, the lightning indexer
    }


def test_a_size_is_taken_by_its_name(make):
    assert make('half').sweep.base['steps'] == 50
    with pytest.raises(UserError, match=r"--size: there is no size 'huge'; the sweep has full, half, small"):
        make('huge')


REFUSED = {
    'this sweep has no sizes': {},
    'sizes[0]: write a dict with a name': {'sizes': [{'config': {}}]},
    "sizes[0]: unknown key 'steps'; a size has name, config,": {'sizes': [{'name': 'a', 'steps': 3}]},
    'sizes[1].config: write a dict': {'sizes': [{'name': 'a'}, {'name': 'b', 'config': 3}]},
    "sizes: two have the name 'a'": {'sizes': [{'name': 'a'}, {'name': 'a'}]},
}


@pytest.mark.parametrize('message', REFUSED)
def test_sizes_that_are_none_are_refused_in_a_line(message):
    with pytest.raises(UserError) as refused:
        sizes_of(REFUSED[message])
    assert str(refused.value).startswith(message)
    assert '\n' not in str(refused.value)
