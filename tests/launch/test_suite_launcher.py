# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A suite from the command line: its sweeps are carried out, one that fails stops no other, and the page is written."""

import json
import re
from pathlib import Path

import pytest
from watched import wait_for_step

from saccade.sweep.record import read_sweep

ROOT = Path(__file__).parents[2]
SWEEP = '''"""Mixers."""


def get_sweep():
    runs = [{'name': 'one', 'model.layers': 1}, {'name': 'fast', 'model.layers': 1, 'optimizer.clip_norm': None}]
    return dict(runs=dict(list=runs), sizes=[dict(name='whole'), dict(name='half', runs=dict(list=runs[:1]))])
'''
SUITE = '''"""What can it do?"""


def get_suite():
    fields = {{'steps': 2, 'batch_size': 4, 'data.validation': 8}}
    fields |= {{'model.vocabulary': 32, 'data.generator.vocabulary': 32}}
    return dict(
        recall=dict(config={config!r}, sweep={sweep!r}, fields=fields),
        broken=dict(config={config!r}, sweep={sweep!r}, fields=fields | {{'model.width': 63}}),
    )
'''


@pytest.fixture
def suite(tmp_path):
    """A suite file of two tasks, one of which is not valid."""
    sweep, suite = tmp_path / 'sweep.py', tmp_path / 'suite.py'
    sweep.write_text(SWEEP)
    suite.write_text(SUITE.format(config=str(ROOT / 'experiments/diagnostics/recall.py'), sweep=str(sweep)))
    return suite


@pytest.mark.long
def test_a_suite_goes_through_its_sweeps_and_goes_on(runner, suite, tmp_path):
    page = tmp_path / 'page.md'
    flags = [f'--suite={suite}', f'--workdir={tmp_path / "runs"}', f'--page={page}', '--jobs=1', '--force']
    done = runner.run('suite', *flags, '--size=half')
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith('error: not finished: broken;')
    assert [run.status for run in read_sweep(tmp_path / 'runs/recall').runs] == ['finished']
    assert 'train.py --force --config=' in (tmp_path / 'runs/recall/one,seed=0/provenance.jsonl').read_text()
    text = page.read_text()
    assert text.startswith('# What can it do?\n')
    assert f'--suite={suite}' in text
    assert '- recall: 2 steps, 1 seed; without fast.' in text
    before = (tmp_path / 'runs/recall/one,seed=0/provenance.jsonl').read_bytes()
    records = f'--records={tmp_path / "runs.tar.xz"}'
    assert 'runs.tar.xz: 1 finished runs' in runner.run('suite', *flags, records, '--size=half').stdout
    assert (tmp_path / 'runs/recall/one,seed=0/provenance.jsonl').read_bytes() == before
    elsewhere = f'--workdir={tmp_path / "elsewhere"}'
    runner.run('suite', *flags, elsewhere, records, '--size=half')
    kept = json.loads((tmp_path / 'elsewhere/recall/one,seed=0/provenance.jsonl').read_text())
    assert kept.pop('command').startswith('python launch/train.py --force --config=')
    assert kept == {name: value for name, value in json.loads(before).items() if name != 'command'}
    assert not (tmp_path / 'elsewhere/recall/one,seed=0/checkpoints').exists()
    page.unlink()
    files = [f'--page={tmp_path / name}' for name in ('page.md', 'page.html', 'page.csv')]
    reported = runner.run('suite', *flags[:1], f'--workdir={tmp_path / "third"}', *files, records, '--report')
    assert reported.returncode == 0, reported.stderr
    assert 'running' not in reported.stdout
    assert '- recall: 2 steps, 1 seed; without fast.' in page.read_text()
    assert '--report' not in page.read_text()
    assert '<title>What can it do?</title>' in (tmp_path / 'page.html').read_text()
    assert (tmp_path / 'page.csv').read_text().splitlines()[1].startswith('one,recall,')


@pytest.mark.long
def test_a_stopped_suite_stops_its_sweep_and_keeps_its_records(runner, suite, tmp_path):
    records = tmp_path / 'runs.tar.xz'
    flags = [f'--suite={suite}', f'--workdir={tmp_path / "runs"}', f'--records={records}', '--size=half', '--jobs=1']
    process = runner.start('suite', *flags, '--config.steps=100000', '--config.log_every=1')
    wait_for_step(process, tmp_path / 'runs/recall/one,seed=0/metrics.jsonl', 2)
    process.terminate()
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert errors.splitlines()[-1].startswith('error: not finished: recall, broken;')
    assert 'runs.tar.xz: 0 finished runs' in printed
    assert not (tmp_path / 'runs/broken').exists()


@pytest.mark.long
def test_a_suite_of_claims_gives_verdicts(runner, suite, tmp_path):
    """After two steps nothing is learned: by a margin of 2 in accuracy no claim can be confirmed."""
    claim = dict(says='one is best', source='nowhere', better='one', worse=['fast'], metric='accuracy', margin=2.0)
    text = suite.read_text().replace('fields=fields)', f'fields=fields, claim={claim!r})')
    suite.write_text(''.join(line for line in text.splitlines(keepends=True) if 'broken=' not in line))
    sweep = tmp_path / 'sweep.py'
    sweep.write_text(sweep.read_text().replace('dict(runs=', 'dict(seeds=5, runs='))
    page = tmp_path / 'page.md'
    done = runner.run('suite', f'--suite={suite}', f'--workdir={tmp_path / "runs"}', f'--page={page}', '--jobs=1')
    assert done.returncode == 0, done.stderr
    written = page.read_text().replace('\\', '')
    verdict = re.search(r'^1 published claim: 1 (inconclusive|contradicted)[.]$', written, re.M)[1]
    assert f'| recall | one is best (nowhere) | {verdict} |' in written
    assert re.search(
        rf'^[|] recall [|] one minus fast [|] .*[|] [+]2 accuracy [|] {verdict} [|] \d+ [|]$', written, re.M
    )
    assert '1 published claim: 1 ' in done.stdout


@pytest.mark.long
def test_a_report_needs_a_finished_run(runner, suite, tmp_path):
    runs = tmp_path / 'runs'
    done = runner.run('suite', f'--suite={suite}', f'--workdir={runs}', '--report')
    assert done.returncode == 2
    assert (
        done.stderr == f'error: --report: no sweep in {runs} has a finished run; --records names the archive of one\n'
    )
