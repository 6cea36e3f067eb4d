# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The worked example of the documentation: its file, as a reader would save it, against loops."""

import importlib
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'docs/guides/worked_example.md').read_text()
FILE = re.search(r'```python\n(.*?)```', PAGE, re.S)[1]
LONGEST = 30  # lines of a variant, blank ones apart
RELATIVE = 1e-5
B, T, D, N, K = 2, 11, 16, 4, 2
X = jax.random.normal(jax.random.key(0), (B, T, D))
SEGMENTS = jnp.array([[1] * 5 + [2] * 6, [1] * 8 + [0] * 3])
POSITIONS = jnp.array([[*range(5), *range(6)], [*range(8), 0, 0, 0]])
ALONE = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
MASKS = {'Causal': {}, 'Window': {'left': 3}}
BLOCKS = {'query_block': 4, 'key_block': 3}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder that a reader runs in, with the file of the page."""
    (tmp_path / 'my_sticks.py').write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop('my_sticks', None)
    importlib.invalidate_caches()


def attention(mask='Causal', kernel='plain:Plain'):
    sticks = {'softmax': {'use': 'my_sticks:LogWeights'}} | (BLOCKS if kernel == 'blockwise:Blockwise' else {})
    return build({
        'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': K,
        'kernel': {'use': f'attention.{kernel}'} | sticks, 'mask': {'use': f'ops.mask:{mask}'} | MASKS[mask],
        'position': {'use': 'position.none:NoPosition'}, 'terms': [{'use': 'my_sticks:StickBreaking'}],
    })()  # fmt: skip


def drawn(module):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, ALONE, False))
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.5), leaf.dtype), shapes)


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def by_loops(params, x, segments, left):
    """One row: the stick of each head and query is broken key by key, in float64."""
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    y = np.zeros((T, N, D // N))
    for n, i in np.ndindex(N, T):
        stick = 1.0
        for j in range(i, max(0, i - left) - 1, -1):
            if segments[j] == segments[i] != 0:
                share = 1 / (1 + np.exp(-q[n, i] @ k[n * K // N, j] / np.sqrt(D // N)))
                y[i, n] += stick * share * v[n * K // N, j]
                stick *= 1 - share
    return np.einsum('tnh,nhd->td', y, params['output'])


def test_the_file_is_short_and_touches_no_private_name():
    assert sum(map(bool, FILE.splitlines())) <= LONGEST
    assert not re.findall(r'(?<!\w)_[a-z]\w*', FILE)


@pytest.mark.long
@pytest.mark.parametrize('kernel', ['plain:Plain', 'blockwise:Blockwise'])
@pytest.mark.parametrize('mask', MASKS)
def test_packed_rows_are_those_of_the_equation(mask, kernel):
    module = attention(mask, kernel)
    variables = drawn(module)
    found = module.apply(variables, X, LayerContext(POSITIONS, SEGMENTS), False)
    plain = jax.tree.map(np.float64, variables['params'])
    for row in range(B):
        real = np.asarray(SEGMENTS[row]) != 0
        wanted = by_loops(plain, np.float64(X[row]), np.asarray(SEGMENTS[row]), MASKS[mask].get('left', T))
        near(found[row][real], wanted[real])


def test_a_token_does_not_see_the_ones_after_it():
    module = attention()
    variables = drawn(module)
    before, after = (module.apply(variables, x, ALONE, False) for x in (X, X.at[:, 6:].multiply(-2.0)))
    np.testing.assert_array_equal(before[:, :6], after[:, :6])
    assert np.abs(before[:, 6:] - after[:, 6:]).max() > 0.1


@pytest.mark.long
@pytest.mark.parametrize('mask', MASKS)
@pytest.mark.parametrize('chunks', [(1,) * T, (4, 1, 6)])
def test_steps_replay_the_whole(mask, chunks):
    module, found = attention(mask), []
    variables = drawn(module)
    state = module.apply(variables, X[:, :1], T, method='init_state')
    for here in np.split(np.arange(T), np.cumsum(chunks)[:-1]):
        context = LayerContext(ALONE.positions[:, here], jnp.ones((B, len(here)), jnp.int32))
        y, state = module.apply(variables, X[:, here], context, state, method='step')
        found.append(y)
    near(jnp.concatenate(found, axis=1), module.apply(variables, X, ALONE, False))
