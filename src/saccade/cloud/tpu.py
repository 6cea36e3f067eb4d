# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""TPU slices: creation at once or through a queue, waiting, state, connection and deletion.

Which slices, zones and versions there are is Google's to say: they are passed on as they were given.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.cloud.command import Command, CommandRunner
from saccade.cloud.gcloud import NoCapacityError, refusal
from saccade.types import UserError

READY = 'READY'
# As Google names its resources, and what it names them by.
_NAMING = 'https://cloud.google.com/compute/docs/naming-resources'
_NAME = r'[a-z]([-a-z0-9]{0,61}[a-z0-9])?'
_WORD = r'[A-Za-z0-9][A-Za-z0-9_.-]*'
_PROJECT = r'[a-z]([a-z0-9.:-]*[a-z0-9])?'  # older ones have a domain before a colon
_LONGEST = 60 * 24 * 365  # minutes
# Taken away, and never to come back by itself.
_LOST = ('PREEMPTED', 'TERMINATED', 'SUSPENDED')
_STOPPED = ('STOPPED', 'STOPPING', 'HIDDEN', 'HIDING')
# A host that has died is noticed after two minutes, and one that does not answer at all after half a minute.
_CONNECTION = ('-oConnectTimeout=30', '-oServerAliveInterval=30', '-oServerAliveCountMax=4')


