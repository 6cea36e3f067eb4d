# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What JAX's runtime is told of the processes of a run, and what is said where it finds none."""

import os
import signal
import time
import warnings

import jax
import pytest

from saccade.train.process import processes
from saccade.train.process.processes import STOPS, Meeting, Stop, stop_signal
from saccade.types import UserError


@pytest.fixture
def told(monkeypatch):
    """What `jax.distributed.initialize` is called with, in its place."""
    calls = []
    monkeypatch.setattr(jax.distributed, 'initialize', lambda *given, **named: calls.append((given, named)))
    monkeypatch.setattr(jax.distributed, 'shutdown', lambda: None)
    monkeypatch.delenv('JAX_PLATFORMS')
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '0,1,2,3')
    return calls


@pytest.mark.parametrize(('tasks', 'hosts', 'ours'), [('2', '2', range(4)), ('8', '2', None), (None, None, None)])
def test_a_process_alone_on_its_host_has_all_its_gpus(told, monkeypatch, tasks, hosts, ours):
    for name, value in (('SLURM_NTASKS', tasks), ('SLURM_STEP_NUM_NODES', hosts)):
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    with Meeting().joined():
        pass
    ((given, named),) = told
    assert given == (None, None, None)
    assert named['local_device_ids'] == ours


def test_where_the_processes_meet_can_be_said(told):
    with Meeting('host:1234', 4, 3).joined():
        pass
    ((given, named),) = told
    assert given == ('host:1234', 4, 3)
    assert named['heartbeat_timeout_seconds'] < 60  # a lost process is noticed within a minute


@pytest.mark.parametrize(
    ('error', 'words'),
    [
        (ValueError('coordinator_address should be defined.'), '--distributed: no Slurm step'),
        (jax.errors.JaxRuntimeError('DEADLINE_EXCEEDED: in vain\nmore'), 'did not meet: DEADLINE_EXCEEDED: in vain'),
    ],
)
def test_processes_that_do_not_meet_are_one_line(told, monkeypatch, error, words):
    def fails(*given, **named):
        raise error

    monkeypatch.setattr(jax.distributed, 'initialize', fails)
    with pytest.raises(UserError, match=words) as refusal, Meeting('host:1', 2, 0).joined():
        pass
    assert '\n' not in str(refusal.value)


@pytest.mark.parametrize(
    ('meeting', 'words'),
    [
        (('localhost:abc', 2, 0), r'^--coordinator=localhost:abc: write HOST:PORT, as node1:1234$'),
        (('localhost', 2, 0), '^--coordinator=localhost: '),
        (('localhost:70000', 2, 0), '^--coordinator=localhost:70000: '),
        (('a b:1', 2, 0), '^--coordinator=a b:1: '),
        (('node1:1234', 2, 2), '^--process=2: must be from 0 to 1 with --processes=2$'),
    ],
)
def test_a_meeting_that_jax_would_abort_on_is_refused(meeting, words):
    with pytest.raises(UserError, match=words):
        Meeting(*meeting)


@pytest.mark.parametrize('coordinator', ['node1:1234', '10.0.0.1:8476', '[::1]:1234', None])
def test_a_coordinator_is_a_host_and_a_port(coordinator):
    assert Meeting(coordinator, 2, 1).coordinator == coordinator


@pytest.mark.parametrize('number', STOPS)
def test_any_signal_that_ends_a_process_asks_it_to_stop(number):
    before = signal.getsignal(number)
    with stop_signal() as stopped:
        assert not stopped()
        signal.raise_signal(number)
        assert stopped()
    assert signal.getsignal(number) == before


def test_a_process_of_its_own_stops_when_it_is_told_to(capfd):
    before = signal.getsignal(signal.SIGUSR1), signal.set_wakeup_fd(-1)
    with Stop().heard() as stop, stop.training() as stopped:
        assert not stopped(3)
        assert not stop.now()
        signal.raise_signal(signal.SIGUSR1)
        assert stopped(4)
        assert stop.now()
        until = time.monotonic() + 20
        while not (said := capfd.readouterr().err) and time.monotonic() < until:
            time.sleep(0.01)
        assert said == 'SIGUSR1: stopping after this step or batch; the training state will be saved\n'
    assert (signal.getsignal(signal.SIGUSR1), signal.set_wakeup_fd(-1)) == before


def test_a_signal_to_a_fork_is_not_answered_by_the_process_that_it_comes_from(capfd):
    with Stop().heard() as stop, stop.training():
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # JAX's, of threads
            other = os.fork()
        if not other:
            signal.raise_signal(signal.SIGUSR1)
            os._exit(0)
        os.waitpid(other, 0)
        time.sleep(0.2)
        assert not stop.now()
    assert capfd.readouterr().err == ''


@pytest.mark.long
def test_a_folder_that_hosts_do_not_share_is_said_so(monkeypatch, tmp_path):
    monkeypatch.setattr(jax, 'process_count', lambda: 2)
    monkeypatch.setattr(processes.multihost_utils, 'sync_global_devices', lambda name: None)
    monkeypatch.setattr(processes, '_SEEN_WITHIN', 0.1)
    with pytest.raises(UserError, match='a disk that all hosts share'):
        processes.require_shared(tmp_path / 'config.json')
    (tmp_path / 'config.json').touch()
    processes.require_shared(tmp_path / 'config.json')
