# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Templates between a config.json of Hugging Face and a spec of ours, used in both directions.

A template is the spec of a model with leaves in place of the values that config.json gives:

    {'use': 'norm.layer:LayerNorm', 'epsilon': Setting('layer_norm_eps', float, 1e-12)}

`filled` reads the leaves from a config.json and returns the spec. `written` compares the template with a model of ours
and yields the settings that describe it, and a message for each field that the template cannot represent; `resolved`
combines the settings.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from saccade.attention.base import CachingKernel
from saccade.build import build, defaults, fields, load_target
from saccade.hub.setting import ACTIVATIONS, NEEDED, read, read_activation, shortened
from saccade.softmax.softmax import Softmax
from saccade.types import Part, UserError

Config = Mapping[str, Any]
# Fields that decide initial values and the order of computation, and not the outputs of a trained model.
_WITHOUT_EFFECT = re.compile(r'.*_init|init|run|fused')


class MismatchError(Exception):
    """The value of a field cannot be represented. Its text says what would be right, as 'must be None'."""


@dataclass(frozen=True)
class Place:
    """Field of a model. Attributes: path, as 'config.model.norm'; fields of the part that has it, by name."""

    path: str
    fields: Mapping[str, Any] = field(default_factory=dict)


class Leaf:
    """Leaf of a template, which reads a value from config.json, and writes the settings that give it.

    `covers` names further fields of the same part that it writes too. A `lenient` leaf is without effect on the outputs
    of a trained model, so that values that differ may share one key.
    """

    covers: ClassVar[tuple[str, ...]] = ()
    lenient: ClassVar[bool] = False

    def read(self, config: Config) -> Any:
        """Return the value, as a spec has it. To be overridden.

        Raises:
            UserError: a setting is missing, has the wrong type, or is unsupported.
        """
        raise NotImplementedError

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return settings by dotted key; a setting may be a function of the other settings. To be overridden.

        Raises:
            MismatchError: no setting gives the value.
        """
        raise NotImplementedError

    def written(self, value: Any, place: Place) -> Iterator['Written | str']:
        """Yield the settings that give a value, or a message if none do."""
        try:
            found = self.write(value, place)
        except MismatchError as error:
            yield f'{place.path} {error}'
            return
        yield from (Written(key, setting, place.path, self.lenient) for key, setting in found.items())


@dataclass(frozen=True)
class Setting(Leaf):
    """Value of one key.

    Attributes:
        key: dotted key.
        kind: type of the value.
        default: value where the key is absent.
        least: lowest number.
        less: difference between their number and ours.
        absent: setting to write where our value is None, from the other settings; None to leave the key out.
    """

    key: str
    kind: type
    default: Any = NEEDED
    least: int = 1
    less: int = 0
    absent: Callable[[Mapping[str, Any]], Any] | None = None

    def read(self, config: Config) -> Any:
        """Return the setting, less what is counted elsewhere."""
        value = dotted(config, self.key, self.kind, self.default, self.least + self.less)
        return value - self.less if self.less else value

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return the setting."""
        if value is None and self.default is not None:
            raise MismatchError('must be given')
        if self.kind is int and value is not None and value < self.least:
            raise MismatchError(f'must be at least {self.least}')
        if value is None:
            return {} if self.absent is None else {self.key: self.absent}
        return {self.key: self.kind(value) + self.less if self.less else self.kind(value)}


@dataclass(frozen=True)
class Rate(Setting):
    """Dropout rate."""

    kind: type = float
    lenient: ClassVar[bool] = True


