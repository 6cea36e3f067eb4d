# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A step that a device has no memory for is refused before anything is written, with a batch size that fits."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

from saccade.train import fitting, loop, plan
from saccade.train.config import load_config
from saccade.train.device_memory import peak_bytes
from saccade.train.experiment import Experiment
from saccade.train.fitting import too_large
from saccade.train.loop import Options, Run
from saccade.train.plan import RunPlan
from saccade.train.setup import make_backend
from saccade.types import UserError

QUICKSTART = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
SMALL = ('model.layers=1', 'model.width=32', 'model.block.mixer.heads=2', 'data.context_length=16', 'batch_size=256')
MIB = 2**20


def config(*overrides):
    return load_config(QUICKSTART, [f'--config.{override}' for override in (*SMALL, *overrides)])


def peak_of(batch_size):
    made = make_backend(replace(Experiment.of(config()), batch_size=batch_size))
    return peak_bytes(made.train_step.memory_analysis(), 'cpu')


@pytest.fixture
def compiled(monkeypatch):
    """Sizes of batches that were compiled, of which each needs 100 MiB and 2 MiB a row."""
    sizes = []

    def peak_at(experiment, batch_size):
        sizes.append(batch_size)
        return (100 + 2 * batch_size) * MIB

    monkeypatch.setattr(fitting, '_peak_at', peak_at)
    return sizes


def refusal(limit, *overrides):
    experiment = Experiment.of(config(*overrides))
    return str(too_large(experiment, (100 + 2 * experiment.batch_size) * MIB, limit * MIB))


def test_the_proposed_batch_size_is_the_largest_without_a_warning(compiled):
    assert refusal(400) == (
        'config.batch_size=256: a step needs 612 MiB per device, but a device has 400 MiB; batch_size=130 fits. '
        'launch/preflight.py shows other ways to save memory; --force starts the run regardless'
    )  # 0.9 x 400 = 100 + 2 x 130
    assert compiled == [1]


def test_the_proposed_batch_size_divides_into_microbatches(compiled):
    assert 'batch_size=128 fits' in refusal(400, 'accumulate=4')
    assert compiled == [4]


def test_a_model_that_is_too_large_by_itself_gets_no_batch_size(compiled):
    assert '; even batch_size=1 needs 102 MiB, so the model is too large. launch' in refusal(110)
    assert '102 MiB per device, but a device has 60 MiB; even batch_size=1 needs' in refusal(60, 'batch_size=1')
    assert compiled == [1]


@pytest.mark.parametrize(
    ('peak', 'limit', 'memory'),
    [
        (90, 100, ['memory      90 MiB a device at the peak, of 100 MiB']),
        (
            95,
            100,
            [
                'memory      95 MiB a device at the peak, of 100 MiB',
                'warning     a step needs 95% of the memory of a device: the run may be killed',
            ],
        ),
        (2048, None, ['memory      2.0 GiB a device at the peak']),
    ],
)
def test_a_plan_warns_of_a_step_that_takes_nearly_all_memory(peak, limit, memory):
    made = RunPlan('', '', {}, 1, 1, 8, peak * MIB, 0, None, [], [], [], limit=limit and limit * MIB)
    assert made.lines()[-len(memory) :] == memory
    assert not any(line.startswith('warning') for line in made.lines()[: -len(memory)])


@pytest.mark.long
def test_a_run_is_refused_above_150_percent_and_the_proposal_fits(tmp_path, monkeypatch):
    peak, folder = peak_of(256), tmp_path / 'run'
    limit = int(peak / 1.51)
    monkeypatch.setattr(plan, 'device_limit', lambda: limit)
    with pytest.raises(UserError, match=r'^config\.batch_size=256: a step needs .*; batch_size=\d+ fits') as refused:
        Run(config(), str(folder), Options(quiet=True))
    proposed = int(re.search(r'batch_size=(\d+) fits', str(refused.value))[1])
    assert 0.8 * limit < peak_of(proposed) <= limit
    assert not folder.exists()


@pytest.mark.long
def test_a_run_goes_on_up_to_150_percent_or_when_forced(tmp_path, monkeypatch, capsys):
    peak = peak_of(256)
    for share, force in ((1.49, False), (3.0, True)):
        monkeypatch.setattr(plan, 'device_limit', lambda share=share: int(peak / share))
        Run(config(), str(tmp_path), Options(force=force))
        assert f'warning     a step needs {share:.0%} of the memory of a device' in capsys.readouterr().out


def test_a_program_that_the_compiler_refuses_is_one_line(tmp_path, monkeypatch, compiled):
    def refuse(_):
        raise jax.errors.JaxRuntimeError('RESOURCE_EXHAUSTED: Ran out of memory. Used 612.0M of 400.0M hbm.')

    run = object.__new__(Run)
    run.experiment, run.options = Experiment.of(config()), SimpleNamespace(force=True)
    monkeypatch.setattr(loop, 'make_backend', refuse)
    monkeypatch.setattr(loop, 'device_limit', lambda: 400 * MIB)
    with pytest.raises(UserError, match='612 MiB per device, but a device has 400 MiB; batch_size=130 fits'):
        run._backend()
