# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers that attend to the keys that an earlier layer has chosen: whole, in steps, trained, and what they cost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.paged import apart, joined
from saccade.build import build
from saccade.ops.flops import flops
from saccade.types import LayerContext, Pages, UserError

RELATIVE = 1e-5
B, T, D, N, K, H, M, WIDTH = 2, 13, 16, 4, 2, 4, 3, 6
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
PLAIN = {'use': 'attention.plain:Plain'}
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 5, 'key_block': 4}
RUNNERS = {
    'unrolled': {'use': 'model.stack:Unrolled'},
    'scanned': {'use': 'model.stack:Scanned'},
}
CHOICES = {'keys': {'chosen': 3}, 'blocks': {'chosen': 4, 'pool': 2}}
ROTARY = {'use': 'position.rotary:Rotary'}
FULL = {
    'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': K, 'kernel': PLAIN,
    'mask': {'use': 'ops.mask:Causal'}, 'position': ROTARY,
}  # fmt: skip
INDEXED = FULL | {'use': 'attention.lightning_indexer:LightningIndexer', 'index_heads': M, 'index_width': WIDTH}
SHARED = INDEXED | {'use': 'attention.shared_indices:SharedIndices'}
OF_INDEXER = {'index_query', 'index_key', 'index_weight'}


def context_of(segments):
    segments = jnp.array(segments)
    begins = jnp.pad(segments[:, 1:] != segments[:, :-1], ((0, 0), (1, 0)), constant_values=True)
    places = jnp.arange(T)
    first = jax.lax.cummax(jnp.where(begins, places, 0), axis=1)
    return LayerContext(jnp.where(segments != 0, places - first, 0), segments)


CONTEXTS = {
    'alone': LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T))),
    'packed': context_of([[1] * 5 + [2] * 8, [0] * 2 + [1] * 9 + [0] * 2]),
    'padded': context_of([[1] * T, [0] * 3 + [1] * (T - 3)]),
}


def layer(mixer):
    return {'use': 'block.pre_norm:PreNorm', 'mixer': mixer, 'feedforward': None, 'norm': {'use': 'norm.rms:RMSNorm'}}


def stack(reuse, run='unrolled', repeats=2, **changes):
    """A pattern of layers, of which each has an indexer or reuses."""
    pattern = [layer(SHARED | {'reuse': each} | changes) for each in reuse]
    layers = repeats * len(pattern)
    return build({'use': 'model.stack:Stack', 'block': pattern, 'layers': layers, 'run': RUNNERS[run]})()


def drawn(module):
    context = CONTEXTS['alone']
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, context, False, mutable=['params']))['params']
    random = np.random.default_rng(1)
    return {'params': jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4)), shapes)}


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def total(reports):
    return sum(each.mean() for each in jax.tree.leaves(reports, is_leaf=lambda node: hasattr(node, 'mean')))


@pytest.mark.long
@pytest.mark.parametrize('context', CONTEXTS)
@pytest.mark.parametrize('choice', CHOICES)
def test_a_layer_with_its_own_indexer_is_the_lightning_indexer(choice, context):
    given = X, CONTEXTS[context], False
    plain, shared = (build(spec | CHOICES[choice])() for spec in (INDEXED, SHARED | {'reuse': False}))
    variables = drawn(plain)
    (expected, expected_loss), (found, loss) = (
        module.apply(variables, *given, mutable=['losses']) for module in (plain, shared)
    )
    real = np.asarray(CONTEXTS[context].numbered) != 0
    near(found[real], expected[real])
    near(total(loss), total(expected_loss))


@pytest.mark.long
@pytest.mark.parametrize('run', RUNNERS)
@pytest.mark.parametrize('choice', CHOICES)
def test_layers_of_a_group_attend_to_the_keys_that_its_first_layer_chooses(choice, run):
    model = stack([False, True, True], run, **CHOICES[choice])
    _, found = model.apply(drawn(model), X, CONTEXTS['alone'], False, mutable=['pattern'])
    read = {
        name: np.asarray(of['mixer']['kernel']['pattern'].value)[:, :, 0] > 0 for name, of in found['pattern'].items()
    }  # of each repeat, [L B T S]
    for place in (1, 2):
        np.testing.assert_array_equal(read[f'pattern_{place}'], read['pattern_0'])
    assert (read['pattern_0'][0] != read['pattern_0'][1]).any()


