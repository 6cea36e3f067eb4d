# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Suggested next steps after a run, as commands that can be pasted."""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.build import build
from saccade.data.tokenizer.file import find_tokenizer, open_tokenizer
from saccade.train.bucket import is_bucket
from saccade.train.config import PREFIX, overridden
from saccade.train.experiment import Experiment
from saccade.train.initial import param_shapes
from saccade.train.program import program_digest
from saccade.train.setup import ExperimentCost
from saccade.train.workdir import Workdir
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


def what_next(workdir: str, config: Mapping[str, Any]) -> list[str]:
    """Return suggested commands after a finished run, commands of its task included.

    Args:
        workdir: the run's folder, as given.
        config: resolved config of the run, as its folder holds it.
    """
    then = getattr(build(config['task'], 'config.task')(), 'then', {})
    data = build(config['data'], 'config.data')()
    then = {what: command for what, command in then.items() if all(hasattr(data, name) for name in _needed(command))}
    opening = quoted(f'--workdir={workdir}', *_trusting({name: config[name] for name in config if name != 'logging'}))
    training = quoted(f'--workdir={workdir}', f'--extend=rewarmed:{config["steps"]}', *_trusting(config))
    python = quoted(_python())
    commands = {
        'continue it': f'{python} launch/train.py {training}',
        **{what: f'{python} {_with_examples(command, workdir, config)} {opening}' for what, command in then.items()},
        'evaluate it': f'{python} launch/evaluate.py {opening}',
        **_swapped(workdir, config),
    }
    return [
        f'The run is in {workdir}. What to try next:',
        *(f'  {what:<{_LABEL}} {command}' for what, command in commands.items()),
    ]


def _trusting(config: Mapping[str, Any]) -> list[str]:
    """Return the flag that trusts the user's own parts in a config; empty if there are none."""
    names = foreign(config)
    return [f'--trust={",".join(names)}'] if names else []


def _needed(command: str) -> list[str]:
    """Return the attributes of data that a command of a task needs: examples of inputs, a tokenizer of texts."""
    return [name for word, name in (('{inputs}', 'example'), ('{prompt}', 'tokenizer')) if word in command]


def _with_examples(command: str, workdir: str, config: Mapping[str, Any]) -> str:
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
        examples = [('nearest', _frequent_word(Workdir.at(workdir).path))]
    flags = quoted(*(f'--{name}={example}' for name, example in examples))
    return re.sub(r'\{\w+\}', lambda _: flags, command).strip()


def _frequent_word(folder: Path) -> str:
    """Return a frequent word of several letters: vocabularies begin with the most frequent words."""
    file = find_tokenizer(folder)
    numbers = open_tokenizer(file).backend.get_vocab() if file else {}
    words = (word for word in sorted(numbers, key=numbers.__getitem__) if len(word) > _SHORT and word.isalpha())
    return next(words, 'value')


def _swapped(workdir: str, config: Mapping[str, Any]) -> dict[str, str]:
    """The same run with one part changed: the first of SWAPS that makes a difference and that the model can have."""
    for field, part in SWAPS:
        override, word = f'{PREFIX}{field}={ {"use": part} }', part.rpartition(':')[2].lower()
        try:
            changed = overridden(config, [override])
            if changed['model'] == config['model'] or not _fits(changed, config):
                continue
        except UserError:
            continue
        folder = Workdir.at(workdir).path if is_bucket(workdir) else workdir
        files = f'--config={folder}/config.json', *_trusting(config), f'--workdir={workdir}-{word}'
        command = quoted(_python(), 'launch/train.py', *files, override)
        name, weights = field.rpartition('.')[2], config.get('init_from')
        note = f'  # the weights of {weights} were trained with another {name}' if weights else ''
        return {'change a part': f'{command}{note}'}
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
