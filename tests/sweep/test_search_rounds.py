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
        Declarations('loss', {'loss': Metric('loss', 'lowest')}).write(job.log.parent / 'declared_metrics.json')
        return [Event(job.name), Event(job.name, 0)]

    def stop(self):
        return []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


@pytest.fixture
def planned(tmp_path, monkeypatch):
    monkeypatch.setattr(conduct, '_POLL', 0.0)
    monkeypatch.setattr(plan.ExperimentCost, 'of', lambda experiment: plan.ExperimentCost(10, 60, 2, experiment.steps))
    file = tmp_path / 'my_sweep.py'
    file.write_text(f'"""Title."""\n\n\ndef get_sweep():\n    return {SPEC!r}\n')
    return SweepPlan.of(CONFIG, str(file))


def launch(folder, planned, begun, limit=10_000):
    engine = lambda _: lambda lock: Pretended(begun, limit)  # noqa: E731
    return Launch(Console(quiet=True), engine).tuned(folder.tuning, planned)


def rates(ready):
    return {variant.name: variant.overrides[-1] for variant in ready.variants}


def test_settings_that_are_behind_are_dropped_and_each_variants_best_is_found(planned, tmp_path):
    begun, folder = [], SweepFolder.of(tmp_path / 'sweep')
    ready, _ = launch(folder, planned, begun)
    assert rates(ready) == {name: f'--config.schedule.peak={rate}' for name, rate in BEST.items()}
    names = [Path(run).relative_to(folder.tuning.path) for run in begun]
    assert [sum(name.parts[0] == f'steps={steps}' for name in names) for steps in (2, 4, 8)] == [8, 4, 0]
    assert {name.parts[1] for name in names if name.parts[0] == 'steps=4'} == {
        'narrow,peak=0.001,seed=7', 'narrow,peak=0.003,seed=7', 'wide,peak=0.0001,seed=7', 'wide,peak=0.0003,seed=7',
    }  # fmt: skip


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


class Failing(Pretended):
    """An engine whose runs all fail, with a last line that says why."""

    def poll(self):
        job = self.jobs.pop(0)
        job.log.parent.mkdir(parents=True)
        job.log.write_text('begun\nerror: step 2: the loss is not finite\n')
        return [Event(job.name), Event(job.name, 2)]


def test_a_search_of_which_every_run_failed_says_how_each_ended(planned, tmp_path):
    folder = SweepFolder.of(tmp_path / 'sweep')
    engine = lambda _: lambda lock: Failing([], 10_000)  # noqa: E731
    with pytest.raises(UserError) as refused:
        Launch(Console(quiet=True), engine).tuned(folder.tuning, planned)
    said = str(refused.value)
    assert said.startswith(f'{folder.tuning.path}/steps=2: every run of the search has failed')
    assert 'narrow,peak=0.0001,seed=7: error: step 2: the loss is not finite; ' in said
    assert said.count('the loss is not finite') == 8
