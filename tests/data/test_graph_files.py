# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Graphs in JSON lines: what is read, how a file is split, and what is refused, naming the file and the line."""

import json

import numpy as np
import pytest

from saccade.data.graph.files import GraphFiles, graph_of
from saccade.data.graph.random_walk import RandomWalk
from saccade.data.stratified import stratified
from saccade.types import IGNORED, Data, Part, UserError

GOOD = {'nodes': ['C', 'O', 'C'], 'edges': [[0, 1, 'single'], [1, 2]], 'label': 'a'}
SIZES = dict(context_length=16, classes=2, node_features=2, edge_types=1)


def written(folder, records, name='graphs.jsonl'):
    path = folder / name
    path.write_text('\n'.join(map(json.dumps, records)))
    return path


def labelled(count):
    """Graphs of which each has one node more of type O than the one before, and every other is of class b."""
    return [GOOD | {'nodes': ['C', 'O', 'C', *number * ['O']], 'label': 'ab'[number % 2]} for number in range(count)]


def prepared(tmp_path, records, **changes):
    data = GraphFiles(path=str(written(tmp_path, records)), **SIZES | dict(identifiers=None) | changes)
    assert isinstance(data, Data)
    return data.prepare(tmp_path / 'cache')


def test_an_undirected_edge_leads_both_ways_and_a_directed_one_does_not():
    graph = graph_of(GOOD | {'edges': [[0, 1, 'single'], [1, 2], [2, 2]]}, 'here', directed=False)
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 2], [1, 0], [2, 1]]
    assert graph.types == ['single', None, None, 'single', None]
    directed = graph_of(GOOD | {'edges': [[0, 1], [1, 0]]}, 'here', directed=True)
    assert directed.edges.tolist() == [[0, 1], [1, 0]]
    assert graph_of(GOOD | {'edges': []}, 'here', directed=False).edges.shape == (0, 2)


def test_a_row_is_the_graph_of_its_line(tmp_path):
    found = prepared(tmp_path, labelled(10), identifiers=Part(RandomWalk).replace(count=2))
    split = found.splits['train']
    row = split.rows[0]
    assert (split.names, split.unit) == (('a', 'b'), 'graphs')
    frames = row['frames'][row['segments'] != 0]
    nodes = len(split.rows.nodes[0])
    assert frames[:3, :5].tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [1, 0, 0, 1, 0]]
    assert frames[nodes:, :5].tolist() == [[0, 0, 1, 0, 1], [0, 0, 0, 0, 1], [0, 0, 1, 0, 1], [0, 0, 0, 0, 1]]
    returns = [[0, 0.5], [0, 1], [0, 0.5]]
    assert frames[:3, 5:].tolist() == [2 * each for each in returns]
    assert frames[nodes, 5:].tolist() == returns[0] + returns[1]


def test_a_fifth_of_each_class_is_held_out_and_always_the_same(tmp_path):
    found = prepared(tmp_path, labelled(10))
    train, validation = (found.splits[name] for name in ('train', 'validation'))
    assert np.bincount(train.answers).tolist() == [4, 4]
    assert np.bincount(validation.answers).tolist() == [1, 1]
    sizes = sorted([*train.rows.nodes.lengths, *validation.rows.nodes.lengths])
    assert sizes == list(range(3, 13))
    labels = np.arange(50) % 3
    np.testing.assert_array_equal(stratified(labels, 0.2), stratified(labels, 0.2))


@pytest.mark.parametrize('share', [0.0, 1.01, 0.01])
def test_a_share_that_leaves_a_side_empty_is_refused(share):
    with pytest.raises(UserError, match=r'data\.validation'):
        stratified(np.arange(10) % 2, share)


