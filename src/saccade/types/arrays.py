# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Array types, annotated with their axes."""

from collections.abc import Callable, Mapping
from typing import Any

from jaxtyping import Array, Bool, Float, Int, Key, PyTree

Activation = Callable[[Array], Array]  # of each number by itself, as `jax.nn:gelu`
Tokens = Int[Array, 'B T']
Inputs = Array | tuple[Array, ...]  # what a model embeds: tokens, images ...; or several of these
Hidden = Float[Array, 'B T D']
Queries = Float[Array, 'B T N H']
Keys = Float[Array, 'B S K H']
CachedKeys = Float[Array, 'B S _ _']  # keys, or what they are made of where that is smaller
Values = Float[Array, 'B S _ _']  # in heads and of a width of their own
Mixed = Float[Array, 'B T N _']  # what each query's heads read of them
Scores = Float[Array, 'B N T S']
Logits = Float[Array, 'B T V']
Table = Float[Array, 'V E']  # a vector for each token of a vocabulary
QueryIndex = Int[Array, '... T']
KeyIndex = Int[Array, '... S']
Real = Bool[Array, 'B T']  # True where a place of a row holds a token, False for padding
Params = Mapping[str, Any]
State = PyTree
PRNGKey = Key[Array, ''] | Array
