# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Another value of any one field of an experiment changes what is built, and all that shares the size, or is refused.

Every experiment that ships is found, and every field of every part that it names: those that its file leaves at their
defaults too. Booleans are flipped, numbers doubled or halved.
"""

import os
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import defaults, fields, load
from saccade.data.cache import spec
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import param_shapes
from saccade.train.setup import batches_like, make_learner
from saccade.train.workdir import Workdir
from saccade.types import Part, UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
FILES = sorted(path for path in EXPERIMENTS.rglob('*.py') if 'def get_config(' in path.read_text())
FOLDERS = ['causal_lm', 'denoising', 'embedding', 'finetune', 'masked_lm', 'translation']
TEACHERS = {'distil': 'masked_lm/quickstart.py'}  # what an experiment starts from that does not start from nothing
SIZES = ('vocabulary', 'context_length', 'source_context_length', 'length', 'classes')

# Fields of a model that are not read, by their paths, with what has them be read.
IDLE = {
    r'(.*)\.head_init\..*': r'\1.tied=False',  # an output projection of its own
    r'(.*)\.embedding_init\..*': r'\1.types=1',  # of frames or patches, which are no rows of a table
    r'(.*)\.hidden_bias': r"\1.activation={'use': 'jax.numpy:tanh'}",  # a hidden layer
    r'(.*\.pooled)\.norm\..*': r"\1.feedforward={'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}",
    r'model\.decoder\.embedding_init\..*': 'model.shared_embedding=False',  # an embedding of its own
    r'(.*)\.ratio': r'\1.width=None',
    r'(.*)\.dropout': r'\1.layers=2',  # between recurrent layers
    r'.*\.mixer\.chunk': 'data.context_length=256',  # tokens of a chunk, which are more than a short row has
    r'.*\.feedforward\.block': 'batch_size=16',  # the most rows of an expert, which has fewer of a small batch
}
# Nothing of a teacher is dropped, and no head of it is asked but 'masked'. A parameter is clamped after the step.
NEVER = r'model\.teacher\.((.*\.)?dropout|heads\.pooled\..*)|model\.max_scale'

# A part is proved by other contracts.
if os.environ.get('SACCADE_VARIANT'):
    FILES, FOLDERS = [], []
each_experiment = pytest.mark.parametrize(
    'file', FILES, ids=lambda path: str(path.relative_to(EXPERIMENTS).with_suffix(''))
)


class Field(NamedTuple):
    """A field that an override may set.

    Attributes:
        use: of the part that has it; empty for one of the experiment.
        others: values other than the one it has.
        is_given: whether the config holds it, and does not leave it at its default.
    """

    path: str
    use: str
    others: tuple[Any, ...]
    is_given: bool

    @property
    def name(self) -> str:
        return self.path.rpartition('.')[2]


@pytest.fixture(scope='module')
def started(tmp_path_factory):
    """A function of an experiment's file: overrides that give it the run that it starts from, if it needs one."""

    @cache
    def make(file: Path) -> list[str]:
        if file.stem not in TEACHERS:
            return []
        folder = tmp_path_factory.mktemp('runs')
        Workdir.open(folder, load_config(str(EXPERIMENTS / TEACHERS[file.stem])))
        (folder / 'checkpoints').mkdir()
        return [f'--config.init_from={folder}']

    return make


def fields_of(value: Any, path: str, hint: Any = Any) -> Iterator[Field]:
    """Every field with another value, of all parts in a value of a config, those there by default among them."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from fields_of(item, f'{path}.{number}', hint)
    if not isinstance(value, Mapping):
        return
    target, known = None, {}
    if 'use' in value:
        target = load(value['use'])
        ours = target.__module__.startswith('saccade')  # of another library's functions what is given is enough
        default = {name: default for name, default in defaults(target).items() if ours or name in value}
        known = {name: hint for name, (hint, _) in fields(target, hint).items() if ours or name in value}
        for name, kind in known.items():
            others = other_values(value.get(name, default.get(name)), kind)
            yield from [Field(f'{path}.{name}', value['use'], others, name in value)] if others else []
        parts = {name: spec(part) for name, part in default.items() if isinstance(part, Part)}
        value = {**parts, **{name: item for name, item in value.items() if name != 'use'}}
    for name, item in value.items():
        yield from fields_of(item, f'{path}.{name}', known.get(name, Any))


def other_values(value: Any, hint: Any) -> tuple[Any, ...]:
    """Values of the same type that may be legal too; none of a type that has no obvious ones."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (2 * value, value // 2) if value > 1 else (value + 1,)
    if isinstance(value, float):
        return (value / 2,) if value else (0.25,)
    admitted = typing.get_args(hint)
    return (2,) if value is None and int in admitted else (0.3,) if value is None and float in admitted else ()