def test_a_folder_has_a_file_for_each_split(tmp_path):
    for name in ('train', 'val'):
        written(tmp_path, labelled(4), f'{name}.jsonl')
    found = GraphFiles(path=str(tmp_path), identifiers=None, **SIZES).prepare(tmp_path / 'cache')
    assert {name: len(split.rows) for name, split in found.splits.items()} == {'train': 4, 'validation': 4}


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(nodes=[]), r"'nodes' must be a list of at least one node, not \[\]"),
        (dict(nodes='C'), "'nodes' must be a list"),
        (dict(nodes=['C', 1]), "node 0 is 'C'; nodes must all be names of types, or all lists of numbers"),
        (dict(nodes=[[1.0], [2.0], [1.0, 2.0]]), 'node 2 has 2 features, but node 0 has 1'),
        (dict(nodes=[[1.0], [float('nan')]]), 'node 1 is '),
        (dict(nodes=[[1.0], [1e39]]), 'node 1 is '),
        (dict(nodes=[[1.0], [10**400]]), 'node 1 is '),
        (dict(nodes=[[1.0], [True]]), 'node 1 is '),
        (dict(nodes=[[], []]), r'node 0 is \[\]'),
        (dict(edges=None), "'edges' must be a list"),
        (dict(edges=[[0, 3]]), r'the edge \[0, 3\] has an end 3, but the nodes are 0 to 2'),
        (dict(edges=[[-1, 0]]), 'has an end -1'),
        (dict(edges=[[0, 1.5]]), 'has an end 1.5'),
        (dict(edges=[[True, 0]]), 'has an end True'),
        (dict(edges=[[0]]), r'an edge is \[0, 1\] or \[0, 1, "type"\], not \[0\]'),
        (dict(edges=[[0, 1, 2]]), 'an edge is '),
        (dict(edges=[[0, 1], [1, 0]]), r'the edge \[1, 0\] is repeated; an undirected edge is given once'),
        (dict(label=None), "'label' is not a class, but None"),
    ],
)
def test_a_bad_line_is_refused_by_its_number(tmp_path, changes, message):
    with pytest.raises(UserError, match=rf'^{tmp_path}/graphs\.jsonl, line 3: .*{message}'):
        prepared(tmp_path, [*labelled(2), GOOD | changes, *labelled(8)])


def test_a_line_without_a_label_is_refused(tmp_path):
    unlabelled = {name: value for name, value in GOOD.items() if name != 'label'}
    with pytest.raises(UserError, match=r"line 3: has no column 'label'; it has nodes, edges"):
        prepared(tmp_path, [*labelled(2), unlabelled])


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(classes=3), r'data\.classes: 3, but the training split has 2: a, b; set --config\.data\.classes=2'),
        (dict(node_features=9), r'data\.node_features: 9, .* has 2; set --config\.data\.node_features=2'),
        (dict(edge_types=0), r'data\.edge_types: 0, but the training split has 1; set --config\.data\.edge_types=1'),
        (dict(context_length=15), r'line 10: 12 nodes and 4 directions of edges .*data\.context_length=16'),
        (dict(path='nowhere.jsonl'), 'nowhere.jsonl: there is no such file'),
    ],
)
def test_a_config_that_does_not_fit_the_file_is_refused(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        prepared(tmp_path, labelled(10), **changes) if 'path' not in changes else GraphFiles(
            **SIZES | dict(identifiers=None) | changes
        ).prepare(tmp_path)


def test_rows_of_new_graphs_need_no_label(tmp_path):
    data = GraphFiles(path=str(written(tmp_path, labelled(10))), identifiers=None, **SIZES)
    found = data.prepare(tmp_path / 'cache')
    new = data.read(written(tmp_path, [{name: GOOD[name] for name in ('nodes', 'edges')}] * 2, 'new.jsonl'))
    split = data.unanswered(new, ('a', 'b'), found.processor)
    assert split.answers.tolist() == 2 * [IGNORED]
    rows = [split.rows[row] for split in found.splits.values() for row in range(len(split.rows))]
    (first,) = (row for row in rows if row['segments'].sum() == 7)
    np.testing.assert_array_equal(split.rows[1]['frames'], first['frames'])
    assert split.names == found.splits['train'].names
