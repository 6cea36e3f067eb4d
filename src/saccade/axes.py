# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parameter axes, declared where the parameter is made.

    kernel = parameter(self, 'query', 'D -> N H', init, (D, N, H))

makes a plain parameter, as `self.param('query', init, (D, N, H))` does, and records its axis letters in the Linen
collection `axes`, at initialisation within `recorded_axes()` only. There is one letter per dimension. An arrow
separates a kernel's contracted axes (inputs) from its output axes. The letters are as in `saccade.types`, and:

    L, E   stacked copies of a layer or of an expert: always the first axes
    D      any width of tokens or of states, the model's own or another
    R      rank of a latent
    M      slots of a trained memory
    X      any other axis: features of the data, router outputs, the concatenated gates of a cell, distances
    1      an axis of size one

Derived from the axes: the sharding of parameters on a mesh (`train/mesh.py`), weight decay, the matrices of Muon and of
LoRA, the kernels of muP, Adafactor's separate statistics per layer and expert, and the heads that upcycling averages.

Weight decay applies to kernels and embedding tables: axes with an arrow, 'V D' and 'T D'. A parameter of these kinds
with other letters declares `decays=True`: taps of a depthwise convolution (which decay in the authors' code of Mamba-2
and DeltaNet and in flash-linear-attention), embeddings of segment types and of modalities, trained memory.

A parameter with an upper bound declares `most`. The optimizer clips it after each step, so the gradient at the bound is
not zeroed. A parameter that is computed in float32 declares this `dtype`, and is never rounded to the dtype of the
computation: frequencies, logarithms of rates, gains. The declared text then is 'X D; decays', '; at most 4.6' or
'N; in float32'.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, PyTree

from saccade.types import Params, Part, PRNGKey, UserError

AXES = 'axes'  # the collection
AxesByPath = Mapping[str, str]  # declared axes by parameter path: 'layers/pattern_0/mixer/query' has 'L D -> N H'
COPIES = ('L', 'E')
WIDTHS, HEADS = frozenset('DHFR'), frozenset('NKG')  # of hidden features
TABLES = (['V', 'D'], ['T', 'D'])  # embedding tables
LETTERS = (*COPIES, 'B', 'T', 'S', 'D', 'N', 'K', 'G', 'H', 'F', 'V', 'P', 'C', 'R', 'M', 'X', '1')
_DECAYS, _FLOAT32, _MOST = '; decays', '; in float32', '; at most '  # suffixes of the declared text, in this order

_RECORDED: ContextVar[bool] = ContextVar('recorded', default=False)
_DTYPE: ContextVar[Any] = ContextVar('dtype', default=None)


@contextmanager
def recorded_axes() -> Iterator[None]:
    """Context in which `init` records axes. Elsewhere it does not: a user's model does not expect the collection."""
    token = _RECORDED.set(True)
    try:
        yield
    finally:
        _RECORDED.reset(token)


@contextmanager
def computing_in(dtype: Any) -> Iterator[None]:
    """Context in which `parameter` returns values in a dtype, if that is a floating-point one."""
    token = _DTYPE.set(dtype if jnp.issubdtype(dtype, jnp.floating) else None)
    try:
        yield
    finally:
        _DTYPE.reset(token)


@struct.dataclass
class Axes:
    """Declaration of one parameter in the collection `axes`: a pytree without leaves."""

    letters: str = struct.field(pytree_node=False)


