# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweeps whose runs are a small script that leaves behind what training does, and does as it is told."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saccade.sweep.record import Sweep, SweepRun

PATIENCE = 120  # seconds, on a machine that does much else

# A run of some steps. As --config.does it may `wait` in its second step until the sweep's folder holds the file .go,
# `fail` there, or `quit` as if all were well; told to end, it ends after the step as a run does. It keeps count of
# its beginnings in the file `began`, and says in the sweep's folder if it found itself at work twice at a time.
TRAINER = """
import json, os, signal, sys, time

flags = dict(argument[2:].split('=', 1) for argument in sys.argv[1:])
run, steps, does = flags['workdir'], int(flags['config.steps']), flags.get('config.does')
sweep = os.path.dirname(run)
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
with open(f'{run}/began', 'a') as began:
    print(os.getpid(), file=began)
try:
    os.close(os.open(f'{run}/at-work', os.O_CREAT | os.O_EXCL))
except FileExistsError:
    open(f'{sweep}/.twice', 'w').close()

metrics = f'{run}/metrics.jsonl'
done = len([line for line in open(metrics) if 'train' in line]) if os.path.exists(metrics) else 0
with open(metrics, 'a', buffering=1) as log:
    for step in range(done + 1, steps + 1):
        print(json.dumps({'step': step, 'split': 'train', 'loss': 1 / step, 'tokens_per_second': 1234.5}), file=log)
        if step == 2 and does == 'wait':
            patience = 30_000  # looks, lest it outlive a test that has failed
            while patience and not (stopped or os.path.exists(f'{sweep}/.go')):
                time.sleep(0.01)
                patience -= 1
        failed = step == 2 and does == 'fail'
        if stopped or failed or (step == 2 and does == 'quit'):
            break
    else:
        print(json.dumps({'step': steps, 'split': 'validation', 'loss': 0.25}), file=log)
os.remove(f'{run}/at-work')
if failed:
    print('it goes well\\n\\n[bold]no[/] such number')
    sys.exit(3)
"""


@dataclass
class Told:
    """A display that only remembers; `on_say` and `on_change` are done as it is told.

    Attributes:
        said: lines.
        heard: (name, status) of the runs that changed, in order.
    """

    said: list[str] = field(default_factory=list)
    heard: list[tuple[str, str]] = field(default_factory=list)
    on_say: Callable[[], Any] = lambda: None
    on_change: Callable[[SweepRun], Any] = lambda run: None

    def __enter__(self) -> 'Told':
        return self

    def __exit__(self, *exception: Any) -> None:
        pass

    def say(self, text: str) -> None:
        self.said.append(text)
        self.on_say()

    def changed(self, run: SweepRun) -> None:
        self.heard.append((run.name, run.status))
        self.on_change(run)

    def refresh(self, sweep: Sweep) -> None:
        pass


def sweep_of(*does: str, steps: int = 3, **changes: Any) -> Sweep:
    """A sweep of runs a, b, c, ... that do as they are told."""
    runs = tuple(
        SweepRun(name, name, 0, (f'--config.does={what}',), steps) for name, what in zip('abcdefgh', does, strict=False)
    )
    base = {'seed': 0, 'steps': steps, 'model': {'width': 8}}
    fields = {'config': 'my_config.py', 'sweep': 'my_sweep.py', 'title': 'Mine', 'base': base, 'runs': runs}
    return Sweep(**{**fields, 'overrides': (f'--config.steps={steps}',), **changes})


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something to be true."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError('it has not come true')


def trainer(folder: Path) -> tuple[str, ...]:
    """Write the script and return the command of a run, before its flags."""
    script = folder / 'trainer.py'
    script.write_text(TRAINER)
    return sys.executable, '-S', str(script)