@pytest.mark.long
@pytest.mark.parametrize('context', CONTEXTS)
def test_a_layer_that_reuses_all_keys_is_full_attention(context):
    model = stack([False, True], chosen=None)
    params = drawn(model)['params']
    full = build({'use': 'model.stack:Stack', 'block': layer(FULL), 'layers': 4, 'run': RUNNERS['unrolled']})()
    mixers = [{k: v for k, v in params[f'pattern_{place}']['mixer'].items() if k not in OF_INDEXER} for place in (0, 1)]
    norms = [params[f'pattern_{place}']['mixer_norm'] for place in (0, 1)]
    pairs = {'mixer': mixers, 'mixer_norm': norms}
    merged = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=1).reshape(-1, *leaves[0].shape[1:]), *(
        {name: of[place] for name, of in pairs.items()} for place in (0, 1)
    ))  # fmt: skip
    real = np.asarray(CONTEXTS[context].numbered) != 0
    expected = full.apply({'params': {'pattern_0': merged}}, X, CONTEXTS[context], False)
    near(model.apply({'params': params}, X, CONTEXTS[context], False)[real], expected[real])


@pytest.mark.long
@pytest.mark.parametrize('run', RUNNERS)
@pytest.mark.parametrize('context', CONTEXTS)
@pytest.mark.parametrize('choice', CHOICES)
def test_gathered_keys_give_the_outputs_losses_and_gradients_of_the_masked_form(choice, context, run):
    real = (CONTEXTS[context].numbered != 0)[..., None]

    def both(kernel):
        model = stack([False, True, True], run, kernel=kernel, **CHOICES[choice])

        def value(variables, x):
            y, reports = model.apply(variables, x, CONTEXTS[context], False, mutable=['losses'])
            y = jnp.where(real, y, 0.0)
            return jnp.sin(y).sum() + total(reports), (y, total(reports))

        return jax.jit(jax.grad(value, (0, 1), has_aux=True))(drawn(model), X)

    jax.tree.map(near, both(BLOCKWISE), both(PLAIN))


@pytest.mark.long
@pytest.mark.parametrize('context', CONTEXTS)
@pytest.mark.parametrize('choice', CHOICES)
def test_steps_and_chunks_equal_the_whole(choice, context):
    whole = CONTEXTS[context]
    model = stack([False, True, True], kernel=BLOCKWISE, **CHOICES[choice])
    variables = drawn(model)
    expected = model.apply(variables, X, whole, False)
    state, parts = model.apply(variables, X, T + 2, method='init_state'), []
    for chunk in (slice(0, 6), slice(6, 7), slice(7, 8), slice(8, T)):
        context = LayerContext(whole.positions[:, chunk], whole.numbered[:, chunk])
        y, state = model.apply(variables, X[:, chunk], context, state, method='step')
        parts.append(y)
    real = np.asarray(whole.numbered) != 0
    near(jnp.concatenate(parts, axis=1)[real], expected[real])


@pytest.mark.long
@pytest.mark.parametrize('choice', CHOICES)
def test_steps_with_caches_in_pages_equal_the_whole(choice):
    """The pages of a row are not in order, and those of the layers have the same tokens."""
    whole = CONTEXTS['padded']
    model = stack([False, True], **CHOICES[choice])
    variables = drawn(model)
    made = model.apply(variables, X, Pages(count=9, size=4, most=4), method='init_pages')
    pools, rows = apart(made)
    table = jnp.array([[5, 0, 3, 8], [1, 6, 2, 7]])
    state, parts = joined(jax.tree.map(jnp.ones_like, pools), rows, table), []
    for chunk in (slice(0, 6), slice(6, 7), slice(7, T)):
        context = LayerContext(whole.positions[:, chunk], whole.numbered[:, chunk])
        y, state = model.apply(variables, X[:, chunk], context, state, method='step')
        parts.append(y)
    real = np.asarray(whole.numbered) != 0
    near(jnp.concatenate(parts, axis=1)[real], model.apply(variables, X, whole, False)[real])


