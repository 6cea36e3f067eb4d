# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for every part that maps tokens to tokens."""

import inspect
import re
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from discovery import (
    CATALOGUE,
    CONTEXT,
    HOUSE_RULES,
    B,
    D,
    Subject,
    T,
    X,
    assert_near,
    mixes_tokens,
    mixing,
    normal,
    pointwise,
    rows,
    subject_of,
)

from saccade.analysis.catalogue.catalogue import FEEDFORWARD, KERNEL, MIXER, PAIR_POSITION, Kind, in_multi_head
from saccade.build import build, load
from saccade.ops.flops import inner_jaxprs
from saccade.ops.statistic import is_statistic
from saccade.train.optimizer import path_of
from saccade.types import ScoreTerm

LONGEST_DOCSTRING = 12  # lines
F32_RELATIVE = 1e-5  # of the largest element
BF16_RELATIVE = 3e-2


@pytest.fixture(params=[*pointwise(), *mixing()])
def subject(request) -> Subject:
    return subject_of(request.param)


@pytest.mark.long
def test_shape_and_dtype_are_kept_and_compiling_changes_nothing(subject):
    y = subject.jitted(subject.params, X, *subject.rest)
    assert y.shape == X.shape
    assert y.dtype == X.dtype
    assert_near(subject.apply(subject.params, X, *subject.rest), y, F32_RELATIVE)


def test_every_parameter_has_a_finite_gradient(subject):
    gradients = subject.gradients(subject.params, X, normal(X.shape, 1))
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradients):
        assert np.isfinite(leaf).all()
        assert np.abs(leaf).max() > 0 or is_statistic(path_of(path))  # that of a mixer is moved in training alone


@pytest.mark.long
def test_bfloat16_is_near_float32(subject):
    exact = subject.jitted(subject.params, X, *subject.rest)
    params, x = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), (subject.params, X))
    low = subject.jitted(params, x, *subject.rest)
    assert low.dtype == jnp.bfloat16
    if rows(subject.spec).continuous:
        assert_near(low, exact, BF16_RELATIVE)


def test_bfloat16_in_is_bfloat16_out_with_float32_parameters(subject):
    low = jax.eval_shape(subject.apply, subject.params, X.astype(jnp.bfloat16), *subject.rest)
    assert low.shape == X.shape
    assert low.dtype == jnp.bfloat16, (
        f'bfloat16 in, {low.dtype} out: subclass saccade.module.Transform and make weights by saccade.axes.parameter, '
        'or cast the result to x.dtype'
    )


@pytest.mark.long
def test_bfloat16_with_float32_parameters_is_near_float32(subject):
    exact = subject.jitted(subject.params, X, *subject.rest)
    low = subject.jitted(subject.params, X.astype(jnp.bfloat16), *subject.rest)
    if rows(subject.spec).continuous:
        assert_near(low, exact, BF16_RELATIVE)


def test_exponentials_roots_and_sums_over_tokens_are_in_float32(subject):
    """Of norms, softmax, decays and gates of recurrences, whatever the dtype of the input."""
    program = jax.make_jaxpr(subject.apply)(subject.params, X.astype(jnp.bfloat16), *subject.rest)
    low = {name for name, dtype in primitives(program.jaxpr) if dtype == jnp.bfloat16}
    low &= {'exp', 'exp2', 'log', 'log1p', 'rsqrt', 'sqrt', 'cumsum', 'cumlogsumexp', 'cumprod'}
    assert not low, f'in bfloat16: {low}; cast to float32 there, or make the parameter with dtype=jnp.float32'


def primitives(jaxpr):
    """Yield the name of each operation of a program, at any depth, with the dtype of its first output."""
    for equation in jaxpr.eqns:
        if equation.outvars:
            yield equation.primitive.name, getattr(equation.outvars[0].aval, 'dtype', None)
        for inner in inner_jaxprs(equation):
            yield from primitives(getattr(inner, 'jaxpr', inner))


@pytest.mark.parametrize('name', pointwise())
def test_a_token_is_treated_without_regard_to_the_others_unless_that_is_declared(name):
    subject = subject_of(name)
    before = subject.jitted(subject.params, X, *subject.rest)
    after = subject.jitted(subject.params, X.at[:, 4].multiply(-1.0), *subject.rest)
    others = np.arange(T) != 4
    assert (before[:, others] != after[:, others]).any() == mixes_tokens(subject.spec)
    assert (before[:, 4] != after[:, 4]).any()


@pytest.mark.parametrize('name', pointwise())
def test_tokens_may_change_places(name):
    subject = subject_of(name)
    order = np.random.default_rng(0).permutation(T)
    moved = [leaf[:, order] for leaf in subject.rest]
    y = subject.jitted(subject.params, X, *subject.rest)
    np.testing.assert_array_equal(subject.jitted(subject.params, X[:, order], *moved), y[:, order])


def halved(kind: Kind) -> dict[str, dict[str, Any]]:
    """The specs of the parts of a kind that have a dropout, with a rate of one half."""
    specs = CATALOGUE.specs(kind).items()
    return {name: {**given, 'dropout': 0.5} for name, given in specs if hasattr(load(given['use']), 'dropout')}


DROPPING = {
    **halved(FEEDFORWARD),
    **halved(MIXER),
    **{f'MultiHead, {name}': in_multi_head(kernel) for name, kernel in halved(KERNEL).items()},
}


@pytest.mark.long
@pytest.mark.parametrize('name', DROPPING)
def test_dropout_acts_in_training_alone(name):
    module, subject = build(DROPPING[name])(), subject_of(name)

    @jax.jit
    def run(key):
        rest = (subject.params, X, *subject.rest)
        return module.apply(*rest, True, rngs={'dropout': key}), module.apply(*rest, False)

    (trained, still), (again, _), (other, _) = run(jax.random.key(0)), run(jax.random.key(0)), run(jax.random.key(1))
    assert_near(still, subject.jitted(subject.params, X, *subject.rest), F32_RELATIVE)
    np.testing.assert_array_equal(trained, again)
    assert np.abs(trained - still).max() > 0.01
    assert np.abs(trained - other).max() > 0.01


@pytest.mark.parametrize('name', CATALOGUE.specs(PAIR_POSITION))
def test_a_pairwise_position_keeps_shapes(name):
    position = build(CATALOGUE.specs(PAIR_POSITION)[name])()
    q = normal((B, T, 4, D // 4))

    def use(position):
        low, _ = position.rotate(*2 * [q.astype(jnp.bfloat16)], *2 * [CONTEXT.positions])
        return position.rotate(q, q, *2 * [CONTEXT.positions])[0], low, position.terms(4)

    (rotated, low, terms), _ = position.init_with_output(jax.random.key(0), method=use)
    assert rotated.shape == q.shape
    assert low.dtype == jnp.bfloat16
    assert all(isinstance(term, ScoreTerm) for term in terms)


FILES = sorted({part.__module__ for parts in CATALOGUE.parts.values() for part in parts}) if HOUSE_RULES else []


@pytest.mark.parametrize('file', [file for file in FILES if not file.startswith('saccade.ops.')])
def test_a_variant_names_its_source_in_a_short_docstring(file):
    docstring = inspect.getdoc(sys.modules[file])
    assert re.search(r'https?://\S+', docstring)
    assert re.search(r'\b(19|20)\d\d\b', docstring)
    assert len(docstring.splitlines()) <= LONGEST_DOCSTRING