@dataclass(frozen=True)
class Activation(Leaf):
    """Activation by its name in transformers. Attributes: key; default; also, a name that means the default here."""

    key: str
    default: Any = NEEDED
    also: str = ''

    def read(self, config: Config) -> dict[str, Any]:
        """Return the spec of the function."""
        inner, key = inside(config, self.key)
        found = read_activation(inner, key, self.default)
        return dict(ACTIVATIONS[self.default]) if found == ACTIVATIONS.get(self.also) else found

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return the setting that names the function; of several names, the default."""
        name = activation_name(value)
        if name == self.also:
            raise MismatchError(f'is {name}, which this family reads as {self.default}')
        return {self.key: self.default if ACTIVATIONS.get(self.default) == ACTIVATIONS[name] else name}


@dataclass(frozen=True)
class Inner(Leaf):
    """Width of a feed-forward layer as a ratio. Attributes: keys of the two widths; default."""

    inner: str
    outer: str
    default: Any = NEEDED
    covers: ClassVar[tuple[str, ...]] = ('ratio', 'width')

    def read(self, config: Config) -> float:
        """Return F / D."""
        width = dotted(config, self.outer, int)
        usual = self.default if self.default in (NEEDED, None) else self.default * width
        return dotted(config, self.inner, int, usual) / width

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return F."""
        width = place.fields.get('width')
        return {self.inner: width or (lambda settings: round(place.fields['ratio'] * settings[self.outer]))}


@dataclass(frozen=True)
class InnerWidth(Inner):
    """Width of a feed-forward layer in features."""

    def read(self, config: Config) -> int:
        """Return F."""
        return dotted(config, self.inner, int, self.default)


@dataclass(frozen=True)
class Kernel(Leaf):
    """Kernel of softmax attention, whichever computes it. Attributes: key and default of the weights' dropout."""

    key: str
    default: Any = NEEDED
    lenient: ClassVar[bool] = True

    def read(self, config: Config) -> dict[str, Any]:
        """Return the spec of the plain kernel."""
        return {'use': 'attention.plain:Plain', 'dropout': dotted(config, self.key, float, self.default)}

    def write(self, value: Part, place: Place) -> dict[str, Any]:
        """Return the dropout rate of the weights."""
        capabilities = getattr(value.target, 'capabilities', None)
        exact = isinstance(value.target, type) and issubclass(value.target, CachingKernel)
        if not (exact and capabilities.causal and capabilities.full and capabilities.packed):
            raise MismatchError(
                f'is {value.name}, which must be a kernel of softmax attention, as attention.plain:Plain'
            )
        own = dict(value.arguments)
        if own.get('softmax', Part(Softmax)) != Part(Softmax):
            raise MismatchError(f'has the softmax variant {own["softmax"].name}, which must be softmax.softmax:Softmax')
        return {self.key: float(own.get('dropout', 0.0))}


@dataclass(frozen=True)
class Usual(Leaf):
    """Value without a key in config.json. Attributes: value; same, returns an equal one from the fields of the part."""

    value: Any
    same: Callable[[Mapping[str, Any]], Any]

    def read(self, config: Config) -> Any:
        """Return the value."""
        return self.value

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return no setting, if the value is as usual."""
        usual = self.value, self.same(place.fields)
        if value not in usual:
            raise MismatchError(f'is {value!r}, which must be {usual[1]!r}')
        return {}


@dataclass(frozen=True)
class HeadWidth(Leaf):
    """Width of heads that divide the width of the model. Attributes: keys of the width and of the number of heads."""

    width: str
    heads: str

    def read(self, config: Config) -> None:
        """Return None: an equal share."""

    def write(self, value: int | None, place: Place) -> dict[str, Any]:
        """Return the width of the model that this width of heads needs."""
        return {} if value is None else {self.width: value * place.fields['heads']}


@dataclass(frozen=True)
class RootOfWidth(Leaf):
    """Factor of the embedded tokens that is always the root of the width. Attributes: key of the width."""

    width: str

    def read(self, config: Config) -> float:
        """Return the factor."""
        return dotted(config, self.width, int) ** 0.5

    def write(self, value: float, place: Place) -> dict[str, Any]:
        """Return no setting."""
        root = place.fields['width'] ** 0.5
        if not math.isclose(value, root, rel_tol=1e-6):
            raise MismatchError(f'is {value:g}, which must be the root of the width, {root:g}')
        return {}


@dataclass(frozen=True)
class Free(Leaf):
    """Value that a model need not share to have the same outputs: dropout without a key; a bias, which may be zero."""

    value: Any

    def read(self, config: Config) -> Any:
        """Return the value."""
        return self.value

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return no setting."""
        return {}


