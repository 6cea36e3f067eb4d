# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rematerialisation: the backward pass recomputes values of the forward pass instead of keeping them.

`jax.checkpoint` names what it computes again `rematted_computation`; a kernel with a backward pass of its own does the
same by `recomputed`. So the trace of a program tells what its model needs apart from what saving memory adds.

`jax.checkpoint` puts barriers between values that are computed again and the first ones, or the compiler would find
them equal and keep the first. XLA:CPU drops barriers before it looks for equal values, until jax 0.12; hence
`compiler_options`.
"""

from contextlib import AbstractContextManager

import jax
from jax.extend.core import JaxprEqn

_NAME = 'rematted_computation'  # as `jax.checkpoint` has it


def recomputed() -> AbstractContextManager[None]:
    """Trace operations of a backward pass that the forward pass has done before.

    The derivative of a function that `jax.vjp` calls herein is to be called outside: it is done once.
    """
    return jax.named_scope(_NAME)


def is_recomputed(equation: JaxprEqn) -> bool:
    """Return whether an equation of a traced program, with all that is inside it, is computed again."""
    return _NAME in str(equation.source_info.name_stack)


def compiler_options(platform: str) -> dict[str, str]:
    """Return the options of a program of which the compiler is to respect barriers, on a platform as 'cpu'."""
    return {'xla_disable_hlo_passes': 'cse_barrier_expander'} if platform == 'cpu' else {}
