# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""TPU slices: creation at once or through a queue, waiting, state, connection and deletion.

Slice types, zones and versions are passed to gcloud unchecked, since Google's lists change.
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
# Google's rules for names of resources.
_NAMING = 'https://cloud.google.com/compute/docs/naming-resources'
_NAME = r'[a-z]([-a-z0-9]{0,61}[a-z0-9])?'
_WORD = r'[A-Za-z0-9][A-Za-z0-9_.-]*'
_PROJECT = r'[a-z]([a-z0-9.:-]*[a-z0-9])?'  # older project ids have a domain before a colon
_LONGEST = 60 * 24 * 365  # minutes
# Lost, and never restored by Google.
_LOST = ('PREEMPTED', 'TERMINATED', 'SUSPENDED')
_STOPPED = ('STOPPED', 'STOPPING', 'HIDDEN', 'HIDING')
# A dead host is noticed after two minutes, an unreachable one after half a minute.
_CONNECTION = ('-oConnectTimeout=30', '-oServerAliveInterval=30', '-oServerAliveCountMax=4')


@dataclass(frozen=True)
class SliceSpec:
    """Specification of a TPU slice.

    Attributes:
        name: name of the TPU, and of the queued resource.
        slice: accelerator type, as v5litepod-16; None where nothing is created.
        version: software version of its hosts.
        create: additional gcloud flags for creation, as `--reserved`.
        connect: additional gcloud flags for connections, as `--internal-ip`.
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
        """Check that each value is a name, which gcloud cannot read as a flag or a path.

        Raises:
            UserError: a value is not a name of its kind.
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
class ExistingTPU:
    """Existing TPU: state, accelerator type, number of hosts, and reason of a failure; None where gcloud omits it."""

    state: str
    slice: str | None = None
    hosts: int | None = None
    why: str | None = None


@dataclass(frozen=True)
class RetryPolicy:
    """Retry policy. Attributes: minutes to wait for a TPU; most restarts after a loss; seconds between two queries.

    Raises:
        UserError: the minutes are negative, not a number, or more than a year.
    """

    minutes: float
    restarts: int
    seconds: float = 15.0

    def __post_init__(self) -> None:
        if not 0 <= self.minutes <= _LONGEST:
            raise UserError(f'--wait_minutes={self.minutes:g}: give minutes, from 0 to {_LONGEST:,} (a year)')


class TPU:
    """TPU VM, created on demand: at once, or with an error."""

    def __init__(self, wanted: SliceSpec) -> None:
        self.wanted = wanted

    def look(self) -> Command:
        """Return the command that describes the TPU."""
        return self._about('describe the TPU', 'tpu-vm', 'describe', '--format=json')

    def create(self) -> Command:
        """Return the command that creates the TPU."""
        wanted = self.wanted
        version = (f'--accelerator-type={wanted.slice}', f'--version={wanted.version}')
        return self._about('create the TPU', 'tpu-vm', 'create', *version, *self._terms())

    def delete(self) -> Command:
        """Return the command that deletes the TPU."""
        return self._about('delete the TPU', 'tpu-vm', 'delete')

    def rehearsed(self) -> Mapping[Command, Any]:
        """Return gcloud's answers for a TPU that is ready."""
        return {self.look(): {'state': READY}}

    def find(self, runner: CommandRunner) -> ExistingTPU | None:
        """Query the TPU; return None where it does not exist.

        Raises:
            UserError: gcloud fails.
        """
        told = runner.ask(self.look())
        if told is None:
            return None
        hosts = len(told['networkEndpoints']) if 'networkEndpoints' in told else None
        return ExistingTPU(told['state'], told.get('acceleratorType'), hosts)

    def on_workers(self, purpose: str, script: str) -> Command:
        """Return the command that runs a shell script on every host and waits for all."""
        flags = (*self._connection('--ssh-flag'), f'--command={script}')
        return self._about(purpose, 'tpu-vm', 'ssh', *flags)

    def to_workers(self, purpose: str, file: str, name: str) -> Command:
        """Return the command that copies a file into the home folder of every host."""
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
    """TPU VM created by a queued resource of the same name, once there is capacity."""

    def look(self) -> Command:
        """Return the command that describes the queued resource."""
        return self._about('describe the queued resource', 'queued-resources', 'describe', '--format=json')

    def create(self) -> Command:
        """Return the command that creates the queued resource."""
        wanted = self.wanted
        node = (f'--node-id={wanted.name}', f'--accelerator-type={wanted.slice}', f'--runtime-version={wanted.version}')
        return self._about('put the TPU in the queue', 'queued-resources', 'create', *node, *self._terms())

    def delete(self) -> Command:
        """Return the command that deletes the queued resource and the TPU."""
        return self._about('delete the TPU and its place in the queue', 'queued-resources', 'delete', '--force')

    def rehearsed(self) -> Mapping[Command, Any]:
        """Return gcloud's answers for a queued resource whose TPU is ready."""
        return {self.look(): {'state': {'state': 'ACTIVE'}}, **TPU(self.wanted).rehearsed()}

    def find(self, runner: CommandRunner) -> ExistingTPU | None:
        """Return the TPU once its queued resource is active, before that the resource; None without either.

        Raises:
            UserError: gcloud fails.
        """
        told = runner.ask(self.look())
        if told is None:
            return None
        state = told['state']
        if state['state'] == 'ACTIVE':
            return TPU(self.wanted).find(runner) or ExistingTPU(state['state'])
        return ExistingTPU(state['state'], why=state.get('failedData', {}).get('error', {}).get('message'))


def bring_up(
    tpu: TPU, runner: CommandRunner, retry: RetryPolicy, say: Callable[[str], None], again: bool = False
) -> ExistingTPU:
    """Wait for an existing TPU to be ready, or create one. A lost TPU is deleted and created again.

    Args:
        again: the TPU existed before, so wait if there is no capacity at first.

    Raises:
        UserError: gcloud fails, the existing TPU is of another type or cannot be used, or it is not ready in time.
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
                f'the same command continues to wait, and this cancels: {tpu.delete().line}'
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
    """Run a command of gcloud's own; one that takes longer than `seconds` is ended without an error.

    Raises:
        UserError: gcloud fails.
    """
    ended = runner.do(command, seconds)
    if ended.status > 0:  # a negative status is the signal that ended it
        raise refusal(ended)


def _require_usable(tpu: TPU, found: ExistingTPU | None) -> None:
    wanted = tpu.wanted
    if found and found.slice not in (None, wanted.slice):
        raise UserError(f'{wanted.name} exists and is a {found.slice}: choose another --name, or delete it')
    if found and found.state in _STOPPED:
        raise UserError(f'{wanted.name} is {found.state}: start it or delete it, or choose another --name')
    if found and found.state == 'FAILED':
        raise UserError(
            f'{wanted.name} could not be created, and must be deleted: {found.why or "gcloud gives no reason"}'
        )


def _make(tpu: TPU, found: ExistingTPU | None, runner: CommandRunner, seconds: float, again: bool) -> bool:
    """Create a TPU, in place of a lost one; return True if there was capacity."""
    if found:
        require_done(runner, tpu.delete(), seconds)
    try:
        require_done(runner, tpu.create(), seconds)
    except NoCapacityError:
        if not again:
            raise
        return False
    return True
