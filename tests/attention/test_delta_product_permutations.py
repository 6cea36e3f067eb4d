# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeltaProduct with weights written by hand solves the word problem of S3, with two updates, one head and no norm.

A permutation of three things turns or reflects a plane, and two reflections make either. An update with b = 2 reflects
a column s of the memory in the line of all s with k.s = v. Where all these lines meet in p, the memory, which starts at
0, is p - R p after permutations whose product is R. It needs no first token.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.delta_product import DeltaProduct
from saccade.types import LayerContext

PERMUTATIONS = [*itertools.permutations(range(3))]
PLANE = np.linalg.qr(np.array([[1, -1, 0], [1, 1, -2], [1, 1, 1]], float).T)[0][:, :2]  # where coordinates sum to 0
TURNED = [PLANE.T @ np.eye(3)[:, list(each)] @ PLANE for each in PERMUTATIONS]
SIZE = 0.2  # of what silu has to make: from below it makes no less than -0.278
QUERY = np.array([np.cos(0.3), np.sin(0.3)])  # on no line of a reflection, so that six products are six points
TOKENS = 200


def reflections():
    """The unit normal of each reflection among the permutations; None stands for no reflection."""
    return [None] + [np.linalg.eigh(turn)[1][:, 0] for turn in TURNED if np.linalg.det(turn) < 0]


def reflected(normal):
    return np.eye(2) if normal is None else np.eye(2) - 2 * np.outer(normal, normal)


def two_reflections(turn):
    """The normals of two reflections, one after another, that are a permutation."""
    return next(
        pair for pair in itertools.product(reflections(), repeat=2)
        if np.allclose(reflected(pair[1]) @ reflected(pair[0]), turn)
    )  # fmt: skip


def before_silu(y):
    """What silu makes y of, to 1e-9; y is above its minimum."""
    x = np.zeros_like(y)
    for _ in range(50):
        share = 1 / (1 + np.exp(-x))
        x -= (x * share - y) / (share * (1 + x * (1 - share)))
    return x


def by_hand():
    """The parameters for tokens that are one-hot vectors."""
    pairs = [two_reflections(turn) for turn in TURNED]
    normals = np.array([[np.zeros(2) if each is None else each for each in pair] for pair in pairs])  # tokens M H
    kernels = dict(query=np.tile(QUERY, (6, 1, 1)), key=normals, value=normals)  # p of column c is SIZE e_c
    write = np.array([[-30.0 if each is None else 30.0 for each in pair] for pair in pairs])
    output = np.eye(2, 6)[None]  # heads H D
    params = {name: before_silu(SIZE * kernel) for name, kernel in kernels.items()} | dict(write=write, output=output)
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), params)


@pytest.mark.long
def test_two_updates_make_every_permutation_of_three_and_the_memory_keeps_their_product_over_200_tokens():
    mixer = DeltaProduct(heads=1, head_width=2, updates=2, decay=False, head_norm=None)
    tokens = np.random.default_rng(0).integers(6, size=(2, TOKENS))
    context = LayerContext(jnp.tile(jnp.arange(TOKENS), (2, 1)))
    y = jax.jit(mixer.apply, static_argnums=3)({'params': by_hand()}, jax.nn.one_hot(tokens, 6), context, False)

    points = np.array([SIZE * (QUERY - turn.T @ QUERY) for turn in TURNED])
    found = np.linalg.norm(y[..., None, :2] - points, axis=-1).argmin(axis=-1)
    for row, answers in zip(tokens, found, strict=True):
        state = (0, 1, 2)
        for token, answer in zip(row, answers, strict=True):
            state = tuple(PERMUTATIONS[token][place] for place in state)
            assert PERMUTATIONS[answer] == state
