# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weights & Biases log of a run, online, or stored in the run's folder until `wandb sync` sends it.

    --wandb=heads
    --config.logging="[{'use': 'train.log.wandb:WandB', 'project': 'heads', 'mode': 'offline'}]"

A run that continues from a checkpoint keeps its id, which the run's folder stores. W&B drops records of a step that it
has passed; so the axis of every chart is a separate metric `step`, and records of repeated steps have equal values on
it. wandb writes an offline run in blocks of 32 KiB: if the run is killed, the last block is lost, there and nowhere
else.
"""

import html
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from saccade.train.workdir import write_atomically
from saccade.types import Metrics, UserError

__all__ = ['WandB']

FINISH_SECONDS = (
    60.0  # to send what is left when a run ends, less than `CLOSE_SECONDS`; the rest waits for `wandb sync`
)

_USE = 'train.log.wandb:WandB'
_OFFLINE = "; without a network, WANDB_MODE=offline stores the log in the run's folder"


@dataclass
class WandB:
    """Weights & Biases sink, created before compilation: a missing package, login or network is reported at once.

    Attributes:
        project: of W&B, created if it is new.
        entity: the user or team of the project; by default the user's setting.
        name: of the run; by default the name of its folder.
        mode: 'offline' only stores the log in the run's folder; by default the setting of wandb, as by WANDB_MODE.
        group: name of a group of runs.
    """

    project: str
    entity: str | None = None
    name: str | None = None
    mode: Literal['online', 'offline'] | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        self._wandb = _library()
        if not self.project:
            raise UserError('WandB: project: must not be empty')
        with _one_line():
            # The console belongs to the display: W&B would wrap it, to store lines that are in the metrics anyway.
            self._settings = self._wandb.Settings(project=self.project, console='off', finish_timeout=FINISH_SECONDS)
        if (self.mode or self._wandb.setup().settings.mode) == 'online':
            self._require_login()

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        """Start the W&B run, or resume the one whose id the folder keeps.

        Raises:
            UserError: W&B refuses.
        """
        with _one_line():
            kept = folder / 'wandb_id'  # the id of the run in W&B, however often it is resumed
            if not kept.exists():
                write_atomically(kept, secrets.token_hex(8))
            self._run = self._wandb.init(
                id=kept.read_text(encoding='utf-8'),
                resume='allow',
                reinit='create_new',
                dir=folder,
                config=dict(config),
                entity=self.entity,
                name=self.name or folder.name,
                mode=self.mode,
                group=self.group,
                settings=self._settings,
            )
            self._run.define_metric('step')
            self._run.define_metric('*', step_metric='step')

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        """Log the metrics of one step under 'SPLIT/METRIC'.

        Raises:
            UserError: W&B refuses.
        """
        with _one_line():
            self._run.log({'step': step, **{f'{split}/{name}': value for name, value in metrics.items()}})

    def sample(self, step: int, text: str) -> None:
        """Log the model's output at one step as preformatted text.

        Raises:
            UserError: W&B refuses.
        """
        page = f'<pre>{html.escape(text)}</pre>'  # a wandb.Table would be an artifact with a version for each sample
        with _one_line():
            self._run.log({'step': step, 'sample': self._wandb.Html(page, data_is_not_path=True)})

    def close(self) -> None:
        """Finish the W&B run, as failed if an error ends the run.

        Raises:
            UserError: W&B refuses.
        """
        failed = sys.exc_info()[0] is not None  # closed on the way out of an error, so W&B shows the run as failed
        with _one_line():
            self._run.finish(exit_code=int(failed))

    def _require_login(self) -> None:
        """Look for credentials and try them, which takes seconds without a network; never prompt."""
        mode = self._wandb.setup().settings.mode
        self._wandb.setup(self._wandb.Settings(mode='online'))  # otherwise login has no effect with WANDB_MODE=offline
        try:
            with _one_line(_OFFLINE):
                logged_in = self._wandb.login(prompt=False)
        finally:
            self._wandb.setup(self._wandb.Settings(mode=mode))
        if not logged_in:
            raise UserError(f'WandB: not logged in: run `wandb login`, or set WANDB_API_KEY{_OFFLINE}')


def logging_to(project: str, config: Mapping[str, Any]) -> str:
    """Return the override that adds W&B to the sinks of a config, or changes the project of the sink that it has."""
    sinks = [dict(sink) for sink in config.get('logging', ())]
    mine = next((sink for sink in sinks if sink['use'].removeprefix('saccade.') == _USE), {'use': _USE})
    others = [sink for sink in sinks if sink is not mine]
    return f'--config.logging={[*others, mine | {"project": project}]}'


def _library() -> Any:
    try:
        import wandb
    except ModuleNotFoundError:
        raise UserError('WandB: wandb is not installed; pip install -e .[wandb]') from None
    return wandb


@contextmanager
def _one_line(hint: str = '') -> Iterator[None]:
    """Report in one line an error of wandb.

    Raises:
        UserError: in place of wandb's error.
    """
    try:
        yield
    except (_library().Error, OSError) as error:
        raise UserError(f'WandB: {" ".join(str(error).split())}{hint}') from error
