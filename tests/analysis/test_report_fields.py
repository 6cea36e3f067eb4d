# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""In what configs differ: only that, by short names, with swapped parts as classes."""

import pytest

from saccade.analysis.report.fields import differing

COSINE = {'use': 'train.schedule:Cosine', 'peak': 0.001, 'floor': 0.0, 'warmup': 3}
CONSTANT = {'use': 'train.schedule:Constant', 'peak': 0.001, 'warmup': 3}
NORMAL = {'use': 'jax.nn.initializers:normal', 'stddev': 0.02}


@pytest.mark.parametrize(
    ('configs', 'expected'),
    [
        ([{'a': 1, 'b': 2}, {'a': 1, 'b': 2}], {}),
        ([{'a': {'b': {'heads': 1}}}, {'a': {'b': {'heads': 2}}}], {'heads': ['1', '2']}),
        ([{'a': {'n': 1}, 'b': {'n': 3}}, {'a': {'n': 2}, 'b': {'n': 3}}], {'n': ['1', '2']}),
        ([{'a': {'n': 1}, 'b': {'n': 3}}, {'a': {'n': 2}, 'b': {'n': 4}}], {'a.n': ['1', '2'], 'b.n': ['3', '4']}),
        ([{'a': {'n': 1}, 'n': 3}, {'a': {'n': 2}, 'n': 4}], {'a.n': ['1', '2'], 'n': ['3', '4']}),
        ([{'a': 1, 'b': 1}, {'a': 2, 'b': 2}], {'a, b': ['1', '2']}),  # derived from one another
        ([{'a': 0.1 + 0.2}, {'a': 1e-5}], {'a': ['0.3', '1e-05']}),
        ([{'a': 0.10001}, {'a': 0.10002}], {'a': ['0.10001', '0.10002']}),
        ([{'a': 1}, {'a': '1'}], {'a': ['1.0', '"1"']}),
        ([{'a': 1}, {'a': 1.0}], {}),
        ([{'a': 1}, {'a': True}], {'a': ['1', 'True']}),
        ([{'a': 1}, {}], {'a': ['1', '—']}),
        ([{'a': None}, {'a': 'x'}], {'a': ['None', 'x']}),
        ([{'s': COSINE}, {'s': CONSTANT}], {'s': ['Cosine', 'Constant']}),
        ([{'s': COSINE}, {'s': {**CONSTANT, 'peak': 0.01}}], {'s': ['Cosine', 'Constant'], 'peak': ['0.001', '0.01']}),
        (
            [{'s': COSINE}, {'s': {**COSINE, 'floor': 0.5}}, {'s': CONSTANT}],
            {'s': ['Cosine(floor=0)', 'Cosine(floor=0.5)', 'Constant']},
        ),
        (
            [{'s': {'use': 'a:A', 'x': 1}}, {'s': {'use': 'a:A'}}, {'s': {'use': 'b:B'}}],
            {'s': ['A(x=1)', 'A', 'B']},
        ),
        ([{'s': {'use': 'a:Norm'}}, {'s': {'use': 'b:Norm'}}], {'s': ['a:Norm', 'b:Norm']}),
        (
            [{'block': [{'use': 'a:A', 'n': 1}, {'use': 'b:B'}]}, {'block': [{'use': 'a:A', 'n': 2}, {'use': 'b:B'}]}],
            {'n': ['1', '2']},
        ),
        ([{'s': None}, {'s': {'use': 'a:A', 'n': 1}}], {'s': ['None', 'A(n=1)']}),
        (
            [{'s': {'use': 'a:A', 'x': 2.33}}, {'s': {'use': 'a:A', 'x': 1e-7}}, {'s': {'use': 'b:B'}}],
            {'s': ['A(x=2.33)', 'A(x=1e-07)', 'B']},
        ),
        ([{'x': 0.1 + 0.2}, {'x': 0.3}], {'x': ['0.30000000000000004', '0.3']}),
        (  # B has a default in the place of A's initialiser; it has no kernel at all
            [{'s': {'use': 'a:A', 'kernel': 1, 'kernel_init': NORMAL}}, {'s': {'use': 'b:B'}}],
            {'s': ['A(kernel_init=normal(stddev=0.02))', 'B']},
        ),
        (  # no more digits than tell values apart
            [{'s': {'use': 'a:A', 'kernel_init': {**NORMAL, 'stddev': 2**-0.5 / 100}}}, {'s': {'use': 'b:B'}}],
            {'s': ['A(kernel_init=normal(stddev=0.007071))', 'B']},
        ),
        (
            [{'s': {'use': 'a:A', 'kernel_init': NORMAL}}, {'s': {'use': 'b:B', 'kernel_init': NORMAL}}],
            {'s': ['A', 'B']},
        ),
    ],
)
def test_differing_fields(configs, expected):
    assert differing(configs) == expected


def test_different_configs_never_read_alike():
    configs = [{'s': {'use': 'a:A', 'deep': {'use': 'c:C', 'n': n}}} for n in (1, 2)] + [{'s': {'use': 'b:B'}}]
    columns = differing(configs)
    assert len(set(zip(*columns.values(), strict=True))) == 3