@dataclass(frozen=True)
class SliceSpec:
    """Specification of a TPU slice.

    Attributes:
        name: of the TPU, and of the queued resource.
        slice: accelerator type, as v5litepod-16; None where nothing is created.
        version: of the software on its hosts.
        create: more flags for gcloud where it creates, as `--reserved`.
        connect: the same where it connects, as `--internal-ip`.
    """

    name: str
    zone: str
    slice: str | None
    version: str
    project: str | None = None
    spot: bool = False
    create: tuple[str, ...] = ()
    connect: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that each is a name, and nothing that gcloud takes for a flag or a path.

        Raises:
            UserError: one is not.
        """
        names = (
            ('name', self.name, _NAME, f'1 to 63 small letters, digits and hyphens, a letter first ({_NAMING})'),
            ('zone', self.zone, _NAME, 'a zone is written as us-west4-a'),
            ('slice', self.slice, _WORD, 'a type is written as v5litepod-16'),
            ('runtime_version', self.version, _WORD, 'a version is written as v2-alpha-tpuv5-lite'),
            ('project', self.project, _PROJECT, 'a project is written as my-project-123'),
        )
        for flag, value, form, right in names:
            if value is not None and not re.fullmatch(form, value):
                raise UserError(f'--{flag}={value}: {right}')


@dataclass(frozen=True)
class Found:
    """Existing TPU: its state, its accelerator type, how many hosts it has, and why it failed; None where not told."""

    state: str
    slice: str | None = None
    hosts: int | None = None
    why: str | None = None


@dataclass(frozen=True)
class RetryPolicy:
    """Retry policy. Attributes: minutes for a TPU to be ready; times it may be lost; seconds between two looks.

    Raises:
        UserError: the minutes are no number of them.
    """

    minutes: float
    restarts: int
    seconds: float = 15.0

    def __post_init__(self) -> None:
        if not 0 <= self.minutes <= _LONGEST:
            raise UserError(f'--wait_minutes={self.minutes:g}: give minutes, from 0 to {_LONGEST:,}, which is a year')


class TPU:
    """TPU VM, created at once or not at all."""

    def __init__(self, wanted: SliceSpec) -> None:
        self.wanted = wanted

    def look(self) -> Command:
        """Return the command that describes the TPU."""
        return self._about('see what stands', 'tpu-vm', 'describe', '--format=json')

    def create(self) -> Command:
        """Return the command that creates the TPU."""
        wanted = self.wanted
        version = (f'--accelerator-type={wanted.slice}', f'--version={wanted.version}')
        return self._about('create the TPU', 'tpu-vm', 'create', *version, *self._terms())

    def delete(self) -> Command:
        """Return the command that deletes the TPU."""
        return self._about('delete the TPU', 'tpu-vm', 'delete')

    def rehearsed(self) -> Mapping[Command, Any]:
        """What gcloud answers of a TPU that is ready."""
        return {self.look(): {'state': READY}}

    def find(self, runner: CommandRunner) -> Found | None:
        """Look what stands.

        Raises:
            UserError: gcloud does not say.
        """
        told = runner.ask(self.look())
        if told is None:
            return None
        hosts = len(told['networkEndpoints']) if 'networkEndpoints' in told else None
        return Found(told['state'], told.get('acceleratorType'), hosts)

    def on_workers(self, purpose: str, script: str) -> Command:
        """Have every host run a line of shell, and wait for all."""
        flags = (*self._connection('--ssh-flag'), f'--command={script}')
        return self._about(purpose, 'tpu-vm', 'ssh', *flags)

    def to_workers(self, purpose: str, file: str, name: str) -> Command:
        """Copy a file into the home folder of every host."""
        words = ('gcloud', 'compute', 'tpus', 'tpu-vm', 'scp', file, f'{self.wanted.name}:{name}')
        return Command(purpose, (*words, *self._where(), *self._connection('--scp-flag')))

    def _connection(self, flag: str) -> tuple[str, ...]:
        return ('--worker=all', *(f'{flag}={option}' for option in _CONNECTION), *self.wanted.connect)

    def _about(self, purpose: str, kind: str, verb: str, *flags: str) -> Command:
        return Command(purpose, ('gcloud', 'compute', 'tpus', kind, verb, self.wanted.name, *self._where(), *flags))

    def _where(self) -> tuple[str, ...]:
        project = (f'--project={self.wanted.project}',) if self.wanted.project else ()
        return (f'--zone={self.wanted.zone}', *project, '--quiet')

    def _terms(self) -> tuple[str, ...]:
        return (*(('--spot',) if self.wanted.spot else ()), *self.wanted.create)


class QueuedTPU(TPU):
    """TPU VM that a queued resource of the same name creates, when its turn comes."""

    def look(self) -> Command:
        """Return the command that describes the queued resource."""
        return self._about('see how far the queue is', 'queued-resources', 'describe', '--format=json')

    def create(self) -> Command:
        """Return the command that creates the queued resource."""
        wanted = self.wanted
        node = (f'--node-id={wanted.name}', f'--accelerator-type={wanted.slice}', f'--runtime-version={wanted.version}')
        return self._about('put the TPU in the queue', 'queued-resources', 'create', *node, *self._terms())

    def delete(self) -> Command:
        """Return the command that deletes the queued resource and the TPU."""
        return self._about('delete the TPU and its place in the queue', 'queued-resources', 'delete', '--force')

    def rehearsed(self) -> Mapping[Command, Any]:
        """Return what gcloud answers of a queued resource whose TPU is ready."""
        return {self.look(): {'state': {'state': 'ACTIVE'}}, **TPU(self.wanted).rehearsed()}

    def find(self, runner: CommandRunner) -> Found | None:
        """Return what stands: the TPU once its queued resource is active, else the resource; None without one.

        Raises:
            UserError: gcloud does not say.
        """
        told = runner.ask(self.look())
        if told is None:
            return None
        state = told['state']
        if state['state'] == 'ACTIVE':
            return TPU(self.wanted).find(runner) or Found(state['state'])
        return Found(state['state'], why=state.get('failedData', {}).get('error', {}).get('message'))


def bring_up(
    tpu: TPU, runner: CommandRunner, retry: RetryPolicy, say: Callable[[str], None], again: bool = False
) -> Found:
    """Wait until a TPU is ready that stands, or create it. One that was taken away is deleted and created again.

    Args:
        again: it was there before, so wait for it even where there is none to be had at first.

    Raises:
        UserError: it is refused, it is another one than is asked for, or it is not ready in time.
    """
    deadline, last = time.monotonic() + 60 * retry.minutes, None
    while True:
        found = tpu.find(runner)
        _require_usable(tpu, found)
        if found and found.state == READY:
            return found
        state = found.state if found else 'not there'
        left = deadline - time.monotonic()
        if left <= 0:
            raise UserError(
                f'{tpu.wanted.name} is not ready after --wait_minutes={retry.minutes:g}: it is {state}; '
                f'the same command waits on, and this gives it up: {tpu.delete().line}'
            )
        if state != last:
            say(f'{tpu.wanted.name} is {state}')
            last = state
        made = False
        if found is None or found.state in _LOST:
            made = _make(tpu, found, runner, left, again)
        if not made:
            time.sleep(min(retry.seconds, left))


def require_done(runner: CommandRunner, command: Command, seconds: float | None = None) -> None:
    """Run a command of gcloud's own; one that takes longer than so many seconds is ended, and no more is said of it.

    Raises:
        UserError: it is refused.
    """
    ended = runner.do(command, seconds)
    if ended.status > 0:  # below, it is the signal that ended it
        raise refusal(ended)


def _require_usable(tpu: TPU, found: Found | None) -> None:
    wanted = tpu.wanted
    if found and found.slice not in (None, wanted.slice):
        raise UserError(f'{wanted.name} stands, and is a {found.slice}: choose another --name, or delete it')
    if found and found.state in _STOPPED:
        raise UserError(f'{wanted.name} is {found.state}: start it or delete it, or choose another --name')
    if found and found.state == 'FAILED':
        raise UserError(
            f'{wanted.name} could not be had, and must be deleted: {found.why or "gcloud does not say why"}'
        )


def _make(tpu: TPU, found: Found | None, runner: CommandRunner, seconds: float, again: bool) -> bool:
    """Create a TPU in place of what was found; return whether there was capacity for one."""
    if found:
        require_done(runner, tpu.delete(), seconds)
    try:
        require_done(runner, tpu.create(), seconds)
    except NoCapacityError:
        if not again:
            raise
        return False
    return True