@dataclass(frozen=True)
class KernelAxes:
    """Axes of a kernel: copies, then contracted (input) axes, then output axes.

    Attributes: letters of each group.
    """

    copies: tuple[str, ...]
    contracted: tuple[str, ...]
    made: tuple[str, ...]

    @classmethod
    def of(cls, axes: str | None) -> 'KernelAxes | None':
        """Return the kernel axes of a parameter declared with `axes`; None without an arrow or a declaration."""
        inputs, arrow, outputs = (axes or '').partition('->')
        if not arrow:
            return None
        count = copies_in(inputs)
        letters = tuple(letters_of(inputs))
        return cls(letters[:count], letters[count:], tuple(letters_of(outputs)))

    @property
    def is_hidden(self) -> bool:
        """True if the kernel maps hidden features to hidden features, with one matrix per copy.

        False for kernels that read the data or an index, compute logits (vocabulary, classes or experts), hold several
        kernels along one axis (X), or compute one number per head (`D -> N`).
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
    dtype: Any = None,
) -> Array:
    """Make a parameter by `module.param(name, init, *arguments)`, and declare its axes.

    Its value is returned in the dtype of the input of the innermost layer, norm or feed-forward layer that runs, or as
    it is stored if none does.

    Args:
        decays: apply weight decay to a parameter whose axes are neither a kernel's nor an embedding table's.
        most: upper bound to which the optimizer clips the parameter after each step; None for no bound.
        dtype: dtype of the returned value, such as float32 for what is computed in it; None for that of the input.

    Raises:
        UserError: an existing parameter has another shape; at initialisation, a letter is unknown, or the number of
            letters differs from the number of dimensions.
    """
    if module.has_variable('params', name):
        value = _there(module, name, *arguments)
    else:
        value = module.param(name, init, *arguments)
        if _records(module):
            _check(module, name, axes, value)
            exact = dtype is not None and jnp.dtype(dtype) == jnp.float32
            module.put_variable(AXES, name, Axes(declaration(axes, decays, most, exact)))
    dtype = _DTYPE.get() if dtype is None else dtype
    return value if dtype is None else value.astype(dtype)


def _there(module: nn.Module, name: str, *arguments: Any) -> Array:
    """Return an existing parameter after a check of its shape.

    Linen's `param` would trace the initialiser at every call to find that shape.
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
    """Make the parameters of several copies of another module, stacked along a leading axis, and declare their axes.

    Args:
        copies: letter of the stacked axis.
        count: number of copies.
        init: returns the variables of one copy, by the `init` of the other module.
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


def declaration(axes: str, decays: bool = False, most: float | None = None, in_float32: bool = False) -> str:
    """Return the declared text: axes and the optional suffixes of `parameter`."""
    bound = '' if most is None else f'{_MOST}{most!r}'
    return f'{axes}{_DECAYS if decays else ""}{_FLOAT32 if in_float32 else ""}{bound}'


def letters_of(axes: str) -> list[str]:
    """Return the axis letters, one per dimension."""
    return axes.partition(';')[0].replace('->', ' ').split()


def has_decay(axes: str) -> bool:
    """True if weight decay applies to a parameter: a kernel, an embedding table, or one declared to decay."""
    is_table = letters_of(axes)[copies_in(axes) :] in TABLES
    return KernelAxes.of(axes) is not None or is_table or _DECAYS in axes


def most_of(axes: str) -> float | None:
    """Return the declared upper bound of a parameter, or None."""
    bound = axes.partition(_MOST)[2]
    return float(bound) if bound else None


def in_float32(axes: AxesByPath) -> frozenset[str]:
    """Return the paths of the parameters that are computed in float32, whatever the dtype of the rest."""
    return frozenset(path for path, declared in axes.items() if _FLOAT32 in declared)


def copies_in(axes: str) -> int:
    """Return the number of leading axes that stack copies."""
    return sum(letter in COPIES for letter in letters_of(axes))


def declared(variables: Mapping[str, PyTree]) -> dict[str, str]:
    """Return the declared axes by parameter path, from the variables that a model's `init` returns."""
    leaves = jax.tree_util.tree_leaves_with_path(variables.get(AXES, {}), is_leaf=_is_axes)
    return {jax.tree_util.keystr(path, simple=True, separator='/'): axes.letters for path, axes in leaves}


def _records(module: nn.Module) -> bool:
    return _RECORDED.get() and module.is_initializing() and module.is_mutable_collection(AXES)


def _is_axes(value: Any) -> bool:
    return isinstance(value, Axes)


def _check(module: nn.Module, name: str, axes: str, value: Array) -> None:
    where, letters = f"{Part(type(module)).name}: axes '{axes}' of the parameter '{name}'", letters_of(axes)
    unknown = [letter for letter in letters if letter not in LETTERS]
    if unknown:
        raise UserError(f"{where}: unknown letter '{unknown[0]}'; the letters are {', '.join(LETTERS)}")
    if len(letters) != value.ndim:
        raise UserError(f'{where}: one letter per dimension is needed; its shape is {value.shape}')
