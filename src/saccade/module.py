# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base classes of the Linen modules of Saccade.

`Module` is the base class of all parts that are Linen modules. Its fields are keyword-only and are checked against
their annotations when a module is created in Python, as `saccade.build` checks a config. A part can be given
as a Linen module, a class, a mask or a function: it becomes a factory, so no two layers share an instance.

`Transform` is the base class of norms, feed-forward layers and positions of tokens, and `Layer` that of mixers, blocks
and stacks. Both compute in the dtype of their input x: inside, `parameter` returns its values in that dtype.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax.core.scope import subtract_filters
from jaxtyping import Array, Int, PyTree

from saccade.axes import computing_in
from saccade.build import bind
from saccade.taps import EDITS, Edit, Tapped
from saccade.types import ArrayLike, Hidden, LayerContext, Pages, Part, Real, Source, State, UserError

_LINEN = ('name', 'parent')  # fields of every Linen module


def context_of(module: nn.Module, x: Any, context: Any) -> LayerContext:
    """Return the context of whole sequences x; without one, positions are 0 to T-1 and every row is one document.

    Raises:
        UserError: the context is not a LayerContext, or of another shape than x, or a segment is in two pieces.
    """
    if context is None:
        return LayerContext(positions_of(x))
    if not isinstance(context, LayerContext):
        raise UserError(
            f'{_called(type(module))}: context must be a LayerContext of saccade.types, not {type(context).__name__}; '
            f'for cross-attention to y: LayerContext(positions, source=Source(y, source_positions))'
        )
    if getattr(x, 'ndim', 0) in (2, 3):  # tokens, or values of tokens; some models read several arrays
        _require_shapes(module, x.shape[:2], context)
    context.require_whole_segments()
    return on_device(context)


def _require_shapes(module: nn.Module, shape: tuple[int, int], context: LayerContext) -> None:
    for name in ('positions', 'segments', 'types'):
        given = getattr(context, name)
        if given is not None and np.shape(given) not in (shape, (1, shape[1])):
            raise UserError(f'{_called(type(module))}: context.{name} has the shape {np.shape(given)}, and x {shape}')


def positions_of(x: Array) -> Int[Array, 'B T']:
    """Return the positions 0 to T-1 of whole sequences, one document a row."""
    return jnp.broadcast_to(jnp.arange(x.shape[1]), x.shape[:2])


def on_device(value: Any) -> Any:
    """Return NumPy arrays, lists, and those in a context, as JAX arrays; anything else unchanged."""
    if isinstance(value, list | np.ndarray):
        return jnp.asarray(value)
    if isinstance(value, LayerContext | Source):
        return jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, value)
    return value


def as_part(value: Any) -> Any:
    """Return the part of a module, mask, class or function, and of each in a list or dict; others unchanged."""
    if isinstance(value, Part | None):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        known = [each for each in dataclasses.fields(value) if each.init and each.name not in _LINEN]
        given = {each.name: getattr(value, each.name) for each in known}
        chosen = sorted(each.name for each in known if given[each.name] is not each.default)
        if isinstance(value, nn.Module):  # its constructor has checked its arguments
            return Part(type(value), tuple((name, given[name]) for name in chosen))
        for name in chosen:
            as_part(given[name])  # checks the masks of a mask
        return bind(type(value), {name: given[name] for name in chosen}, _called(type(value)))
    if callable(value):
        return Part(value)
    if isinstance(value, list | tuple):
        return tuple(map(as_part, value))
    if isinstance(value, Mapping) and 'use' not in value:
        return {name: as_part(item) for name, item in value.items()}
    return value


