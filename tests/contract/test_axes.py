# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of every part declares its axes, so that a mesh has a place for it."""

import ast
from pathlib import Path

import jax
import pytest
from discovery import HOUSE_RULES, X, mixing, pointwise

from saccade.axes import declared, letters_of, recorded_axes
from saccade.build import build
from saccade.train.optimizer import path_of

SOURCE = Path(__file__).parents[2] / 'src' / 'saccade'


@pytest.mark.parametrize('name', [*pointwise(), *mixing()])
def test_every_parameter_declares_its_axes(name):
    spec, rest, flags = {**pointwise(), **mixing()}[name]
    with recorded_axes():
        variables = jax.eval_shape(lambda: build(spec)().init(jax.random.key(0), X, *rest, *flags))
    axes = declared(variables)
    made = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(variables.get('params', {}))}
    if HOUSE_RULES:  # what a part from elsewhere does not declare, every device has whole
        assert axes.keys() == made.keys()
    assert {path: len(letters_of(axes[path])) for path in axes} == {path: made[path].ndim for path in axes}


@pytest.mark.long
def test_no_file_makes_a_parameter_that_declares_none():
    """Those too that no catalogue lists, as the parts of the recurrent decoders."""
    calls = [
        f'{file.relative_to(SOURCE)}:{node.lineno}'
        for file in sorted(SOURCE.rglob('*.py'))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == 'param'
    ]
    assert {call.split(':')[0] for call in calls} == {'axes.py'}
