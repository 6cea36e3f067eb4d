# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Export of a run as a Hugging Face folder, with a model card."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
from jaxtyping import PyTree

from saccade.build import build
from saccade.data.image.hugging_face import preprocessor_config
from saccade.data.image.processor import ImageProcessor
from saccade.data.tokenizer.file import find_tokenizer, open_tokenizer
from saccade.data.tokenizer.tokenizer import TEMPLATE, Tokenizer
from saccade.decode.generation import Generation
from saccade.decode.rules import TokenRules
from saccade.decode.search import has_sentence_head
from saccade.hub.adapter import Adapter, Update
from saccade.hub.describe import Description
from saccade.hub.download import local, name_of
from saccade.hub.export import Format, Source, export, export_adapter
from saccade.hub.load import generation_in, model_type
from saccade.hub.sentence import POOLS, SentenceSettings
from saccade.paths import read_text
from saccade.train.experiment import Experiment
from saccade.train.initial import Initial
from saccade.train.log.provenance import read
from saccade.train.low_rank import BESIDE, LowRank
from saccade.train.predicting import class_names
from saccade.train.process.lock import require_idle
from saccade.train.trained import Trained, is_hub, open_run, restored_params
from saccade.train.workdir import Workdir
from saccade.types import Part, UserError

_LOG = logging.getLogger(__name__)
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
    opened = _Opened.of(path, which)
    trained = _without_heads(opened.trained.only(part))
    reads = trained.processor
    files = {'README.md': ''.join(f'{line}\n' for line in _card(trained, opened.workdir, out.name))}
    generation = _generation_before(opened.experiment.init_from, reads)
    if generation.chat_template:
        files[TEMPLATE] = generation.chat_template
    images = getattr(reads, 'images', reads)
    if isinstance(images, ImageProcessor):
        files['preprocessor_config.json'] = json.dumps(preprocessor_config(images), indent=2) + '\n'
    if has_sentence_head(trained.model):
        trained, pooling = _without_pooling(trained)
        files |= pooling
    source = replace(opened.source(trained), ends=generation.rules.ends)
    return _found(trained, export(source, out, form, files), _count(trained.params))


def export_adapter_of(path: str, out: Path, which: str = 'latest', dtype: str = 'float32') -> dict[str, Any]:
    """Write the updates of a LoRA run, and the parameters that it trained directly, as an adapter of PEFT.

    Args:
        path, which: as for `export_run`.
        dtype: of the tensors.

    Returns:
        As `export_run`, with the number of parameters of the adapter.

    Raises:
        UserError: as for `export_run`; the run is not one of LoRA, or did not begin with a Hugging Face directory.
    """
    opened = _Opened.of(path, which)
    experiment, trained = opened.experiment, opened.trained
    low_rank, base = experiment.adapter, experiment.init_from
    if not isinstance(low_rank, LowRank):
        raise UserError('--adapter: config.low_rank is not set: the run trained all weights; export without --adapter')
    if not base or not is_hub(base):
        raise UserError(
            f'--adapter: the run began with {base or "random weights"}; an adapter needs a model that PEFT opens, so '
            'config.init_from must be a Hugging Face directory or hf:ORG/NAME; export without --adapter'
        )
    params = restored_params(opened.workdir, experiment, which).state
    updates = {
        kernel: Update(*update) for kernel, update in low_rank.updates(params, Initial.of(experiment).axes).items()
    }
    adapter = Adapter(updates, low_rank.whole(params), low_rank.rank, low_rank.alpha, *name_of(base))
    card = ''.join(f'{line}\n' for line in _card(trained, opened.workdir, out.name, base=adapter.base))
    form = Format(model_type(base), dtype)
    description = export_adapter(opened.source(trained), adapter, out, form, card)
    return _found(trained, description, _count([adapter.whole, params[BESIDE]]))


@dataclass(frozen=True)
class _Opened:
    """Run that is exported. Attributes: its folder, its experiment and its model."""

    workdir: Workdir
    experiment: Experiment
    trained: Trained

    @classmethod
    def of(cls, path: str, which: str) -> '_Opened':
        """Open a run.

        Raises:
            UserError: it is being trained, or has no usable checkpoint.
        """
        workdir = Workdir.existing(path)
        require_idle(workdir.lock, f'{workdir.path} is being trained')
        trained = open_run(path, which)
        return cls(workdir, Experiment.of(trained.config), trained)

    def source(self, trained: Trained) -> Source:
        """Return the model to export. Args: trained, one of the run's."""
        reads, task = trained.processor, self.experiment.task
        return Source(
            build(trained.config['model']),
            trained.params,
            reads if isinstance(reads, Tokenizer) else None,
            getattr(task.target, 'architecture', ''),
            _settings(self.experiment, self.workdir),
        )


