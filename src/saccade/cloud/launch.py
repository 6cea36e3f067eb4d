# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Launch of a run on a TPU slice: create the slice, copy the code, start the training on all hosts, and follow it. If
the slice is preempted, all of it is repeated, and the training resumes from its last checkpoint in the bucket.
"""

import json
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from saccade.cloud.command import Command, CommandResult, CommandRunner, DryRun
from saccade.cloud.gcloud import Gcloud, refusal, refused
from saccade.cloud.pack import files_of
from saccade.cloud.plan import LaunchPlan
from saccade.cloud.tpu import READY, TPU, RetryPolicy, bring_up, require_done
from saccade.types import UserError

# Paths on a host: below the home folder, and relative to the bucket, in which the training runs.
_ARCHIVE = 'saccade.tar.gz'
_CODE, _UNPACKED = 'saccade/code', 'saccade/unpacked'
_SCRIPT = f'{_CODE}/src/saccade/cloud/worker.sh'
_WORKER = f'bash {_SCRIPT}'
_FROM_BUCKET = '../..'
_BUCKET = r'[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]'
# Exit statuses of worker.sh: this training is running, another one is, the host shut the training down.
_AT_WORK, _ANOTHER, _SHUT_DOWN = 75, 76, 143
_INTERRUPTED = 130  # a shell's status for Ctrl-C


@dataclass(frozen=True)
class CloudTraining:
    """Training to launch: the experiment, its folder and its bucket.

    Attributes:
        code: folder that is copied to the hosts.
        config: experiment file, in that folder.
        workdir: the run's folder, in the bucket.
        overrides: flags that override config fields.
        bucket: name of the Cloud Storage bucket that every host mounts.
        environment: NAME=VALUE, the same on every host.
    """

    code: Path
    config: str
    workdir: str
    overrides: tuple[str, ...]
    bucket: str
    environment: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        code: Path,
        config: str,
        workdir: str,
        overrides: Sequence[str],
        bucket: str,
        environment: Sequence[str],
    ) -> 'CloudTraining':
        """Check that the hosts can find the named files.

        Raises:
            UserError: the bucket's name, the workdir or a variable is malformed, or the config is not a copied file.
        """
        bucket = bucket.removeprefix('gs://').rstrip('/')
        if bucket != 'BUCKET' and ('..' in bucket or not re.fullmatch(_BUCKET, bucket)):
            raise UserError(
                f'--bucket={bucket}: give only its name, of small letters, digits, dashes, underscores, dots, with a '
                'letter or a digit first and last (https://cloud.google.com/storage/docs/buckets#naming)'
            )
        path = PurePosixPath(workdir)
        if path.is_absolute() or '..' in path.parts or ':' in workdir or workdir.startswith('~'):
            raise UserError(f'--workdir={workdir}: it is a path in the bucket; write it relative, as runs/a')
        wrong = [each for each in environment if not re.match(r'[A-Za-z_]\w*=', each)]
        if wrong:
            raise UserError(f'--env={wrong[0]}: write NAME=VALUE')
        shipped = _shipped(code, config)
        return cls(code, shipped, workdir, tuple(overrides), bucket, tuple(environment))

    def words(self) -> str:
        """Return the bucket and the command that every host runs in its folder, quoted for a shell."""
        code, python = f'{_FROM_BUCKET}/code', f'{_FROM_BUCKET}/venv/bin/python'
        flags = (f'--config={code}/{self.config}', f'--workdir={self.workdir}', '--distributed', *self.overrides)
        return shlex.join((self.bucket, *self.environment, python, f'{code}/launch/train.py', *flags))


@dataclass(frozen=True)
class LaunchResult:
    """Result of a launch. Attributes: exit status; number of restarts; reason of a failure; True if the TPU exists."""

    status: int = 0
    restarts: int = 0
    why: str | None = None
    tpu_exists: bool = False


class Launch:
    """Launch of a training on a TPU slice, from its creation to its deletion or release to the user."""

    def __init__(self, tpu: TPU, training: CloudTraining, archive: Path, retry: RetryPolicy, keep: bool = True) -> None:
        """Store the parts of a launch.

        Args:
            archive: path of the packed code on this machine.
            keep: keep the slice after the training.
        """
        self.tpu, self.training, self.retry = tpu, training, retry
        self._archive, self._keep = archive, keep
        self._reached, self._restarts = False, 0

    def plan(self) -> LaunchPlan:
        """Return the commands of a first launch without failures."""
        runner = DryRun(self.tpu.rehearsed())
        self._run(runner, lambda text: None)
        again = f'if the TPU is preempted, at most {self.retry.restarts} times; then all commands but the first again'
        besides = {'to have the training save and end': self.stop(), again: self.tpu.delete()}
        if self._keep:
            besides['the TPU still exists at the end, and costs money; to delete it'] = self.tpu.delete()
        return LaunchPlan(runner.commands, tuple(self._missing()), besides)

    def run(self, runner: CommandRunner, say: Callable[[str], Any]) -> LaunchResult:
        """Carry out the launch, and report a TPU that still exists and costs money.

        Raises:
            UserError: a required flag is missing, a setting is wrong, or gcloud fails.
        """
        for flag, why in self._missing().items():
            raise UserError(f'give --{flag}={flag.upper()}, {why}')
        return self._run(runner, say)

    def _missing(self) -> dict[str, str]:
        """Return the flags that only a real launch needs, with their purpose."""
        versions = shlex.join(('gcloud', 'compute', 'tpus', 'versions', 'list', f'--zone={self.tpu.wanted.zone}'))
        needed = {
            'runtime_version': (
                self.tpu.wanted.version,
                f'the software version of its hosts; `{versions}` lists the available ones',
            ),
            'bucket': (self.training.bucket, 'the Cloud Storage bucket of the run, which every host mounts'),
        }
        return {flag: why for flag, (value, why) in needed.items() if value == flag.upper()}

    def _run(self, runner: CommandRunner, say: Callable[[str], Any]) -> LaunchResult:
        require_done(runner, self.pack())
        keep = True
        try:
            status, why = self._attempts(runner, say)
            keep = self._keep
        except KeyboardInterrupt:
            say(
                'Interrupted. A training that has started continues, and the same command follows it again. '
                f'To have it save and end:\n  {self.stop().line}'
            )
            status, why = _INTERRUPTED, None
        finally:
            tpu_exists = self._leave(runner, say, keep)
        return LaunchResult(status, self._restarts, why, tpu_exists)

    def stop(self) -> Command:
        """Return the command that has the training save and end on every host."""
        return self.tpu.on_workers('have the training save and end', f'{_WORKER} stop')

    def _attempts(self, runner: CommandRunner, say: Callable[[str], Any]) -> tuple[int, str | None]:
        """Train until the training ends; return its exit status, and the reason of a failure."""
        while True:
            found = bring_up(self.tpu, runner, self.retry, say, again=self._restarts > 0)
            self._reached = True
            say(f'{self.tpu.wanted.name} is {found.state}{f": {found.hosts} hosts" if found.hosts else ""}')
            ended = self._train(runner, say)
            if ended.status == 0:
                return 0, None
            if not self._lost(runner, ended):
                return _failure(ended)
            if self._restarts == self.retry.restarts:
                return _failure(ended)[0], f'{self.tpu.wanted.name} was lost again after --restarts={self._restarts}'
            self._restarts += 1
            say(f'{self.tpu.wanted.name} is lost: restart {self._restarts} of {self.retry.restarts}')
            time.sleep(self.retry.seconds)  # until Google's API reports the loss too

    def _train(self, runner: CommandRunner, say: Callable[[str], Any]) -> CommandResult:
        """Run every step until the training ends or a step fails."""
        looked = runner.do(self.look())
        if looked.status == _ANOTHER:
            raise UserError(f'{self.tpu.wanted.name} runs another training; end it with: {self.stop().line}')
        if looked.status not in (0, _AT_WORK):
            return looked
        if looked.status == 0:
            for command in (self.ship(), self.prepare(), self.start()):
                ended = runner.do(command)
                if ended.status:
                    return ended
        else:
            say('The training is running already; following it.')
        return runner.do(self.follow())

    def _lost(self, runner: CommandRunner, ended: CommandResult) -> bool:
        """True if the slice failed, rather than the program on it."""
        found = self.tpu.find(runner)
        shut_down = any(status == _SHUT_DOWN for _, status in ended.failures)
        return ended.connection_lost or shut_down or found is None or found.state != READY

    def _leave(self, runner: CommandRunner, say: Callable[[str], Any], keep: bool) -> bool:
        """Delete the TPU unless it is to be kept; report and return whether it still exists."""
        name, delete = self.tpu.wanted.name, self.tpu.delete()
        try:
            found = self.tpu.find(runner)
            if found and not keep:
                require_done(runner, delete)
                say(f'{name} is deleted')
                return False
        except UserError as error:
            if self._reached:
                say(f'{name} may still exist and cost money: {error}. To delete it:\n  {delete.line}')
            return self._reached
        if found:
            say(f'{name} exists ({found.state}) and costs money once ready. To delete it:\n  {delete.line}')
        return found is not None

    def pack(self) -> Command:
        """Return the command that packs the working tree into an archive."""
        python = (sys.executable, '-m', 'saccade.cloud.pack')
        return Command('pack the code', (*python, str(self.training.code), str(self._archive)))

    def look(self) -> Command:
        """Return the command that asks the hosts for a running training."""
        script = f'if [ -e {_SCRIPT} ]; then {_WORKER} look {self.training.words()}; fi'
        return self.tpu.on_workers('see whether the training is running already', script)

    def ship(self) -> Command:
        """Return the command that copies the archive to every host."""
        return self.tpu.to_workers('copy the code to every host', str(self._archive), _ARCHIVE)

    def prepare(self) -> Command:
        """Return the command that unpacks and installs the code and mounts the bucket."""
        unpack = f'rm -rf {_UNPACKED} && mkdir -p {_UNPACKED} && tar -xzf {_ARCHIVE} -C {_UNPACKED}'
        script = f'{unpack} && rm -rf {_CODE} && mv {_UNPACKED} {_CODE} && {_WORKER} prepare {self.training.bucket}'
        return self.tpu.on_workers('unpack the code, install its dependencies and mount the bucket', script)

    def start(self) -> Command:
        """Return the command that starts the training on every host."""
        script = f'{_WORKER} start {self.training.words()}'
        return self.tpu.on_workers('start the training on every host', script)

    def follow(self) -> Command:
        """Return the command that shows the training's output until it ends."""
        return self.tpu.on_workers("show the training's output until it ends", f'{_WORKER} follow')


