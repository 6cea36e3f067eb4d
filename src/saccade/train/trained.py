# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trained models, from a run's folder or from a Hugging Face directory."""

import contextlib
import copy
import functools
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax.traverse_util import unflatten_dict
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr
from jaxtyping import Array

from saccade.axes import AxesByPath, declared, recorded_axes
from saccade.build import build
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.generation import Generation
from saccade.hub import load as hub
from saccade.hub.download import advice, local
from saccade.ops.statistic import is_record
from saccade.train.bucket import is_bucket
from saccade.train.checkpoint import Checkpoints, Restored
from saccade.train.declared import ranking
from saccade.train.digests import verified
from saccade.train.experiment import Experiment
from saccade.train.learner import cast
from saccade.train.log.provenance import changed_code
from saccade.train.optimizer import path_of
from saccade.train.process.given import DTYPES
from saccade.train.scales import rescaled, scales_of
from saccade.train.workdir import Workdir, absolute
from saccade.trust import require_trusted
from saccade.types import Params, Part, PRNGKey, UserError

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """Trained model.

    Attributes:
        processor: of its inputs, a tokenizer for text; None if none is needed.
        config: the run's, or only the model's spec.
        step: None without a run.
        generation: settings of a Hugging Face folder; None for a run, whose data define how a text begins and ends.
    """

    model: Any
    params: Params
    processor: Any
    config: dict[str, Any]
    step: int | None = None
    generation: Generation | None = None

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
        return replace(trained, params=cast(trained.params, dtype))
    require_latest(init_from, which)
    pretrained = hub.load(init_from, dtype=dtype)
    tokenizer, model = pretrained.open_tokenizer(), build(pretrained.spec, 'model')()
    settings = pretrained.generation, tokenizer, model.vocabulary, pretrained.chat_template
    try:
        generation = Generation.of_folder(*settings)
    except UserError as error:
        raise UserError(f'{init_from}: generation_config.json or config.json: {error}') from None
    return Trained(model, pretrained.params, tokenizer, {'model': pretrained.spec}, generation=generation)


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
        if which == 'average':
            return averaged(checkpoints, like, experiment.keep_last)
        return checkpoints.restore_part('ema' if experiment.has_average else 'params', like, which)


def averaged(checkpoints: Checkpoints, like: Params, count: int) -> Restored:
    """Return the mean of the parameters of the last `count` checkpoints, or of all if there are fewer.

    Vaswani et al. 2017, section 6.1, https://arxiv.org/abs/1706.03762, average 5 or 20, which were 10 minutes apart.

    Raises:
        UserError: there is none, or one of them is damaged.
    """
    steps = checkpoints.steps()[-count:] or ['latest']
    found = (checkpoints.restore_part('params', like, step) for step in steps)
    total = functools.reduce(
        lambda one, other: replace(other, state=jax.tree.map(jnp.add, one.state, other.state)), found
    )
    return replace(total, state=jax.tree.map(lambda leaf: (leaf / len(steps)).astype(leaf.dtype), total.state))


@dataclass(frozen=True)
class Initial:
    """Initial parameters of a model and its task, traced once.

    Attributes:
        shapes: of the parameters: the model's, and those added by the task.
        own: shapes of the model's parameters only.
        axes: by path, of the parameters that declare them.
        program: computes the leaves of the parameters from a key and the task's numbers (`train.scales`).
    """

    shapes: Params
    own: Params
    axes: AxesByPath
    program: Callable[..., Sequence[Array]] = field(repr=False)

    @classmethod
    def of(cls, experiment: Experiment) -> 'Initial':
        """Trace the initialisation for rows of the experiment's data; experiments that differ in numbers share it."""
        leaves, structure = jax.tree.flatten(experiment.data().batch_like(1))
        marked = rescaled(experiment, dict.fromkeys(scales_of(experiment), 'argument'))
        key = marked['task'], experiment.model, tuple((leaf.shape, leaf.dtype) for leaf in leaves), structure
        return _initial(_TraceRequest((key, repr(key)), experiment))

    def __call__(self, key: PRNGKey, scales: Mapping[str, Any]) -> Params:
        """Return the parameters, without running the code of the model again."""
        return jax.tree.unflatten(jax.tree.structure(self.shapes), self.program(key, *_of_task(scales).values()))


