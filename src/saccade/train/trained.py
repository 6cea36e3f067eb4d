# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trained models, from a run's folder or from a Hugging Face directory."""

import functools
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax.traverse_util import unflatten_dict

from saccade.build import build
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.generation import Generation
from saccade.hub import load as hub
from saccade.hub.download import advice, local
from saccade.hub.sentence import SentenceSettings
from saccade.train.bucket import is_bucket
from saccade.train.checkpoint import Checkpoints, Restored
from saccade.train.declared import ranking
from saccade.train.digests import verified
from saccade.train.experiment import Experiment
from saccade.train.initial import in_dtype, param_shapes, run_param_shapes
from saccade.train.log.provenance import changed_code
from saccade.train.process.given import DTYPES
from saccade.train.workdir import Workdir, absolute
from saccade.trust import require_trusted
from saccade.types import Params, Part, UserError

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """Trained model.

    Attributes:
        processor: of its inputs, a tokenizer for text; None if none is needed.
        config: the run's, or only the model's spec.
        step: None without a run.
        generation: settings of a Hugging Face folder; None for a run, whose data define how a text begins and ends.
        folder: Hugging Face folder; None for a run.
    """

    model: Any
    params: Params
    processor: Any
    config: dict[str, Any]
    step: int | None = None
    generation: Generation | None = None
    folder: Path | None = None

    @property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer for text.

        Raises:
            UserError: the model was trained on other inputs.
        """
        if isinstance(self.processor, Tokenizer):
            return self.processor
        reads = getattr(self.model, 'reads', 'no tokens')
        raise UserError(f'{Part(type(self.model)).name} reads {reads} in this run, and has no tokenizer for text')

    @functools.cached_property
    def sentence(self) -> SentenceSettings:
        """Settings of the vector of a text in a Hugging Face folder; the defaults for a run.

        Raises:
            UserError: the folder has settings that are not supported.
        """
        return SentenceSettings() if self.folder is None else SentenceSettings.of_folder(self.folder)

    def only(self, part: str) -> 'Trained':
        """Return one of several models that were trained together; '' for the only one.

        Raises:
            UserError: there is no such part, or there are several and no name is given.
        """
        names = getattr(self.model, 'names', ('',))
        if part not in names:
            raise UserError(f"--part='{part}': the known parts are {', '.join(names) or 'none'}")
        if not part:
            return self
        model, params = self.model.part(part)(), self.model.all_of(part, self.params)
        return replace(self, model=model, params=params, config={**self.config, 'model': self.config['model'][part]})


def open_trained(
    workdir: str | None = None, init_from: str | None = None, which: str = 'latest', dtype: str = 'float32'
) -> Trained:
    """Open a run's folder, or a Hugging Face directory; `init_from` may be either.

    Args:
        which: 'latest' or 'best' checkpoint of a run, or the 'average' of its last.
        dtype: of the parameters, and so of the computation.

    Raises:
        UserError: neither or both are given; the folder is missing or holds no model, or no tokenizer; `which` is not
            'latest', of a Hugging Face directory; the dtype is unknown.
    """
    if dtype not in DTYPES:
        raise UserError(f'dtype must be {" or ".join(DTYPES)}, not {dtype!r}')
    if bool(workdir) == bool(init_from):
        raise UserError('give either --workdir, the folder of a run, or --init_from, a run or a Hugging Face directory')
    if workdir or not is_hub(init_from):
        trained = open_run(workdir or init_from, which)
        return replace(trained, params=in_dtype(trained.params, dtype, Experiment.of(trained.config)))
    require_latest(init_from, which)
    pretrained = hub.load(init_from, dtype=dtype)
    tokenizer, model = pretrained.open_tokenizer(), build(pretrained.spec, 'model')()
    settings = pretrained.generation, tokenizer, model.vocabulary, pretrained.chat_template
    try:
        generation = Generation.of_folder(*settings)
    except UserError as error:
        raise UserError(f'{init_from}: generation_config.json or config.json: {error}') from None
    config, folder = {'model': pretrained.spec}, absolute(local(init_from))
    return Trained(model, pretrained.params, tokenizer, config, generation=generation, folder=folder)


def require_latest(init_from: str, which: str) -> None:
    """Refuse to choose a checkpoint of a Hugging Face directory, which holds one model.

    Raises:
        UserError: `which` is not 'latest'.
    """
    if which != 'latest':
        raise UserError(f'--checkpoint={which} has no effect: {init_from} is a Hugging Face directory, with one model')


def config_of(workdir: Workdir) -> dict[str, Any]:
    """Return the config of a run without its sinks, since the user's own sinks need not be importable here.

    Raises:
        UserError: the config names untrusted code.
    """
    config = {**workdir.read_config(), 'logging': []}
    require_trusted(config, f'{workdir.config}')
    return config


def open_run(path: str, which: str = 'latest') -> Trained:
    """Open the folder of a run: its averaged parameters if it has an average, else its parameters.

    Warn if code of the user's own that the config names has changed since training.

    Args:
        which: 'latest' or 'best' checkpoint, or the 'average' of the last available ones.

    Raises:
        UserError: the folder holds no run, or none of its checkpoints can be used.
    """
    workdir = Workdir.existing(path)
    config = config_of(workdir)
    experiment = Experiment.of(config)
    model = experiment.model()
    if change := changed_code(workdir, config):
        _LOG.warning(change)
    restored = restored_params(workdir, experiment, which)
    params = experiment.adapter.merged(restored.state)
    processor = experiment.data().open_processor(verified(workdir))
    return Trained(model, params, processor, config, restored.step)


def restored_params(workdir: Workdir, experiment: Experiment, which: str) -> Restored:
    """Return the parameters of a run as it trains them: of its model, and of its adapter.

    Args:
        which: as for `open_run`.

    Raises:
        UserError: none of its checkpoints can be used.
    """
    with Checkpoints(workdir.checkpoints, best_by=ranking(experiment), mirror=workdir.mirror) as checkpoints:
        like = run_param_shapes(experiment)
        if which == 'average':  # gradient steps of a schedule-free run are not evaluated, only their average
            return averaged(checkpoints, like, experiment.keep_last, 'ema' if experiment.schedule_free else 'params')
        return checkpoints.restore_part('ema' if experiment.has_average else 'params', like, which)


def averaged(checkpoints: Checkpoints, like: Params, count: int, part: str = 'params') -> Restored:
    """Return the mean of a part of the last `count` checkpoints, or of all if there are fewer.

    Vaswani et al. 2017, section 6.1, https://arxiv.org/abs/1706.03762, average 5 or 20, which were 10 minutes apart.

    Raises:
        UserError: there is none, or one of them is damaged.
    """
    steps = checkpoints.steps()[-count:] or ['latest']
    found = (checkpoints.restore_part(part, like, step) for step in steps)
    total = functools.reduce(
        lambda one, other: replace(other, state=jax.tree.map(jnp.add, one.state, other.state)), found
    )
    return replace(total, state=jax.tree.map(lambda leaf: (leaf / len(steps)).astype(leaf.dtype), total.state))


def shapes_in(path: str) -> Params:
    """Return the shapes of the parameters of a run or of a Hugging Face directory, whose weights are not read."""
    if not is_hub(path):
        return param_shapes(Experiment.of(config_of(Workdir.existing(path))))
    shapes = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in hub.shapes_in(path).items()}
    return unflatten_dict(shapes, sep='/')


def params_of(path: str, like: Mapping[str, Any] | None = None) -> Params:
    """Return the parameters of a run or of a Hugging Face directory; no tokenizer is needed.

    Args:
        like: leaves by path, whose dtypes and shardings the parameters of a directory take.
    """
    return hub.load(path, like).params if is_hub(path) else open_run(path).params


def spec_of(path: str, part: str = '') -> dict[str, Any]:
    """Return the model of a run or of a Hugging Face directory, or a part of it, as a config.model."""
    spec = hub.spec_of(path) if is_hub(path) else Workdir.existing(path).read_config()['model']
    require_trusted({'model': spec}, path)
    return part_of(spec, (path, part))


def under_heads(path: str, part: str, heads: Collection[str], ending: str) -> tuple[dict[str, Any], str]:
    """Return the part of a run or of a Hugging Face directory that new heads are put on, and its name.

    Args:
        part: the name; '' where the family of a directory chooses.
        heads, ending: as of `hub.load.under_heads`.
    """
    if part or not is_hub(path):
        return spec_of(path, part), part
    spec, part = hub.under_heads(path, heads, ending)
    require_trusted({'model': spec}, path)
    return spec, part


def part_of(whole: Mapping[str, Any], where: tuple[str, str]) -> Any:
    """Return a named part of the parameters or of the model at a path; the whole without a name.

    Args:
        where: the path and the name.
    """
    path, part = where
    if part and part not in whole:
        raise UserError(f"config.init_part: {path} has no part '{part}'; it has {', '.join(whole)}")
    return whole[part] if part else whole


def verified_folder(path: str) -> Path:
    """Return the folder of weights, a Hugging Face directory or a run whose processor is verified.

    Raises:
        UserError: there is no such run, or its processor is not the one that it was trained with.
    """
    return absolute(local(path)) if is_hub(path) else verified(Workdir.existing(path))


def is_hub(path: str) -> bool:
    """Return True if a folder is a Hugging Face directory: it has a config.json and, unlike a run, no checkpoints.

    A bucket holds runs only.

    Raises:
        UserError: the folder does not exist, and the path may name a model of huggingface.co; or `hf:ORG/NAME` cannot
            be downloaded; or it holds an adapter of PEFT.
    """
    if is_bucket(path):
        return False
    folder = absolute(local(path))
    if not folder.exists() and (words := advice(path)):
        raise UserError(f'{path}: there is no such folder; a run is made by launch/train.py; {words}')
    if (folder / 'checkpoints').exists():
        return False
    hub.require_no_adapter(folder)
    return (folder / 'config.json').exists()
