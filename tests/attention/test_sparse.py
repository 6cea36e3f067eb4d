# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse attention that scores only chosen keys: equal to the masked form, and what it costs by length."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.analysis.catalogue.catalogue import SOFTMAX, Catalogue
from saccade.build import build, load
from saccade.ops.block_sparse import attend_to_blocks
from saccade.ops.blocks import ChosenBlocks, Runs, Tokens, WholeRuns
from saccade.ops.flops import flops, model_flops
from saccade.ops.gathered import ChosenTokens, attend_to_tokens
from saccade.ops.mask import Causal
from saccade.ops.scoring import Scoring
from saccade.ops.selection import best_keys
from saccade.types import LayerContext, UserError

RELATIVE = 1e-5
LINEAR_EXPONENT = 1.1
B, T, D, N, K = 2, 23, 16, 4, 2
X = jax.random.normal(jax.random.key(0), (B, T, D))
SEGMENTS = jnp.array([[1] * 5 + [2] * 18, [0] * 2 + [1] * 19 + [0] * 2])
CONTEXTS = {
    'alone': LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T))),
    'packed': LayerContext(jnp.array([[*range(5), *range(18)], [0, 0, *range(19), 0, 0]]), SEGMENTS),
}
PLAIN = {'use': 'attention.plain:Plain'}
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 5, 'key_block': 4}
HEADS = {
    'heads': N, 'key_value_heads': K, 'mask': {'use': 'ops.mask:Causal'}, 'position': {'use': 'position.rotary:Rotary'},
}  # fmt: skip
BIAS = {'use': 'position.relative_bias:RelativeBias', 'both_sides': False}
COUNTS = {'use': 'position.cope:CoPE', 'counts': 9, 'head_width': 4}
ENTMAX = {'softmax': {'use': 'softmax.entmax:Entmax', 'alpha': 1.5}}
ONLINE = {name: spec for name, spec in Catalogue.ours().specs(SOFTMAX).items() if hasattr(load(spec['use']), 'online')}


def moba(inner, of_kernel=(), **changes):
    kernel = {'use': 'attention.moba:MoBA', 'block': 3, 'chosen': 3, 'inner': inner, **dict(of_kernel)}
    return {'use': 'attention.multi_head:MultiHead', **HEADS, 'kernel': kernel, **changes}


def native(kernel, of_kernel=(), **changes):
    sizes = {'length': 4, 'stride': 2, 'block': 4, 'chosen': 4, 'window': 3}
    return {
        'use': 'attention.native_sparse:NativeSparse',
        **HEADS,
        'kernel': kernel | dict(of_kernel),
        **sizes,
        **changes,
    }


def indexed(kernel, of_kernel=(), **changes):
    sizes = {'index_heads': 2, 'index_width': 6, 'chosen': 5}
    use = 'attention.lightning_indexer:LightningIndexer'
    return {'use': use, **HEADS, 'kernel': kernel | dict(of_kernel), **sizes, **changes}


CASES = {
    'moba': (moba, {}, {}),
    'native sparse': (native, {}, {}),
    'lightning indexer': (indexed, {}, {}),
    'pooled indexer': (indexed, {}, {'chosen': 6, 'pool': 3}),
}
MORE = {
    **{f'{name}, dropout': (made, {'dropout': 0.3}, changes) for name, (made, _, changes) in CASES.items()},
    **{
        f'{name}, {softmax}': (made, {'softmax': spec}, changes)
        for (name, (made, _, changes)), (softmax, spec) in itertools.product(CASES.items(), ONLINE.items())
    },
    'moba, own block only': (lambda inner, of_kernel: moba(inner, {'chosen': 1}), {}, {}),
    'moba, as many key heads': (moba, {}, {'key_value_heads': N}),
    'native sparse, overlapping more': (native, {}, {'length': 6, 'stride': 1, 'block': 2}),
    'lightning indexer, all keys': (indexed, {}, {'chosen': None}),
    'lightning indexer, both ways': (indexed, {}, {'mask': {'use': 'ops.mask:Full'}}),
    'pooled indexer, all keys': (indexed, {}, {'chosen': None, 'pool': 4}),
    **{
        f'{name}, {term}': (indexed, {}, changes | {'position': position})
        for name, changes in (('lightning indexer', {}), ('pooled indexer', {'chosen': 6, 'pool': 3}))
        for term, position in (('bias', BIAS), ('counts of keys', COUNTS))
    },
}  # fmt: skip


def both(case):
    """The mixer with the masked form, and with only the chosen keys."""
    made, of_kernel, changes = case
    return tuple(build(made(kernel, of_kernel, **changes))() for kernel in (PLAIN, BLOCKWISE))


