# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""From a config and a sweep file to runs that build, or one line that says why they do not."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from saccade.sweep import plan
from saccade.sweep.match import TOLERANCE
from saccade.sweep.plan import SweepPlan, as_overrides
from saccade.sweep.record import PrimaryComparison
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import ExperimentCost
from saccade.types import UserError

CONFIG = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
HEADS, WIDTH, LAYERS = 'model.block.mixer.heads', 'model.width', 'model.layers'
FEEDFORWARD, RATIO = 'model.block.feedforward', 'model.block.feedforward.ratio'
SMALL = (f'--config.{LAYERS}=1',)
SPACE = {'list': [{'name': 'plain'}, {'name': 'deep', LAYERS: 3}]}
DECLARED = {'metric': 'loss', 'baseline': 'plain', 'margin': 1}
MLP = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}, 'ratio': 2.0}


@pytest.fixture
def make(tmp_path):
    """Write a sweep file that returns a dict, and plan it."""

    def make(overrides=(), title='Title.', config=CONFIG, **spec):
        file = tmp_path / 'my_sweep.py'
        file.write_text(f'"""{title}\n\nMore."""\n\n\ndef get_sweep():\n    return {spec!r}\n')
        return SweepPlan.of(config, str(file), overrides)

    return make


@pytest.fixture
def uncounted(monkeypatch):
    """Leave the cost of a variant uncounted, for tests of what is asked for."""
    monkeypatch.setattr(plan.ExperimentCost, 'of', lambda experiment: ExperimentCost(10, 60, 2, experiment.steps))


def refusal(make, *args, **spec):
    with pytest.raises(UserError) as refused:
        make(*args, **spec)
    assert '\n' not in str(refused.value)
    return str(refused.value)


def configs(planned):
    """The config of every run, as the run itself resolves it."""
    swept = planned.sweep
    return [load_config(swept.config, [*swept.overrides, *run.overrides]) for run in swept.runs]