def _generation_before(init_from: str, reads: Any) -> Generation:
    """Return the settings of generation of the Hugging Face directory that a run began with, if it has the same tokens.

    Warn if the directory cannot be read.
    """
    if not isinstance(reads, Tokenizer) or not reads.roles:  # trained here
        return Generation()
    try:
        while init_from and not is_hub(init_from):
            init_from = Workdir.existing(init_from).read_config().get('init_from', '')
        if not init_from:
            return Generation()
        settings, template = generation_in(init_from)
        file = find_tokenizer(local(init_from))
        if file is None or open_tokenizer(file).backend.get_vocab() != reads.backend.get_vocab():
            return Generation()
        found = Generation.of_folder(settings, reads, reads.size, template)
    except UserError as error:
        _LOG.warning('%s; a chat template and further end tokens there are not exported', error)
        return Generation()
    ends = (found.end, *found.rules.ends)
    return replace(found, rules=TokenRules(ends=tuple(end for end in ends if end not in (None, reads.end))))


def _without_pooling(trained: Trained) -> tuple[Trained, Mapping[str, str]]:
    """Return a sentence encoder without its heads, and the files that name its pooling.

    Warn if sentence-transformers has no such pooling: the model is then the same, and there are no files.
    """
    heads = dict(trained.model.heads)
    head = heads.pop('pooled').values
    known = {pool: f'ops.pool:{pool.__name__}' for pool in POOLS.values()}
    pool = head.get('pool')
    if pool is None or pool.target not in known or head['activation'] is not None:
        _LOG.warning(
            'config.model.heads.pooled: sentence-transformers will take the mean of the tokens in place of this head; '
            'it can be exported if it pools by %s, without a hidden layer',
            ', '.join(known.values()),
        )
        return trained, {}
    for name in heads:
        _LOG.warning('config.model.heads.%s, which vectors of texts do not need, is not exported', name)
    model = {**trained.config['model'], 'heads': {}}
    params = {name: value for name, value in trained.params.items() if name.removesuffix('_head') not in heads}
    files = SentenceSettings(pool.target, trained.model.context_length).files(trained.model.width)
    return replace(trained, model=build(model)(), params=params, config={**trained.config, 'model': model}), files


def _without_heads(trained: Trained) -> Trained:
    """Return the model without a field that only training uses, if its class has one."""
    made, field = getattr(type(trained.model), 'exported_as', (None, ''))
    if made is None:
        return trained
    _LOG.warning('config.model.%s, which only training uses, is not exported', field)
    config = {name: value for name, value in trained.config['model'].items() if name != field}
    model = config | {'use': Part(made).name}
    params = {name: value for name, value in trained.params.items() if name != field}
    return replace(trained, model=build(model)(), params=params, config={**trained.config, 'model': model})


def _found(trained: Trained, description: Description, parameters: int) -> dict[str, Any]:
    config = description.config
    return {
        'family': config['model_type'],
        'architecture': config['architectures'][0],
        'step': trained.step,
        'parameters': parameters,
    }


def _settings(experiment: Experiment, workdir: Workdir) -> dict[str, Any]:
    """Return the settings of config.json that only the task and its data know: names of classes, regression."""
    problem = getattr(experiment.task.target, 'problem_type', None)
    settings = {} if problem is None else {'problem_type': problem}
    if names := class_names(experiment, workdir):
        labels = {'id2label': dict(enumerate(names)), 'label2id': {name: number for number, name in enumerate(names)}}
        return settings | labels
    return settings


def _card(trained: Trained, workdir: Workdir, name: str, base: str = '') -> Iterator[str]:
    """Yield the lines of a model card. Args: base, of an adapter the model that it is for."""
    starts, config = read(workdir.provenance), trained.config
    last = starts[-1] if starts else {}
    library = ('library_name: peft', f'base_model: {json.dumps(base)}') if base else ('library_name: transformers',)
    yield from ('---', *library, 'tags:', '- saccade', '---', f'# {name}', '')
    version = last.get('saccade', '')
    yield f'{_count(trained.params):,} parameters, trained with Saccade {version} and exported at step {trained.step}.'
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


def _count(params: PyTree) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(params))
