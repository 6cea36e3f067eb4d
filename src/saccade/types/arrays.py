# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Array types, annotated with their axes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Num, PyTree

ArrayLike = Array | np.ndarray | list  # as the caller of a module may give it
Activation = Callable[[Array], Array]  # elementwise, such as `jax.nn:gelu`
Tokens = Int[Array, 'B T']
Inputs = Array | tuple[Array, ...]  # tokens, images ..., or a tuple of these
Hidden = Float[Array, 'B T D']
Queries = Float[Array, 'B T N H']
Keys = Float[Array, 'B S K H']
CachedKeys = Float[Array, 'B S _ _']  # keys, or smaller features from which keys are computed
Values = Float[Array, 'B S _ _']  # number of heads and width can differ from those of the keys
Features = dict[str, Num[Array, 'B S _']]  # of each key, by the name of the score term that reads them
Mixed = Float[Array, 'B T N _']  # attention output of each head of each query
Scores = Float[Array, 'B N T S']
Logits = Float[Array, 'B T V']
Table = Float[Array, 'V E']  # embedding table of a vocabulary
QueryIndex = Int[Array, '... T']
KeyIndex = Int[Array, '... S']
Real = Bool[Array, 'B T']  # True for tokens, False for padding
Params = Mapping[str, Any]
State = PyTree
PRNGKey = Key[Array, ''] | Array
