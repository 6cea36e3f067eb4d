# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of others whose outputs and gradients are recorded, and the comparison of ours with them."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saccade.build import build
from saccade.types import LayerContext

F32_RELATIVE = 1e-5  # of the largest element


class Theirs:
    """A layer in `recorded/FILE.npz`: x, dy, y, dx, and its parameters.

    Args:
        heads: their number, where a method is not told another.
    """

    def __init__(self, file: str, name: str, heads: int) -> None:
        self.count = heads
        with np.load(Path(__file__).parent / 'recorded' / f'{file}.npz') as file:
            self.x, self.dy, self.y, self.dx = (file[at] for at in ('x', 'dy', f'{name}/y', f'{name}/dx'))
            own = f'{name}/params/'
            self.params = {at.removeprefix(own): file[at] for at in file.files if at.startswith(own)}

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a parameter; a matrix as [in, out]."""
        return self.params[name].T

    def heads(self, name: str, heads: int | None = None) -> np.ndarray:
        """Return a matrix as [in, heads, width]."""
        return self[name].reshape(len(self[name]), heads or self.count, -1)

    def projections(self, **heads: int) -> dict[str, np.ndarray]:
        """Return query, key, value and output."""
        made = {name: self.heads(f'{name[0]}_proj.weight', heads.get(name)) for name in ('query', 'key', 'value')}
        return made | {'output': self.output('o_proj.weight')}

    def output(self, name: str) -> np.ndarray:
        """Return a matrix as [heads, width, out]."""
        return self[name].reshape(self.count, -1, self[name].shape[-1])

    def convolution(self) -> dict[str, np.ndarray]:
        """Return the taps of the convolutions of queries, keys and values."""
        return {'output': np.concatenate([self.params[f'{name}_conv1d.weight'][:, 0].T for name in 'qkv'], axis=-1)}


def assert_same(theirs: Theirs, spec: dict[str, Any], params: dict[str, Any]) -> None:
    """Compare outputs, and gradients by the input."""
    module, params = build(spec)(), jax.tree.map(jnp.asarray, params)
    context = LayerContext(jnp.broadcast_to(jnp.arange(theirs.x.shape[1]), theirs.x.shape[:2]))

    def run(x: Any) -> Any:
        y = module.apply({'params': params}, x, context, False)
        return (theirs.dy * y).sum(), y

    dx, y = jax.jit(jax.grad(run, has_aux=True))(jnp.asarray(theirs.x))
    for given, expected in ((y, theirs.y), (dx, theirs.dx)):
        np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())