def drawn(module):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXTS['alone'], False))['params']
    random = np.random.default_rng(1)
    return {'params': jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4)), shapes)}


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def run(module, variables, context, train):
    """Output at real tokens, reported losses, and the gradients by parameters and x of a function of both."""
    real = (context.numbered != 0)[..., None]

    def loss(variables, x):
        rngs = {'dropout': jax.random.key(5)}
        y, reports = module.apply(variables, x, context, train, mutable=['losses'], rngs=rngs)
        losses = [total.mean() for total in jax.tree.leaves(reports, is_leaf=lambda node: hasattr(node, 'mean'))]
        return jnp.sum(jnp.where(real, jnp.sin(y), 0.0)) + sum(losses), (jnp.where(real, y, 0.0), losses)

    return jax.jit(jax.grad(loss, (0, 1), has_aux=True))(variables, X)


def assert_equal(case, context):
    plain, gathered = both(case)
    variables = drawn(plain)
    train = 'dropout' in case[1]
    expected, found = (run(module, variables, CONTEXTS[context], train) for module in (plain, gathered))
    jax.tree.map(near, found, expected)


@pytest.mark.long
@pytest.mark.parametrize('case', CASES)
def test_output_loss_and_gradients_equal_the_masked_form(case):
    """In packed rows, with padding before and after."""
    assert_equal(CASES[case], 'packed')


@pytest.mark.long
@pytest.mark.parametrize('context', CONTEXTS)
@pytest.mark.parametrize('case', MORE)
def test_they_do_with_other_parts_and_sizes(case, context):
    assert_equal(MORE[case], context)


@pytest.mark.long
@pytest.mark.parametrize('case', CASES)
def test_they_do_in_rows_of_one_segment(case):
    assert_equal(CASES[case], 'alone')


@pytest.mark.long
@pytest.mark.parametrize('case', CASES)
def test_steps_equal_the_masked_form_of_whole_rows(case):
    """The prompts of two rows have unequal lengths, so that one has empty slots in its cache."""
    plain, gathered = both(CASES[case])
    variables = drawn(plain)
    segments = jnp.array([[1] * T, [0] * 3 + [1] * (T - 3)])
    positions = jnp.maximum(jnp.cumsum(segments, axis=-1) - 1, 0)
    expected = plain.apply(variables, X, LayerContext(positions, segments), False)
    state, outputs = gathered.bind(variables).init_state(X, T + 2), []
    step = jax.jit(lambda *given: gathered.apply(variables, *given, method='step'))
    for chunk in (slice(0, 8), *(slice(t, t + 1) for t in range(8, T))):
        y, state = step(X[:, chunk], LayerContext(positions[:, chunk], segments[:, chunk]), state)
        outputs.append(y)
    real = np.asarray(segments) != 0
    near(np.concatenate(outputs, axis=1)[real], expected[real])


@pytest.mark.long
@pytest.mark.parametrize('case', CASES)
def test_the_pattern_is_that_of_the_masked_form_and_says_so(case):
    plain, gathered = both(CASES[case])
    variables = drawn(plain)
    expected, found = (
        module.apply(variables, X, CONTEXTS['alone'], False, mutable=['pattern'])[1]['pattern']['kernel']['pattern']
        for module in (plain, gathered)
    )
    np.testing.assert_allclose(found.value, expected.value, atol=1e-6)
    assert not expected.note
    assert found.note == 'by the plain path; the model runs attention.blockwise:Blockwise'


def test_a_softmax_without_an_online_form_is_refused_where_blocks_are_summed_online():
    kernel = {'use': 'attention.moba:MoBA', 'block': 3, 'chosen': 3, **ENTMAX}
    module = build({'use': 'attention.multi_head:MultiHead', **HEADS, 'kernel': kernel})()
    with pytest.raises(UserError, match=r'attention\.blockwise:Blockwise needs an online softmax'):
        module.init(jax.random.key(0), X, CONTEXTS['alone'], False)


@pytest.mark.parametrize('blocks', [(3, 2), (4, 23), (23, 5)])
def test_a_running_choice_is_the_choice_of_the_whole_row_in_the_same_order(blocks):
    """With scores of which many are equal."""
    random = np.random.default_rng(0)
    q, k, weight = (
        jnp.array(random.integers(0, 2, shape), jnp.float32) for shape in ((B, T, 1, 2), (B, T, 1, 2), (B, T, 1))
    )
    given = q, k, weight, Causal(), 2
    np.testing.assert_array_equal(best_keys(*given, blocks), best_keys(*given, (T, T)))


SIZE, CHOSEN, WIDTH = 16, 4, 8


def like(length, heads):
    return jax.ShapeDtypeStruct((1, length, heads, WIDTH), jnp.float32)


def to_blocks(q, k, v, index):
    tokens = Tokens.alone(q.shape[1])
    chosen = ChosenBlocks(tokens, tokens, Runs.of(tokens, SIZE, SIZE), index)
    return attend_to_blocks(q, k, v, Scoring(Causal(), scale=0.3), chosen, SIZE, SIZE)


