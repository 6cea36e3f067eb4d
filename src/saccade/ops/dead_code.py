# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dead code elimination of traced functions.

A compiler also removes dead code, but FLOP counts and lowering of a traced program would include it.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr


def without_dead_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, traced at each call, without computations that its results do not depend on."""

    def pruned(*args: Any) -> Any:
        traced, results = jax.make_jaxpr(function, return_shape=True)(*args)
        live, _ = dce_jaxpr(traced.jaxpr, [True] * len(traced.jaxpr.outvars), instantiate=True)
        leaves = jaxpr_as_fun(ClosedJaxpr(live, traced.consts))(*jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(results), leaves)

    return pruned