@dataclass(frozen=True)
class _TraceRequest:
    """Request for a trace. Attributes: all that it depends on, also as text since 1 equals 1.0; an experiment."""

    key: tuple[Any, ...]
    experiment: Experiment = field(compare=False)


@functools.lru_cache(maxsize=8)
def _initial(asked: _TraceRequest) -> Initial:
    experiment = asked.experiment
    scales, like = scales_of(experiment), experiment.data().batch_like(1)
    model, made = _recorded(experiment.model())

    def init(key: PRNGKey, numbers: Mapping[str, Any]) -> tuple[Params, dict[str, Any]]:
        task = rescaled(experiment, {**scales, **numbers})['task']()
        rows = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), like)
        with recorded_axes():
            params = task.init(model, key, rows)
            # A user's task may make parameters without the model's `init`.
            return params, made[-1] if made else model.init(key, *task.inputs(model, key, rows))

    trace = jax.make_jaxpr(init, return_shape=True)
    traced, (params, variables) = trace(jax.random.key(0), _of_task(scales))
    wanted = len(jax.tree.leaves(params))
    used = [number < wanted for number in range(len(traced.jaxpr.outvars))]
    live, _ = dce_jaxpr(traced.jaxpr, used, instantiate=True)
    return Initial(params, variables['params'], declared(variables), jaxpr_as_fun(ClosedJaxpr(live, traced.consts)))


