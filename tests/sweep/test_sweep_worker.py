# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Workers: jobs of one program in one process, each as in a process of its own, through failures and kills."""

import fcntl
import json
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pretended import until

from saccade.sweep.engine import Event, Job
from saccade.sweep.local import Local, MachineShare, Worker
from saccade.types import UserError

pytestmark = pytest.mark.long

# A launcher that does what --do says, in Python, and prints what a run may depend on.
LAUNCHER = """
import json, os, pathlib, signal, sys, time
from absl import flags
from saccade.trust import trusted

DO = flags.DEFINE_string('do', '', 'Python.')
WORD = flags.DEFINE_string('word', 'unsaid', 'A word.')
MANY = flags.DEFINE_multi_string('many', [], 'Words.')
SEEN = flags.DEFINE_bool('seen', False, 'Whether.')

def main(overrides):
    state = {
        'pid': os.getpid(),
        'word': WORD.value,
        'many': MANY.value,
        'seen': SEEN.value,
        'present': WORD.present,
        'overrides': overrides,
        'command': sys.orig_argv,
        'arguments': sys.argv,
        'path': sys.path[0],
        'folder': os.getcwd(),
        'handlers': [str(signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)],
        'session': os.getsid(0) == os.getpid(),
        'typed': sys.stdin.read(),
        'trusted': trusted(),
    }
    print(json.dumps(state))
    exec(DO.value, globals())

if __name__ == '__main__':
    from saccade.train.process.main import run_main
    run_main(main)
"""


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


class Lab:
    """Jobs of the launcher above in a folder."""

    def __init__(self, folder):
        self.folder, self.launcher = folder, folder / 'launcher.py'
        self.launcher.write_text(LAUNCHER)
        self.lock = os.open(folder / 'lock', os.O_CREAT | os.O_RDWR)

    def job(self, name, program, do='', *flags):
        command = (sys.executable, str(self.launcher), f'--do={do}', *flags)
        return Job(name, command, self.folder / f'{name}.log', program)

    def engine(self, workers):
        return Local(workers, self.lock)

    def printed(self, name):
        """What the last job of a name printed of itself, and the lines after it."""
        lines = (self.folder / f'{name}.log').read_text().splitlines()
        start = max(at for at, line in enumerate(lines) if line.startswith('--- '))
        return json.loads(lines[start + 1]), lines[start + 2 :]


@pytest.fixture
def workers():
    found = [Worker(MachineShare()), Worker(MachineShare())]
    yield found
    for worker in found:
        if worker.job:
            worker.process.kill()
        worker.end()


def carried_out(engine, *jobs):
    """Carry out jobs, and return their events."""
    for job in jobs:
        engine.submit(job)
    found = []
    until(lambda: found.extend(engine.poll()) or sum(event.exit is not None for event in found) == len(jobs))
    return found


def begun(events):
    return [event.name for event in events if event.exit is None]


def ends(events):
    return {event.name: event.exit for event in events if event.exit is not None}


def test_jobs_of_a_program_share_a_process_and_no_others_do(lab, workers):
    engine = lab.engine(workers[:1])
    jobs = [lab.job('a', 'P'), lab.job('b', 'Q'), lab.job('c', 'P'), lab.job('d', 'Q'), lab.job('e', 'P')]
    events = carried_out(engine, *jobs)
    assert begun(events) == ['a', 'c', 'e', 'b', 'd']  # those of a program one after another
    assert set(ends(events).values()) == {0}
    pids = {name: lab.printed(name)[0]['pid'] for name in 'abcde'}
    assert pids['a'] == pids['c'] == pids['e']
    assert pids['b'] == pids['d'] != pids['a']
    again = lab.engine(workers[:1])  # as of the next round of a search
    assert ends(carried_out(again, lab.job('f', 'Q'))) == {'f': 0}
    assert lab.printed('f')[0]['pid'] == pids['b']


def test_a_free_worker_takes_what_no_other_has(lab, workers):
    jobs = [lab.job(f'{program}{number}', program) for program in 'PQ' for number in range(3)]
    events = carried_out(lab.engine(workers), *jobs)
    assert begun(events)[:2] == ['P0', 'Q0']
    pids = {job.name: lab.printed(job.name)[0]['pid'] for job in jobs}
    assert len({pid for name, pid in pids.items() if name[0] == 'P'} & {pids['Q0'], pids['Q1']}) == 0
    assert len(set(pids.values())) <= 3  # who is first through with its own helps the other


