# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loading of a Hugging Face folder: config.json becomes a spec of our parts, the safetensors our parameters."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax.traverse_util import flatten_dict, unflatten_dict

from saccade.axes import AxesByPath, declared, in_float32, recorded_axes
from saccade.build import build
from saccade.data.tokenizer.file import find_tokenizer, open_tokenizer
from saccade.data.tokenizer.tokenizer import CONFIG, TEMPLATE, Tokenizer, read_config
from saccade.hub.download import local
from saccade.hub.family import Family, Head, Shapes, find_family
from saccade.hub.leaves import Leaves
from saccade.hub.place import place
from saccade.hub.setting import Settings, read
from saccade.hub.tensors import ADAPTER, open_tensors, read_json
from saccade.paths import expanded, read_text
from saccade.types import Params, UserError


@dataclass(frozen=True, eq=False)
class Pretrained:
    """Pretrained model of a Hugging Face folder, as one of our models.

    Attributes:
        spec: spec of the model, as config.model.
        params: parameters in our layout.
        tokenizer: the folder's tokenizer.json, or else its vocab.txt or vocab.json; None without any.
        name: name of the folder.
        generation: settings of generation_config.json, or else of config.json with the family's defaults.
        chat_template: the folder's, a Jinja program; '' for none.
    """

    spec: dict[str, Any]
    params: Params
    tokenizer: Path | None
    name: str
    generation: dict[str, Any]
    chat_template: str

    def open_tokenizer(self) -> Tokenizer:
        """Open the tokenizer.

        Raises:
            UserError: there is none, it is damaged or empty, or a text can have ids beyond the model's embedding.
        """
        if self.tokenizer is None:
            raise UserError(
                f'{self.name}: there is no tokenizer.json, no vocab.txt and no vocab.json with merges.txt; text '
                "needs the model's own tokenizer"
            )
        tokenizer, model = open_tokenizer(self.tokenizer), build(self.spec, 'model')()
        beyond = {*range(model.vocabulary, tokenizer.size)} - {*tokenizer.control_tokens.values()}  # no text has these
        if beyond:
            raise UserError(
                f'{self.tokenizer}: its ids go up to {max(beyond)}, beyond the vocabulary of the model, which '
                f'config.json says is {model.vocabulary}'
            )
        return tokenizer


def load(path: str | Path, like: Mapping[str, Any] | None = None, dtype: str = 'float32') -> Pretrained:
    """Read `config.json` and `model.safetensors`, or its shards, from a folder.

    Tensors are read one at a time, and each is on the devices before the next is read.

    Args:
        like: leaves by path, with a dtype and a sharding, which a parameter of the same path and shape takes.
        dtype: type of every other parameter; these are on the default device.

    Raises:
        UserError: a file is missing or damaged; the family or a setting of the model is not supported; a tensor is
            missing, left over, or of the wrong shape or type.
    """
    with _opened(path) as folder:
        config = _config_in(folder)
        family, settings, heads, spec = _described(config)
        shapes, axes = parameters_of(spec, family.inputs_of(settings))
        leaves = Leaves(like or {}, dtype, in_float32(axes))
        with open_tensors(folder) as tensors:
            place(tensors, family, shapes, heads, leaves)
        return Pretrained(
            spec,
            unflatten_dict(leaves.arrays, sep='/'),
            find_tokenizer(folder),
            folder.resolve().name,
            _generation(folder, config, family),
            _chat_template(folder),
        )


def spec_of(path: str | Path) -> dict[str, Any]:
    """Return the spec of the model in a folder, read only from its `config.json`.

    Raises:
        UserError: the file is missing or damaged; the family or a setting of the model is not supported.
    """
    with _opened(path) as folder:
        return _described(_config_in(folder))[-1]


@dataclass(frozen=True)
class Architecture:
    """Architecture that a config.json names.

    Attributes:
        name: as 'BertForTokenClassification'.
        labels: names of the classes.
        problem: problem_type of a classifier, or ''.
    """

    name: str
    labels: tuple[str, ...]
    problem: str


def architecture_of(path: str | Path) -> Architecture:
    """Return the architecture in a folder, from its `config.json` only.

    Raises:
        UserError: as of `spec_of`; id2label does not name each class by its number.
    """
    with _opened(path) as folder:
        config = _config_in(folder)
        family, settings, *_ = _described(config)
        given = read(config, 'id2label', dict, {})
        unnamed = range(read(config, 'num_labels', int, 2))  # as in transformers
        labels = [given.get(str(number)) for number in range(len(given))] or [f'LABEL_{number}' for number in unnamed]
        if not all(isinstance(label, str) for label in labels):
            raise UserError(f'config.json: id2label must name its {len(given)} classes by their numbers from 0')
        return Architecture(family.named(settings), tuple(labels), read(config, 'problem_type', str, ''))


def shapes_in(path: str | Path) -> Shapes:
    """Return the shapes of the parameters of a folder by path, from its `config.json` only.

    Raises:
        UserError: as of `spec_of`.
    """
    with _opened(path) as folder:
        family, settings, _, spec = _described(_config_in(folder))
        return shapes_of(spec, family.inputs_of(settings))


def under_heads(path: str | Path, heads: Collection[str], ending: str = '') -> tuple[dict[str, Any], str]:
    """Return the spec of the model that new heads are put on, and the name of this part of the folder's model.

    In a folder of a model without heads, such as a language model, it is the model under heads of these names in its
    family, without any head, if the folder has the parameters. The part is '' for the whole model, or as T5's encoder.

    Args:
        heads: names of the heads.
        ending: of the name of the architecture where several have such heads, as 'ForTokenClassification'.

    Raises:
        UserError: as of `spec_of`.
    """
    with _opened(path) as folder:
        family, settings, _, spec = _described(_config_in(folder))
        return (spec, '') if 'heads' in spec else _under(family, settings, spec, {*heads}, ending)