def _of_task(scales: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of the task, in the order of their paths."""
    return {path: scales[path] for path in sorted(scales) if path.startswith('config.task.')}


def _recorded(model: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return the model, and a list that collects the variables of each `init`: a task returns only the parameters."""
    copied, made = copy.copy(model), []

    def init(*given: Any, **named: Any) -> dict[str, Any]:
        made.append(model.init(*given, **named))
        return made[-1]

    object.__setattr__(copied, 'init', init)  # a copy, not a wrapper: protocols check the attributes of the class
    return copied, made


def param_shapes(experiment: Experiment) -> Params:
    """Return the shapes of the initial parameters: the model's, and those added by the task."""
    return Initial.of(experiment).shapes


def run_param_shapes(experiment: Experiment) -> Params:
    """Return the shapes of a run's parameters, from which its adapter computes the model's."""
    return kept(experiment)[0]


def kept(experiment: Experiment) -> tuple[Params, AxesByPath]:
    """Return the shapes of a run's parameters, and the declared axes by path.

    Raises:
        UserError: the task moves or changes the model's parameters.
    """
    adapter, initial = experiment.adapter, Initial.of(experiment)
    there = _shapes(initial.shapes)
    if moved := [path for path, shape in _shapes(initial.own).items() if there.get(path) != shape]:
        raise UserError(
            f"config.task: {experiment.task.name}.init must keep the model's parameters by name and shape, and has no "
            f"'{moved[0]}' of that shape; add weights of the task under a name of their own"
        )
    init = partial(adapter.init, axes=initial.axes)
    return jax.eval_shape(init, jax.random.key(0), initial.shapes), adapter.axes(initial.axes)


@dataclass(frozen=True)
class Start:
    """Initial weights for training, taken from another model.

    Attributes:
        taken, new: paths of parameters from the other model, and of those that keep their initial values.
        left: paths of parameters of the other model that were not taken.
    """

    params: Params
    taken: list[str]
    new: list[str]
    left: list[str]

    def lines(self) -> list[str]:
        """Return lines on the parameters that were loaded, newly initialised and ignored."""
        names = {'newly initialised': self.new, 'ignored': self.left}
        return [
            f'weights     {len(self.taken)} parameters loaded',
            *(f'            {kind}: {", ".join(paths)}' for kind, paths in names.items() if paths),
        ]


@dataclass(frozen=True)
class Wanted:
    """Parameter that a model expects. Attributes: shape; axes, as 'L D -> K H', None if it declares none."""

    shape: tuple[int, ...]
    axes: str | None


def start_from(where: tuple[str, str], initial: Params, axes: AxesByPath, adapt: Part[Params] | None = None) -> Start:
    """Return initial weights from a run or a Hugging Face directory.

    Args:
        where: its path; and the name of one of its models, if it has several.
        initial: the parameters as initialised; the weights of a directory are placed on the devices like them.
        axes: of these, by path.
        adapt: converts the weights: a function of them and of the `Wanted` parameters by path.

    Raises:
        UserError: the weights are of another architecture; the message names the first parameter that differs.
    """
    path, part = where
    like = {f'{part}/{name}' if part else name: leaf for name, leaf in _by_path(initial).items()}
    found, asked = _part_of(params_of(path, like), where), _shapes(initial)
    params = _adapted(path, found, asked, axes, adapt)
    found = _by_path(found)
    new = [name for name, leaf in _by_path(params).items() if isinstance(leaf, jax.ShapeDtypeStruct)]
    used = set(map(id, jax.tree.leaves(params)))  # a renamed parameter is not left over
    return Start(
        jax.tree.map(lambda leaf, first: first if isinstance(leaf, jax.ShapeDtypeStruct) else leaf, params, initial),
        taken=[name for name in asked if name not in new],
        new=new,
        left=[name for name, leaf in found.items() if (name not in asked or name in new) and id(leaf) not in used],
    )


def require_architecture(experiment: Experiment) -> None:
    """Check the shapes of the weights in `init_from`, which are not read; `adapt` is traced.

    Raises:
        UserError: as of `start_from`, or `init_from` cannot be used.
    """
    path, adapt = experiment.init_from, experiment.adapt
    asked, axes = _shapes(param_shapes(experiment)), kept(experiment)[1]
    found = _part_of(shapes_in(path), (path, experiment.init_part))

    def trace(params: Params) -> None:
        _adapted(path, params, asked, axes, adapt)

    with contextlib.suppress(jax.errors.JAXTypeError):  # it depends on values: `start_from` checks it
        jax.eval_shape(trace, found)


def _adapted(
    path: str, params: Params, asked: Mapping[str, tuple[int, ...]], axes: AxesByPath, adapt: Part[Params] | None
) -> Params:
    """Return the parameters after `adapt`, which must have the shapes asked for."""
    if adapt is not None:
        params = adapt(params, {path: Wanted(shape, axes.get(path)) for path, shape in asked.items()})
    params = _with_records(params, asked)
    there = _shapes(params)
    for name in sorted(there.keys() | asked.keys()):
        if there.get(name) != asked.get(name):
            raise UserError(
                f'config.init_from={path}: another architecture: {name} is {there.get(name, "absent")} in it, '
                f'{asked.get(name, "absent")} in this model; --config.inherit=model takes the model from there'
            )
    return params


def _with_records(params: Params, asked: Mapping[str, tuple[int, ...]]) -> Params:
    """Return parameters with the records of the model that they are for, and without other records."""
    kept = {name: leaf for name, leaf in _by_path(params).items() if name in asked or not is_record(name)}
    lacking = {name: shape for name, shape in asked.items() if is_record(name) and name not in kept}
    return unflatten_dict(
        kept | {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in lacking.items()}, sep='/'
    )


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
    return _part_of(spec, (path, part))


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


def _part_of(whole: Mapping[str, Any], where: tuple[str, str]) -> Any:
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
            be downloaded.
    """
    if is_bucket(path):
        return False
    folder = absolute(local(path))
    if not folder.exists() and (words := advice(path)):
        raise UserError(f'{path}: there is no such folder; a run is made by launch/train.py; {words}')
    return not (folder / 'checkpoints').exists() and (folder / 'config.json').exists()


def _shapes(params: Params) -> dict[str, tuple[int, ...]]:
    return {path: leaf.shape for path, leaf in _by_path(params).items()}


def _by_path(params: Params) -> dict[str, Any]:
    return {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(params)}