def to_tokens(q, k, v, at):
    places = jnp.arange(q.shape[1])
    return attend_to_tokens(q, k, v, Scoring(Causal(), scale=0.3), ChosenTokens(at, places, places))[0]


def gradients(attend):
    return jax.grad(lambda *given: jnp.square(attend(*given)).sum(), (0, 1, 2))


@pytest.mark.long
@pytest.mark.parametrize(('change', 'products'), [(lambda attend: attend, 2), (gradients, 6)], ids=['forward', 'both'])
def test_the_heads_multiply_only_chosen_keys(change, products):
    """Two products forward, of scores and of values, and two backward for each of these."""
    for length in (64, 256, 1024):
        blocks = length // SIZE
        tiles = (length * CHOSEN + blocks * (SIZE - 1)) // SIZE
        given = like(length, N), like(length, K), like(length, K)
        for attend, index, pairs in (
            (to_blocks, (1, N, length, CHOSEN), (tiles + blocks) * SIZE * SIZE),
            (to_tokens, (1, 1, length, CHOSEN * SIZE), length * CHOSEN * SIZE),
        ):
            counted = model_flops(change(attend), *given, jax.ShapeDtypeStruct(index, jnp.int32))
            assert counted == products * 2 * pairs * N * WIDTH


def test_the_choice_of_tokens_multiplies_live_blocks_of_pairs():
    M, length, block = 3, 256, 32

    def choose(q, k, weight):
        return best_keys(q, k, weight, Causal(), 2, (block, block))

    given = like(length, M), like(length, 1), jax.ShapeDtypeStruct((1, length, M), jnp.float32)
    live = length // block * (length // block + 1) // 2
    assert flops(choose, *given) == 2 * live * block * block * M * (WIDTH + 1)


@pytest.mark.parametrize('pool', [2, 4])
def test_pooling_divides_the_flops_of_the_choice(pool):
    """A block of queries meets as many blocks of keys, of which each has fewer keys."""
    M, length, block = 3, 256, 32

    def choose(q, k, weight):
        tokens = Tokens.alone(length)
        runs = Runs.of(tokens, pool, pool)
        means = runs.gather(k).mean(axis=2)
        return best_keys(q, means, weight, WholeRuns(tokens, runs, True), 1, (block, block // pool))

    given = like(length, M), like(length, 1), jax.ShapeDtypeStruct((1, length, M), jnp.float32)
    live = length // block * (length // block + 1) // 2
    assert flops(choose, *given) == 2 * live * block * block * M * (WIDTH + 1) // pool


@pytest.mark.parametrize('pool', [2, 4])
def test_a_pooled_layer_saves_these_flops_and_adds_those_of_the_incomplete_block(pool):
    def counted(**changes):
        module = build(indexed({'use': 'attention.blockwise:Blockwise'}, chosen=8, **changes))()
        x = jax.ShapeDtypeStruct((1, 64, D), jnp.float32)
        params = jax.eval_shape(lambda x: module.init(jax.random.key(0), x, None, False), x)['params']
        return flops(lambda params, x: module.apply({'params': params}, x, None, False), params, x)

    M, width, H = 2, 6, D // N  # as in `indexed`; one block of queries meets one of all keys
    choice_and_loss = 2 * 64 * (64 + 8) * M * (width + 1)
    tail = 2 * 2 * 64 * (pool - 1) * N * H
    assert counted(pool=pool) - counted() == choice_and_loss // pool - choice_and_loss + tail


BIG = {
    'moba': moba({'use': 'attention.blockwise:Blockwise'}, {'block': 128, 'chosen': 3}),
    'native sparse': native(
        {'use': 'attention.blockwise:Blockwise'}, length=32, stride=16, block=64, chosen=4, window=128
    ),
    'lightning indexer': indexed({'use': 'attention.blockwise:Blockwise'}, chosen=64),
    'pooled indexer': indexed({'use': 'attention.blockwise:Blockwise'}, chosen=64, pool=4),
}


@pytest.mark.long
@pytest.mark.parametrize('case', BIG)
def test_temporary_bytes_of_forward_and_backward_grow_linearly(case):
    module, lengths = build(BIG[case])(), (1024, 4096, 16384)

    def loss(params, x):
        y, reports = module.apply({'params': params}, x, None, True, mutable=['losses'])
        losses = jax.tree.leaves(reports, is_leaf=lambda node: hasattr(node, 'mean'))
        return jnp.square(y).sum() + sum(total.mean() for total in losses)

    def temporary_bytes(length):
        x = jax.ShapeDtypeStruct((1, length, D), jnp.float32)
        params = jax.eval_shape(lambda x: module.init(jax.random.key(0), x, None, False), x)['params']
        return jax.jit(jax.grad(loss, (0, 1))).lower(params, x).compile().memory_analysis().temp_size_in_bytes

    sizes = [temporary_bytes(length) for length in lengths]
    assert np.polyfit(np.log(lengths), np.log(sizes), 1)[0] <= LINEAR_EXPONENT