@pytest.mark.usefixtures('uncounted')
class TestRuns:
    @pytest.mark.parametrize(
        ('seeds', 'found'),
        [({}, [5]), ({'seeds': 2}, [0, 1]), ({'seeds': [7, 3]}, [7, 3]), ({'seeds': (4,)}, [4])],
    )
    def test_each_variant_is_run_with_each_seed(self, make, seeds, found):
        base = ['--config.seed=5'] if not seeds else []
        planned = make(base, runs={'grid': {LAYERS: [2, 3]}}, **seeds)
        assert [(run.variant, run.seed) for run in planned.sweep.runs] == [
            (f'layers={layers}', seed) for layers in (2, 3) for seed in found
        ]
        assert [config['seed'] for config in configs(planned)] == 2 * found
        assert [config['model']['layers'] for config in configs(planned)] == [2] * len(found) + [3] * len(found)

    def test_a_run_is_named_after_its_variant_and_its_seed(self, make):
        planned = make(runs={'list': [{}, {'name': 'deep', LAYERS: 9}]}, seeds=2)
        assert [run.name for run in planned.sweep.runs] == ['base,seed=0', 'base,seed=1', 'deep,seed=0', 'deep,seed=1']

    def test_the_title_is_the_first_line_of_the_docstring_or_the_files_name(self, make, tmp_path):
        assert make(title='Which depth?', runs={'grid': {LAYERS: [1]}}).sweep.title == 'Which depth?'
        file = tmp_path / 'depth.py'
        file.write_text('def get_sweep(): return dict(runs=dict(list=[{}]))')
        assert SweepPlan.of(CONFIG, str(file)).sweep.title == 'depth'

    def test_overrides_of_the_base_hold_for_every_run(self, make):
        planned = make(['--config.model.layers=2', '--config.steps=7'], runs={'grid': {HEADS: [1, 2]}})
        assert all((config['model']['layers'], config['steps']) == (2, 7) for config in configs(planned))
        assert planned.sweep.base['model']['layers'] == 2
        assert [run.steps for run in planned.sweep.runs] == [7, 7]

    def test_steps_may_be_swept(self, make):
        planned = make(runs={'grid': {'steps': [200, 400]}})
        assert [run.steps for run in planned.sweep.runs] == [200, 400]
        assert [config['schedule']['warmup'] for config in configs(planned)] == [16, 33]

    def test_fields_that_the_config_leaves_at_their_defaults_may_be_swept(self, make):
        norms = [None, {'use': 'norm.rms:RMSNorm'}]
        axes = {'model.block.mixer.key_value_heads': [1, 2], 'model.block.mixer.head_norm': norms}
        planned = make(runs={'grid': axes})
        mixers = [config['model']['block']['mixer'] for config in configs(planned)]
        assert [(mixer['key_value_heads'], mixer['head_norm']) for mixer in mixers] == [
            (heads, norm) for heads in (1, 2) for norm in norms
        ]
        assert planned.variants[1].name == 'key_value_heads=1,head_norm=RMSNorm'

    @pytest.mark.parametrize('swapped_first', [True, False])
    def test_a_field_of_a_part_that_is_swapped_is_set_after_the_swap(self, make, swapped_first):
        parts = [{'use': 'train.schedule:Constant', 'peak': 0.5, 'warmup': warmup} for warmup in (1, 2)]
        axes = [('schedule', parts), ('schedule.peak', [0.25, 0.125])]
        planned = make(runs={'grid': dict(axes if swapped_first else axes[::-1])})
        found = {(config['schedule']['warmup'], config['schedule']['peak']) for config in configs(planned)}
        assert found == {(1, 0.25), (1, 0.125), (2, 0.25), (2, 0.125)}
        assert len({run.variant for run in planned.sweep.runs}) == 4

    def test_numbers_and_config_dicts_of_libraries_are_values_too(self, tmp_path):
        file = tmp_path / 'numbers.py'
        file.write_text(
            'import numpy as np\nfrom ml_collections import ConfigDict\n'
            'def get_sweep():\n'
            '    parts = [ConfigDict(dict(use="train.schedule:Constant", peak=0.5, warmup=n)) for n in (1, 2)]\n'
            '    peaks = list(np.array([0.25, 0.125]))\n'
            '    return dict(runs=dict(grid={"schedule": parts, "schedule.peak": peaks}))\n'
        )
        planned = SweepPlan.of(CONFIG, str(file))
        assert [config['schedule']['peak'] for config in configs(planned)] == [0.25, 0.125, 0.25, 0.125]
        assert planned.variants[0].name == 'schedule=Constant+warmup=1,peak=0.25'

    def test_a_run_with_the_values_of_the_command_line_reads_back(self):
        point = {'name': 'x', 'a': 'text', 'b': 0.1, 'c': None, 'd': [1, 2], 'e': {'use': 'm:C', 'f': 'g'}, 'h': True}
        assert as_overrides({**point, 'i': np.float32(0.5)}) == [
            '--config.a=text',
            '--config.b=0.1',
            '--config.c=None',
            '--config.d=[1, 2]',
            "--config.e={'use': 'm:C', 'f': 'g'}",
            '--config.h=True',
            '--config.i=0.5',
        ]

    def test_the_plan_says_how_many_runs_and_at_what_cost(self, make):
        planned = make(['--config.steps=100'], runs={'grid': {LAYERS: [2, 3]}}, seeds=3)
        words = '\n'.join(planned.lines())
        assert 'runs        6: 2 variants x 3 seeds' in words
        assert f'{6 * 100 * 2:,} tokens, {6 * 100 * 60:.3g} FLOPs' in words

    def test_the_table_has_a_row_for_each_variant(self, make):
        planned = make(runs={'grid': {LAYERS: [2, 3]}}, seeds=2)
        console = Console(file=io.StringIO(), width=100)
        console.print(planned.table())
        rows = [line.split() for line in console.file.getvalue().splitlines() if 'layers=' in line]
        assert [row[1:-1:2] for row in rows] == [['layers=2', '800', '10', '30'], ['layers=3', '800', '10', '30']]

    @pytest.mark.parametrize(
        ('spec', 'words'),
        [
            ({'runs': {'grid': {}}}, 'runs.grid: it is empty'),
            ({'runs': {'grid': {LAYERS: []}}}, f'runs.grid.{LAYERS}: it is empty'),
            ({}, 'get_sweep() must return a dict with runs'),
            ({'runs': {'list': [{}]}, 'seed': 3}, "there is no 'seed'; did you mean 'seeds'?"),
            ({'runs': {'list': [{}]}, 'zzz': 3}, "there is no 'zzz'; a sweep has runs, seeds, match"),
            ({'runs': {'grid': {'seed': [1, 2]}}}, 'runs: seeds are not variants; write seeds=[...] next to runs'),
            ({'runs': {'grid': {LAYERS: [1]}, 'seeds': 2}}, 'seeds and match are next to runs'),
            ({'runs': {'grid': {LAYERS: [2, 2]}}}, "2 of them are 'layers=2'"),
            ({'runs': {'list': [{}]}, 'seeds': 0}, 'seeds: write their number, or a list of different whole numbers'),
            ({'runs': {'list': [{}]}, 'seeds': []}, 'seeds: write their number'),
            ({'runs': {'list': [{}]}, 'seeds': [1, 1]}, 'seeds: write their number'),
            ({'runs': {'list': [{}]}, 'seeds': [0.5]}, 'seeds: write their number'),
            ({'runs': {'list': [{}]}, 'seeds': -1}, 'seeds: write their number'),
            ({'runs': {'list': [{}]}, 'seeds': '12'}, 'seeds: write their number'),
            ({'runs': {'list': [{}]}, 'seeds': True}, 'seeds: write their number'),
            ({'runs': {'list': [{}]}, 'match': 3}, 'match: write dict('),
            ({'runs': {'list': [{}]}, 'factors': 'mixer'}, 'factors: write a list of names'),
            ({'runs': {'list': [{'name': 'a,on'}, {'name': 'b', LAYERS: 3}]}, 'factors': ['mixer', 'convolution']},
             "factors: 'b' has 1 of 2 levels"),
            ({'runs': {'grid': {WIDTH: [96]}}, 'match': {'what': 'parameters', 'by': {WIDTH: 8}}},
             f'match.by: {WIDTH} is set by runs'),
        ],
    )  # fmt: skip
    def test_what_is_no_sweep_is_refused(self, make, spec, words):
        assert words in refusal(make, **spec)

    @pytest.mark.parametrize(
        ('override', 'runs'),
        [
            ('--config.model.layers=2', {'grid': {LAYERS: [2, 3]}}),
            ('--config.schedule.warmup=2', {'grid': {'schedule': [{'use': 'train.schedule:Constant', 'peak': 1.0}]}}),
        ],
    )
    def test_an_override_that_no_run_would_keep_is_refused(self, make, override, runs):
        assert refusal(make, [override], runs=runs).startswith(f'{override}: has no effect, since every run sets')

    def test_matching_sizes_keeps_no_override_of_the_steps(self, make):
        match = {'what': 'parameters', 'by': {WIDTH: 8}}
        words = refusal(make, ['--config.steps=7'], runs={'list': [{'name': 'a', 'steps': 9}]}, match=match)
        assert words.startswith('--config.steps=7: has no effect, since every run sets steps')

    def test_a_seed_of_the_base_is_refused_where_the_sweep_has_its_own(self, make):
        assert refusal(make, ['--config.seed=5'], runs={'list': [{}]}, seeds=2).startswith('--config.seed=5: ')

    @pytest.mark.parametrize(
        ('override', 'runs'),
        [
            ('--config.model.layers=2', {'list': [{}, {LAYERS: 3}]}),
            ("--config.schedule={'use': 'train.schedule:Constant', 'peak': 1.0}", {'grid': {'schedule.peak': [0.5]}}),
        ],
    )
    def test_an_override_that_a_run_keeps_is_kept(self, make, override, runs):
        assert configs(make([override], runs=runs))[0] != configs(make(runs=runs))[0]

    def test_a_field_that_the_sweep_needs_must_be_given(self, make):
        asked = dict(runs={'list': [{}]}, needs={'init_from': 'a pretrained run', 'model.context_length': 'a length'})
        assert refusal(make, **asked) == '--config.init_from: required by this sweep: a pretrained run'
        assert configs(make(['--config.init_from=runs/a'], **asked))[0]['init_from'] == 'runs/a'

    def test_a_file_that_is_none_or_defines_no_sweep_is_refused(self, tmp_path):
        missing, empty = tmp_path / 'missing.py', tmp_path / 'empty.py'
        empty.write_text('get_sweep = 3')
        with pytest.raises(UserError, match=r'missing.py: there is no such file; those we ship'):
            SweepPlan.of(CONFIG, str(missing))
        with pytest.raises(UserError, match=r'empty.py: it defines no get_sweep\(\)'):
            SweepPlan.of(CONFIG, str(empty))
        with pytest.raises(UserError, match=r'--config=.*missing.py: there is no such file'):
            SweepPlan.of(str(missing), str(Path(CONFIG).parents[1] / 'sweeps/heads.py'))


