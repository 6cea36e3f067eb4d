# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Model pair: two encoders trained together, a generator and a discriminator, or a student and its teacher.

    params = {'generator': ..., 'discriminator': ...}       or    {'student': ..., 'teacher': ...}

A generator shares the embedding, positions and types of the discriminator: Clark et al. 2020, "ELECTRA", section 3.2,
https://arxiv.org/abs/2003.10555
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

import jax

from saccade.axes import AXES
from saccade.types import EncoderModel, Params, Part, PRNGKey, UserError

__all__ = ['Distilled', 'Electra']

_SHARED = ('embedding', 'position', 'types')


@dataclass(frozen=True)
class ModelPair:
    """Model pair: two named encoders of one vocabulary; `params` has the parameters of both."""

    names: ClassVar[tuple[str, str]]

    def __post_init__(self) -> None:
        for field in ('vocabulary', 'context_length'):
            self._require_same(field, attrgetter(field))

    def _require_same(self, field: str, value: Callable[[Any], Any]) -> None:
        first, second = (value(self.part(name)()) for name in self.names)
        if first != second:
            raise UserError(f'config.model: {" and ".join(self.names)} must have the same {field}')

    @property
    def vocabulary(self) -> int:
        """V, the shared vocabulary size."""
        return self.part(self.names[0])['vocabulary']

    @property
    def context_length(self) -> int:
        """Shared maximum sequence length, in tokens."""
        return self.part(self.names[0])['context_length']

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the config of the same pair for sequences of up to `length` tokens."""
        return part.replace(**{name: part[name].target.at_length(part[name], length) for name in cls.names})

    def part(self, name: str) -> Part[EncoderModel]:
        """Return the config of the model with this name."""
        return getattr(self, name)

    def init(self, key: PRNGKey, *arguments: Any) -> dict[str, Any]:
        """Initialise the variables of both models: `params` and, within `recorded_axes()`, their `axes`."""
        keys = dict(zip(self.names, jax.random.split(key), strict=True))
        made = {name: self.part(name)().init(keys[name], *arguments) for name in self.names}
        kinds = [kind for kind in ('params', AXES) if any(kind in each for each in made.values())]
        return {kind: {name: self.own(name, made[name].get(kind, {})) for name in self.names} for kind in kinds}

    def member(self, name: str, params: Params) -> tuple[EncoderModel, Params]:
        """Return the model with this name and all its parameters, including shared ones."""
        return self.part(name)(), self.all_of(name, params)

    def own(self, name: str, params: Params) -> Params:
        """Return the parameters that a model does not share with the other."""
        return params

    def all_of(self, name: str, params: Mapping[str, Params]) -> Params:
        """Return all parameters of a model, including shared ones, from the parameters of both."""
        return params[name]


@dataclass(frozen=True)
class Electra(ModelPair):
    """ELECTRA: a generator and a discriminator.

    Attributes: generator, with a head 'masked'; discriminator, with a head 'tokens' of one class.

    Both must have the same `embedding_width`, positions and types.
    """

    names = ('generator', 'discriminator')

    generator: Part[EncoderModel]
    discriminator: Part[EncoderModel]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_same('embedding_width', lambda encoder: encoder.embedding_width or encoder.width)
        for field in ('types', 'position'):
            self._require_same(field, attrgetter(field))

    def own(self, name: str, params: Params) -> Params:
        """Return a model's parameters; the generator's without embedding, positions and types."""
        left_out = _SHARED if name == 'generator' else ()
        return {key: value for key, value in params.items() if key not in left_out}

    def all_of(self, name: str, params: Mapping[str, Params]) -> Params:
        """Return a model's parameters, with the discriminator's embedding, positions and types."""
        return {key: value for key, value in params['discriminator'].items() if key in _SHARED} | params[name]


@dataclass(frozen=True)
class Distilled(ModelPair):
    """Knowledge distillation: a student and its teacher.

    Attributes: student and teacher, both with a head 'masked' and the same width.
    """

    names = ('student', 'teacher')

    student: Part[EncoderModel]
    teacher: Part[EncoderModel]