@dataclass(frozen=True)
class Both(Leaf):
    """Value of several keys. Attributes: functions that read the value, and that write it."""

    reads: Callable[[Config], Any]
    writes: Callable[[Any], dict[str, Any]]

    def read(self, config: Config) -> Any:
        """Return the value."""
        return self.reads(config)

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return the settings."""
        return self.writes(value)


@dataclass(frozen=True)
class OneOf(Leaf):
    """Alternative templates: config.json chooses one.

    Attributes: the choice, by name; the templates, by name; settings that a choice writes, besides its template's.
    """

    choice: Callable[[Config], str]
    templates: Mapping[str, Mapping[str, Any]]
    writes: Callable[[str], dict[str, Any]] = lambda name: {}

    def read(self, config: Config) -> Any:
        """Return the spec of the chosen template."""
        return filled(self.templates[self.choice(config)], config)

    def written(self, value: Any, place: Place) -> Iterator['Written | str']:
        """Yield what the template yields that fits best."""
        name, found = best(self.templates, value, place)
        yield from found
        yield from (Written(key, setting, place.path, False) for key, setting in self.writes(name).items())


def named(key: str, templates: Mapping[str, Mapping[str, Any]], default: Any = NEEDED) -> OneOf:
    """Alternative templates by the text of a key. Args: default, the text where the key is absent."""

    def choice(config: Config) -> str:
        name = read(config, key, str, default)
        if name not in templates:
            known = ', '.join(map(repr, templates))
            raise UserError(f'config.json: {key} is {shortened(name)}, which cannot be represented; only {known} can')
        return name

    return OneOf(choice, templates, lambda name: {key: name})


def either(key: str, default: bool, yes: Mapping[str, Any], no: Mapping[str, Any]) -> OneOf:
    """Two templates: where a key is true, and where it is false. Args: default, where the key is absent."""
    return OneOf(
        lambda config: 'yes' if read(config, key, bool, default) else 'no',
        {'yes': yes, 'no': no},
        lambda name: {key: name == 'yes'},
    )


@dataclass(frozen=True)
class Maybe(Leaf):
    """Part that a key turns on. Attributes: the key; template of the part."""

    key: str
    template: Mapping[str, Any]

    def read(self, config: Config) -> Any:
        """Return the spec of the part, or None."""
        return filled(self.template, config) if dotted(config, self.key, bool, False) else None

    def written(self, value: Any, place: Place) -> Iterator['Written | str']:
        """Yield the key, and what the template yields of the part."""
        yield Written(self.key, value is not None, place.path, False)
        if value is not None:
            yield from written(self.template, value, place)


def inside(config: Config, key: str) -> tuple[Config, str]:
    """Return the object that holds a dotted key, and the last name of the key.

    Raises:
        UserError: an object on the way is missing, or is none.
    """
    *outer, last = key.split('.')
    for name in outer:
        config = read(config, name, dict)
    return config, last


def dotted(config: Config, key: str, kind: type, default: Any = NEEDED, least: int = 1) -> Any:
    """Read one setting by its dotted key, as `setting.read` does.

    Raises:
        UserError: it is missing or of another type.
    """
    inner, last = inside(config, key)
    return read(inner, last, kind, default, least)


def filled(template: Any, config: Config) -> Any:
    """Return the spec of a template, with the values of a config.json.

    Raises:
        UserError: a setting is missing, has the wrong type, or is unsupported.
    """
    if isinstance(template, Leaf):
        return template.read(config)
    if isinstance(template, Mapping):
        return {key: filled(value, config) for key, value in template.items()}
    if isinstance(template, tuple):
        return [filled(item, config) for item in template]
    return template


@dataclass(frozen=True)
class Written:
    """Setting that a field asks for. Attributes: dotted key; value; path of the field; whether others may differ."""

    key: str
    value: Any
    path: str
    lenient: bool


def written(template: Any, value: Any, place: Place) -> Iterator[Written | str]:
    """Yield the settings that describe a value, and a message for each field that the template cannot represent.

    Args:
        value: as a built part has it.
    """
    if isinstance(template, Leaf):
        yield from template.written(value, place)
    elif isinstance(template, Mapping) and 'use' in template:
        yield from _of_part(template, value, place)
    elif isinstance(template, Mapping):
        yield from _of_named(template, value, place)
    elif isinstance(template, tuple) and isinstance(value, tuple) and len(template) == len(value):
        for number, (inner, item) in enumerate(zip(template, value, strict=True)):
            yield from written(inner, item, Place(f'{place.path}[{number}]', place.fields))
    elif not _equal(template, value):
        yield f'{place.path} is {_shown(value)}, which must be {_shown(template)}'


def best(templates: Mapping[Any, Any], value: Any, place: Place) -> tuple[Any, list[Written | str]]:
    """Return the name of the template that fits a value with the fewest messages, and what it yields."""
    found = {name: [*written(template, value, place)] for name, template in templates.items()}
    name = min(found, key=lambda name: sum(isinstance(each, str) for each in found[name]))
    return name, found[name]


def _of_named(template: Mapping[str, Any], value: Any, place: Place) -> Iterator[Written | str]:
    """Compare parts by name, as the heads of an encoder."""
    named = dict(value)
    if named.keys() != template.keys():
        yield f'{place.path} are {_listed(named)}, which must be {_listed(template)}'
        return
    for name, inner in template.items():
        yield from written(inner, named[name], Place(f'{place.path}.{name}'))


def _of_part(template: Mapping[str, Any], value: Any, place: Place) -> Iterator[Written | str]:
    target = load_target(template['use'])
    if not isinstance(value, Part) or value.target is not target:
        yield f'{place.path} is {_shown(value)}, which must be {template["use"]}'
        return
    own = all_fields(value)
    covered = {name for leaf in template.values() if isinstance(leaf, Leaf) for name in leaf.covers}
    for name, given in own.items():
        inner = Place(f'{place.path}.{name}', own)
        if name in covered - template.keys() or _WITHOUT_EFFECT.fullmatch(name):
            continue
        yield from written(template[name] if name in template else defaults(target).get(name), given, inner)


def all_fields(part: Part) -> dict[str, Any]:
    """Return the value of every field of a part, defaults included."""
    given = {**defaults(part.target), **dict(part.arguments)}
    return {name: given[name] for name in fields(part.target) if name in given}


def resolved(found: list[Written]) -> tuple[dict[str, Any], list[str]]:
    """Return settings by dotted key, and a message for each field that asks for another value of a key.

    Of dropout rates that differ, the first is taken.
    """
    settings = {one.key: one.value for one in reversed(found) if not callable(one.value)}
    first = {one.key: one for one in reversed(found)}
    clashes = []
    for one in found:
        value = one.value(settings) if callable(one.value) else one.value
        settings.setdefault(one.key, value)
        if settings[one.key] != value and not one.lenient:
            other = first[one.key]
            clashes.append(f'{one.path} and {other.path} differ: {one.key} is {value!r} and {settings[one.key]!r}')
    return settings, clashes


def activation_name(value: Any) -> str:
    """Return the name of an activation in transformers.

    Raises:
        MismatchError: there is none.
    """
    names = [name for name, spec in ACTIVATIONS.items() if same(build(spec), value)]
    if not names:
        raise MismatchError(f'is {_shown(value)}, which has no name in transformers')
    return names[0]


def same(one: Any, other: Any) -> bool:
    """True if two parts are equal with their defaults."""
    if not (isinstance(one, Part) and isinstance(other, Part)):
        return one == other
    first, second = all_fields(one), all_fields(other)
    return (
        one.target is other.target
        and first.keys() == second.keys()
        and all(same(first[name], second[name]) for name in first)
    )


def _equal(expected: Any, value: Any) -> bool:
    if isinstance(expected, float) and isinstance(value, int | float):
        return abs(expected - value) <= 1e-6 * abs(expected)
    return same(expected, value)


def _listed(names: Mapping[str, Any]) -> str:
    return ', '.join(sorted(names)) or 'none'


def _shown(value: Any) -> str:
    return value.name if isinstance(value, Part) else repr(value)