@pytest.mark.usefixtures('uncounted')
class TestPrimaryComparison:
    def test_it_is_recorded_with_the_sweep_and_not_with_its_search(self, make):
        tune = {'by': {'schedule.peak': [1e-3, 2e-3]}, 'seeds': [100]}
        planned = make(runs=SPACE, tune=tune, **DECLARED)
        assert planned.sweep.primary == PrimaryComparison('loss', 'plain', 1.0)
        assert planned.search().primary == planned.timing(2).primary == PrimaryComparison()
        assert planned.tuned(dict.fromkeys(['plain', 'deep'], 'peak=0.001')).sweep.primary == planned.sweep.primary

    def test_a_search_chooses_by_its_metric_unless_it_names_another(self, make):
        tune = {'by': {'schedule.peak': [1e-3]}, 'seeds': [100]}
        assert make(runs=SPACE, tune=tune, metric='accuracy').tune.metric == 'accuracy'
        assert make(runs=SPACE, tune={**tune, 'metric': 'loss'}, metric='accuracy').tune.metric == 'loss'
        assert make(runs=SPACE, tune=tune).tune.metric is None

    @pytest.mark.parametrize(
        ('changed', 'words'),
        [
            ({'baseline': 'plane'}, "baseline: 'plane' is not a variant of this sweep; they are plain, deep"),
            ({'baseline': 3}, 'baseline: write a name, not 3'),
            ({'metric': 'los'}, "metric: 'los' is not declared by any part; did you mean 'loss'?"),
            ({'metric': ['loss']}, "metric: write a name, not ['loss']"),
            ({'metric': None}, "margin: name its metric and its baseline too, as in metric='accuracy', baseline='att"),
            (
                {'baseline': None},
                "margin: name its metric and its baseline too, as in metric='accuracy', baseline='att",
            ),
            *(
                ({'margin': margin}, f'margin: must be a positive number in the unit of the metric, not {margin!r}')
                for margin in (0, -0.02, '0.02', True)
            ),
        ],
    )
    def test_what_cannot_be_compared_is_refused(self, make, changed, words):
        assert refusal(make, runs=SPACE, **{**DECLARED, **changed}).startswith(words)


