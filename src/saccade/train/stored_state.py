# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""State of a run as a checkpoint stores it: the parameters and their average apart from the rest, keys as numbers.

So a file is read only if something in it is restored.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from saccade.train.workdir import differ
from saccade.types import UserError

_ALONE = ('params', 'ema')  # fields of the state that are restored without the others
_REST = 'rest'
_SHOWN = 4  # differences in a message


def stores_of(state: PyTree) -> dict[str, dict[str, PyTree]]:
    """Return the fields of a state that are not empty, by name, in the store that holds each."""
    stores: dict[str, dict[str, PyTree]] = {}
    for name, tree in _fields(state).items():
        stores.setdefault(store_of(name), {})[name] = tree
    return stores


def store_of(field: str) -> str:
    """Return the name of the store that holds a field."""
    return field if field in _ALONE else _REST


def read_state(folder: Path, like: PyTree, stored: Iterable[str], part: bool = False) -> PyTree:
    """Read arrays with the structure of `like`; with `part`, the checkpoint may hold other fields as well.

    Args:
        folder: one that holds the stores of a step.
        stored: names of all its stores.

    Raises:
        UserError: the checkpoint holds another state.
    """
    import orbax.checkpoint as ocp

    placed, found = jax.tree.map(_placed, like), {}
    wanted, stores = _fields(placed), stores_of(placed)
    _refuse_other(folder, wanted, [store for store in stored if store in stores or not part], part)
    with closing(ocp.Checkpointer(ocp.PyTreeCheckpointHandler())) as reader:
        for store, trees in stores.items():
            restore_args = ocp.checkpoint_utils.construct_restore_args(trees)
            arguments = ocp.args.PyTreeRestore(trees, restore_args=restore_args, partial_restore=True)
            found |= reader.restore(folder / store, args=arguments)
    leaves = jax.tree.leaves([found[name] for name in wanted])
    return jax.tree.map(_with_key_type, jax.tree.unflatten(jax.tree.structure(like), leaves), like)


def as_raw(leaf: Any) -> Any:
    """Return the words of a typed key, which is stored as these; another leaf as it is."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _fields(state: PyTree) -> dict[str, PyTree]:
    """Return the fields of a state that are not empty, by name."""
    children, _ = jax.tree_util.tree_flatten_with_path(state, is_leaf=lambda node: node is not state)
    named = {jax.tree_util.keystr(path, simple=True): child for path, child in children}
    return {name: child for name, child in named.items() if jax.tree.leaves(child)}


def _refuse_other(folder: Path, wanted: Mapping[str, PyTree], stores: Iterable[str], part: bool) -> None:
    import orbax.checkpoint as ocp
    from etils import epath

    handler, stored = ocp.PyTreeCheckpointHandler(), {}
    for store in stores:
        stored |= _described(handler.metadata(epath.Path(folder / store)).tree)
    if part:
        stored = {name: stored[name] for name in stored if name.partition('.')[0] in wanted}
    differences = [text for _, text in differ(stored, _described(wanted))]
    if differences:
        more = f'; and {len(differences) - _SHOWN} more' if len(differences) > _SHOWN else ''
        raise UserError(f'{folder}: holds another state: {"; ".join(differences[:_SHOWN])}{more}')


def _described(tree: PyTree) -> dict[str, str]:
    """Return dtype and shape by dotted path."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path, simple=True, separator='.'): f'{np.dtype(leaf.dtype).name}{list(leaf.shape)}'
        for path, leaf in leaves
    }


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _placed(leaf: Any) -> jax.ShapeDtypeStruct:
    raw = jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf
    here = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    return jax.ShapeDtypeStruct(raw.shape, raw.dtype, sharding=getattr(leaf, 'sharding', None) or here)


def _with_key_type(array: jax.Array, leaf: Any) -> jax.Array:
    if not _is_key(leaf):
        return array
    found: list[Any] = []
    jax.eval_shape(lambda key: found.append(jax.random.key_impl(key)), leaf)
    return jax.random.wrap_key_data(array, impl=found[0])
