# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of two hosts on this one, for as long as tests need it.

Each host is a namespace with a name and a list of hosts of its own; nothing of the system is changed.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOSTS = ('n1', 'n2')
_PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'scancel', 'unshare')
_CONFIG = """
ClusterName=tests
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool_%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd_%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd_%n.log
NodeName=n1 NodeAddr=127.0.0.1 Port={first} CPUs=2
NodeName=n2 NodeAddr=127.0.0.1 Port={second} CPUs=2
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP
"""


def missing() -> str:
    """What there is not that the cluster needs; nothing where it can be had."""
    lacking = [program for program in _PROGRAMS if shutil.which(program, path=_path()) is None]
    if lacking:
        return f'Slurm is not installed: there is no {lacking[0]}'
    if os.geteuid() != 0:
        return "Slurm's hosts are made by root alone"
    named = subprocess.run(['unshare', '--uts', '--mount', 'hostname', HOSTS[0]], capture_output=True, check=False)
    return '' if named.returncode == 0 else 'no namespace can be made here'


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Start a cluster with its files in a folder; what it gives is the environment in which commands find it."""
    environment = {'SLURM_CONF': str(folder / 'slurm.conf'), 'PATH': _path()}
    started = {**os.environ, **environment}
    try:
        _start(folder, started)
        yield environment
    finally:
        subprocess.run(['scancel', '--user=root'], env=started, capture_output=True, check=False)
        for file in folder.glob('*.pid'):
            subprocess.run(['kill', file.read_text().strip()], capture_output=True, check=False)


def _start(folder: Path, environment: dict[str, str]) -> None:
    controller, first, second = _free_ports(3)
    text = _CONFIG.format(folder=folder, controller=controller, first=first, second=second)
    (folder / 'slurm.conf').write_text(text)
    (folder / 'hosts').write_text(f'127.0.0.1 localhost {" ".join(HOSTS)} {socket.gethostname()}\n')
    (folder / 'munge.key').write_bytes(os.urandom(1024))
    (folder / 'munge.key').chmod(0o400)
    (folder / 'state').mkdir()
    files = (f'--{name}={folder}/munge.{end}' for name, end in _MUNGE.items())
    _run(['munged', '--force', *files], environment)
    _run(['slurmctld'], environment)
    for host in HOSTS:
        start = f'mount --bind {folder}/hosts /etc/hosts && hostname {host} && exec slurmd'
        _run(['unshare', '--uts', '--mount', 'sh', '-c', start], environment)
    _await_idle(environment)


_MUNGE = {'socket': 'socket', 'key-file': 'key', 'pid-file': 'pid', 'log-file': 'log', 'seed-file': 'seed'}


def _run(command: list[str], environment: dict[str, str]) -> None:
    # To a file, not a pipe: what becomes a daemon keeps it open.
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _await_idle(environment: dict[str, str]) -> None:
    for _ in range(60):
        asked = ['sinfo', '--noheader', '--Node', '--format=%T']
        states = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False).stdout.split()
        if states == ['idle'] * len(HOSTS):
            return
        time.sleep(0.5)
    raise TimeoutError(f'the hosts of the cluster are {states}')


def _free_ports(count: int) -> list[int]:
    listeners = [socket.create_server(('127.0.0.1', 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def _path() -> str:
    """Where root's programs are found too."""
    return f'{os.environ["PATH"]}:/usr/sbin:/sbin'