def test_a_job_finds_what_it_would_in_a_process_of_its_own(lab, workers, monkeypatch):
    monkeypatch.setenv('SACCADE_TRUST', '')
    first = lab.job(
        'a',
        'P',
        'os.chdir("/"); print("last")',
        '--word=x',
        '--many=1',
        '--many=2',
        '--seen',
        '--config.a=1',
        '--trust=my_lab:Mine',
    )
    engine = lab.engine(workers[:1])
    second = lab.job('b', 'P', 'print("oh", file=sys.stderr)')
    own = replace(second, name='c', log=lab.folder / 'c.log', program=None)
    carried_out(engine, first, second, own)
    (a, after_a), (b, after_b), (c, after_c) = map(lab.printed, 'abc')
    assert (a['trusted'], b['trusted']) == (['my_lab:Mine'], [])
    assert (a['word'], a['many'], a['seen'], a['overrides']) == ('x', ['1', '2'], True, ['--config.a=1'])
    assert (after_a, sorted(after_b), sorted(after_c)) == (['last'], ['oh'], ['oh'])
    assert b.pop('pid') == a['pid'] != c.pop('pid')
    assert b == c
    assert (b['word'], b['many'], b['seen'], b['present'], b['folder']) == ('unsaid', [], False, 0, os.getcwd())


@pytest.mark.parametrize(
    ('do', 'status', 'said'),
    [
        ('sys.exit(3)', 3, ''),
        ('sys.exit("no such number")', 1, 'no such number'),
        ('raise ValueError("odd")', 1, 'ValueError: odd'),
        ('from saccade.types import UserError; raise UserError("bad")', 2, 'error: bad'),
        ('os.kill(os.getpid(), signal.SIGKILL)', -signal.SIGKILL, ''),
        ('os._exit(143)', 143, ''),
    ],
)
def test_a_run_that_fails_costs_that_run_alone(lab, workers, do, status, said):
    engine = lab.engine(workers[:1])
    events = carried_out(engine, lab.job('a', 'P'), lab.job('b', 'P', do), lab.job('c', 'P'))
    assert begun(events) == ['a', 'b', 'c']
    assert ends(events) == {'a': 0, 'b': status, 'c': 0}
    assert said in (lab.printed('b')[1] or [''])[-1]
    assert lab.printed('a')[0]['pid'] == lab.printed('b')[0]['pid'] != lab.printed('c')[0]['pid']


def test_a_launcher_that_is_not_there_fails_its_jobs(lab, workers):
    lab.launcher.unlink()
    assert ends(carried_out(lab.engine(workers[:1]), lab.job('a', 'P'), lab.job('b', 'P'))) == {'a': 1, 'b': 1}
    assert 'launcher.py' in (lab.folder / 'a.log').read_text()


def test_code_that_has_changed_since_is_not_used(lab, workers):
    module = lab.folder / 'my_part.py'
    module.write_text('SAID = "before"\n')
    engine = lab.engine(workers[:1])
    do = 'import my_part; print(my_part.SAID)'
    carried_out(engine, lab.job('a', 'P', do), lab.job('b', 'P', do))
    module.write_text('SAID = "after"\n')
    events = carried_out(engine, lab.job('c', 'P', do), lab.job('d', 'P', do), lab.job('e', 'P', f'{do}; sys.exit(4)'))
    assert ends(events) == {'c': 0, 'd': 0, 'e': 4}
    assert [lab.printed(name)[1] for name in 'abcde'] == [['before'], ['before'], ['after'], ['after'], ['after']]
    state = lab.printed('c')[0]
    assert state['command'] == list(lab.job('c', 'P', do).command)
    assert lab.printed('d')[0]['pid'] == lab.printed('e')[0]['pid']  # a new worker
    module.unlink()
    assert ends(carried_out(engine, lab.job('f', 'P', do))) == {'f': 1}
    assert 'my_part' in lab.printed('f')[1][-1]


