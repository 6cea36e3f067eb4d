# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every two parts that may meet do in some small decoder, which keeps its promises; the others are refused by name."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cells import FACTORS, LENGTH, SEED, VOCABULARY, Cell, beside, cover, decoder, levels, pairs, refused, refuses

from saccade.analysis.catalogue.catalogue import can
from saccade.build import build, load
from saccade.ops.loss import cross_entropy
from saccade.ops.statistic import is_record
from saccade.train.optimizer import path_of
from saccade.types import LayerContext, Total, UserError

pytestmark = pytest.mark.long

RELATIVE = {'float32': 1e-4, 'bfloat16': 0.1}  # of the largest logit; eight bits, through two layers
UNBOUNDED = 1e30  # infinity makes NumPy warn
ROUNDING, FACTOR = 2.0**-24, 4  # half a unit of float32; how much farther than by one rounding a token may move
SQUARES, LARGE = ('running_variance', 'running_square'), 100.0
CHANGED = 6  # the first token that another one takes the place of
CHUNK = 3  # tokens of a step

FIRST, SECOND = slice(0, 4), slice(4, 8)  # two documents
WHOLE, TOGETHER, ALONE, OTHER, PADDED = range(5)  # rows: of one document, of two, of either alone, padded on the left
SEGMENTS = np.zeros((5, LENGTH), int)
SEGMENTS[WHOLE], SEGMENTS[TOGETHER, FIRST], SEGMENTS[TOGETHER, SECOND] = 1, 1, 2
SEGMENTS[(ALONE, OTHER), FIRST] = 1
SEGMENTS[PADDED, 3:] = 1
TOKENS = np.random.default_rng(SEED).integers(0, VOCABULARY, (5, LENGTH))
TOKENS[ALONE, FIRST], TOKENS[OTHER, FIRST] = TOKENS[TOGETHER, FIRST], TOKENS[TOGETHER, SECOND]
STEPPED = np.array((WHOLE, PADDED))


def positions(segments: np.ndarray) -> np.ndarray:
    """The place of each token within its own segment."""
    same = (segments[:, :, None] == segments[:, None, :]) & (np.arange(LENGTH)[:, None] > np.arange(LENGTH))
    return same.sum(axis=-1) * (segments != 0)


class Run:
    """A cell's decoder with drawn parameters, compiled once.

    Attributes:
        packed: whether it is given segments. It is not where a part cannot tell them apart.
    """

    def __init__(self, cell: Cell) -> None:
        spec = decoder(cell)
        self.model, self.capabilities = build(spec)(), can(spec)
        self.packed = self.capabilities.packed
        segments = SEGMENTS if self.packed else np.ones_like(SEGMENTS)
        self.segments = jnp.asarray(segments)
        self.context = LayerContext(jnp.asarray(positions(segments)), self.segments if self.packed else None)
        self.params = drawn(self.model, self.context, cell)
        self.learn, self.steps = jax.jit(self._learn), jax.jit(self._steps)

    def _learn(self, tokens: jax.Array) -> tuple[Any, Any, jax.Array]:
        """The loss, its gradients and the logits."""

        def loss(params: Any) -> tuple[jax.Array, jax.Array]:
            logits, reports = self.model.apply({'params': params}, tokens, self.context, False, mutable=['losses'])
            losses = jnp.where(self.segments != 0, cross_entropy(logits, tokens, 0.0), 0.0)
            added = jax.tree.leaves(reports, is_leaf=lambda node: isinstance(node, Total))
            return losses.sum() + sum(loss.mean() for loss in added), logits

        (total, logits), gradients = jax.value_and_grad(loss, has_aux=True)(self.params)
        return total, gradients, logits.astype(jnp.float32)

    def _steps(self, tokens: jax.Array) -> jax.Array:
        """The logits of two rows, a chunk at a time."""
        tokens, segments = (jnp.split(x[STEPPED], LENGTH // CHUNK, axis=1) for x in (tokens, self.segments))
        state = self.model.apply({'params': self.params}, tokens[0], LENGTH, method='init_state')

        def step(state: Any, chunk: Any) -> tuple[Any, jax.Array]:
            logits, state = self.model.apply({'params': self.params}, *chunk, state, method='step')
            return state, logits.astype(jnp.float32)

        logits = jax.lax.scan(step, state, (jnp.stack(tokens), jnp.stack(segments)))[1]
        return jnp.concatenate(list(logits), axis=1)

    def moved(self, logits: np.ndarray) -> np.ndarray:
        """How far the logits of each token move if the parameters are rounded otherwise: some are ill-conditioned.

        A norm of a group of features that are all nearly zero makes little of them much.
        """
        random = np.random.default_rng(SEED)

        def rounded(leaf: jax.Array) -> jax.Array:
            return leaf * jnp.asarray(random.uniform(1 - ROUNDING, 1 + ROUNDING, leaf.shape), leaf.dtype)

        @jax.jit
        def whole(params: Any) -> jax.Array:
            return self.model.apply({'params': params}, TOKENS, self.context, False, mutable=['losses'])[0]

        others = [whole(jax.tree.map(rounded, self.params)) for _ in range(3)]
        return np.max([np.abs(np.asarray(other, np.float32) - logits).max(axis=-1) for other in others], axis=0)


def drawn(model: Any, context: LayerContext, cell: Cell) -> Any:
    """Parameters away from zero, and scales about one, of every layer.

    Running squares are those of large activations: by small ones nothing is normed, and scores grow layer by layer
    until their weights are all of one token, where nothing has a slope.
    The vectors that a differential weight is the exponential of are small: by a large weight one map alone is left,
    whose size is normed away. Queries and keys are half as large under a sparse softmax, which gives all weight to one
    token, without a slope, where scores are far apart. So are the weights of halting, or every token may halt at its
    first pass.
    """
    random = np.random.default_rng(SEED)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), jnp.asarray(TOKENS), context, False))['params']

    def draw(path: Any, leaf: jax.ShapeDtypeStruct) -> jax.Array:
        name, is_scale = path[-1].key, leaf.ndim - is_stacked(path) <= 1
        mean = float(is_scale and not name.startswith('lambda_'))
        found = random.normal(mean, 0.2 if is_scale else 0.3, leaf.shape)
        found *= 0.5 if name == 'halt' or (name in ('query', 'key') and is_sparse(cell)) else 1.0
        return jnp.asarray(LARGE * found if name in SQUARES else found, cell['dtype'])

    return jax.tree_util.tree_map_with_path(draw, shapes)


