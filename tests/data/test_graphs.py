# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Graphs as rows of frames: node identifiers beside SciPy's, what a frame holds, and the drawn regular graphs."""

import itertools

import numpy as np
import pytest
import scipy.sparse.csgraph as csgraph

from saccade.data.graph.graph import Graph
from saccade.data.graph.laplacian import Laplacian
from saccade.data.graph.processor import GraphProcessor
from saccade.data.graph.random_walk import RandomWalk
from saccade.data.graph.rows import FrameLayout, frames_of
from saccade.data.pipeline import eval_batches
from saccade.data.synthetic.graphs import CLASSES, RegularGraphs
from saccade.types import IGNORED, Part, Processor, UserError

K, NEAR = 6, 1e-9
REGULAR = RegularGraphs(
    context_length=48, fewest=8, most=12, train=24, validation=12, identifiers=Part(Laplacian).replace(count=K)
)


def random_adjacency(nodes=9, seed=2):
    """A connected graph without symmetries: a path, and edges at random."""
    draw = np.random.default_rng(seed)
    joined = np.triu(draw.random((nodes, nodes)) < 0.35, 1) | np.eye(nodes, k=1, dtype=bool)
    return (joined | joined.T).astype(float)


@pytest.fixture(scope='module')
def prepared(tmp_path_factory):
    return REGULAR.prepare(tmp_path_factory.mktemp('cache'))


def test_eigenvectors_are_those_of_scipys_laplacian():
    adjacency = random_adjacency()
    found = Laplacian(K)(adjacency)
    laplacian = csgraph.laplacian(adjacency, normed=True)
    values, vectors = np.linalg.eigh(laplacian)
    np.testing.assert_allclose(laplacian @ found, found * values[1 : K + 1], atol=NEAR)
    np.testing.assert_allclose(np.abs(found), 3 * np.abs(vectors[:, 1 : K + 1]), atol=NEAR)
    assert ((found**3).sum(axis=0) > 0).all()


def test_a_second_component_is_told_by_the_first_eigenvector():
    adjacency = np.kron(np.eye(2), random_adjacency(5))
    first = Laplacian(1)(adjacency)[:, 0] / np.sqrt(adjacency.sum(axis=-1))
    np.testing.assert_allclose(first, np.repeat([first[0], -first[0]], 5), atol=NEAR)


@pytest.mark.parametrize('nodes', [1, 2, 3])
def test_a_graph_of_few_nodes_has_zeros_for_the_eigenvectors_that_it_lacks(nodes):
    found = Laplacian(K)(np.ones((nodes, nodes)) - np.eye(nodes))
    assert found.shape == (nodes, K)
    assert (found.any(axis=0) == (np.arange(K) < nodes - 1)).all()


def test_a_graph_without_edges_has_finite_identifiers():
    for identifiers in (Laplacian(K), RandomWalk(K)):
        assert np.isfinite(identifiers(np.zeros((4, 4)))).all()


def test_return_probabilities_are_those_of_all_walks():
    adjacency = random_adjacency(5)
    found = RandomWalk(4)(adjacency)
    for steps, node in itertools.product(range(1, 5), range(5)):
        walks = [(node, *between, node) for between in itertools.product(range(5), repeat=steps - 1)]
        odds = sum(
            np.prod([adjacency[a, b] / adjacency[a].sum() for a, b in itertools.pairwise(walk)]) for walk in walks
        )
        assert found[node, steps - 1] == pytest.approx(odds, abs=NEAR)


@pytest.mark.parametrize('identifiers', [Laplacian(K), RandomWalk(K)])
def test_another_order_of_the_nodes_reorders_the_identifiers_and_changes_none(identifiers):
    adjacency, order = random_adjacency(), np.random.default_rng(1).permutation(9)
    again = identifiers(adjacency[np.ix_(order, order)])
    np.testing.assert_allclose(again, identifiers(adjacency)[order], atol=1e-6)


def test_a_repeated_eigenvalue_has_no_eigenvectors_of_its_own():
    """As the module says: those of a ring turn with its numbering, while its return probabilities stay."""
    ring = np.roll(np.eye(8), 1, axis=0) + np.roll(np.eye(8), -1, axis=0)
    order = np.random.default_rng(0).permutation(8)
    turned = ring[np.ix_(order, order)]
    assert np.abs(Laplacian(2)(turned) - Laplacian(2)(ring)[order]).max() > 0.1
    np.testing.assert_allclose(RandomWalk(K)(turned), RandomWalk(K)(ring)[order], atol=NEAR)


