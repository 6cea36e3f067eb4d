# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""One layer of a spec, as it is counted and measured: its parameters, its FLOPs, its forward and backward pass."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from saccade.build import build
from saccade.ops.flops import flops
from saccade.types import Total


def layer(spec: Mapping[str, Any]) -> Any:
    """Return the layer of a spec."""
    return build(dict(spec))(parent=None)


def params_like(spec: Mapping[str, Any], x: jax.ShapeDtypeStruct) -> PyTree:
    """Return shapes and dtypes of the parameters for inputs like x [B T D]."""
    variables = jax.eval_shape(lambda x: layer(spec).init(jax.random.key(0), x), x)
    return {'params': variables['params']}


def forward_flops(spec: Mapping[str, Any], x: jax.ShapeDtypeStruct) -> int:
    """Return the FLOPs of the forward pass of inputs like x, as it is traced for inference."""
    return flops(lambda params, x: layer(spec).apply(params, x, None, False), params_like(spec, x), x)


def forward_and_backward(spec: Mapping[str, Any]) -> Any:
    """Return the program of the gradients, for parameters and inputs, of the output's squares and reported losses."""

    def loss(params: PyTree, x: Float[Array, 'B T D']) -> Float[Array, '']:
        y, reports = layer(spec).apply(params, x, None, True, mutable=['losses'])
        totals = jax.tree.leaves(reports, is_leaf=lambda node: isinstance(node, Total))
        return jnp.square(y).sum() + sum(total.mean() for total in totals)

    return jax.jit(jax.grad(loss, (0, 1)))