def is_sparse(cell: Cell) -> bool:
    softmax = FACTORS['softmax'][cell['softmax']]
    return softmax is not None and not load(softmax['use']).rows.dense


def is_stacked(path: Any) -> bool:
    return any(entry.key.startswith('pattern_') for entry in path)


def is_unread(cell: Cell, path: Any) -> bool:
    """Whether a layer reads nothing of this parameter outside of training, or of this norm.

    The weights of a random synthesizer are fixed, and its values may be those of another layer.
    """
    return is_record(path_of(path)) or (
        (cell['mixer'], cell['block']) == ('RandomSynthesizer', 'SharedKeys') and path[-2].key == 'mixer_norm'
    )


def is_smooth(cell: Cell) -> bool:
    """Whether rounding changes the logits no more than a little: no choice among scores is made that it may flip.

    Experts are far enough apart for float32; the k-th of a few scores may be nearly as high as the next.
    """
    return cell['softmax'] != 'TopK' and ('Mixture' not in cell['feedforward'] or cell['dtype'] == 'float32')


@pytest.mark.parametrize('cell', cover(), ids=lambda cell: ' '.join(cell.values()))
def test_a_decoder_keeps_its_promises(cell):
    print(f'cell {cell}\nspec {decoder(cell)}')  # shown where the test fails
    run = Run(cell)
    loss, gradients, logits = jax.device_get(run.learn(TOKENS))
    assert np.isfinite(loss)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradients):
        leaf = np.asarray(leaf, np.float32)
        for layer in leaf if is_stacked(path) else leaf[None]:
            assert np.isfinite(layer).all(), path
            assert layer.any() or is_unread(cell, path), path
    near = RELATIVE[cell['dtype']] * np.abs(logits).max() if is_smooth(cell) else UNBOUNDED
    changed = TOKENS.copy()
    changed[WHOLE, CHANGED:] = (changed[WHOLE, CHANGED:] + 1) % VOCABULARY
    earlier = (np.asarray(run.learn(changed)[2]) != logits)[WHOLE, :CHANGED]
    assert not earlier.any()
    if run.packed:
        np.testing.assert_allclose(logits[TOGETHER, FIRST], logits[ALONE, FIRST], rtol=0, atol=near)
        np.testing.assert_allclose(logits[TOGETHER, SECOND], logits[OTHER, FIRST], rtol=0, atol=near)
    if run.capabilities.cached:
        real = SEGMENTS[STEPPED] != 0
        away = np.abs(np.asarray(run.steps(TOKENS)) - logits[STEPPED]).max(axis=-1)[real]
        far = FACTOR * run.moved(logits)[STEPPED][real] if away.max() > near else 0.0
        np.testing.assert_array_less(away, near + far)


@pytest.mark.parametrize('parts', refused(), ids=lambda parts: ' '.join(level.name for level in parts))
def test_parts_that_cannot_meet_are_refused_by_name(parts):
    context = LayerContext(jnp.asarray(positions(np.ones_like(SEGMENTS))))

    def shapes() -> Any:
        model = build(decoder(beside(parts)))()
        return jax.eval_shape(lambda: model.init(jax.random.key(0), jnp.asarray(TOKENS), context, False))

    with pytest.raises(UserError) as refusal:
        shapes()
    assert any(use in str(refusal.value) for level in parts for use in named(level.spec))


def named(spec: Any) -> Iterator[str]:
    """The parts of a spec that are named in it, at any depth."""
    if isinstance(spec, dict):
        yield spec['use']
    for inner in spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ():
        yield from named(inner)


def test_every_two_parts_that_may_meet_do():
    met = {frozenset(pair) for cell in cover() for pair in combinations(levels(cell), 2)}
    parts = [pair for pair in pairs() if not refuses(*pair) and all(level.name != '-' for level in pair)]
    assert [pair for pair in parts if frozenset(pair) not in met] == []
    assert not [cell for cell in cover() for pair in combinations(levels(cell), 2) if refuses(*pair)]