class Teardown:
    """Teardown: deletion of a slice, even while a program runs on it."""

    def __init__(self, tpu: TPU) -> None:
        self.tpu = tpu

    def plan(self) -> LaunchPlan:
        """Return the plan of the deletion: one command."""
        return LaunchPlan([self.tpu.delete()])

    def run(self, runner: CommandRunner, say: Callable[[str], Any]) -> LaunchResult:
        """Delete the slice.

        Raises:
            UserError: the slice does not exist, or gcloud fails.
        """
        require_done(runner, self.tpu.delete())
        say(f'{self.tpu.wanted.name} is deleted')
        return LaunchResult()


def carry_out(job: Launch | Teardown, as_json: bool) -> int:
    """Run a job with text for people, or with one JSON object at its end for programs; return the exit status.

    Raises:
        UserError: a flag is missing, a setting is wrong, or gcloud fails.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: report a TPU that still exists
    say = partial(print, file=sys.stderr if as_json else sys.stdout, flush=True)
    ending = job.run(Gcloud(say), say)
    if ending.why:
        print(f'error: {ending.why}', file=sys.stderr)
    if as_json:
        print(json.dumps({'name': job.tpu.wanted.name, **asdict(ending)}))
    return ending.status


def rehearse(job: Launch | Teardown, as_json: bool) -> int:
    """Print the commands of `carry_out` without executing them."""
    plan = job.plan()
    print(json.dumps(plan.record()) if as_json else '\n\n'.join(plan.lines()))
    return 0


def name_of(workdir: str) -> str:
    """Return a TPU name derived from the run's folder."""
    return f'saccade-{re.sub("[^a-z0-9]+", "-", PurePosixPath(workdir).name.lower()).strip("-")}'.strip('-')


def _shipped(code: Path, config: str) -> str:
    """Return the path of a config relative to the copied folder."""
    path = Path(config).resolve()
    if path not in {(code / file).resolve() for file in files_of(code)}:
        raise UserError(f'--config={config}: it is not among the copied files: put it into {code}, not ignored by git')
    return path.relative_to(code.resolve()).as_posix()


def _failure(ended: CommandResult) -> tuple[int, str]:
    """Return the exit status of the worker that failed first, or of gcloud, and a message."""
    if refused(ended):
        return ended.status, str(refusal(ended))
    worker, status = ended.failures[0]
    who = 'a host' if worker is None else f'worker {worker}, the first to fail,'
    return status, f'{who} ended with status {status}, told to {ended.command.purpose}; its own output is above'
