# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rematerialisation: the backward pass recomputes values of the forward pass instead of keeping them.

`jax.checkpoint` names recomputation `rematted_computation`; a kernel with its own backward pass uses
`recomputed`. The trace of a program therefore separates the model's FLOPs from recomputation.

`jax.checkpoint` inserts barriers, or the compiler would merge recomputed values with the first ones by common
subexpression elimination. Before jax 0.12, XLA:CPU drops barriers before this pass; hence `compiler_options`.
"""

from contextlib import AbstractContextManager

import jax
from jax.extend.core import JaxprEqn

_NAME = 'rematted_computation'  # as `jax.checkpoint` has it


def recomputed() -> AbstractContextManager[None]:
    """Mark traced operations of a backward pass as recomputation.

    If `jax.vjp` is called inside, call the resulting derivative outside: it is not recomputation.
    """
    return jax.named_scope(_NAME)


def is_recomputed(equation: JaxprEqn) -> bool:
    """Return True if an equation of a traced program is recomputation."""
    return _NAME in str(equation.source_info.name_stack)


def compiler_options(platform: str) -> dict[str, str]:
    """Return compiler options that preserve barriers on a platform such as 'cpu'."""
    return {'xla_disable_hlo_passes': 'cse_barrier_expander'} if platform == 'cpu' else {}
