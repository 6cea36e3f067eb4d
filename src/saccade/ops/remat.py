# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rematerialisation: the backward pass recomputes values of the forward pass instead of keeping them.

Whatever does so asks here, so that a program can also be traced with everything kept, to count what a model needs
apart from what saving memory adds. The answer is part of the key of JAX's caches of traces.

`jax.checkpoint` puts barriers between values that are computed again and the first ones, or the compiler would find
them equal and keep the first. XLA:CPU drops barriers before it looks for equal values, until jax 0.12; hence
`compiler_options`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax

_recomputing = jax.make_user_context(True)


def recomputing() -> bool:
    """Return whether the program that is being traced may rematerialise."""
    return _recomputing.value


def nothing_recomputed() -> AbstractContextManager[None]:
    """Trace programs in which everything is kept."""
    return _recomputing(False)


def checkpoint(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Do as `jax.checkpoint` with these options, unless everything is to be kept."""
    return jax.checkpoint(function, **options) if recomputing() else function


def compiler_options(platform: str) -> dict[str, str]:
    """Return the options of a program of which the compiler is to respect barriers, on a platform as 'cpu'."""
    return {'xla_disable_hlo_passes': 'cse_barrier_expander'} if platform == 'cpu' else {}
