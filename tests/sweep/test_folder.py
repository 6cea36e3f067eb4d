# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A sweep's folder: whose it is, how far its runs are, and that one launch at a time is at work in it."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from pretended import sweep_of, until

from saccade.analysis.report.runs import read_study
from saccade.sweep.folder import SweepFolder
from saccade.sweep.record import PrimaryComparison, read_sweep, sweep_file
from saccade.types import UserError


@pytest.fixture
def folder(tmp_path):
    return SweepFolder.of(tmp_path / 'sweep')


def kept(folder, sweep):
    """Record a sweep in its folder."""
    folder.path.mkdir(exist_ok=True)
    folder.write(sweep)
    return sweep


def log(folder, run, *records):
    metrics = folder.run(run) / 'metrics.jsonl'
    metrics.parent.mkdir(parents=True, exist_ok=True)
    with metrics.open('a') as file:
        for step, split, *more in records:
            file.write(json.dumps({'step': step, 'split': split, 'loss': 0.5, **dict(*more)}) + '\n')


def grown(sweep, *more):
    """The sweep with further runs in between."""
    extra = [replace(run, name=f'{name},{run.name}') for run in sweep.runs for name in more]
    return replace(sweep, runs=(*extra, *sweep.runs))


def refusal(folder, asked):
    with pytest.raises(UserError) as refused:
        folder.joined(asked)
    assert '\n' not in str(refused.value)
    assert str(folder.path) in str(refused.value)
    return str(refused.value)


def test_a_new_folder_takes_any_sweep_and_nothing_is_written(folder):
    asked = sweep_of('a', 'b')
    assert folder.joined(asked) == asked
    assert not folder.path.exists()
    folder.path.mkdir()
    (folder.path / '.launch.lock').touch()
    assert folder.joined(asked) == asked


def test_a_sweep_reads_back_as_it_was_written(folder):
    sweep = sweep_of('a', 'b').changed('b', status='failed', exit=-9, last_lines=('one', 'two'))
    assert read_sweep(kept(folder, sweep) and folder.path) == sweep
    assert read_sweep(folder.path / 'elsewhere') is None


def test_a_sweep_may_grow(folder):
    sweep = kept(folder, sweep_of('a', 'b'))
    asked = grown(sweep, 'seed=7', 'seed=8')
    assert folder.joined(asked) == asked


def test_what_may_change_in_a_run_may_change_in_its_sweep(folder):
    kept(folder, sweep_of('a', steps=3))
    asked = sweep_of('a', steps=5)
    assert folder.joined(asked).runs[0].steps == 5
    assert folder.joined(replace(asked, config='moved/my_config.py')) == replace(asked, config='moved/my_config.py')


def test_another_order_of_the_same_overrides_is_the_same_run(folder):
    sweep = sweep_of('a')
    run = replace(sweep.runs[0], overrides=('--config.a=1', '--config.b=2'))
    kept(folder, replace(sweep, runs=(run,)))
    asked = replace(sweep, runs=(replace(run, overrides=run.overrides[::-1]),))
    assert folder.joined(asked) == asked


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda sweep: replace(sweep, runs=sweep.runs[:1]), 'its run b and 1 more is not part of this sweep'),
        (lambda sweep: replace(sweep, runs=sweep.runs[1:]), 'its run a is not part of this sweep'),
        (lambda sweep: sweep.changed('b', overrides=('--config.does=x',)), 'its run b differs in --config.does='),
        (lambda sweep: sweep.changed('b', overrides=()), 'its run b differs in --config.does=wait'),
        (lambda sweep: replace(sweep, base={**sweep.base, 'model': {'width': 9}}),
         'its base has model.width: 8 in the folder, 9 requested'),
        (lambda sweep: replace(sweep, base={**sweep.base, 'steps': sweep.base['steps'] - 1}), 'steps are requested'),
        (lambda sweep: replace(sweep, primary=PrimaryComparison('loss', 'a', 0.1)),
         "it has metric=None, baseline=None, margin=None, not metric='loss', baseline='a', margin=0.1, and"),
    ],
)  # fmt: skip
def test_another_sweep_is_refused_with_the_difference(folder, change, words):
    sweep = kept(folder, sweep_of('wait', 'wait', 'wait'))
    told = refusal(folder, change(sweep))
    assert 'holds another sweep (sweep.json): ' in told
    assert words in told
    assert told.endswith('name another folder')


