# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Suggested next steps after a run, as commands that can be pasted."""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.build import build
from saccade.data.tokenizer.file import find_tokenizer, open_tokenizer
from saccade.train.config import PREFIX, load_config
from saccade.train.experiment import Experiment
from saccade.train.program import program_digest
from saccade.train.setup import ExperimentCost
from saccade.train.trained import param_shapes
from saccade.train.workdir import absolute
from saccade.trust import foreign
from saccade.types import UserError

_LABEL = 15  # columns
_SHORT = 3  # letters of a word that says little
_OBEYED = set('"$`\\!')  # what a shell obeys inside double quotes
# Parts that another run could have instead, by field: chosen for what the comparison shows, of all that would fit.
SWAPS = (
    ('model.**.mixer.position', 'position.alibi:ALiBi'),
    ('model.**.mixer.position', 'position.rotary:Rotary'),
    ('model.**.mixer.kernel', 'attention.plain:Plain'),
    ('model.**.attention.score', 'recurrent.score.general:General'),
    ('model.**.attention.score', 'recurrent.score.dot:Dot'),
    ('model.**.norm', 'norm.rms:RMSNorm'),
)
_FITS: dict[tuple[str, ...], bool] = {}  # of this process: runs of one program share the result, which takes a trace


@dataclass(frozen=True)
class Launched:
    """Launch of a run: its command line.

    Attributes:
        path: of the experiment's file, from which the config was made together with the overrides.
        workdir: the run's folder, as given.
        overrides: of the form --config.FIELD=VALUE.
        flags: other flags that such a run needs, as --trust=my_lab:Mine.
        extensions: steps added to the run, of the form --extend=WAY:STEPS.
    """

    path: str
    workdir: str
    overrides: Sequence[str] = ()
    flags: Sequence[str] = ()
    extensions: Sequence[str] = ()

    def command(self, workdir: str, *further: str) -> str:
        """Return the command that trains in a folder, with further arguments."""
        files = f'--config={self.path}', *self.flags, *self.overrides, f'--workdir={workdir}'
        return quoted(_python(), 'launch/train.py', *files, *further)


def what_next(launched: Launched, config: Mapping[str, Any]) -> list[str]:
    """Return suggested commands after a finished run, commands of its task included.

    Args:
        config: resolved config of the run.
    """
    then = getattr(build(config['task'], 'config.task')(), 'then', {})
    then = {what: command for what, command in then.items() if '{inputs}' not in command or _has_examples(config)}
    modules = foreign({name: held for name, held in config.items() if name != 'logging'})
    opening = quoted(f'--workdir={launched.workdir}', *([f'--trust={",".join(modules)}'] if modules else []))
    python, more = quoted(_python()), f'--extend=rewarmed:{config["steps"]}'
    commands = {
        'continue it': launched.command(launched.workdir, *launched.extensions, more),
        **{what: f'{python} {_with_examples(command, launched, config)} {opening}' for what, command in then.items()},
        'evaluate it': f'{python} launch/evaluate.py {opening}',
        **_swapped(launched, config),
    }
    return [
        f'The run is in {launched.workdir}. What to try next:',
        *(f'  {what:<{_LABEL}} {command}' for what, command in commands.items()),
    ]


def _has_examples(config: Mapping[str, Any]) -> bool:
    """Return True if the data make examples of new texts."""
    return hasattr(build(config['data'], 'config.data')(), 'example')


def _with_examples(command: str, launched: Launched, config: Mapping[str, Any]) -> str:
    """Return a command of a task with {inputs}, {prompt}, {text(s)} and {nearest} replaced by flags of this run."""
    sample, examples = config.get('sample') or {}, []
    if '{inputs}' in command:
        examples = [*getattr(build(config['data'], 'config.data')(), 'example', {}).items()]
    if '{prompt}' in command and sample.get('prompt'):
        examples = [('prompt', sample['prompt'])]
    if '{text}' in command:
        examples = [('text', sample.get('text') or 'This is a text.')]
    if '{texts}' in command:
        tokenizer = build(config['data']['tokenizer'], 'config.data.tokenizer')()
        examples = [('text', text) for text in getattr(tokenizer, 'examples', ('Return a list.', 'Close the file.'))]
    if '{nearest}' in command:
        examples = [('nearest', _frequent_word(absolute(launched.workdir)))]
    flags = quoted(*(f'--{name}={example}' for name, example in examples))
    return re.sub(r'\{\w+\}', lambda _: flags, command).strip()


def _frequent_word(folder: Path) -> str:
    """Return a frequent word of several letters: vocabularies begin with the most frequent words."""
    file = find_tokenizer(folder)
    numbers = open_tokenizer(file).backend.get_vocab() if file else {}
    words = (word for word in sorted(numbers, key=numbers.__getitem__) if len(word) > _SHORT and word.isalpha())
    return next(words, 'value')


def _swapped(launched: Launched, config: Mapping[str, Any]) -> dict[str, str]:
    """The same run with one part changed: the first of SWAPS that makes a difference and that the model can have."""
    for field, part in SWAPS:
        override, word = f'{PREFIX}{field}={ {"use": part} }', part.rpartition(':')[2].lower()
        try:
            changed = load_config(launched.path, [*launched.overrides, override])
            if changed['model'] != config['model'] and _fits(changed, config):
                return {'change a part': launched.command(f'{launched.workdir}-{word}', override)}
        except UserError:
            continue
    return {}


def _fits(changed: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Return True if a changed config can be trained, from the same initial weights if the run has some."""
    weights = (str(config.get(name)) for name in ('init_from', 'init_part', 'inherit', 'adapt'))
    asked = program_digest(changed), program_digest(config), *weights
    if asked not in _FITS:
        try:
            experiment = Experiment.of(changed)
            ExperimentCost.of(experiment)
            _FITS[asked] = not experiment.init_from or param_shapes(experiment) == param_shapes(Experiment.of(config))
        except UserError:  # its parts do not fit each other
            _FITS[asked] = False
    return _FITS[asked]


def quoted(*words: str) -> str:
    """Quote words for a shell; a word with single quotes, as in a part, goes in double quotes if these are safe."""
    return ' '.join(f'"{word}"' if "'" in word and not _OBEYED & set(word) else shlex.quote(word) for word in words)


def _python() -> str:
    """Return the path of the interpreter, as a user would type it in this folder."""
    return os.path.relpath(sys.executable) if Path(sys.executable).is_relative_to(Path.cwd()) else 'python'
