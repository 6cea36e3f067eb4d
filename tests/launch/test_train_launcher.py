# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training from the command line: what it prints and keeps, that it resumes exactly, and what it refuses."""

import json
import signal

import pytest
from watched import STEPS, assert_same, kill_after, losses, wait_for_step

from saccade.train.config import load_config
from saccade.train.log.log import read
from saccade.train.loop import train
from saccade.types import UserError

pytestmark = pytest.mark.long


@pytest.mark.long
def test_a_run_prints_its_plan_its_progress_and_what_to_try_next(finished):
    printed = (finished / 'printed.log').read_text()
    for words in (
        'small[red].txt',
        'parameters',
        'FLOPs',
        'MiB',
        'MultiHead, 2 heads of 16; kernel Plain; mask Causal; position Rotary',
        'baseline',
        'bits per byte',
        'What to try next',
    ):
        assert words in printed
    assert '\x1b' not in printed


def test_a_run_keeps_its_config_metrics_samples_tokenizer_events_and_checkpoints(finished):
    assert json.loads((finished / 'config.json').read_text())['model']['width'] == 32
    assert sorted(losses(finished)) == sorted(
        [
            *((step, 'train') for step in range(1, STEPS + 1)),
            (10, 'validation_part'),
            *((STEPS, split) for split in ('validation_part', 'validation', 'baseline')),
        ]
    )
    assert all((finished / name).exists() for name in ('tokenizer.json', 'samples.jsonl', 'checkpoints/20'))
    assert list((finished / 'events').iterdir())


def test_the_first_record_is_the_plan_that_was_printed(finished):
    plan, *rest = read(finished / 'metrics.jsonl')
    assert 'plan' not in {record['split'] for record in rest}
    printed = (finished / 'printed.log').read_text()
    assert f'parameters  {plan.pop("parameters"):,} (' in printed
    assert f'a step      {plan["tokens"]:,} tokens, {plan["flops"]:.3g} FLOPs' in printed
    assert plan.pop('hardware_flops') == plan.pop('flops')  # nothing is computed again
    assert f'memory      {plan.pop("peak_bytes") / 2**20:,.0f} MiB' in printed
    assert f'; {plan["state_bytes"] / 2**10:,.0f} KiB to decode a row' in printed
    # Keys and values of two layers, place and segment of a token in each, and how many there are; and the next's place.
    assert plan.pop('state_bytes') == (2 * (16 * (2 * 32 + 2) + 1) + 1) * 4
    assert plan.pop('temp_bytes') > 0
    assert plan == {'step': 0, 'split': 'plan', 'tokens': 8 * 16}


@pytest.mark.long
def test_the_same_command_on_a_finished_run_changes_nothing(runner, finished):
    before = (finished / 'metrics.jsonl').read_text()
    done = runner.train(finished)
    assert done.returncode == 0, done.stderr
    assert (finished / 'metrics.jsonl').read_text() == before


@pytest.mark.long
@pytest.mark.parametrize('step', [1, 3, 5, 8, 10])
def test_a_killed_run_resumes_to_bit_identical_losses(runner, finished, tmp_path, step):
    kill_after(runner, tmp_path / 'run', step, signal.SIGKILL)
    done = runner.train(tmp_path / 'run')
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == losses(finished)


@pytest.mark.long
def test_a_killed_run_resumes_by_its_folder_alone(runner, finished, tmp_path):
    kill_after(runner, tmp_path / 'run', 5, signal.SIGKILL)
    done = runner.run('train', f'--workdir={tmp_path / "run"}', '--resume')
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == losses(finished)
    assert json.loads((tmp_path / 'run/config.json').read_text())['data']['path'] == str(runner.text)


@pytest.mark.long
def test_an_extension_by_the_folder_of_a_run_is_killed_and_goes_on_and_only_then_extends_again(runner, tmp_path):
    workdir = tmp_path / 'run'
    assert runner.train(workdir).returncode == 0
    more = (f'--workdir={workdir}', '--extend=constant:6', '--config.checkpoint_every=2')
    process = runner.start('train', *more)
    wait_for_step(process, workdir / 'metrics.jsonl', STEPS + 3)
    process.kill()
    process.communicate()
    for last in (STEPS + 6, STEPS + 12):
        done = runner.run('train', *more)
        assert done.returncode == 0, done.stderr
        assert max(step for step, _ in losses(workdir)) == last


@pytest.mark.long
def test_sigterm_saves_and_exits_cleanly_and_the_run_resumes(runner, finished, tmp_path):
    stopped = kill_after(runner, tmp_path / 'run', 4, signal.SIGTERM)
    assert stopped.returncode == 0
    assert 'stopped by a signal' in stopped.stdout
    done = runner.train(tmp_path / 'run')
    assert 'resume' in done.stdout
    assert losses(tmp_path / 'run') == losses(finished)
    assert [line['step'] for line in read(tmp_path / 'run/metrics.jsonl') if line['split'] == 'plan'] == [0]


