# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parameter axes, declared where the parameter is made.

    kernel = parameter(self, 'query', 'D -> N H', init, (D, N, H))

makes a plain parameter, as `self.param('query', init, (D, N, H))` does, and records its letters in the Linen collection
`axes`, at initialisation only. There is one letter a dimension; an arrow parts what a kernel contracts from what it
makes. The letters are those of `saccade.types`, and:

    L, E   copies side by side, of a layer or of an expert: always the first
    D      any width of tokens or of states, the model's own or another
    R      rank of a latent
    M      slots of a trained memory
    X      any other axis: features of the data, experts to choose from, the gates of a cell side by side, distances
    1      an axis of one

What derives from them: where parameters lie on a mesh (`train/mesh.py`), which parameters decay, the matrices of Muon
and of LoRA, the kernels of muP, the layers and experts that Adafactor keeps apart, the heads that upcycling averages.

Weight decay is for kernels and tables of embeddings: axes with an arrow, 'V D' and 'T D'. A parameter that is one of
these without their letters says so, `decays=True`: taps of a depthwise convolution (which decay in the authors' code of
Mamba-2 and DeltaNet and in flash-linear-attention), embeddings of segment types and of modalities, trained memory.

A parameter that training is to keep at or below a bound has `most`; the optimizer sees to it after each step, so that
the gradient stays what it is at the bound. The declared text then is 'X D; decays' or '; at most 4.6'.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import flax.linen as nn
import jax
from flax import struct
from jaxtyping import Array, PyTree

from saccade.types import Params, Part, PRNGKey, UserError

AXES = 'axes'  # the collection
AxesByPath = Mapping[str, str]  # of the parameters that declare theirs, 'L D -> N H' by 'layers/pattern_0/mixer/query'
COPIES = ('L', 'E')
WIDTHS, HEADS = frozenset('DHFR'), frozenset('NKG')  # of hidden features
TABLES = (['V', 'D'], ['T', 'D'])  # of embeddings
LETTERS = (*COPIES, 'B', 'T', 'S', 'D', 'N', 'K', 'G', 'H', 'F', 'V', 'P', 'C', 'R', 'M', 'X', '1')
_DECAYS, _MOST = '; decays', '; at most '  # what the declared text may have after the letters

_DECLARED: ContextVar[bool] = ContextVar('declared', default=True)


@contextmanager
def undeclared() -> Iterator[None]:
    """Have no axes recorded meanwhile: models that are no experiments of ours do not expect the collection."""
    token = _DECLARED.set(False)
    try:
        yield
    finally:
        _DECLARED.reset(token)


@struct.dataclass
class Axes:
    """Declaration of a parameter in the collection: a pytree without leaves."""

    letters: str = struct.field(pytree_node=False)


@dataclass(frozen=True)
class KernelAxes:
    """Axes of a kernel, which are those of its copies, then what it contracts, then what it makes.

    Attributes: letters of each.
    """

    copies: tuple[str, ...]
    contracted: tuple[str, ...]
    made: tuple[str, ...]

    @classmethod
    def of(cls, axes: str | None) -> 'KernelAxes | None':
        """Return those of a parameter that declares `axes`; None where these have no arrow, or it declares none."""
        inputs, arrow, outputs = (axes or '').partition('->')
        if not arrow:
            return None
        count = copies_in(inputs)
        letters = tuple(letters_of(inputs))
        return cls(letters[:count], letters[count:], tuple(letters_of(outputs)))

    @property
    def is_hidden(self) -> bool:
        """Whether it maps hidden features to hidden features, one matrix a copy.

        Not so are those that read the data or an index, make logits of a vocabulary, of classes or of experts, have
        several kernels side by side (X), or make one number for each head (`D -> N`).
        """
        return all(set(side) <= WIDTHS | HEADS and WIDTHS & set(side) for side in (self.contracted, self.made))


def parameter(
    module: nn.Module,
    name: str,
    axes: str,
    init: Callable[..., Array],
    *arguments: Any,
    decays: bool = False,
    most: float | None = None,
) -> Array:
    """Make a parameter by `module.param(name, init, *arguments)`, and declare its axes.

    Args:
        decays: weight decay applies, though the axes are neither those of a kernel nor of a table of embeddings.
        most: upper bound that the optimizer keeps it at after each step; None for none.

    Raises:
        UserError: the parameter has another shape; at initialisation, a letter is unknown, or there is not one for each
            dimension.
    """
    if module.has_variable('params', name):
        return _there(module, name, *arguments)
    value = module.param(name, init, *arguments)
    if _records(module):
        _check(module, name, axes, value)
        module.put_variable(AXES, name, Axes(declaration(axes, decays, most)))
    return value


