# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Implicit attention maps of mixers without scores: derivatives of head outputs with respect to the values.

    A[n, i, j] = mean over the features u of  d y[i, n, u] / d v[j, n, u],      y: outputs of the heads, v: values

A head of linear attention, of retention or of the delta rule is linear in its values, and its features do not mix: y_i
is a weighted sum of the v_j, with weights that may be negative and need not sum to one. Ali et al. 2024, "The Hidden
Attention of Mamba Models", https://arxiv.org/abs/2403.01590. If a mixer applies an activation to its values, its slope
is a factor. For softmax attention the result is the attention weights. Cost: a backward pass per query and head.
"""

from collections.abc import Callable, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float, Int

from saccade.attention.base import ScoreKernel
from saccade.attention.linformer import Linformer
from saccade.attention.memory_base import FeatureKernel, FixedState
from saccade.attention.multi_head import MultiHead
from saccade.types import Hidden, LayerContext

AT_ONCE = 16  # queries whose derivatives are computed at once

# Methods that aggregate values: class, method name, and the index of the argument with the values.
_SUMS = ((FixedState, 'update_state', 3), ((FeatureKernel, ScoreKernel), '__call__', 2))


def report_implied(
    go: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any], call: nn.module.InterceptorContext
) -> Any:
    """Linen interceptor: mixers without attention weights report their implicit attention instead."""
    module = call.module
    # The differentiated copy is at the root, and has no path.
    if call.method_name == 'mix' and module.path and _makes_no_weights(module) and not module.is_initializing():
        x, context, *_ = given
        module.sow('weights', 'attention', implied_attention(module, module.variables, x, context))
    return go(*given, **named)


def implied_attention(
    mixer: nn.Module, variables: Mapping[str, Any], x: Hidden, context: LayerContext
) -> Float[Array, 'B N T S']:
    """Return the implicit attention of a mixer for tokens x, without dropout."""
    alone = mixer.clone(parent=None, name=None)
    variables, x = jax.lax.stop_gradient(({'params': variables.get('params', {})}, x))

    def outputs(change: Float[Array, 'B S']) -> Float[Array, 'B T N']:
        seen = []

        def change_values(go: Callable[..., Any], given: tuple, named: dict, call: nn.module.InterceptorContext) -> Any:
            for kind, name, place in _SUMS:
                if isinstance(call.module, kind) and call.method_name == name:
                    v = given[place] + change[..., None, None].astype(given[place].dtype)
                    made = go(*given[:place], v, *given[place + 1 :], **named)
                    seen.append((made[0] if isinstance(made, tuple) else made).mean(axis=-1))
                    return made
            return go(*given, **named)

        with nn.intercept_methods(change_values):
            alone.apply(variables, x, context, False)
        return seen[0]

    y, pull = jax.vjp(outputs, jnp.zeros(context.read(x).positions.shape))
    _, T, N = y.shape

    def of_query(number: Int[Array, '']) -> Float[Array, 'B S']:
        """Return the weights of one query of one head."""
        this = jax.nn.one_hot(number, T * N, dtype=y.dtype)
        return pull(jnp.broadcast_to(rearrange(this, '(T N) -> T N', N=N), y.shape))[0]

    weights = jax.lax.map(of_query, jnp.arange(T * N), batch_size=AT_ONCE)
    return rearrange(weights, '(T N) B S -> B N T S', N=N)


def _makes_no_weights(module: nn.Module) -> bool:
    if isinstance(module, MultiHead):
        return issubclass(module.kernel.target, FeatureKernel | Linformer)
    return isinstance(module, FixedState)