def test_a_damaged_checkpoint_is_skipped_for_the_one_before(runner, finished, tmp_path):
    kill_after(runner, tmp_path / 'run', 7, signal.SIGTERM)
    newest = max(
        (path for path in (tmp_path / 'run/checkpoints').iterdir() if path.name.isdigit()),
        key=lambda path: int(path.name),
    )
    victim = max((path for path in newest.rglob('*') if path.is_file()), key=lambda path: path.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    done = runner.train(tmp_path / 'run')
    assert done.returncode == 0, done.stderr
    assert str(newest) in done.stderr
    assert 'is used instead' in done.stderr
    assert losses(tmp_path / 'run') == losses(finished)


@pytest.mark.long
@pytest.mark.parametrize(
    'overrides',
    [
        ('--config.mesh.data=2', '--config.mesh.fsdp=2', '--config.mesh.tensor=2'),
        ('--config.backend=pmap',),
        ('--config.mesh.data=8',),
        ('--config.mesh.data=1', '--config.mesh.fsdp=8'),
        ('--config.mesh.data=4', '--config.mesh.tensor=2', '--config.accumulate=2'),
    ],
)
def test_eight_devices_give_the_losses_of_one(runner, finished, tmp_path, overrides):
    done = runner.train(tmp_path / 'run', *overrides, devices=8)
    assert done.returncode == 0, done.stderr
    assert_same(losses(tmp_path / 'run'), losses(finished))
    assert ('\nreplicated  ' in done.stdout) == any('fsdp' in given or 'tensor' in given for given in overrides)


def test_a_checkpoint_of_eight_devices_goes_on_with_one(runner, finished, tmp_path):
    mesh = ('--config.mesh.data=2', '--config.mesh.fsdp=2', '--config.mesh.tensor=2')
    stopped = kill_after(runner, tmp_path / 'run', 5, signal.SIGTERM, *mesh, devices=8)
    assert stopped.returncode == 0, stopped.stderr
    done = runner.train(tmp_path / 'run')
    assert done.returncode == 0, done.stderr
    assert_same(losses(tmp_path / 'run'), losses(finished))


@pytest.mark.long
@pytest.mark.parametrize(
    ('overrides', 'words'),
    [
        (['--config.model.width=30', '--config.model.block.mixer.heads=4'], 'width 30 is not divisible by 4 heads'),
        (['--config.model.block.mixer.heads=two'], "'two' cannot be read as int"),
        (['--config.model.norm={"use": "norm.rmss:RMSNorm"}'], "did you mean 'norm.rms:RMSNorm'"),
        (['--config.model.norm={"use": "position.rotary:Rotary"}'], 'is not a Norm'),
        (['--config.model.block.mixer={"use": "attention.multi_head:MultiHead", "heads": 2}'], 'take ops.mask:Causal'),
        (['--config.model.vocabulary=100', '--config.data.tokenizer={"use": "data.tokenizer.byte:Byte"}'],
         'config.model.vocabulary: 100 is smaller than the tokenizer'),
        (['--config.data.path=/nowhere/at/all.txt'], '/nowhere/at/all.txt'),
        (['--config.data.path=None', '--config.data.name=lm1bb'], 'lm1b'),
        (['--config.model.position={"use": "position.learned:Learned", "length": 8}'], 'longer than the 8 learned'),
        (['--config.mesh.data=3'], 'needs 3 devices; there are 1'),
        (['--config.batch_size=9', '--config.accumulate=2'], 'do not divide'),
        (['--config.backend=xla'], 'backend'),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_before_anything_is_written(runner, tmp_path, monkeypatch, overrides, words):
    monkeypatch.setenv('SACCADE_CACHE', runner.environment['SACCADE_CACHE'])
    config, _, *rest = runner.small(tmp_path / 'run')
    with pytest.raises(UserError) as refusal:
        train(load_config(config.removeprefix('--config='), [*rest, *overrides]), str(tmp_path / 'run'))
    assert words in str(refusal.value)
    assert '\n' not in str(refusal.value)
    assert not (tmp_path / 'run').exists()


@pytest.mark.parametrize(
    ('argument', 'words'),
    [('--config.model.widht=3', "did you mean 'width'"), ('--confgi=a.py', "did you mean '--config'")],
)
def test_a_mistake_on_the_command_line_is_one_line_and_status_2(runner, tmp_path, argument, words):
    done = runner.train(tmp_path / 'run', argument)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.startswith('error: ')
    assert done.stderr.count('\n') == 1, done.stderr
    assert not (tmp_path / 'run').exists()


MINE = """
import flax.linen as nn
import jax.numpy as jnp

class DynamicTanh(nn.Module):
    @nn.compact
    def __call__(self, x, real=None):
        return jnp.tanh(self.param('alpha', nn.initializers.constant(0.5), ()) * x)
"""


@pytest.mark.long
def test_a_part_in_the_folder_one_runs_in_is_a_variant(runner, tmp_path):
    (runner.folder / 'my_norm.py').write_text(MINE)
    part = '--config.model.block.norm={"use": "my_norm:DynamicTanh"}'
    done = runner.train(tmp_path / 'run', part, '--config.steps=2', '--config.schedule.warmup=1')
    assert done.returncode == 0, done.stderr
    assert (2, 'validation') in losses(tmp_path / 'run')


def test_a_folder_of_another_config_is_refused_with_the_difference(runner, finished):
    done = runner.train(finished, '--config.model.layers=3')
    assert done.returncode == 2
    assert 'model.layers' in done.stderr
    assert '2' in done.stderr
    assert '3' in done.stderr


@pytest.mark.long
def test_a_diverging_run_stops_naming_step_and_leaf(runner, tmp_path):
    done = runner.train(tmp_path / 'run', '--config.schedule.peak=1e30', '--config.optimizer.clip_norm=None')
    assert done.returncode == 2
    assert 'is not finite' in done.stderr
    assert 'step' in done.stderr
