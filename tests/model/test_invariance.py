# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What models of graphs and sets cannot see: the order of nodes, edges and members, and the signs of a solver."""

from pathlib import Path
from unittest import mock

import jax
import numpy as np
import pytest

from saccade.augment.sign_flip import SignFlip
from saccade.data.frames.rows import row_of
from saccade.data.graph.laplacian import Laplacian
from saccade.data.graph.random_walk import RandomWalk
from saccade.data.graph.rows import FrameLayout, frames_of
from saccade.task.base import Forward
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.types import IGNORED

ROOT = Path(__file__).parents[2] / 'experiments'
NODES, K, LENGTH, ROUNDING = 9, 8, 48, 1e-4
SMALL = ('--config.model.width=16', '--config.model.layers=2')

pytestmark = pytest.mark.long


def a_graph(seed=2):
    """Edges, each way, of a connected graph whose eigenvalues all differ."""
    draw = np.random.default_rng(seed)
    joined = np.triu(draw.random((NODES, NODES)) < 0.35, 1) | np.eye(NODES, k=1, dtype=bool)
    return np.argwhere(joined | joined.T)


def a_ring():
    return np.concatenate([np.stack([np.arange(NODES), np.roll(np.arange(NODES), turn)], axis=-1) for turn in (1, -1)])


def frames(edges, identifiers):
    joined = np.zeros((NODES, NODES))
    joined[edges[:, 0], edges[:, 1]] = 1
    return frames_of(np.zeros((NODES, 0)), identifiers(joined), edges, np.zeros((len(edges), 0)))


def reordered(edges, seed=0):
    """The same graph, with its nodes numbered in another order, and its edges in another one too."""
    draw = np.random.default_rng(seed)
    return draw.permutation(draw.permutation(NODES)[edges])


def batch_of(*sequences, signed=True):
    rows = [row_of(each, LENGTH) for each in sequences]
    extra = {
        'eigenvectors': np.tile(FrameLayout(0, 0, K, signed).eigenvectors, (len(rows), 1)),
        'example': np.arange(len(rows), dtype=np.int32),
        'label': np.full(len(rows), IGNORED, np.int32),
    }
    stacked = {name: np.stack([row[name] for row in rows]) for name in rows[0]} | extra
    return jax.tree.map(jax.numpy.asarray, stacked)


def logits_of(file, batch, *overrides):
    """The logits of an experiment's model with random weights, far from those that training starts from."""
    experiment = Experiment.of(load_config(str(ROOT / file), [*SMALL, *overrides]))
    task, model = experiment.task(), experiment.model()
    params = task.init(model, jax.random.key(0), batch)
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    drawn = [leaf + 0.3 * jax.random.normal(key, leaf.shape) for key, leaf in zip(keys, leaves, strict=True)]
    return np.asarray(task.read(Forward(train=False), model, jax.tree.unflatten(tree, drawn), batch, jax.random.key(0)))


@pytest.mark.parametrize(
    ('identifiers', 'edges'),
    [(Laplacian(K), a_graph()), (RandomWalk(K), a_graph()), (RandomWalk(K), a_ring())],
    ids=['laplacian', 'random walk', 'random walk of a ring'],
)
def test_a_prediction_of_a_graph_does_not_change_with_the_order_of_its_nodes_and_edges(identifiers, edges):
    batch = batch_of(frames(edges, identifiers), frames(reordered(edges), identifiers), frames(a_graph(5), identifiers))
    one, again, other = logits_of('graphs/connected.py', batch)
    np.testing.assert_allclose(again, one, atol=ROUNDING)
    assert np.abs(other - one).max() > 100 * ROUNDING


def test_a_prediction_does_not_change_with_the_signs_that_a_solver_gives():
    edges, solve, signs = a_graph(), np.linalg.eigh, np.random.default_rng(0).choice([-1, 1], NODES)

    def signed(matrix):
        values, vectors = solve(matrix)
        return values, vectors * signs

    one = frames(edges, Laplacian(K))
    with mock.patch('numpy.linalg.eigh', signed):
        again = frames(edges, Laplacian(K))
    np.testing.assert_allclose(again, one, atol=1e-6)


def test_signs_that_are_drawn_change_a_prediction_so_that_training_must_unlearn_them():
    batch = batch_of(*[frames(a_graph(), Laplacian(K))] * 4)
    drawn = SignFlip()(jax.random.split(jax.random.key(0), 4), batch)
    logits = logits_of('graphs/connected.py', drawn)
    assert np.abs(logits - logits[0]).max() > 100 * ROUNDING


def test_without_identifiers_regular_graphs_of_one_size_are_the_same_rows():
    def none(joined):
        return np.zeros((len(joined), 0))

    ring, parts = a_ring(), np.concatenate([(np.arange(3)[:, None] + [0, turn]) % 3 for turn in (1, -1)])
    triangles = np.concatenate([parts + start for start in (0, 3, 6)])
    np.testing.assert_array_equal(frames(ring, none), frames(triangles, none))


def test_a_prediction_of_a_set_does_not_change_with_the_order_of_its_members():
    members = np.random.default_rng(0).normal(size=(16, 11)).astype(np.float32)
    order = np.random.default_rng(1).permutation(16)
    rows = [row_of(each, 16) for each in (members, members[order], -members)]
    batch = {name: jax.numpy.stack([row[name] for row in rows]) for name in rows[0]}
    one, again, other = logits_of('sets/points.py', batch)
    np.testing.assert_allclose(again, one, atol=ROUNDING)
    assert np.abs(other - one).max() > 100 * ROUNDING


def test_positions_of_members_would_break_the_invariance():
    members = np.random.default_rng(0).normal(size=(16, 11)).astype(np.float32)
    rows = [row_of(each, 16) for each in (members, members[::-1])]
    batch = {name: jax.numpy.stack([row[name] for row in rows]) for name in rows[0]}
    rotary = "--config.model.block.mixer.position={'use': 'position.rotary:Rotary'}"
    one, again = logits_of('sets/points.py', batch, rotary)
    assert np.abs(again - one).max() > 100 * ROUNDING