def test_what_code_sets_as_it_is_imported_holds_for_its_program_alone(lab, workers):
    (lab.folder / 'my_part.py').write_text(
        'import os, jax\nos.environ["MINE"] = "x"\njax.config.update("jax_enable_x64", True)'
    )
    shows = 'import jax; print(os.environ.get("MINE"), jax.config.jax_enable_x64)'
    own = f'import my_part; {shows}'
    engine = lab.engine(workers[:1])
    carried_out(engine, lab.job('a', 'P', own), lab.job('b', 'P', own), lab.job('c', 'Q', shows))
    assert [lab.printed(name)[1] for name in 'abc'] == [['x True'], ['x True'], ['None False']]


SAVES = """
stopped = []
before = signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
pathlib.Path(sys.path[0], 'ready').touch()
while not stopped and not pathlib.Path(sys.path[0], 'go').exists(): time.sleep(0.01)
time.sleep(0.2)
pathlib.Path(sys.path[0], 'saved').write_text(str(len(stopped)))
signal.signal(signal.SIGTERM, before)
"""


def test_stop_has_the_run_in_hand_save_and_its_worker_end(lab, workers):
    engine = lab.engine(workers[:1])
    carried_out(engine, lab.job('a', 'P'))
    for name in 'bc':
        engine.submit(lab.job(name, 'P', SAVES))
    assert engine.poll() == [Event('b')]
    until((lab.folder / 'ready').exists)
    assert engine.stop() == [Event('b', 0)]
    assert (lab.folder / 'saved').read_text() == '1'
    assert workers[0].process.poll() == 0
    assert engine.poll() == []
    assert ends(carried_out(engine, lab.job('d', 'P'))) == {'d': 0}


def is_locked(lab):
    """Whether somebody else holds the lock of the runs."""
    with (lab.folder / 'lock').open() as again:
        try:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_worker_whose_launch_has_gone_ends_after_its_run_and_keeps_the_lock_so_long(lab, workers):
    fcntl.flock(lab.lock, fcntl.LOCK_EX)
    engine = lab.engine(workers[:1])
    carried_out(engine, lab.job('a', 'P'))
    engine.submit(lab.job('b', 'P', SAVES))
    engine.poll()
    until((lab.folder / 'ready').exists)
    process = workers[0].process
    workers[0]._jobs.close()  # as the kernel does for a launch that was killed
    os.close(lab.lock)
    assert is_locked(lab)
    (lab.folder / 'go').touch()
    assert process.wait(60) == 0
    assert (lab.folder / 'saved').read_text() == '0'
    assert not is_locked(lab)
    workers[0].job = None


def test_a_worker_without_a_job_holds_no_lock(lab, workers):
    fcntl.flock(lab.lock, fcntl.LOCK_EX)
    engine = lab.engine(workers[:1])
    carried_out(engine, lab.job('a', 'P'))
    os.close(lab.lock)
    assert workers[0].process.poll() is None
    assert not is_locked(lab)


def test_kills_at_any_moment_cost_no_more_than_the_run_in_hand(lab, workers):
    """Each job adds a line to a file as its last act; one that is said to have ended well has done so."""
    draw = random.Random(int(os.environ.get('SACCADE_SEED', '0')))
    engine = lab.engine(workers)
    does = 'time.sleep(0.1); open(sys.path[0] + "/done", "a").write(WORD.value + " ")'
    names = [f'{program}{number}' for number in range(8) for program in 'PQ']
    left, kills, failed = set(names), 10, 0
    while left:
        for name in sorted(left):
            engine.submit(lab.job(name, name[0], does, f'--word={name}'))
        at_work = set(left)
        while at_work:
            events = engine.poll()
            for name, status in ends(events).items():
                at_work.remove(name)
                assert status in (0, -signal.SIGKILL)
                failed += status != 0
                if status == 0:
                    left.remove(name)
            process = workers[draw.randrange(2)].process
            if kills and draw.random() < 0.02 and process and process.poll() is None:
                process.kill()
                kills -= 1
            time.sleep(0.02)
    done = (lab.folder / 'done').read_text().split()
    assert set(done) == set(names)
    assert failed <= 10
    assert len(done) <= len(names) + failed


def test_a_log_that_cannot_be_written_is_the_users_to_mend(lab, workers):
    engine = lab.engine(workers[:1])
    engine.submit(Job('a', lab.job('a', 'P').command, Path('/proc/no/log'), 'P'))
    with pytest.raises(UserError):
        engine.poll()