def test_a_folder_of_something_else_is_refused(folder):
    folder.path.mkdir()
    (folder.path / 'config.json').write_text('{}')
    assert 'not a sweep; it holds config.json: name a new or an empty folder' in refusal(folder, sweep_of('a'))


def test_a_file_in_place_of_the_folder_is_refused(folder):
    folder.path.write_text('')
    assert 'not a sweep; it is a file' in refusal(folder, sweep_of('a'))
    with pytest.raises(UserError, match='cannot be written to'), folder.held(print):
        pass


@pytest.mark.parametrize('text', ['', '{', '[]', '{}', '{"runs": [{}]}', '{"runs": 3}', '"x"', 'null', '\x00'])
def test_a_damaged_record_is_refused(folder, text):
    folder.path.mkdir()
    sweep_file(folder.path).write_text(text)
    assert 'sweep.json: not the record of a sweep' in refusal(folder, sweep_of('a'))


@pytest.mark.parametrize(
    ('records', 'finished'),
    [
        ([], False),
        ([(0, 'plan')], False),
        ([(1, 'train'), (2, 'train'), (2, 'validation')], False),
        ([(2, 'train'), (3, 'train')], False),
        ([(3, 'train'), (3, 'validation')], True),
        ([(3, 'train'), (3, 'test')], True),
        ([(3, 'train'), (3, 'outcome')], False),
    ],
)
def test_a_run_has_finished_when_it_was_evaluated_after_its_last_step(folder, records, finished):
    sweep = kept(folder, sweep_of('a', 'b', steps=3))
    log(folder, sweep.runs[0], *records)
    assert folder.finished(sweep.runs[0]) is finished
    assert [run.status for run in folder.joined(sweep).runs] == ['finished' if finished else 'waiting', 'waiting']


@pytest.mark.parametrize(('solved', 'finished'), [(1, True), (0, False)])
def test_a_run_that_solved_its_task_has_finished_at_that_step(folder, solved, finished):
    one, other = kept(folder, sweep_of('a', 'b', steps=9)).runs
    log(folder, one, (2, 'outcome', {'solved': solved}), (2, 'validation'))
    log(
        folder, other, (1, 'validation'), (2, 'train'), (2, 'outcome', {'solved': solved})
    )  # killed before the last line
    assert folder.finished(one) is finished
    assert not folder.finished(other)


def test_more_steps_make_a_finished_run_unfinished(folder):
    sweep = kept(folder, sweep_of('a', steps=3))
    log(folder, sweep.runs[0], (3, 'train'), (3, 'validation'))
    assert folder.joined(sweep).runs[0].status == 'finished'
    assert folder.joined(sweep_of('a', steps=4)).runs[0].status == 'waiting'


def test_a_run_that_failed_after_its_last_evaluation_is_not_taken_for_finished(folder):
    sweep = kept(folder, sweep_of('a', steps=3).changed('a', status='failed', exit=1))
    log(folder, sweep.runs[0], (3, 'train'), (3, 'validation'))
    assert folder.joined(sweep_of('a', steps=3)).runs[0].status == 'waiting'


def test_progress_is_the_last_record_however_often_one_looks(folder):
    run = sweep_of('a').runs[0]
    assert folder.progress(run) == {}
    log(folder, run, (1, 'train'))
    assert folder.progress(run) == folder.progress(run) == {'step': 1, 'split': 'train', 'loss': 0.5}
    log(folder, run, (2, 'train'))
    assert folder.progress(run)['step'] == 2


def test_progress_has_the_speed_that_was_logged_last(folder):
    (run,) = sweep_of('').runs
    folder.run(run).mkdir(parents=True)
    for record in ({'tokens_per_second': 1.0}, {'tokens_per_second': 2.0}, {'split': 'validation'}):
        with (folder.run(run) / 'metrics.jsonl').open('a') as file:
            file.write(json.dumps({'step': 1, 'split': 'train', **record}) + '\n')
    assert folder.progress(run) == {'step': 1, 'split': 'validation', 'tokens_per_second': 2.0}


@pytest.mark.parametrize('place', ['a', 'tuning/a', 'tuning/steps=5/a'])
def test_the_cores_of_runs_before_are_those_they_began_with(folder, place):
    assert folder.cores() is None
    (folder.path / place).mkdir(parents=True)
    (folder.path / place / 'provenance.jsonl').write_text('{"status": "running"}\n{"cores": 3}\n{"cores": 2}\n')
    assert folder.cores() == 3


