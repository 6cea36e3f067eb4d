# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a run fits, from the command line: as the run itself says, on one device, on eight, and on a TPU slice."""

import importlib.util
import json
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
without_libtpu = pytest.mark.skipif(importlib.util.find_spec('libtpu') is None, reason='libtpu is not installed')


def preflight(runner, *arguments, devices=1):
    small = [each for each in runner.small(Path('unused')) if not each.startswith('--workdir')]
    done = runner.run('preflight', *small, *arguments, '--json', devices=devices)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope='module')
def on_eight(runner):
    """The small model on eight devices, each with the weights whole."""
    return preflight(runner, '--noalternatives', devices=8)


@pytest.mark.long
def test_it_says_what_the_run_says(runner, finished):
    plan = json.loads((finished / 'metrics.jsonl').read_text().splitlines()[0])
    found = preflight(runner, '--noalternatives')
    assert found['flops'] == plan['flops']
    assert found['tokens'] == plan['tokens']
    assert sum(found['parameters'].values()) == plan['parameters']
    (way,) = found['ways']
    assert (way['peak_bytes'], way['sent'], way['fits']) == (plan['peak_bytes'], [], True)


@pytest.mark.long
@pytest.mark.skipif(not Path('/proc/self/clear_refs').exists(), reason='only Linux says how much a process uses')
@pytest.mark.parametrize('devices', [1, 8])
def test_what_it_says_stands_beside_what_a_step_takes(runner, devices):
    layers = "--config.model.run={'use': 'model.stack:Scanned', 'remat': 'nothing_saveable'}"
    found = preflight(
        runner,
        '--noalternatives',
        '--measure',
        layers,
        '--config.batch_size=64',
        '--config.model.layers=4',
        devices=devices,
    )
    assert found['measured']['flops'] == found['hardware_flops'] > found['flops']
    said = found['ways'][0]['peak_bytes'] * devices
    assert 0.9 * said < found['measured']['peak_bytes'] < said + devices * 2**25


@pytest.mark.long
def test_gradients_of_all_weights_go_around_once(on_eight):
    weights = sum(on_eight['parameters'].values())
    assert on_eight['held']['parameters'] == 4 * weights
    ((sent,),) = (way['sent'] for way in on_eight['ways'])
    assert sent['kind'] == 'all-reduce'
    # The embedding is the output projection too, and each use has a gradient of its own.
    gradients = 4 * (weights + on_eight['parameters']['embedding'])
    assert sent['bytes'] == pytest.approx(2 * gradients * 7 / 8, rel=0.001)


@pytest.mark.long
def test_what_is_split_over_devices_is_held_in_parts_and_gathered(runner, on_eight):
    split = preflight(runner, '--noalternatives', '--config.mesh.fsdp=8', devices=8)
    assert split['flops'] == on_eight['flops']
    for what in ('parameters', 'optimizer'):
        assert split['held'][what] < on_eight['held'][what] / 4
    assert split['held']['batch'] == on_eight['held']['batch']
    # Once in each direction at the most, and the gradients once; activations, which are larger, stay where they are.
    sent = {each['kind']: each['bytes'] for each in split['ways'][0]['sent']}
    once = split['held']['parameters'] * 7
    assert 0.9 * once < sent['all-gather'] < 2 * once
    assert sent['all-reduce'] < 2 * once


@pytest.mark.long
def test_ways_that_take_less_memory_stand_beside_it(runner):
    ways = preflight(runner, '--config.batch_size=64', '--config.accumulate=2')['ways']
    remat, halves = '--config.model.run.remat=nothing_saveable', '--config.accumulate=4'
    assert [way['changes'] for way in ways] == ['', halves, remat, f'{remat} {halves}']
    plain, in_halves, kept, both = (way['peak_bytes'] for way in ways)
    assert both < min(kept, in_halves)
    assert max(kept, in_halves) < plain


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ((), 'give --config=FILE'),
        ((f'--config={EXPERIMENTS}/causal_lm/quickstart.py', '--config.mesh.fsdp=16'), 'needs 16 devices'),
        ((f'--config={EXPERIMENTS}/causal_lm/quickstart.py', '--config.backend=pmap'), "use 'jit'"),
        (
            (f'--config={EXPERIMENTS}/causal_lm/quickstart.py', '--topology=v5e:4x4', '--measure'),
            'v5e:4x4: omit --measure or --topology',
        ),
        pytest.param(
            (f'--config={EXPERIMENTS}/causal_lm/quickstart.py', '--topology=v9z:4x4'),
            'no such TPU slice',
            marks=without_libtpu,
        ),
    ],
)
def test_what_cannot_be_is_one_line(runner, arguments, words):
    done = runner.run('preflight', *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.long
@without_libtpu
def test_a_tpu_slice_needs_no_tpu(runner):
    found = preflight(
        runner, '--noalternatives', '--topology=v5e:4x4', '--config.batch_size=16', '--config.mesh.fsdp=16'
    )
    assert found['chips'] == {'name': '16 x TPU v5 lite, v5e:4x4', 'count': 16, 'memory': 16 * 2**30}
    (way,) = found['ways']
    assert way['fits']
    assert {'all-gather', 'all-reduce'} <= {each['kind'] for each in way['sent']}
