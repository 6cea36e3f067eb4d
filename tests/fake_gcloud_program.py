# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A gcloud that hires nothing: it notes each call down, answers as it is told to, and where it is told so runs what is
for the hosts of a slice on this machine, each host a home folder of its own.

It is called hundreds of times, so it imports what it may not need where it does.
"""

import json
import os
import sys

ANSWERS, CALLS, BUCKETS = 'answers.json', 'calls.jsonl', 'buckets'
NOT_THERE = {
    'status': 1,
    'err': "ERROR: (gcloud.compute.tpus.tpu-vm.describe) NOT_FOUND: Resource 'projects/p/nodes/n' was not found.",
}


def asked(arguments: list[str]) -> str:
    """Name what is asked: the verb, or what worker.sh is to do; of a queued resource with `queue_` before it."""
    kind, verb = arguments[2], arguments[3]
    if verb == 'ssh':
        command = flag(arguments, 'command').split('worker.sh ')[-1]
        return command.split()[0]
    return f'queue_{verb}' if kind == 'queued-resources' else verb


def flag(arguments: list[str], name: str) -> str:
    return next(each.partition('=')[2] for each in arguments if each.startswith(f'--{name}='))


def home(folder: str, host: int) -> str:
    return f'{folder}/host-{host}'


def main(folder: str, arguments: list[str]) -> int:
    with open(f'{folder}/{CALLS}', 'a') as calls:
        print(json.dumps(['gcloud', *arguments]), file=calls)
    with open(f'{folder}/{ANSWERS}') as answers:
        told = json.load(answers)
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
        import subprocess

        subprocess.run(['bash', '-c', reply['before']], cwd=home(folder, 0), env=environment(folder, 0), check=True)
    if arguments[3] == 'delete' and not reply.get('status'):
        forget(folder, told.get('hosts', 1))
    print(reply.get('out', ''))
    print(reply.get('err', ''), file=sys.stderr)
    return reply.get('status', 0)


def next_reply(folder: str, told: dict, name: str) -> object:
    """The next answer to what is asked; without any it goes well."""
    replies = told.get(name, [0])
    with open(f'{folder}/{CALLS}') as calls:
        number = sum(asked(json.loads(line)[1:]) == name for line in calls) - 1
    return replies[min(number, len(replies) - 1)]


def described(state: str, arguments: list[str], hosts: int) -> dict:
    """What gcloud tells of a queued resource, or of a TPU."""
    if arguments[2] == 'queued-resources':
        failed = {'failedData': {'error': {'message': 'no such luck'}}} if state == 'FAILED' else {}
        return {'state': {'state': state, **failed}}
    return {'state': state, 'acceleratorType': 'v5litepod-16', 'networkEndpoints': [{}] * hosts}


def on_hosts(folder: str, hosts: int, arguments: list[str]) -> int:
    """Do on every host what ssh and scp would, all at once, and speak of it as gcloud does."""
    import shutil
    import subprocess

    for host in range(hosts):
        os.makedirs(home(folder, host), exist_ok=True)
    if arguments[3] == 'scp':
        for host in range(hosts):
            shutil.copy(arguments[4], f'{home(folder, host)}/{arguments[5].partition(":")[2]}')
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


def environment(folder: str, host: int) -> dict[str, str]:
    return {**os.environ, 'HOME': home(folder, host), 'HOSTNAME': f't1v-n-0-w-{host}'}


def forget(folder: str, hosts: int) -> None:
    """Lose what the hosts hold, save what lies in a bucket."""
    import shutil

    for host in range(hosts):
        held = f'{home(folder, host)}/saccade'
        for name in os.listdir(held) if os.path.isdir(held) else []:
            path = f'{held}/{name}'
            if name != BUCKETS:
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


if __name__ == '__main__':
    sys.exit(main(os.environ['FAKE_GCLOUD'], sys.argv[1:]))