@pytest.mark.long
@pytest.mark.parametrize('choice', CHOICES)
@pytest.mark.parametrize('later', [4, 9])
def test_a_later_token_changes_nothing_before_it(later, choice):
    model = stack([False, True], repeats=1, **CHOICES[choice])
    variables, context = drawn(model), CONTEXTS['alone']
    before, after = (model.apply(variables, x, context, False)[:, :later] for x in (X, X.at[:, later].multiply(-30.0)))
    np.testing.assert_array_equal(before, after)


@pytest.mark.long
@pytest.mark.parametrize('run', RUNNERS)
def test_an_indexer_is_trained_by_the_layers_that_use_it_and_moves_no_more(run):
    """The loss of a layer that reuses moves the indexer of the first layer, and no other parameter."""

    def gradients(weights):
        pattern = [
            layer(SHARED | {'reuse': reuse, 'chosen': 4, 'loss': weight})
            for reuse, weight in zip((False, True), weights, strict=True)
        ]
        model = build({'use': 'model.stack:Stack', 'block': pattern, 'layers': 2, 'run': RUNNERS[run]})()

        def value(params):
            return total(model.apply({'params': params}, X, CONTEXTS['alone'], False, mutable=['losses'])[1])

        return jax.grad(value)(drawn(model)['params'])

    own, served, both = gradients((1.0, 0.0)), gradients((0.0, 1.0)), gradients((1.0, 1.0))
    for found in (own, served):
        for path, gradient in jax.tree_util.tree_leaves_with_path(found):
            assert (np.abs(gradient).max() > 0) == any(key.key in OF_INDEXER for key in path), path
    jax.tree.map(near, jax.tree.map(jnp.add, own, served), both)


def test_a_layer_that_reuses_has_no_parameters_and_no_cache_of_an_indexer():
    own, reusing = (build(SHARED | {'chosen': 3, 'reuse': reuse})() for reuse in (False, True))
    assert drawn(own)['params'].keys() - drawn(reusing)['params'].keys() == OF_INDEXER
    state = reusing.bind(drawn(reusing)).init_state(X, 7)
    assert state.index is None
    assert state.kv.k.shape == (B, K, 7, H)


def test_reuse_saves_the_flops_of_the_choice_of_the_loss_and_of_the_indexers_projections():
    length, chosen = 64, 8
    x = jax.ShapeDtypeStruct((1, length, D), jnp.float32)

    def counted(reuse):
        model = stack(reuse, repeats=1, kernel={'use': 'attention.blockwise:Blockwise'}, chosen=chosen)
        params = jax.eval_shape(lambda x: model.init(jax.random.key(0), x, None, False), x)['params']
        return flops(lambda params, x: model.apply({'params': params}, x, None, False), params, x)

    pairs = 2 * length * (length + chosen) * M * (WIDTH + 1)  # scored by the choice, and by the loss
    projections = 2 * length * D * (M * WIDTH + WIDTH + M)
    assert counted([False, False]) - counted([False, True]) == pairs + projections


@pytest.mark.parametrize('run', RUNNERS)
def test_the_first_layer_cannot_reuse(run):
    model = stack([True, False], run, chosen=3)
    variables = drawn(model)
    with pytest.raises(UserError, match='no earlier layer has chosen keys'):
        model.apply(variables, X, CONTEXTS['alone'], False)
    state = model.apply(variables, X, T, method='init_state')
    with pytest.raises(UserError, match='no earlier layer has chosen keys'):
        model.apply(variables, X, CONTEXTS['alone'], state, method='step')


@pytest.mark.parametrize('run', RUNNERS)
def test_keys_chosen_under_another_mask_are_refused(run):
    """Or what a layer without a causal mask has chosen would show the future."""
    masks = {'use': 'ops.mask:Full'}, SHARED['mask']
    pattern = [layer(SHARED | {'reuse': reuse, 'chosen': 3, 'mask': masks[reuse]}) for reuse in (False, True)]
    model = build({'use': 'model.stack:Stack', 'block': pattern, 'layers': 4, 'run': RUNNERS[run]})()
    with pytest.raises(UserError, match=r'keys chosen under ops\.mask:Full cannot be reused under ops\.mask:Causal'):
        model.apply(drawn(model), X, CONTEXTS['alone'], False)