def _there(module: nn.Module, name: str, *arguments: Any) -> Array:
    """Return a parameter that exists, of the shape that its initialiser is given.

    Linen's `param` would trace the initialiser at every call, for that shape.
    """
    value = module.get_variable('params', name)
    if arguments and value.shape != tuple(arguments[0]):
        where, shape = '/'.join((*module.path, name)), tuple(arguments[0])
        raise UserError(f'{Part(type(module)).name}: the parameter {where} must be of shape {shape}, not {value.shape}')
    return value


def flat(init: Part, inputs: int) -> Callable[..., Array]:
    """Initialise a kernel of several axes as a matrix: `inputs` axes in, the rest out."""

    def make(key: PRNGKey, shape: tuple[int, ...]) -> Array:
        rows, columns = math.prod(shape[:inputs]), math.prod(shape[inputs:])
        return init()(key, (rows, columns)).reshape(shape)

    return make


def parameters(
    module: nn.Module, name: str, copies: str, count: int, init: Callable[[PRNGKey], Mapping[str, PyTree]]
) -> Params:
    """Make the parameters of several copies of another module, stacked along a first axis, and declare their axes.

    Args:
        copies: the letter of that axis.
        count: its size.
        init: makes the variables of one copy, by the `init` of the other module.
    """

    def one(key: PRNGKey) -> dict[str, PyTree]:
        variables = init(key)
        return {'params': variables['params'], AXES: variables.get(AXES, {})}

    def of_a_copy(axes: Axes) -> Axes:
        return Axes(f'{copies} {axes.letters}'.strip())

    def make(key: PRNGKey) -> Params:
        made = jax.vmap(one)(jax.random.split(key, count))
        if _records(module):
            module.put_variable(AXES, name, jax.tree.map(of_a_copy, made[AXES], is_leaf=_is_axes))
        return made['params']

    return module.param(name, make)


def declaration(axes: str, decays: bool = False, most: float | None = None) -> str:
    """Axes with what else `parameter` declares, as one text."""
    return f'{axes}{_DECAYS if decays else ""}{"" if most is None else f"{_MOST}{most!r}"}'


def letters_of(axes: str) -> list[str]:
    """The letters, one a dimension."""
    return axes.partition(';')[0].replace('->', ' ').split()


def has_decay(axes: str) -> bool:
    """Whether weight decay applies to a parameter: a kernel, a table of embeddings, or one declared to decay."""
    is_table = letters_of(axes)[copies_in(axes) :] in TABLES
    return KernelAxes.of(axes) is not None or is_table or _DECAYS in axes


def most_of(axes: str) -> float | None:
    """The declared upper bound of a parameter; None where there is none."""
    bound = axes.partition(_MOST)[2]
    return float(bound) if bound else None


def copies_in(axes: str) -> int:
    """How many axes are those of copies."""
    return sum(letter in COPIES for letter in letters_of(axes))


def declared(variables: Mapping[str, PyTree]) -> dict[str, str]:
    """The axes of each parameter that declares them, by its path, of what a model's `init` returns."""
    leaves = jax.tree_util.tree_leaves_with_path(variables.get(AXES, {}), is_leaf=_is_axes)
    return {jax.tree_util.keystr(path, simple=True, separator='/'): axes.letters for path, axes in leaves}


def _records(module: nn.Module) -> bool:
    return _DECLARED.get() and module.is_initializing() and module.is_mutable_collection(AXES)


def _is_axes(value: Any) -> bool:
    return isinstance(value, Axes)


def _check(module: nn.Module, name: str, axes: str, value: Array) -> None:
    where, letters = f"{Part(type(module)).name}: axes '{axes}' of the parameter '{name}'", letters_of(axes)
    unknown = [letter for letter in letters if letter not in LETTERS]
    if unknown:
        raise UserError(f"{where}: there is no letter '{unknown[0]}'; there are {', '.join(LETTERS)}")
    if len(letters) != value.ndim:
        raise UserError(f'{where}: one letter a dimension is needed, of its shape {value.shape}')
