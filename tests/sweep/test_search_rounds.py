# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Search by successive halving, by an engine that only pretends: wherever it is stopped, the choice is the same."""

import json
import math
import os
import signal
from pathlib import Path

import pytest
from rich.console import Console
from saccade.launch._sweeps import Launch

from saccade.analysis.report.compare import StudyQuestion
from saccade.analysis.report.tuning import read_search
from saccade.analysis.report.words import UNKNOWN
from saccade.sweep import conduct, plan
from saccade.sweep.engine import Event
from saccade.sweep.folder import SweepFolder
from saccade.sweep.plan import SweepPlan
from saccade.train.log.declarations import Declarations
from saccade.types import Metric, UserError

CONFIG = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
BEST = {'narrow': 3e-3, 'wide': 3e-4}
RATES = [1e-4, 3e-4, 1e-3, 3e-3]
SPEC = dict(
    runs={'list': [{'name': 'narrow', 'model.width': 48}, {'name': 'wide', 'model.width': 96}]},
    seeds=2,
    tune=dict(by={'schedule.peak': RATES}, seeds=[7], halving=dict(steps=[2, 4, 8])),
)


class Pretended:
    """An engine that writes what a run would log, one at a look; told to stop after so many runs.

    The loss is how far the rate is from the variant's best one, and less with more steps.
    """

    def __init__(self, begun, limit):
        self.jobs, self.begun, self.limit = [], begun, limit

    def submit(self, job):
        self.jobs.append(job)

    def poll(self):
        if len(self.begun) >= self.limit:
            os.kill(os.getpid(), signal.SIGTERM)
            return []
        job = self.jobs.pop(0)
        self.begun.append(str(job.log.parent))
        flags = dict(flag.removeprefix('--').split('=', 1) for flag in job.command if flag.startswith('--'))
        steps, rate = int(flags.get('config.steps', 100)), float(flags['config.schedule.peak'])
        loss = abs(math.log(rate / BEST[job.name.split(',')[0]])) + 1 / steps
        job.log.parent.mkdir(parents=True)
        record = {
            'step': max(steps, 100_000 if 'config.steps' not in flags else 0),
            'split': 'validation',
            'loss': loss,
        }
        (job.log.parent / 'metrics.jsonl').write_text(json.dumps(record) + '\n')
        stored = dict(seed=int(flags['config.seed']), steps=record['step'], task={}, model={}, data={})
        config = json.dumps(stored | dict(schedule=dict(peak=rate)))
        (job.log.parent / 'config.json').write_text(config)
        Declarations('loss', {'loss': Metric('loss', 'lowest')}).write(job.log.parent / 'declared_metrics.json')
        return [Event(job.name), Event(job.name, 0)]

    def stop(self):
        return []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


@pytest.fixture
def make(tmp_path, monkeypatch):
    """A function of `tune` that plans the sweep."""
    monkeypatch.setattr(conduct, '_POLL', 0.0)
    monkeypatch.setattr(plan.ExperimentCost, 'of', lambda experiment: plan.ExperimentCost(10, 60, 2, experiment.steps))

    def make(tune):
        file = tmp_path / 'my_sweep.py'
        file.write_text(f'"""Title."""\n\n\ndef get_sweep():\n    return {SPEC | dict(tune=tune)!r}\n')
        return SweepPlan.of(CONFIG, str(file))

    return make


@pytest.fixture
def planned(make):
    return make(SPEC['tune'])


def launch(folder, planned, begun, limit=10_000):
    engine = lambda _: lambda lock: Pretended(begun, limit)  # noqa: E731
    return Launch(Console(quiet=True), engine).tuned(folder.tuning, planned)


def rates(ready):
    return {variant.name: variant.overrides[-1] for variant in ready.variants}


