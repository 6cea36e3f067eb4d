# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Partial initialisation: start from some of the weights of another model, by `adapt` in a config.

    --config.init_from=runs/bert --config.adapt="{'use': 'train.init.partial:body'}"
    --config.init_from=runs/bert --config.adapt="{'use': 'train.init.partial:only', 'match': '^embedding$'}"
    --config.init_from=runs/bert --config.adapt="{'use': 'train.init.partial:encoder'}"

A parameter that is to keep its initial value is returned as a shape in place of an array.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from flax.traverse_util import flatten_dict, unflatten_dict

from saccade.axes import letters_of
from saccade.train.optimizer import finds
from saccade.train.start import HEADS, Wanted
from saccade.types import Params, UserError

__all__ = ['body', 'encoder', 'nothing', 'only', 'teacher']

Places = Mapping[str, Wanted]


def body(params: Params, wanted: Places, /, heads: str = HEADS) -> Params:
    """Take all but the heads and the output layer of a language model.

    Of a head of the same name the hidden layer is taken too, as BERT's pooler is fine-tuned.

    Args:
        wanted: by path.
        heads: a regex of the paths that may be absent, on either side. Parameters with an axis C of classes are always
            new.
    """
    there = flatten_dict(params, sep='/')

    def is_new(path: str, place: Wanted) -> bool:
        return 'C' in letters_of(place.axes or '') or path not in there or there[path].shape != place.shape

    new = [path for path, place in wanted.items() if _matches(heads, path) and is_new(path, place)]
    left = [path for path in there if _matches(heads, path) and path not in wanted]
    return _with_new({path: leaf for path, leaf in there.items() if path not in left}, new, wanted)


def encoder(params: Params, wanted: Places, /, heads: str = r'(^|/)\w+_head/') -> Params:
    """Take an encoder as that of a sequence-to-sequence model whose decoder is new: Rothe et al. 2020, BERT2RND,
    https://arxiv.org/abs/1907.12461

    Args:
        heads: a regex of the paths that are not taken.
    """
    there = {path: leaf for path, leaf in flatten_dict(params, sep='/').items() if not _matches(heads, path)}
    new = [path for path in wanted if not path.startswith('encoder/')]
    return _with_new({f'encoder/{path}': leaf for path, leaf in there.items()}, new, wanted)


def only(params: Params, wanted: Places, /, match: str) -> Params:
    """Take what a regex finds in the path, and nothing else.

    Raises:
        UserError: it matches no parameter of the model.
    """
    there = {path: leaf for path, leaf in flatten_dict(params, sep='/').items() if _matches(match, path)}
    if not there.keys() & wanted.keys():
        raise UserError(f'config.adapt.match: {match!r} finds no parameter of the model in init_from')
    return _with_new(there, [path for path in wanted if not _matches(match, path)], wanted)


def nothing(params: Params, wanted: Places, /) -> Params:
    """Take the tokenizer alone, and what `inherit` takes: so that a run from scratch differs in its weights only."""
    return _with_new({}, list(wanted), wanted)


def teacher(params: Params, wanted: Places, /, every: int = 2) -> Params:
    """Take all as the teacher's, and for the student each layer of so many: DistilBERT, section 3 of 1910.01108.

    Args:
        every: n; 2 for a student of half the depth. Other parameters of the teacher with the student's shapes are taken
            too.

    Raises:
        UserError: the student has another number of layers.
    """
    there = flatten_dict(params, sep='/')
    started: dict[str, jax.Array] = {}
    for path, place in wanted.items():
        name = path.removeprefix('student/')
        leaf = there.get(name)
        if leaf is not None and path.startswith('student/layers/'):
            leaf = leaf[::every]
        if leaf is not None and path != name and leaf.shape == place.shape:
            started[path] = leaf
    new = [path for path in wanted if path.startswith('student/') and path not in started]
    if any(path.startswith('student/layers/') for path in new):
        raise UserError(f'config.adapt.every: one in {every} layers of the teacher are not as many as the student has')
    return _with_new({**{f'teacher/{path}': leaf for path, leaf in there.items()}, **started}, new, wanted)


def _matches(pattern: str, path: str) -> bool:
    return finds(pattern, path, 'config.adapt')


def _with_new(taken: Mapping[str, jax.Array], new: list[str], wanted: Places) -> Params:
    shapes = {path: jax.ShapeDtypeStruct(wanted[path].shape, jnp.float32) for path in new}
    return unflatten_dict({**taken, **shapes}, sep='/')