@pytest.mark.long
def test_all_broken_variants_are_refused_at_once_by_name(make):
    parts = [{'use': 'norm.rmss:RMSNorm'}, {'use': 'norm.rms:RMSNorm', 'epsilom': 1}, {'use': 'norm.rms:RMSNorm'}]
    runs = {'chain': [{'grid': {HEADS: [4, 5, 7]}}, {'grid': {'model.norm': parts}}]}
    words = refusal(make, ['--config.model.width=192', '--config.model.layers=1'], runs=runs)
    assert words.startswith('4 of 6 variants cannot be built: heads=5: width 192 is not divisible by 5 heads')
    assert 'heads=7: width 192 is not divisible by 7 heads' in words
    assert "norm=norm.rmss-RMSNorm: config.model.norm.use: there is no module 'norm.rmss'" in words
    assert "'epsilom'; did you mean 'epsilon'?" in words
    assert 'heads=4' not in words


def test_what_is_wrong_with_many_variants_is_said_once(make):
    words = refusal(make, runs={'grid': {'model.block.mixer.hedas': list(range(1, 9))}})
    assert words.count("the config has no field 'hedas'; did you mean 'heads'?") == 1
    assert words.startswith('8 of 8 variants cannot be built: hedas=1, hedas=2, ')
    assert 'hedas=6, and 2 more: ' in words


