# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""How embeddings start."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.embedding import one_hot
from saccade.types import UserError


@pytest.mark.parametrize('width', [4, 7])
def test_each_token_has_a_feature_of_its_own(width):
    table = one_hot()(jax.random.key(0), (4, width), jnp.float32)
    np.testing.assert_array_equal(table, np.eye(4, width))


def test_more_tokens_than_features_are_refused_in_one_line():
    with pytest.raises(UserError, match=r'^model\.embedding_init: .*5 tokens .* not 4; .*model\.width .* 5'):
        one_hot()(jax.random.key(0), (5, 4), jnp.float32)