def test_a_frame_is_features_kind_and_the_identifiers_of_both_ends():
    nodes, known = np.array([[1.0], [2.0], [3.0]]), np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    found = frames_of(nodes, known, np.array([[2, 0]]), np.array([[7.0, 8.0]]))
    wanted = [
        [1, 0, 0, 1, 0, 0.1, 0.2, 0.1, 0.2],
        [2, 0, 0, 1, 0, 0.3, 0.4, 0.3, 0.4],
        [3, 0, 0, 1, 0, 0.5, 0.6, 0.5, 0.6],
        [0, 7, 8, 0, 1, 0.5, 0.6, 0.1, 0.2],
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert FrameLayout(1, 2, 2, signed=True).eigenvectors.tolist() == [0, 0, 0, 0, 0, 1, 2, 1, 2]
    assert not FrameLayout(1, 2, 2, signed=False).eigenvectors.any()
    assert FrameLayout(1, 2, 2, signed=True).width == found.shape[-1]


def test_types_become_one_hot_and_unknown_ones_zeros():
    edges = np.array([[0, 1], [1, 0]])
    processor = GraphProcessor.of([Graph(['O', 'C'], edges, ['single', None], 'a')])
    assert (processor.node_types, processor.edge_types) == (('C', 'O'), ('single',))
    other = Graph(['C', 'O', 'N'], edges, [None, 'single'], 'b')
    assert processor.nodes(other).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert processor.edges(other).tolist() == [[0], [1]]


def test_features_are_standardized_over_the_training_split():
    values = np.random.default_rng(0).normal(3, 2, (10, 2))
    graphs = [Graph(part, np.zeros((0, 2), int), [], f'graph {n}') for n, part in enumerate(np.split(values, [4]))]
    processor = GraphProcessor.of(graphs)
    found = np.concatenate([processor.nodes(graph) for graph in graphs])
    np.testing.assert_allclose(found, (values - values.mean(axis=0)) / values.std(axis=0), atol=1e-5)
    assert processor.edges(graphs[0]).shape == (0, 0)
    with pytest.raises(UserError, match=r'there: its nodes have 3 features, but .* have 2'):
        processor.nodes(Graph(np.zeros((1, 3)), np.zeros((0, 2), int), [], 'there'))
    with pytest.raises(UserError, match=r'there: its nodes have types, but .* features'):
        processor.nodes(Graph(['C'], np.zeros((0, 2), int), [], 'there'))
    with pytest.raises(UserError, match=r'there: its nodes have features, but .* types'):
        GraphProcessor(('C',)).nodes(Graph(np.zeros((1, 3)), np.zeros((0, 2), int), [], 'there'))


def test_the_processor_is_kept(tmp_path):
    kept = GraphProcessor(('C', 'O'), ('single',))
    assert isinstance(kept, Processor)
    assert REGULAR.open_processor(tmp_path) is None
    kept.save(tmp_path)
    found = REGULAR.open_processor(tmp_path)
    assert (found, found.digest) == (kept, kept.digest)
    with pytest.raises(UserError, match=r'data\.node_features: 0, but the training split has 2'):
        REGULAR.require_model(Part(dict), found)
    for content in ('{', '[]', '{"node_types": []}', '{"node_types":[],"edge_types":[],"mean":[0],"deviation":[0]}'):
        (tmp_path / 'processor.json').write_text(content)
        with pytest.raises(UserError, match=r'processor\.json'):
            REGULAR.open_processor(tmp_path)


def test_rows_have_the_declared_shapes_and_padding_counts_nothing(prepared):
    (*_, last) = eval_batches(prepared.splits['validation'], 8)
    like = REGULAR.batch_like(8)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == {
        name: (leaf.shape, leaf.dtype) for name, leaf in like.items()
    }
    assert (last['label'][4:] == IGNORED).all()
    assert not last['segments'][4:].any()
    assert not last['frames'][last['segments'] == 0].any()


def test_every_node_has_the_same_degree_and_classes_differ_in_their_components(prepared):
    sizes = {name: [] for name in CLASSES}
    for split in prepared.splits.values():
        for row, label in enumerate(split.answers):
            nodes, edges = len(split.rows.nodes[row]), split.rows.edges[row]
            joined = np.zeros((nodes, nodes), int)
            joined[edges[:, 0], edges[:, 1]] = 1
            assert (joined.sum(axis=-1) == 3).all()
            assert (joined == joined.T).all()
            assert not joined.diagonal().any()
            components, which = csgraph.connected_components(joined)
            assert components == label + 1
            assert len(set(np.bincount(which))) == 1
            sizes[split.names[label]].append(nodes)
    assert sizes['connected'] == sizes['two components']
    assert {*sizes['connected']} == {8, 12}


def test_splits_differ_and_are_drawn_alike_again(prepared, tmp_path):
    train, validation = (prepared.splits[name].rows[0]['frames'] for name in ('train', 'validation'))
    assert not np.array_equal(train, validation)
    np.testing.assert_array_equal(REGULAR.prepare(tmp_path).splits['train'].rows[0]['frames'], train)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(fewest=10), 'multiples of 4'),
        (dict(fewest=16), 'multiples of 4, fewest <= most'),
        (dict(degree=2), r'data\.degree: 2 must be at least 3'),
        (dict(degree=4), r'data\.degree: 4 .* less than the 4 nodes'),
        (dict(context_length=47), r'data\.context_length: 12 nodes of 3 edges need 48 frames, not 47'),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        RegularGraphs(**dict(context_length=48, fewest=8, most=12, identifiers=None) | changes)
