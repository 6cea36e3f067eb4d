# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Digests of the processor and of the data of a run, kept in digests.json and compared before use.

A run is not resumed with another processor (a tokenizer, say) or on other data, and no model is used with another
processor than its own. It may be evaluated on other data, which is said.
"""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import jax

from saccade.paths import read_text
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.workdir import Workdir, write_atomically
from saccade.types import Prepared, UserError

_LOG = logging.getLogger(__name__)


def verified(workdir: Workdir) -> Path:
    """Return the folder of a run after verifying the files of its processor; before the first start there are none.

    Raises:
        UserError: a file is not the one that the run was trained with, or is missing.
    """
    written, there = _read(workdir), _processor(workdir)
    for name in sorted({*written['processor'], *there}) if written else ():
        if there.get(name) != written['processor'].get(name):
            wrong = 'is not the one that the run was trained with' if name in there else 'is missing'
            raise UserError(f'{workdir.path / name}: {wrong}: put back the file that training wrote')
    return workdir.path


def require_same_data(workdir: Workdir, experiment: Experiment, prepared: Prepared) -> None:
    """Refuse to train a run on other data than those of its first start.

    Raises:
        UserError: the data have changed; what is known of how is said.
    """
    change = _change(workdir, experiment, prepared)
    if change:
        raise UserError(f'{change}; restore them to resume, or train in another folder')


def prepare_again(workdir: Workdir, experiment: Experiment) -> Prepared:
    """Prepare the data of a run to look at it. Warn if they have changed since it was trained.

    Args:
        experiment: the run's, or the same at another length.

    Raises:
        UserError: the data are gone, or the processor is not the run's.
    """
    prepared = prepare_other(workdir, experiment)
    change = _change(workdir, experiment, prepared)
    if change:
        _LOG.warning('%s; the data that are there now are used', change)
    return prepared


def prepare_other(workdir: Workdir, experiment: Experiment) -> Prepared:
    """Prepare an experiment's data, the run's own or others, with the processor of the run.

    Raises:
        UserError: the data are not there, or the processor is not the run's.
    """
    data = experiment.data()
    return data.prepare(cache_folder(), data.open_processor(verified(workdir)))


def keep(workdir: Workdir, prepared: Prepared) -> None:
    """Write the processor, the names of classes and the digests of a run where they are missing; process 0 does.

    Raises:
        UserError: the folder cannot be written to.
    """
    if jax.process_index() > 0 or _read(workdir) is not None:
        return
    if workdir.processor or workdir.checkpoints.exists():
        said = '%s was missing and is written now: whether the processor and the data changed before is unknown'
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
    """Return what was written at the first start; None where nothing was."""
    path = _path(workdir)
    try:
        content = json.loads(read_text(path))
        return {'processor': dict(content['processor']), 'data': dict(content['data'])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(
            f'{path}: cannot be read ({error!r}): restore it; or delete it, and the next start writes it anew'
        ) from error


def _processor(workdir: Workdir) -> dict[str, str]:
    """Return the SHA-256 of what turns inputs and labels into numbers: the files of the processor, the class names."""
    files = [*workdir.processor, workdir.classes]
    try:
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}
    except OSError as error:
        raise UserError(f'cannot read the processor of {workdir.path}: {error}') from error


def _change(workdir: Workdir, experiment: Experiment, prepared: Prepared) -> str:
    """Say that the data are not those of the first start, and how they differ; nothing where they are."""
    written, given = _read(workdir), dict(experiment.data.arguments)
    if written is None or written['data'].get('digest') == prepared.source.get('digest'):
        return ''
    then, now = written['data'], prepared.source
    differing = [name for name in sorted({*then, *now} - {'digest'}) if then.get(name) != now.get(name)]
    shown = [f'{name}: {then.get(name, "none")} then, {now.get(name, "none")} now' for name in differing]
    named = next((f'{field}={given[field]}' for field in ('path', 'name') if given.get(field)), experiment.data.name)
    return (
        f'{workdir.path}: the data ({named}) are not those that the run was trained on: '
        f'{"; ".join(shown) or "there are as many examples, of other content"}'
    )