def all_fields(config: Mapping[str, Any]) -> Iterator[Field]:
    """Every field of a resolved config with another value."""
    known, default = fields(Experiment), defaults(Experiment)
    for name, (hint, _) in known.items():
        others = other_values(config.get(name, default.get(name)), hint)
        yield from [Field(name, '', others, name in config)] if others else []
        yield from fields_of(config.get(name), name, hint)


def built(file: Path, overrides: Sequence[str], *given: tuple[str, Any]) -> Experiment:
    """The experiment with these values of its fields."""
    return Experiment.of(load_config(str(file), [*overrides, *(f'--config.{path}={value!r}' for path, value in given)]))


def value_in(experiment: Experiment, path: str) -> Any:
    """What was built of a field, where it stands."""
    value: Any = experiment
    for name in path.split('.'):
        if isinstance(value, Experiment):
            value = getattr(value, name)
        elif isinstance(value, Part):
            value = value[name]
        else:
            value = value[int(name)] if name.isdigit() else dict(value)[name]
    return value


def shared_sizes(experiment: Experiment) -> dict[str, tuple[int, int]]:
    """Sizes that must agree, by name: how much the one has room for, and how much the other needs."""
    model, data = experiment.model(), experiment.data()
    is_given = 'tokenizer' in fields(experiment.data.target)  # else it follows from the data
    tokenizer = data.tokenizer if is_given else Part(None)
    source = getattr(data, 'source_tokenizer', None) or tokenizer
    own = {'vocabulary': tokenizer, 'source_vocabulary': source}
    needed = {name: dict(part.arguments).get('vocabulary') for name, part in own.items()}
    lengths = {'context_length', 'source_context_length'} & fields(experiment.data.target).keys()
    if 'image' in dict(getattr(getattr(model, 'embed', None), 'arguments', ())):
        lengths.discard('context_length')  # the text's alone, and the model has room for the patches too
    needed |= {name: getattr(data, name) for name in lengths}  # an image's follows from the model's patches
    pairs = {name: (getattr(model, name, None), size) for name, size in needed.items()}
    for number, part in enumerate(experiment.model.walk()):
        inner = dict(part.arguments)
        length = dict(inner['position'].arguments).get('length') if 'position' in inner else None
        pairs[f'position.length of {part.name} {number}'] = (length, inner.get('context_length'))
        pairs[f'classes of {part.name} {number}'] = (inner.get('classes'), getattr(data, 'classes', None))
    return {name: pair for name, pair in pairs.items() if None not in pair}


def is_refused(file: Path, overrides: list[str], field: Field, shipped: Mapping[str, tuple[int, int]]) -> bool:
    """Whether a field cannot have another value. If it can, it is where it should be, and what shares it follows."""
    try:
        experiment = built(file, overrides, (field.path, field.others[0]))
        sizes = shared_sizes(experiment)
    except UserError:
        return True
    assert value_in(experiment, field.path) == field.others[0]
    for name in shipped.keys() & sizes.keys():
        (room, need), (before, needed) = sizes[name], shipped[name]
        if name.startswith('classes of') and room < need:
            with pytest.raises(UserError, match='must be at least'):
                make_learner(experiment)
            return True
        if name.startswith('classes of'):  # a head may have more, and need not follow
            continue
        if before == needed:
            assert room == need, f'{field.path}: {name}: {room} for {need}'
        elif room - need < before - needed:
            with pytest.raises(UserError):
                list(traces(experiment))
            return True
    return False


@pytest.mark.parametrize('folder', FOLDERS)
def test_there_are_experiments(folder):
    assert folder in {path.parent.name for path in FILES}