def _under(
    family: Family, settings: Settings, spec: dict[str, Any], names: set[str], ending: str
) -> tuple[dict[str, Any], str]:
    """Return the model under heads with these names, and its part; `spec` itself if it lacks the parameters."""
    there = shapes_of(spec, family.inputs_of(settings)).items()
    fitting = (name for name, heads in family.heads.items() if {head.name for head in heads} == names)
    for architecture in sorted(fitting, key=lambda name: not name.endswith(ending)):
        asked = Settings({**settings, 'architectures': [architecture]})
        found = family.spec(asked)
        part = next((name for name, each in spec.items() if _without_heads(each) == _without_heads(found)), '')
        if part or shapes_of(found, family.inputs_of(asked)).items() <= there:
            return found, part
    return spec, ''


def _without_heads(spec: Any) -> Any:
    return {name: field for name, field in spec.items() if name != 'heads'} if isinstance(spec, Mapping) else spec


def model_type(path: str | Path) -> str:
    """Return the name of the family of the model in a folder.

    Raises:
        UserError: `config.json` is missing or damaged, or names none.
    """
    with _opened(path) as folder:
        return read(read_json(folder / 'config.json'), 'model_type', str)


def generation_in(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the settings of generation and the chat template in a folder, whose weights are not read.

    Raises:
        UserError: as of `spec_of`.
    """
    with _opened(path) as folder:
        config = read_json(folder / 'config.json')
        return _generation(folder, config, _described(config)[0]), _chat_template(folder)


def _generation(folder: Path, config: Mapping[str, Any], family: Family) -> dict[str, Any]:
    """Return the settings of generation. As in transformers, generation_config.json overrides config.json."""
    if (folder / 'generation_config.json').is_file():
        return read_json(folder / 'generation_config.json')
    return {**family.tokens, **{name: value for name, value in config.items() if value is not None}}


def _chat_template(folder: Path) -> str:
    """Return the folder's chat template. As in transformers, chat_template.jinja goes before tokenizer_config.json."""
    if (folder / TEMPLATE).exists():
        try:
            return read_text(folder / TEMPLATE)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f'{TEMPLATE}: cannot be read: {error}') from None
    found = read_config(folder / CONFIG).get('chat_template') or ''
    if isinstance(found, list):  # templates by name
        named = (each for each in found if isinstance(each, dict) and each.get('name') == 'default')
        found = next(named, {}).get('template')
    if not isinstance(found, str):
        raise UserError(f"{CONFIG}: chat_template must be a text, or a list with a text of the name 'default'")
    return found


def require_no_adapter(folder: Path) -> None:
    """Refuse a folder with an adapter of PEFT, without which its model would be another.

    Raises:
        UserError: there is one.
    """
    if (folder / ADAPTER).is_file():
        raise UserError(
            f'{folder}: {ADAPTER} is an adapter of PEFT, which is not applied here: merge it, as by '
            "AutoPeftModel.from_pretrained(DIR).merge_and_unload().save_pretrained('merged'), and give that folder"
        )


@contextmanager
def _opened(path: str | Path) -> Iterator[Path]:
    """Context that yields the folder, and puts its path before every error raised within."""
    folder = expanded(local(str(path)))
    if not folder.is_dir():
        raise UserError(f'{folder}: there is no such folder')
    require_no_adapter(folder)
    try:
        yield folder
    except UserError as error:
        raise UserError(f'{folder}: {error}') from None


def _config_in(folder: Path) -> dict[str, Any]:
    """Return the config.json of a folder, where texts next to images are padded by the tokenizer's padding token.

    The processors of transformers pad them so, whatever token the config names; SigLIP 2 names none.
    """
    config, file = read_json(folder / 'config.json'), find_tokenizer(folder)
    if file is None or not isinstance(config.get('text_config'), dict):
        return config
    tokenizer = open_tokenizer(file)
    padding = tokenizer.backend.token_to_id(tokenizer.roles.get('pad_token', ''))
    return config if padding is None else {**config, 'text_config': {**config['text_config'], 'pad_token_id': padding}}


def _described(config: Mapping[str, Any]) -> tuple[Family, Settings, tuple[Head, ...], dict[str, Any]]:
    """Return the family, the settings, the heads and the spec of the model that a config.json describes."""
    family = find_family(read(config, 'model_type', str))
    settings = family.keys.settings(config)
    heads = family.heads_of(settings)
    return family, settings, heads, family.spec(settings, heads)


def shapes_of(spec: dict[str, Any], inputs: tuple[Any, ...]) -> Shapes:
    """Return the shapes of the parameters of a spec by path, 'layers/pattern_0/mixer/query', without making any."""
    return parameters_of(spec, inputs)[0]


def parameters_of(spec: dict[str, Any], inputs: tuple[Any, ...]) -> tuple[Shapes, AxesByPath]:
    """Return the shapes of the parameters of a spec, as `shapes_of`, and their declared axes."""
    model = build(spec, 'model')()
    with recorded_axes():
        variables = jax.eval_shape(lambda: model.init(jax.random.key(0), *jax.tree.map(jnp.asarray, inputs), False))
    shapes = {path: leaf.shape for path, leaf in flatten_dict(variables['params'], sep='/').items()}
    return shapes, declared(variables)
