# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Export of a run as a Hugging Face folder, with a model card."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax

from saccade.build import build
from saccade.data.image.hugging_face import preprocessor_config
from saccade.data.image.processor import ImageProcessor
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.hub.export import Format, Source, export
from saccade.paths import read_text
from saccade.train.experiment import Experiment
from saccade.train.log.provenance import read
from saccade.train.predicting import class_names
from saccade.train.process.lock import require_idle
from saccade.train.trained import Trained, open_run
from saccade.train.workdir import Workdir

_USUAL = Format()


def export_run(path: str, out: Path, which: str = 'latest', part: str = '', form: Format = _USUAL) -> dict[str, Any]:
    """Write a trained model as a Hugging Face folder.

    Args:
        path: folder of the run.
        which: 'latest' or 'best' checkpoint, or the 'average' of the last. A moving average of the parameters is
            exported where the run has one, and LoRA factors are merged.
        part: which of the models of the run, where it trained several together.
        form: family, type of the tensors and size of the files.

    Returns:
        Family, architecture, step and number of parameters.

    Raises:
        UserError: the run is being trained, has no usable checkpoint, or is a model that no family can hold.
    """
    workdir = Workdir.existing(path)
    require_idle(workdir.lock, f'{workdir.path} is being trained')
    trained = open_run(path, which)
    experiment = Experiment.of(trained.config)
    settings, task = _settings(experiment, workdir), experiment.task
    trained = trained.only(part)
    reads = trained.processor
    files = {'README.md': ''.join(f'{line}\n' for line in _card(trained, workdir, out.name))}
    images = getattr(reads, 'images', reads)
    if isinstance(images, ImageProcessor):
        files['preprocessor_config.json'] = json.dumps(preprocessor_config(images), indent=2) + '\n'
    source = Source(
        build(trained.config['model']),
        trained.params,
        reads if isinstance(reads, Tokenizer) else None,
        getattr(task.target, 'architecture', ''),
        settings,
    )
    config = export(source, out, form, files).config
    return {
        'family': config['model_type'],
        'architecture': config['architectures'][0],
        'step': trained.step,
        'parameters': _count(trained),
    }


def _settings(experiment: Experiment, workdir: Workdir) -> dict[str, Any]:
    """Return the settings of config.json that only the task and its data know: names of classes, regression."""
    problem = getattr(experiment.task.target, 'problem_type', None)
    settings = {} if problem is None else {'problem_type': problem}
    if names := class_names(experiment, workdir):
        labels = {'id2label': dict(enumerate(names)), 'label2id': {name: number for number, name in enumerate(names)}}
        return settings | labels
    return settings


def _card(trained: Trained, workdir: Workdir, name: str) -> Iterator[str]:
    """Yield the lines of a model card."""
    starts, config = read(workdir.provenance), trained.config
    last = starts[-1] if starts else {}
    yield from ('---', 'library_name: transformers', 'tags:', '- saccade', '---', f'# {name}', '')
    version = last.get('saccade', '')
    yield f'{_count(trained):,} parameters, trained with Saccade {version} and exported at step {trained.step}.'
    yield from ('', '## Training', '')
    yield f'- task: `{config["task"]["use"]}`'
    yield f'- data: `{config["data"]["use"]}`'
    for field in ('commit', 'clean', 'modules', 'jax', 'device', 'devices', 'start', 'end', 'status'):
        if field in last:
            yield f'- {field}: `{json.dumps(last[field])}`'
    if 'command' in last:
        yield from ('', 'Command of the last start:', '', f'    {last["command"]}')
    yield from ('', '## Metrics', '', '| split | step | metric | value |', '|---|---|---|---|')
    for split, record in _last_records(workdir).items():
        for metric, value in record.items():
            if isinstance(value, int | float) and metric != 'step':
                yield f'| {split} | {record.get("step")} | {metric} | {value:.6g} |'
    yield from ('', '## Config', '', '```json', json.dumps(config, indent=2), '```')


def _last_records(workdir: Workdir) -> Mapping[str, Mapping[str, Any]]:
    """Return the last record of each split that was evaluated."""
    if not workdir.metrics.exists():
        return {}
    records = [json.loads(line) for line in read_text(workdir.metrics).splitlines() if line.strip()]
    return {record['split']: record for record in records if record.get('split') not in (None, 'train')}


def _count(trained: Trained) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(trained.params))