def _checked(init: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor of a class that checks its arguments and turns parts into factories.

    Its own signature has no annotations: type checkers of calls, such as jaxtyping's, would refuse a module for a part.
    """

    def checked(self: nn.Module, **given: Any) -> None:
        apart = {name: given.pop(name) for name in (*_LINEN, *type(self).python_only) if name in given}
        arguments = tuple((name, as_part(value)) for name, value in given.items())
        try:
            bound = _bound_once(type(self), arguments, tuple(type(value) for _, value in arguments))
        except TypeError:  # an argument that cannot be hashed, such as a dict
            bound = _bound(type(self), arguments)
        init(self, **dict(bound), **apart)

    signature = inspect.signature(init)
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    checked.__signature__ = signature.replace(parameters=bare, return_annotation=signature.empty)
    checked.__name__, checked.__qualname__, checked.__module__ = init.__name__, init.__qualname__, init.__module__
    return checked


def _bound(made: type, arguments: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return bind(made, dict(arguments), _called(made)).arguments


@functools.lru_cache(4096)
def _bound_once(
    made: type, arguments: tuple[tuple[str, Any], ...], types: tuple[type, ...]
) -> tuple[tuple[str, Any], ...]:
    """Check arguments as `_bound` does, but equal ones of the same types only once: most modules come from a config."""
    return _bound(made, arguments)


def _called(made: type) -> str:
    """The name of a class in Python: saccade.MultiHead, models.Mine."""
    return f'{made.__module__.partition(".")[0]}.{made.__name__}'


def _in_dtype_of_input(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that casts its input x to the module's `dtype`, if it has one, and computes in the dtype of x."""

    @functools.wraps(method)
    def computed(self: nn.Module, x: Any, *rest: Any, **more: Any) -> Any:
        x, dtype = on_device(x), getattr(self, 'dtype', None)
        x = x if dtype is None else x.astype(dtype)
        with computing_in(x.dtype):
            return method(self, x, *rest, **more)

    return computed


def _each(kind: type, change: Callable[[Any], Any], tree: PyTree) -> PyTree:
    return jax.tree.map(change, tree, is_leaf=lambda node: isinstance(node, kind))


class Module(nn.Module):
    """Base class of parts that are Linen modules.

    Attributes:
        of_hidden: methods whose first argument is hidden states x, in whose dtype they compute.
        python_only: fields that a config cannot set.
    """

    of_hidden: ClassVar[tuple[str, ...]] = ()
    python_only: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        for name in {*cls.of_hidden} & vars(cls).keys():
            setattr(cls, name, _in_dtype_of_input(vars(cls)[name]))
        super().__init_subclass__(**{'kw_only': True, **options})
        cls.__init__ = _checked(cls.__init__)

    def tap(self, name: str, axes: str, value: Any, note: str = '', real: Real | None = None) -> Any:
        """Return a value inside the model, or the edited one; store it in the collection NAME where that is mutable.

        Args:
            axes, note: as in `taps.Tapped`.
            real: False for padding, whose values are in no mean; of values that begin with the axes 'B T' or 'B S'.
        """
        if self.is_initializing():
            return value
        if self.has_variable(EDITS, name):
            value = self.get_variable(EDITS, name).of(value, real)
        self._store(name, Tapped(value, axes, True, note))
        return value

    def show(self, name: str, axes: str, value: Callable[[], Any], note: str = '') -> None:
        """Store a value, as `tap` does, that is computed only where it is asked for, and that no edit can change."""
        if self.asked(name):
            self._store(name, Tapped(value(), axes, False, note))

    def asked(self, *names: str) -> bool:
        """True if a value of one of these names is to be stored or edited."""
        found = (self.is_mutable_collection(name) or self.has_variable(EDITS, name) for name in names)
        return not self.is_initializing() and any(found)

    def scan(
        self, body: Callable[[Any, Any, Any], tuple[Any, Any]], carry: Any, tokens: PyTree, reverse: bool = False
    ) -> tuple[Any, Any]:
        """Run `jax.lax.scan` over tokens with a body that can tap and edit values.

        Args:
            body: function of this module, the carry and one token that returns the new carry and an output; it makes no
                parameters. Its taps have an axis T, of one token.
            tokens: leaves [T ...].
        """
        asked = () if self.is_initializing() else subtract_filters(self.scope.mutable, ('params', EDITS))
        count = len(jax.tree.leaves(tokens)[0])
        edits = _each(Edit, lambda edit: edit.of_each_token(count), self.variables.get(EDITS, {}))

        def one(carry: Any, this: PyTree) -> tuple[Any, Any]:
            token, edits = this
            (carry, y), found = nn.apply(body, self, mutable=asked)({EDITS: edits}, carry, token)
            return carry, (y, found)

        carry, (y, found) = jax.lax.scan(one, carry, (tokens, edits), reverse=reverse)
        for collection, values in _each(Tapped, Tapped.of_all_tokens, found).items():
            for name, value in values.items():
                self.put_variable(collection, name, value)
        return carry, y

    def _store(self, name: str, tapped: Tapped) -> None:
        if self.is_mutable_collection(name):
            self.put_variable(name, name, tapped)


class Transform(Module):
    """Base class of norms, feed-forward layers and positions of tokens: `__call__` computes in the dtype of x."""

    of_hidden = ('__call__',)


class Layer(Module):
    """Base class of mixers, blocks and stacks: one method, `mix`, runs whole sequences and chunks of tokens.

    Attributes:
        dtype: dtype to which the input is cast; None for the input's own.
    """

    of_hidden = ('mix', 'init_state')
    python_only = ('dtype',)

    dtype: Any = None

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run the layer. Abstract; a method that makes parameters is compact.

        Args:
            state: decoding state of the tokens before x; None where x holds whole sequences.

        Returns:
            The output, and the decoding state after x, which has no meaning where `state` is None.
        """
        raise NotImplementedError

    def __call__(self, x: ArrayLike, context: Any = None, train: bool = False) -> Hidden:
        """Run whole sequences. Without a context, positions are 0 to T-1 and every row is one document.

        Raises:
            UserError: x has another number of axes than [B T D], or no token.
        """
        x = on_device(x)
        if np.ndim(x) != 3 or not np.shape(x)[1]:
            raise UserError(f'{_called(type(self))}: x must be hidden states [B T D], not of shape {np.shape(x)}')
        return self.mix(x, context_of(self, x, context), train, None)[0]

    def step(self, x: Hidden, context: LayerContext, state: State) -> tuple[Hidden, State]:
        """Run a chunk of tokens through the layer; return its output and the state after it."""
        return self.mix(x, context, False, state)

    def init_pages(self, x: Hidden, pages: Pages) -> State:
        """Return the empty state for decoding the rows of x with a pool of pages.

        This one is for states of a fixed size: a memory, the newest tokens of a convolution, the ring buffer of a
        window. Each row has its own; a row that shares pages with another starts from a copy (a snapshot).

        Raises:
            UserError: the state grows with the tokens; `attention.paged:in_pages` puts its KV caches into pages.
        """
        fixed, longer = (
            jax.tree.map(jnp.shape, jax.eval_shape(lambda x, capacity=capacity: self.init_state(x, capacity), x))
            for capacity in (pages.capacity, pages.capacity + 1)
        )
        if fixed != longer:
            raise UserError(
                f'{Part(type(self)).name} cannot decode with pages: its state grows with the tokens, and it has no '
                'init_pages; decode without --paged'
            )
        return self.init_state(x, pages.capacity)
