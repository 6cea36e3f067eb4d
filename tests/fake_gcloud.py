# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A gcloud that hires nothing: it notes each call down, answers as it is told to, and where it is told so runs what is
for the hosts of a slice on this machine, each host a home folder of its own.

Imported, it is what tells it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ANSWERS, CALLS, BUCKETS = 'answers.json', 'calls.jsonl', 'buckets'
NOT_THERE = {
    'status': 1,
    'err': "ERROR: (gcloud.compute.tpus.tpu-vm.describe) NOT_FOUND: Resource 'projects/p/nodes/n' was not found.",
}
GCLOUD = f'#!/usr/bin/env bash\nexec {sys.executable} -IS {Path(__file__).resolve()} "$@"\n'
# What stands in for a host's Python and for gcsfuse: nothing is installed, and no bucket is mounted.
PYTHON = f"""#!/usr/bin/env bash
case "$1 $2" in
  '-c '*) ;;
  '-m venv') mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  '-m pip') echo "$@" >> "$HOME/pip" ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
GCSFUSE = '#!/usr/bin/env bash\necho "$@" >> "$HOME/gcsfuse"\n'


@dataclass(frozen=True)
class FakeGcloud:
    """Attributes: its folder, where its answers, its calls and the hosts' home folders lie."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> 'FakeGcloud':
        """Put one into a folder."""
        programs = folder / 'bin'
        programs.mkdir(parents=True)
        for name, text in (('gcloud', GCLOUD), ('python3.13', PYTHON), ('gcsfuse', GCSFUSE)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (folder / ANSWERS).write_text('{}')
        return cls(folder)

    @property
    def environment(self) -> dict[str, str]:
        """What finds it."""
        path = f'{self.folder / "bin"}{os.pathsep}{os.environ["PATH"]}'
        return {'PATH': path, 'FAKE_GCLOUD': str(self.folder)}

    def answer(self, **answers: Sequence[Any]) -> None:
        """Give answers to calls, by what is asked: one after another, and the last from then on.

        A state is that of a TPU that is described, or None where there is none; a number is an exit status; a dict has
        `status`, `out` and `err`, and `before`, shell that is run on the first host; `True` runs what is for the hosts.
        """
        path = self.folder / ANSWERS
        path.write_text(json.dumps({**json.loads(path.read_text()), **answers}))

    def calls(self) -> list[list[str]]:
        """Every call, in order, save that what was repeated at once stands once."""
        path = self.folder / CALLS
        calls = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [call for number, call in enumerate(calls) if number == 0 or call != calls[number - 1]]

    def asked(self) -> list[str]:
        """What the calls ask, as `answer` names it."""
        return [asked(call[1:]) for call in self.calls()]

    def home(self, host: int = 0) -> Path:
        return home(self.folder, host)


def asked(arguments: Sequence[str]) -> str:
    """Name what is asked: the verb, or what worker.sh is to do; of a queued resource with `queue_` before it."""
    kind, verb = arguments[2], arguments[3]
    if verb == 'ssh':
        command = flag(arguments, 'command').split('worker.sh ')[-1]
        return command.split()[0]
    return f'queue_{verb}' if kind == 'queued-resources' else verb


def flag(arguments: Sequence[str], name: str) -> str:
    return next(each.partition('=')[2] for each in arguments if each.startswith(f'--{name}='))


def home(folder: Path, host: int) -> Path:
    return folder / f'host-{host}'


def main(folder: Path, arguments: list[str]) -> int:
    with (folder / CALLS).open('a') as calls:
        print(json.dumps(['gcloud', *arguments]), file=calls)
    told = json.loads((folder / ANSWERS).read_text())
    reply = next_reply(folder, told, asked(arguments))
    if reply is True:
        return on_hosts(folder, told.get('hosts', 1), arguments)
    if isinstance(reply, int):
        reply = {'status': reply}
    if reply is None:
        reply = NOT_THERE
    if isinstance(reply, str):
        reply = {'out': json.dumps(described(reply, arguments, told.get('hosts', 1)))}
    if 'before' in reply:
        subprocess.run(['bash', '-c', reply['before']], cwd=home(folder, 0), env=environment(folder, 0), check=True)
    if arguments[3] == 'delete' and not reply.get('status'):
        forget(folder, told.get('hosts', 1))
    print(reply.get('out', ''))
    print(reply.get('err', ''), file=sys.stderr)
    return reply.get('status', 0)


def next_reply(folder: Path, told: dict[str, Any], name: str) -> Any:
    """The next answer to what is asked; without any it goes well."""
    replies = told.get(name, [0])
    count = folder / f'count-{name}'
    number = int(count.read_text()) if count.exists() else 0
    count.write_text(str(number + 1))
    return replies[min(number, len(replies) - 1)]


def described(state: str, arguments: Sequence[str], hosts: int) -> dict[str, Any]:
    """What gcloud tells of a queued resource, or of a TPU."""
    if arguments[2] == 'queued-resources':
        failed = {'failedData': {'error': {'message': 'no such luck'}}} if state == 'FAILED' else {}
        return {'state': {'state': state, **failed}}
    return {'state': state, 'acceleratorType': 'v5litepod-16', 'networkEndpoints': [{}] * hosts}


def on_hosts(folder: Path, hosts: int, arguments: Sequence[str]) -> int:
    """Do on every host what ssh and scp would, all at once, and speak of it as gcloud does."""
    for host in range(hosts):
        home(folder, host).mkdir(exist_ok=True)
    if arguments[3] == 'scp':
        for host in range(hosts):
            shutil.copy(arguments[4], home(folder, host) / arguments[5].partition(':')[2])
        return 0
    command = ['bash', '-c', flag(arguments, 'command')]
    running = [
        subprocess.Popen(command, cwd=home(folder, host), env=environment(folder, host)) for host in range(hosts)
    ]
    for host, process in enumerate(running):
        if process.wait() and hosts > 1:
            print(
                f'##### Command execution on worker {host} failed with exit status {process.returncode}. Continuing.',
                file=sys.stderr,
            )
    return next((process.returncode for process in running if process.returncode), 0)


def environment(folder: Path, host: int) -> dict[str, str]:
    return {**os.environ, 'HOME': str(home(folder, host)), 'HOSTNAME': f't1v-n-0-w-{host}'}


def forget(folder: Path, hosts: int) -> None:
    """Lose what the hosts hold, save what lies in a bucket."""
    for host in range(hosts):
        for path in home(folder, host).glob('saccade/*'):
            if path.name != BUCKETS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == '__main__':
    sys.exit(main(Path(os.environ['FAKE_GCLOUD']), sys.argv[1:]))