@pytest.mark.long
@each_experiment
def test_sizes_that_data_and_models_share_change_together(file, started):
    config, shipped = load_config(str(file), started(file)), shared_sizes(built(file, started(file)))
    given = [field for part in ('model', 'data') for field in fields_of(config[part], part) if field.is_given]
    found = {is_refused(file, started(file), field, shipped) for field in given if field.name in SIZES}
    assert False in found


@pytest.mark.long
@each_experiment
def test_every_field_reaches_what_is_built_or_is_refused(file, started):
    config, shipped = load_config(str(file), started(file)), shared_sizes(built(file, started(file)))
    assert False in {is_refused(file, started(file), field, shipped) for field in all_fields(config)}


@pytest.mark.long
@each_experiment
def test_every_field_of_a_model_changes_its_trace_or_is_refused(file, started):
    """A field of a part at a place in a kind of model is tried in the first experiment that has it."""
    model = load_config(str(file), started(file))['model']
    overrides = [*started(file), '--config.batch_size=2', '--config.accumulate=1', *shrunk(model, '--config.model')]
    ignored = [field.path for field in distinct(started)[file] if is_ignored(file, overrides, field)]
    jax.clear_caches()
    assert ignored == []


@cache
def distinct(started) -> dict[Path, list[Field]]:
    """The fields of each experiment's model that no experiment before it has in a model of its kind."""
    seen, found = set(), {}
    for file in FILES:
        model = load_config(str(file), started(file))['model']
        keys = {field: (model['use'], field.use, *field.path.split('.')[-3:]) for field in fields_of(model, 'model')}
        found[file] = [field for field, key in keys.items() if key not in seen]
        seen |= set(keys.values())
    return found


def shrunk(value: Any, path: str) -> Iterator[str]:
    """Overrides that leave every tower one repeat of its blocks."""
    if isinstance(value, Mapping):
        if 'block' in value and 'layers' in value:
            pattern = len(value['block']) if isinstance(value['block'], list) else 1
            yield f'{path}.layers={pattern + len(value.get("first_blocks", ())) + len(value.get("last_blocks", ()))}'
        for name, item in value.items():
            yield from shrunk(item, f'{path}.{name}')


def is_ignored(file: Path, overrides: list[str], field: Field) -> bool:
    """Whether other values of a field are taken and change nothing, though what it waits for is there."""
    if re.fullmatch(NEVER, field.path):
        return False
    matches = {wake: re.fullmatch(idle, field.path) for idle, wake in IDLE.items()}
    waking = [[f'--config.{match.expand(wake)}'] for wake, match in matches.items() if match]
    return not any(changes_traces(file, (*overrides, *more), field) for more in ([], *waking))


def changes_traces(file: Path, overrides: tuple[str, ...], field: Field) -> bool:
    """Whether another value of a field is refused, or changes a trace."""
    for value in field.others:
        try:
            changed = traces(built(file, overrides, (field.path, value)))
            if any(one != other for one, other in zip(traces_as_shipped(file, overrides), changed, strict=True)):
                return True
        except UserError:
            return True
    return False


@cache
def traces_as_shipped(file: Path, overrides: tuple[str, ...]) -> list[str]:
    return list(traces(built(file, overrides)))


def traces(experiment: Experiment) -> Iterator[str]:
    """Shapes of the parameters; how they are made; the loss; its gradient: each traced when it is asked for."""
    task, model, (rows, *_) = experiment.task(), experiment.model(), batches_like(experiment)
    params, key = param_shapes(experiment), jax.random.key_data(jax.random.key(0))

    def start(rows: Any, key: Any) -> Any:
        return task.init(model, jax.random.wrap_key_data(key), rows)

    def loss(params: Any, rows: Any, key: Any) -> Any:
        return task.loss(model, params, rows, jax.random.wrap_key_data(key), True)['loss'].mean()

    yield str(jax.tree.map(jnp.shape, params))
    yield written(jax.make_jaxpr(loss)(params, rows, key))
    yield written(jax.make_jaxpr(start)(rows, key))
    yield written(jax.make_jaxpr(jax.grad(loss))(params, rows, key))


def written(jaxpr: Any) -> str:
    """A trace and its constants as text, without addresses in memory."""
    arrays = [np.asarray(value).tobytes() for value in jaxpr.consts if isinstance(value, np.ndarray | jax.Array)]
    return f'{re.sub("0x[0-9a-f]+", "", str(jaxpr))}{arrays}'