@pytest.mark.long
def test_settings_that_are_behind_are_dropped_and_each_variants_best_is_found(planned, tmp_path):
    begun, folder = [], SweepFolder.of(tmp_path / 'sweep')
    ready, _ = launch(folder, planned, begun)
    assert rates(ready) == {name: f'--config.schedule.peak={rate}' for name, rate in BEST.items()}
    names = [Path(run).relative_to(folder.tuning.path) for run in begun]
    assert [sum(name.parts[0] == f'steps={steps}' for name in names) for steps in (2, 4, 8)] == [8, 4, 0]
    assert {name.parts[1] for name in names if name.parts[0] == 'steps=4'} == {
        'narrow,peak=0.001,seed=7', 'narrow,peak=0.003,seed=7', 'wide,peak=0.0001,seed=7', 'wide,peak=0.0003,seed=7',
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize('limit', [3, 8, 10])
def test_a_search_that_is_stopped_goes_on_and_chooses_the_same(planned, tmp_path, limit):
    whole, begun = SweepFolder.of(tmp_path / 'whole'), []
    expected, _ = launch(whole, planned, [])
    folder = SweepFolder.of(tmp_path / 'sweep')
    stopped, sweep = launch(folder, planned, begun, limit)
    assert stopped is None
    assert any(run.status == 'waiting' for run in sweep.runs)
    ready, _ = launch(folder, planned, begun)
    assert ready.sweep == expected.sweep
    assert len(begun) == len(set(begun)) == 12  # none was trained twice


EXTENDED = dict(by={'schedule.peak': [1e-3, 3e-3]}, seeds=[7, 8], extend=10.0)


def test_a_best_value_at_an_edge_has_the_next_one_tried_once(make, tmp_path):
    """The best of narrow is 0.003, the highest, and 0.03 is worse; of wide it is 0.0003, below the lowest."""
    begun, folder = [], SweepFolder.of(tmp_path / 'sweep')
    ready, search = launch(folder, make(EXTENDED), begun)
    assert rates(ready) == {'narrow': '--config.schedule.peak=0.003', 'wide': '--config.schedule.peak=0.0001'}
    tried = [*dict.fromkeys(run.variant for run in search.runs)]
    assert tried == [
        'narrow,peak=0.001', 'narrow,peak=0.003', 'narrow,peak=0.03',
        'wide,peak=0.0001', 'wide,peak=0.001', 'wide,peak=0.003',
    ]  # fmt: skip
    assert len(begun) == len(set(begun)) == 12
    found = read_search([folder.tuning], ['narrow', 'wide'], StudyQuestion())
    taken = found.taken(ready.sweep)
    heads, narrow, wide = found.table(taken)
    assert heads == ['variant', 'peak=0.0001', 'peak=0.001', 'peak=0.003', 'peak=0.03']
    assert (narrow[1], wide[4]) == (UNKNOWN, UNKNOWN)  # not tried
    assert (narrow[3].endswith(' *'), wide[1].endswith(' *')) == (True, True)
    assert [found.first.at_edge('narrow', 'peak=0.003'), found.first.at_edge('wide', 'peak=0.0001')] == [False, True]
    assert found.at_edges(taken).endswith('may be beyond: wide (peak=0.0001).')


@pytest.mark.long
@pytest.mark.parametrize('limit', [1, 5, 8, 9, 11])
def test_an_extended_search_that_is_stopped_goes_on_and_chooses_the_same(make, tmp_path, limit):
    planned, begun = make(EXTENDED), []
    expected, _ = launch(SweepFolder.of(tmp_path / 'whole'), planned, [])
    folder = SweepFolder.of(tmp_path / 'sweep')
    stopped, _ = launch(folder, planned, begun, limit)
    assert stopped is None
    ready, _ = launch(folder, planned, begun)
    assert ready.sweep == expected.sweep
    again, _ = launch(folder, planned, begun)
    assert again.sweep == expected.sweep
    assert len(begun) == len(set(begun)) == 12  # none was trained twice


@pytest.mark.long
def test_the_cost_of_a_search_counts_the_value_beyond_an_edge(make):
    planned, without = make(EXTENDED), make({name: value for name, value in EXTENDED.items() if name != 'extend'})
    assert [len(steps) for steps in planned.run_steps().values()] == [3 * 2 + 2] * 2
    assert [len(steps) for steps in without.run_steps().values()] == [2 * 2 + 2] * 2
    line = next(line for line in planned.lines() if line.startswith('tuning'))
    assert line.endswith('x 2 of schedule.peak x 2 seeds, before; one more where the best is at an edge')


class Failing(Pretended):
    """An engine whose runs all fail, with a last line that says why."""

    def poll(self):
        job = self.jobs.pop(0)
        job.log.parent.mkdir(parents=True)
        job.log.write_text('begun\nerror: step 2: the loss is not finite\n')
        return [Event(job.name), Event(job.name, 2)]


@pytest.mark.long
def test_a_search_of_which_every_run_failed_says_how_each_ended(planned, tmp_path):
    folder = SweepFolder.of(tmp_path / 'sweep')
    engine = lambda _: lambda lock: Failing([], 10_000)  # noqa: E731
    with pytest.raises(UserError) as refused:
        Launch(Console(quiet=True), engine).tuned(folder.tuning, planned)
    said = str(refused.value)
    assert said.startswith(f'{folder.tuning.path}/steps=2: every run of the search has failed')
    assert 'narrow,peak=0.0001,seed=7: error: step 2: the loss is not finite; ' in said
    assert said.count('the loss is not finite') == 8
