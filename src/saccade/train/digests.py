# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Digests of the processor and of the data of a run, stored in digests.json and compared before use.

A run is not resumed with another processor (such as a tokenizer) or on other data, and a model is used only with its
own processor. It may be evaluated on other data, with a warning.
"""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import jax

from saccade.data.corpus.record_files import MissingColumnError
from saccade.paths import read_text
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.workdir import Workdir, write_atomically
from saccade.types import Data, Prepared, Processor, UserError

_LOG = logging.getLogger(__name__)


def verified(workdir: Workdir) -> Path:
    """Return the folder of a run after verifying the files of its processor; a new run has none.

    Raises:
        UserError: a file has changed since training, or is missing.
    """
    written, there = _read(workdir), _processor(workdir)
    for name in sorted({*written['processor'], *there}) if written else ():
        if there.get(name) != written['processor'].get(name):
            wrong = 'is not the one that the run was trained with' if name in there else 'is missing'
            raise UserError(f'{workdir.path / name}: {wrong}: put back the file that training wrote')
    return workdir.path


def require_same_data(workdir: Workdir, experiment: Experiment, prepared: Prepared) -> None:
    """Check that the data of a run are the same as at its first start.

    Raises:
        UserError: the data have changed; the message has the known differences.
    """
    change = _change(workdir, experiment, prepared)
    if change:
        raise UserError(f'{change}; restore them to resume, or train in another folder')


def prepare_again(workdir: Workdir, experiment: Experiment) -> Prepared:
    """Prepare the data of a run for evaluation. Warn if they have changed since training.

    Args:
        experiment: the run's, or the same at another length.

    Raises:
        UserError: the data are missing, or the processor is not the run's.
    """
    prepared = prepare_other(workdir, experiment)
    change = _change(workdir, experiment, prepared)
    if change:
        _LOG.warning('%s; the present data are used', change)
    return prepared


def prepare_other(workdir: Workdir, experiment: Experiment) -> Prepared:
    """Prepare an experiment's data, the run's own or others, with the processor of the run.

    Raises:
        UserError: the data are missing, or the processor is not the run's.
    """
    data = experiment.data()
    return prepare(data, data.open_processor(verified(workdir)))


def prepare(data: Data, processor: Processor | None = None) -> Prepared:
    """Prepare data in the cache.

    Raises:
        UserError: the data cannot be read; if a column is missing, the message has the field of the config to set.
    """
    try:
        return data.prepare(cache_folder(), processor)
    except MissingColumnError as error:
        fields = [f'--config.data.{name}' for name, value in vars(data).items() if value == error.column]
        if not fields:
            raise
        columns = 'one of its columns; without a line of names they are 0, 1, ...'
        raise UserError(f'{error}: set {" or ".join(fields)} to {columns}') from error


def keep(workdir: Workdir, prepared: Prepared) -> None:
    """Write the processor, the class names and the digests of a run if they are missing, on process 0.

    Raises:
        UserError: the folder cannot be written to.
    """
    if jax.process_index() > 0 or _read(workdir) is not None:
        return
    if workdir.processor or workdir.checkpoints.exists():
        said = '%s was missing and is written now: earlier changes of the processor or the data cannot be detected'
        _LOG.warning(said, _path(workdir))
    if prepared.processor is not None and not workdir.processor:
        prepared.processor.save(workdir.path)
    names = getattr(prepared.splits['train'], 'names', ())
    if names:
        write_atomically(workdir.classes, json.dumps(names))
    content = {'processor': _processor(workdir), 'data': dict(prepared.source)}
    write_atomically(_path(workdir), json.dumps(content, indent=2) + '\n')


def _path(workdir: Workdir) -> Path:
    return workdir.path / 'digests.json'


def _read(workdir: Workdir) -> dict[str, Any] | None:
    """Return the digests of the first start; None if there are none."""
    path = _path(workdir)
    try:
        content = json.loads(read_text(path))
        return {'processor': dict(content['processor']), 'data': dict(content['data'])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(
            f'{path}: cannot be read ({error!r}): restore it; or delete it, and the next start writes it again'
        ) from error


def _processor(workdir: Workdir) -> dict[str, str]:
    """Return the SHA-256 of the files that convert inputs and labels to numbers: processor and class names."""
    files = [*workdir.processor, workdir.classes]
    try:
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}
    except OSError as error:
        raise UserError(f'cannot read the processor of {workdir.path}: {error}') from error


def _change(workdir: Workdir, experiment: Experiment, prepared: Prepared) -> str:
    """Return a message on how the data differ from the data of the first start; '' if they are equal."""
    written, given = _read(workdir), dict(experiment.data.arguments)
    if written is None or written['data'].get('digest') == prepared.source.get('digest'):
        return ''
    then, now = written['data'], prepared.source
    differing = [name for name in sorted({*then, *now} - {'digest'}) if then.get(name) != now.get(name)]
    shown = [f'{name}: {then.get(name, "none")} then, {now.get(name, "none")} now' for name in differing]
    named = next((f'{field}={given[field]}' for field in ('path', 'name') if given.get(field)), experiment.data.name)
    return (
        f'{workdir.path}: the data ({named}) are not those that the run was trained on: '
        f'{"; ".join(shown) or "the number of examples is equal, but their content differs"}'
    )