def test_whatever_a_part_of_the_users_raises_is_one_line(make, tmp_path, monkeypatch):
    (tmp_path / 'my_broken_norm.py').write_text(
        'import flax.linen as nn\n'
        'class Broken(nn.Module):\n'
        '    def __call__(self, x, real=None):\n'
        '        raise ValueError("no such\\nthing")\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    words = refusal(make, SMALL, runs={'grid': {'model.norm': [{'use': 'my_broken_norm:Broken'}]}})
    assert words == '1 of 1 variants cannot be built: norm=Broken: ValueError: no such'


def cost_of(overrides):
    return ExperimentCost.of(Experiment.of(load_config(CONFIG, overrides)))


def assert_matched(planned, what):
    wanted = getattr(cost_of(SMALL), what)
    for variant in planned.variants:
        assert abs(getattr(variant.cost, what) / wanted - 1) <= TOLERANCE, variant.name


@pytest.mark.long
def test_variants_of_the_feed_forward_are_matched_by_flops(make):
    match = {'what': 'flops_per_token', 'by': {RATIO: 0.1}}
    planned = make(SMALL, runs={'list': [{}, {FEEDFORWARD: MLP}]}, match=match)
    assert_matched(planned, 'flops_per_token')
    base, mlp = planned.variants
    assert base.solved == {}
    assert mlp.solved == {RATIO: pytest.approx(4.0, abs=0.15)}  # three matrices of 8/3 D against two


@pytest.mark.long
def test_a_field_that_the_config_leaves_at_its_default_is_solved_for(make):
    mlp = {key: value for key, value in MLP.items() if key != 'ratio'}  # which is 4 by default
    asked = cost_of([*SMALL, f'--config.{FEEDFORWARD}={MLP}']).flops_per_token
    match = {'what': 'flops_per_token', 'by': {RATIO: 0.5}, 'to': asked}
    (variant,) = make([*SMALL, f'--config.{FEEDFORWARD}={mlp}'], runs={'list': [{}]}, match=match).variants
    assert variant.solved == {RATIO: MLP['ratio']}


@pytest.mark.long
def test_numbers_of_key_value_heads_are_matched_by_parameters(make):
    mixer = load_config(CONFIG, SMALL)['model']['block']['mixer'] | {'head_width': 32}
    runs = {'grid': {'model.block.mixer': [mixer | {'key_value_heads': heads} for heads in (1, 3)]}}
    planned = make(SMALL, runs=runs, match={'what': 'parameters', 'by': {'model.block.mixer.head_width': 2}})
    assert_matched(planned, 'parameters')
    one, three = planned.variants
    assert [one.name, three.name] == [f'mixer=MultiHead+key_value_heads={heads}' for heads in (1, 3)]
    assert one.solved['model.block.mixer.head_width'] > three.solved['model.block.mixer.head_width'] > 32
    assert cost_of([*SMALL, *one.overrides]) == one.cost


@pytest.mark.long
def test_depths_are_matched_by_width_and_then_more_finely_by_ratio(make):
    match = {'what': 'parameters', 'by': {WIDTH: 24, RATIO: 0.1}}
    planned = make(SMALL, runs={'grid': {LAYERS: [2]}}, match=match)
    assert_matched(planned, 'parameters')
    solved = planned.variants[0].solved
    assert list(solved) == [WIDTH, RATIO]
    console = Console(file=io.StringIO(), width=100)
    console.print(planned.table())
    row = next(line.split() for line in console.file.getvalue().splitlines() if 'layers=2' in line)
    assert row[9:12:2] == [f'{value:g}' for value in solved.values()]


def test_a_search_for_equal_parameters_traces_one_step(make, monkeypatch):
    traced, of = [], ExperimentCost.of
    monkeypatch.setattr(plan.ExperimentCost, 'of', lambda experiment: traced.append(experiment) or of(experiment))
    match = {'what': 'parameters', 'by': {RATIO: 0.1}}
    (variant,) = make(SMALL, runs={'grid': {WIDTH: [144]}}, match=match).variants
    assert RATIO in variant.solved
    assert len(traced) == 1


def test_a_field_that_cannot_be_solved_for_is_refused(make):
    match = {'what': 'parameters', 'by': {'model.block.mixer.head_width': 2}, 'to': 1e5}
    words = refusal(make, SMALL, runs={'list': [{}]}, match=match)
    assert 'match.by: model.block.mixer.head_width is None, which is not a number to start from' in words