def test_damaged_metrics_are_no_progress_and_no_end(folder):
    run = sweep_of('a', steps=3).runs[0]
    log(folder, run, (3, 'validation'))
    metrics = folder.run(run) / 'metrics.jsonl'
    metrics.write_text('damaged\n' + metrics.read_text())
    assert folder.progress(run) == {}
    assert not folder.finished(run)


@pytest.mark.parametrize(
    ('field', 'value', 'words'),
    [
        ('name', '/tmp/x', "name of runs[0] is '/tmp/x'"),
        ('name', '../x', "name of runs[0] is '../x'"),
        ('name', '..', "name of runs[0] is '..'"),
        ('name', '', "name of runs[0] is ''"),
        ('name', 'a\0', 'name of runs[0] is'),
        ('name', 3, 'name of runs[0] is 3'),
        ('name', 'b', 'two runs have one name'),
        ('variant', None, 'variant of runs[0] is None'),
        ('seed', 'x', "seed of runs[0] is 'x'"),
        ('steps', 'many', "steps of runs[0] is 'many'"),
        ('steps', True, 'steps of runs[0] is True'),
        ('status', 'lost', "status of runs[0] is 'lost'"),
        ('status', [], 'status of runs[0] is []'),
        ('exit', 'x', "exit of runs[0] is 'x'"),
        ('overrides', 'x', "overrides of runs[0] is 'x'"),
        ('overrides', [3], 'overrides of runs[0] is [3]'),
        ('last_lines', [None], 'last_lines of runs[0] is [None]'),
    ],
)
def test_a_run_that_is_none_is_named(folder, field, value, words):
    kept(folder, sweep_of('a', 'b'))
    file = sweep_file(folder.path)
    stored = json.loads(file.read_text())
    stored['runs'][0][field] = value
    file.write_text(json.dumps(stored))
    told = refusal(folder, sweep_of('a', 'b'))
    assert words in told
    with pytest.raises(UserError, match=re.escape(str(file))):
        read_study(folder.path)


@pytest.mark.parametrize(
    ('field', 'value'),
    [('runs', {'a': 1}), ('runs', [3]), ('title', 3), ('base', []), ('config', None), ('overrides', 'x'), ('more', 1)],
)
def test_a_sweep_that_is_none_is_named(folder, field, value):
    kept(folder, sweep_of('a'))
    file = sweep_file(folder.path)
    file.write_text(json.dumps(json.loads(file.read_text()) | {field: value}))
    assert f'{file}: not the record of a sweep' in refusal(folder, sweep_of('a'))


@pytest.mark.parametrize('depth', [150, 900, 100_000])
@pytest.mark.parametrize(
    'place', ['{"a": %s}', '{"config": "", "sweep": "", "title": "", "runs": [], "base": {"a": %s}}']
)
def test_a_sweep_that_is_nested_too_deep_is_named(folder, place, depth):
    kept(folder, sweep_of('a'))
    file = sweep_file(folder.path)
    file.write_text(place % (depth * '[' + depth * ']'))
    assert f'{file}: not the record of a sweep' in refusal(folder, sweep_of('a'))


def test_a_second_launch_is_refused_while_one_is_at_work(folder):
    with folder.held(pytest.fail), pytest.raises(UserError, match='another launch of this sweep is running'):
        folder.held(pytest.fail).__enter__()
    with folder.held(pytest.fail):
        pass


def test_a_launch_waits_for_what_a_killed_one_left_at_work(folder, tmp_path):
    """The lock is inherited by a process and by what holds on to it; a launch that goes away frees only its own."""
    waits = 'import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)'
    go, heard = tmp_path / 'go', []
    with folder.held(heard.append) as lock:
        orphan = subprocess.Popen([sys.executable, '-S', '-c', waits, str(go)], pass_fds=(lock,))
    assert heard == []

    def told(text):
        heard.append(text)
        assert orphan.poll() is None
        go.touch()

    try:
        with folder.held(told):
            assert heard == ['waiting for runs of an earlier launch, which are still running']
            assert until(lambda: orphan.poll() is not None)
    finally:
        go.touch()
        orphan.wait()
