# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A stack of layers: the same numbers and the same tree, however it is run."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted import count_primitive

from saccade.block.pre_norm import PreNorm
from saccade.build import build
from saccade.layer_paths import hand_on, layer_numbers
from saccade.model.stack import STATES, layer_states, unstacked
from saccade.ops.remat import compiler_options
from saccade.taps import Tapped
from saccade.types import LayerContext, UserError

NEAR = 1e-6
SAME_LEAF = 1e-6
B, T, D, L = 2, 5, 8, 4
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))

NORM = {'use': 'norm.rms:RMSNorm'}


def block(use='block.pre_norm:PreNorm', heads=2, dropout=0.2):
    return {
        'use': use,
        'mixer': {
            'use': 'attention.multi_head:MultiHead',
            'heads': heads,
            'dropout': dropout,
            'kernel': {'use': 'attention.plain:Plain'},
            'mask': {'use': 'ops.mask:Causal'},
            'position': {'use': 'position.none:NoPosition'},
        },
        'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}, 'dropout': dropout},
        'norm': NORM,
    }


PATTERN = [block(), block('block.post_norm:PostNorm', heads=4)]
RUNNERS = {
    'unrolled': {'use': 'model.stack:Unrolled'},
    'unrolled, rematerialised': {'use': 'model.stack:Unrolled', 'remat': 'nothing_saveable'},
    'scanned': {'use': 'model.stack:Scanned', 'remat': None},
    'scanned, rematerialised': {'use': 'model.stack:Scanned'},
}


def stack(run='unrolled', pattern=None, layers=L):
    return build({'use': 'model.stack:Stack', 'block': pattern or PATTERN, 'layers': layers, 'run': RUNNERS[run]})()


@functools.cache
def params():
    shapes = jax.eval_shape(lambda: stack().init(jax.random.key(0), X, CONTEXT, False, mutable=['params']))
    random = np.random.default_rng(1)
    with jax.ensure_compile_time_eval():  # the first call may be inside a traced function
        return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


@functools.cache
def outputs_and_gradients(run):
    """Of a training step with dropout."""

    def loss(params):
        y = stack(run).apply(params, X, CONTEXT, True, rngs={'dropout': jax.random.key(2)})
        return (y * X).sum(), y

    return jax.jit(jax.grad(loss, has_aux=True))(params())


def assert_near(given, expected):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=NEAR * max(1.0, np.abs(b).max())), given, expected
    )


@pytest.mark.long
@pytest.mark.parametrize('run', [run for run in RUNNERS if run != 'unrolled'])
def test_however_it_is_run_the_numbers_are_the_same(run):
    assert_near(outputs_and_gradients(run), outputs_and_gradients('unrolled'))


@pytest.mark.long
def test_gradients_of_unrolled_layers_are_stacked_once():
    """The gradient of a slice would be a stack of zeros but for one layer: L of them would be added up."""
    gradient = jax.grad(lambda params: stack().apply(params, X, CONTEXT, False).sum())
    assert count_primitive(gradient, 'stack', params()) == len(jax.tree.leaves(params()))


@pytest.mark.long
def test_no_operation_on_the_residual_stream_reads_something_of_every_layer():
    """Without barriers XLA adds up the stream's gradient at each layer, of all that come after it."""
    normed = {**block(), 'norm': {'use': 'norm.layer:LayerNorm'}}

    def most_operands(layers):
        deep = stack(pattern=[normed], layers=layers)
        shapes = jax.eval_shape(lambda: deep.init(jax.random.key(0), X, CONTEXT, False))
        gradient = jax.jit(jax.grad(lambda params: jnp.square(deep.apply(params, X, CONTEXT, False)).sum()))
        program = gradient.lower(shapes).compile(compiler_options('cpu')).as_text()
        of_the_stream = rf' = f32\[(?:{B},{T}|{B * T}),{D}\]\S* fusion\((.*?)\)'
        return max(operands.count('%') for operands in re.findall(of_the_stream, program))

    assert most_operands(8) == most_operands(4)


@pytest.mark.long
@pytest.mark.parametrize('run', ['unrolled', 'scanned'])
def test_layers_drop_independently(run):
    """Each layer adds its dropout of ones, so two layers that drop alike would add 0 or twice the same."""
    ones = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}, 'dropout': 0.5}
    layers = stack(run, [{**block(dropout=0.0), 'feedforward': ones}], layers=2)
    shapes = jax.eval_shape(lambda: layers.init(jax.random.key(0), X, CONTEXT, False))
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), shapes)
    zeros['params']['pattern_0']['feedforward']['down_bias'] += 1.0
    added = layers.apply(zeros, X, CONTEXT, True, rngs={'dropout': jax.random.key(0)}) - X
    assert {0, 2, 4} == set(np.round(np.asarray(added)).astype(int).flat)


@pytest.mark.long
def test_parameters_are_initialised_to_the_same_numbers_and_tree():
    init = jax.jit(lambda key: [stack(run).init(key, X, CONTEXT, False) for run in ('unrolled', 'scanned')])
    unrolled, scanned = init(jax.random.key(0))
    jax.tree.map(np.testing.assert_array_equal, unrolled, scanned)


def test_every_layer_is_initialised_as_it_would_be_alone():
    """The scale of a stacked kernel is that of one layer's, and no two layers are the same."""
    query = jax.jit(lambda key: stack().init(key, X, CONTEXT, False)['params']['pattern_0']['mixer']['query'])(
        jax.random.key(0)
    )
    alone = D**-0.5
    assert np.std(query) == pytest.approx(alone, rel=0.2)
    assert np.abs(query[0] - query[1]).max() > alone / 10


@pytest.mark.long
def test_a_stack_is_its_blocks_one_after_another():
    x = X
    for number in range(L):
        given = PATTERN[number % 2]
        one = jax.tree.map(lambda leaf, number=number: leaf[number // 2], params()['params'][f'pattern_{number % 2}'])
        x = build(given)().apply({'params': one}, x, CONTEXT, False)
    assert_near(stack().apply(params(), X, CONTEXT, False), x)


def test_leaves_are_depth_times_block():
    patterns = params()['params']
    assert patterns.keys() == {'pattern_0', 'pattern_1'}
    for number, given in enumerate(PATTERN):
        one = jax.eval_shape(lambda given=given: build(given)().init(jax.random.key(0), X, CONTEXT, False))['params']
        stacked = patterns[f'pattern_{number}']
        assert jax.tree.map(lambda leaf: (L // 2, *leaf.shape), one) == jax.tree.map(jnp.shape, stacked)


@pytest.mark.long
def test_steps_replay_the_whole_through_a_pattern():
    whole = stack().apply(params(), X, CONTEXT, False)
    state = stack().apply(params(), X[:, :1], T, method='init_state')
    assert len(state) == L
    parts = []
    step = jax.jit(lambda x, context, state: stack().apply(params(), x, context, state, method='step'))
    for here in (slice(0, 3), slice(3, 5)):
        part, state = step(X[:, here], LayerContext(CONTEXT.positions[:, here]), state)
        parts.append(part)
    assert_near(jnp.concatenate(parts, axis=1), whole)


@pytest.mark.long
def test_steps_take_parameters_that_are_cut_into_layers():
    state = stack().apply(params(), X[:, :1], T, method='init_state')
    step = jax.jit(lambda params: stack().apply(params, X, CONTEXT, state, method='step')[0])
    cut = unstacked(params())
    assert [len(layers) for layers in cut['params'].values()] == [L // 2, L // 2]
    np.testing.assert_array_equal(step(cut), step(params()))


def test_no_two_layers_share_a_buffer_of_a_fresh_state():
    leaves = jax.tree.leaves(stack().apply(params(), X[:, :1], T, method='init_state'))
    assert len({leaf.unsafe_buffer_pointer() for leaf in leaves}) == len(leaves)


@pytest.mark.long
@pytest.mark.parametrize('run', ['unrolled', 'scanned, rematerialised'])
def test_what_layers_report_is_stacked(run):
    _, reported = stack(run).apply(params(), X, CONTEXT, False, mutable=['pattern'])
    shapes = [leaf.shape for leaf in jax.tree.leaves(reported)]
    assert shapes == [(L // 2, B, 2, T, T), (L // 2, B, 4, T, T)]
    for leaf in jax.tree.leaves(reported):
        np.testing.assert_allclose(leaf.sum(axis=-1), 1.0, atol=10 * NEAR)


@pytest.mark.parametrize('use', ['model.stack:Unrolled', 'model.stack:Scanned'])
@pytest.mark.parametrize('policy', ['no_such_policy', 'save_only_these_names', '__doc__'])
def test_what_is_no_policy_is_refused_naming_those_there_are(use, policy):
    run = build({'use': use, 'remat': policy})()
    with pytest.raises(UserError, match=rf'{policy}.*dots_saveable'):
        run(lambda x, this: (x + this, {}), jnp.ones((L, D)), X)


STREAMS = {
    'two streams': {**block('block.res_dual:ResDual', dropout=0.0)},
    'hyper-connections': {
        **block('block.hyper_connections:HyperConnections', dropout=0.0), 'streams': 3, 'dynamic': True
    },
}  # fmt: skip


@functools.cache
def stream_params(name):
    layers = stack(pattern=[STREAMS[name]])
    shapes = jax.eval_shape(lambda: layers.init(jax.random.key(0), X, CONTEXT, False, mutable=['params']))
    random = np.random.default_rng(1)
    with jax.ensure_compile_time_eval():  # the first call may be inside a traced function
        return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


@functools.cache
def stream_outputs_and_gradients(name, run):
    def loss(params):
        y = stack(run, [STREAMS[name]]).apply(params, X, CONTEXT, True)
        return (y * X).sum(), y

    return jax.jit(jax.grad(loss, has_aux=True))(stream_params(name))


@pytest.mark.long
@pytest.mark.parametrize('name', STREAMS)
def test_streams_are_entered_before_the_layers_and_left_after_them(name):
    params, given = stream_params(name)['params'], build(STREAMS[name])()
    x = given.expand(X)
    for number in range(L):
        one = jax.tree.map(lambda leaf, number=number: leaf[number], params['pattern_0'])
        x = given.apply({'params': one}, x, CONTEXT, False)
    expected = given.apply({'params': params.get('reduce', {})}, x, method='reduce')
    assert expected.shape == X.shape
    assert_near(stream_outputs_and_gradients(name, 'unrolled')[1], expected)


@pytest.mark.long
@pytest.mark.parametrize('name', STREAMS)
def test_streams_are_the_same_scanned(name):
    assert_near(stream_outputs_and_gradients(name, 'scanned'), stream_outputs_and_gradients(name, 'unrolled'))


@pytest.mark.long
@pytest.mark.parametrize('name', STREAMS)
def test_steps_through_streams_replay_the_whole(name):
    layers, params = stack(pattern=[STREAMS[name]]), unstacked(stream_params(name))
    state = layers.init_state(X[:, :1], T)
    parts = []
    for here in (slice(0, 3), slice(3, 5)):
        part, state = layers.apply(params, X[:, here], LayerContext(CONTEXT.positions[:, here]), state, method='step')
        parts.append(part)
    assert_near(jnp.concatenate(parts, axis=1), stream_outputs_and_gradients(name, 'unrolled')[1])


def test_what_streams_need_at_their_end_is_made_once():
    assert jax.tree.map(jnp.shape, stream_params('two streams')['params']['reduce']) == {'sum_norm': {'scale': (D,)}}
    assert stream_params('hyper-connections')['params'].keys() == {'pattern_0'}
    assert params()['params'].keys() == {'pattern_0', 'pattern_1'}


@pytest.mark.parametrize(
    ('pattern', 'words'),
    [
        ([STREAMS['hyper-connections'], block()], r'3 streams of HyperConnections and one hidden state'),
        ([block(), STREAMS['two streams']], r'2 streams of ResDual and one hidden state'),
        ([{**STREAMS['hyper-connections'], 'streams': 2}, STREAMS['two streams']], r'2 streams of .* and 2 streams of'),
        ([STREAMS['hyper-connections'], {**STREAMS['hyper-connections'], 'streams': 2}], r'2 streams .* and 3 streams'),
    ],
)
def test_blocks_that_do_not_hand_on_the_same_are_refused(pattern, words):
    layers = stack(pattern=pattern)
    with pytest.raises(UserError, match=words):
        jax.eval_shape(lambda: layers.init(jax.random.key(0), X, CONTEXT, False))
    with pytest.raises(UserError, match=words):
        layers.init_state(X[:, :1], T)


def test_blocks_that_read_streams_in_their_own_ways_can_take_turns():
    turns = [STREAMS['hyper-connections'], {**STREAMS['hyper-connections'], 'dynamic': False}]
    y, _ = jax.eval_shape(lambda: stack(pattern=turns).init_with_output(jax.random.key(0), X, CONTEXT, False))
    assert y.shape == X.shape


def test_layers_that_the_pattern_does_not_divide_are_refused():
    with pytest.raises(UserError, match=r'3 layers .* 2 blocks'):
        jax.eval_shape(lambda: stack(layers=3).init(jax.random.key(0), X, CONTEXT, False))


@pytest.mark.long
def test_rematerialising_keeps_less():
    def kept(run):
        layers = stack(run, [block(dropout=0.0)])
        shapes = jax.eval_shape(lambda: layers.init(jax.random.key(0), X, CONTEXT, False))
        residuals = jax.eval_shape(
            lambda params: jax.vjp(lambda p: layers.apply(p, X, CONTEXT, False), params)[1], shapes
        )
        return sum(leaf.size for leaf in jax.tree.leaves(residuals))

    for run in ('unrolled', 'scanned'):
        assert kept(f'{run}, rematerialised') < kept(run)


GROUPED = {'first_blocks': [block(heads=4), block()], 'last_blocks': [block('block.post_norm:PostNorm')]}


def grouped(run='unrolled', layers=7, pattern=None, **groups):
    spec = {'use': 'model.stack:Stack', 'block': pattern or PATTERN, 'layers': layers, 'run': RUNNERS[run]}
    return build(spec | (groups or GROUPED))()


def drawn(model):
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), X, CONTEXT, False, mutable=['params']))
    random = np.random.default_rng(1)
    with jax.ensure_compile_time_eval():  # the first call may be inside a traced function
        return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


@pytest.mark.long
def test_first_and_last_blocks_stand_once_around_what_is_repeated():
    variables = drawn(grouped())
    assert {name: jax.tree.leaves(of)[0].shape[0] for name, of in variables['params'].items()} == {
        'first_0': 1, 'first_1': 1, 'pattern_0': 2, 'pattern_1': 2, 'last_0': 1,
    }  # fmt: skip
    x = X
    for name, spec, repeat in (
        ('first_0', GROUPED['first_blocks'][0], 0), ('first_1', GROUPED['first_blocks'][1], 0),
        ('pattern_0', PATTERN[0], 0), ('pattern_1', PATTERN[1], 0), ('pattern_0', PATTERN[0], 1),
        ('pattern_1', PATTERN[1], 1), ('last_0', GROUPED['last_blocks'][0], 0),
    ):  # fmt: skip
        own = jax.tree.map(lambda leaf, repeat=repeat: leaf[repeat], variables['params'][name])
        x = build(spec)().apply({'params': own}, x, CONTEXT, False)
    for run in RUNNERS:
        assert_near(grouped(run).apply(variables, X, CONTEXT, False), x)


@pytest.mark.long
def test_groups_step_as_the_whole_and_report_layer_by_layer():
    model, variables = grouped(), drawn(grouped())
    whole, reported = model.apply(variables, X, CONTEXT, False, mutable=STATES)
    states = layer_states(
        {'embedded': {'embedded': Tapped(X, 'B T D')}, 'residual_after': {'layers': reported['residual_after']}}
    )
    assert len(states) == 8
    assert_near(states[-1], whole)
    state, found = model.apply(variables, X, T, method='init_state'), []
    for t in range(T):
        context = LayerContext(CONTEXT.positions[:, t : t + 1])
        y, state = model.apply(variables, X[:, t : t + 1], context, state, method='step')
        found.append(y)
    assert_near(jnp.concatenate(found, axis=1), whole)


@pytest.mark.parametrize(('layers', 'message'), [(6, 'between 2 first and 1 last'), (3, 'between 2 first and 1 last')])
def test_layers_that_the_groups_cannot_make_are_refused(layers, message):
    with pytest.raises(UserError, match=rf'{layers} layers cannot be made of a pattern of 2 blocks {message}'):
        drawn(grouped(layers=layers))


def test_layers_are_numbered_by_group():
    numbers = layer_numbers({'layers': drawn(grouped())['params']})[None]
    assert numbers == {'first_0': (1,), 'first_1': (2,), 'pattern_0': (3, 5), 'pattern_1': (4, 6), 'last_0': (7,)}


class Numbered(PreNorm):
    """Adds the number of the layer to the hidden state, and nothing else."""

    def mix(self, x, context, train, state):
        return x + 0.0 * super().mix(x, context, train, state)[0] + context.layer, state


@pytest.mark.long
@pytest.mark.parametrize('run', RUNNERS)
def test_a_layer_knows_its_number(run):
    numbered = block() | {'use': f'{__name__}:Numbered'}
    model = grouped(run, layers=5, pattern=[numbered], first_blocks=[numbered], last_blocks=[numbered])
    variables = drawn(model)
    assert_near(model.apply(variables, X, CONTEXT, False), X + 0 + 1 + 2 + 3 + 4)
    state = model.apply(variables, X, T, method='init_state')
    assert_near(model.apply(variables, X, CONTEXT, state, method='step')[0], X + 10)


def residual(share, **groups):
    mixer = block(dropout=0.0)['mixer'] | {'use': 'attention.value_residual:ValueResidual', 'share': share}
    one = block(dropout=0.0) | {'mixer': mixer}
    return {'pattern': [one, one | {'use': 'block.post_norm:PostNorm'}], 'layers': 4} | {'first_blocks': []} | groups


@pytest.mark.long
@pytest.mark.parametrize('run', RUNNERS)
def test_values_of_the_first_layer_reach_all_others_in_whole_sequences_and_in_steps(run):
    model = grouped(run, **residual(0.3))
    variables = drawn(model)
    params, first, x = variables['params'], None, X
    for number in range(4):
        name, repeat = f'pattern_{number % 2}', number // 2
        own = jax.tree.map(lambda leaf, repeat=repeat: leaf[repeat], params[name])
        spec = residual(0.3)['pattern'][number % 2]
        handed = {} if first is None else {'values': (jnp.array(True), first)}
        x, report = build(spec)().apply({'params': own}, x, CONTEXT.replace(handed=handed), False, mutable=['handed'])
        if first is None:
            first = report['handed']['mixer']['values']
    whole = model.apply(variables, X, CONTEXT, False)
    assert_near(whole, x)
    assert np.abs(whole - grouped(run, **residual(0.0)).apply(variables, X, CONTEXT, False)).max() > 0.01
    state, found = model.apply(variables, X, T, method='init_state'), []
    for chunk in (slice(0, 2), slice(2, T)):
        context = LayerContext(CONTEXT.positions[:, chunk])
        y, state = model.apply(variables, X[:, chunk], context, state, method='step')
        found.append(y)
    assert_near(jnp.concatenate(found, axis=1), whole)


@pytest.mark.long
def test_values_are_a_mean_of_the_layers_own_and_of_the_first_layers():
    """Values are linear in their kernel, so that multi-head attention with the mean of two kernels is the same."""
    plain = block(dropout=0.0)['mixer']
    module = build(residual(0.3)['pattern'][0]['mixer'])()
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False))['params']
    random = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), leaf.dtype), shapes)
    other = jnp.array(random.normal(size=params['value'].shape), jnp.float32)
    context = CONTEXT.replace(handed={'values': (jnp.array(True), jnp.einsum('BTD,DKH->BTKH', X, other))})
    found, _ = module.apply({'params': params}, X, context, False, mutable=['handed'])
    mean = {**params, 'value': 0.3 * other + 0.7 * params['value']}
    assert_near(found, build(plain)().apply({'params': mean}, X, CONTEXT, False))


@pytest.mark.long
def test_no_share_of_the_values_of_the_first_layer_is_multi_head_attention():
    plain = residual(0.0)
    plain['pattern'] = [one | {'mixer': block(dropout=0.0)['mixer']} for one in plain['pattern']]
    variables = drawn(grouped(**plain))
    given = grouped(**residual(0.0)).apply(variables, X, CONTEXT, False)
    np.testing.assert_array_equal(given, grouped(**plain).apply(variables, X, CONTEXT, False))


def numpy_parts(p):
    """Mixer and feed-forward layer of a layer of `block`, behind their norms, in float64."""

    def normed(x, name):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * p[name]['scale']

    def mixer(x):
        q, k, v = (np.einsum('btd,dnh->bnth', normed(x, 'mixer_norm'), p['mixer'][name]) for name in _QKV)
        scores = np.where(np.tri(T, dtype=bool), q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -np.inf)
        weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        return np.einsum('bnth,nhd->btd', weights @ v, p['mixer']['output'])

    def feedforward(x):
        own = p['feedforward']
        h = normed(x, 'feedforward_norm') @ own['up'] + own['up_bias']
        gelu = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
        return gelu @ own['down'] + own['down_bias']

    return mixer, feedforward


_QKV = ('query', 'key', 'value')


def dense_former(layers, x):
    outputs = [x]
    for p in layers:
        mixer, feedforward = numpy_parts(p)
        h = x + mixer(x)
        outputs.append(h + feedforward(h))
        x = sum(p['depth']['weights'][back] * y for back, y in enumerate(reversed(outputs)))
    return x


def attention_residuals(layers, x, group=1):
    """With a third query in the last layer, that one's read is the output."""
    added = [x]
    for number, p in enumerate(layers):
        mixer, feedforward = numpy_parts(p)
        mixed = mixer(over_depth(p['queries'][0], added))
        added = [*added, mixed] if number % group == 0 else [*added[:-1], added[-1] + mixed]
        added[-1] = added[-1] + feedforward(over_depth(p['queries'][1], added))
    return over_depth(p['queries'][2], added) if len(p['queries']) > 2 else sum(added)


def over_depth(query, made):
    """The softmax over the layers, token by token."""
    read = np.zeros(made[0].shape)
    for place in np.ndindex(B, T):
        scores = [query @ y[place] / np.sqrt((y[place] ** 2).mean() + 1e-6) for y in made]
        shares = np.exp(scores) / np.exp(scores).sum()
        read[place] = sum(share * y[place] for share, y in zip(shares, made, strict=True))
    return read


DEEP = {
    'block.dense_former:DenseFormer': (dense_former, 1e-5),
    'block.attention_residuals:AttentionResiduals': (attention_residuals, 1e-5),
}


@pytest.mark.long
@pytest.mark.parametrize('run', RUNNERS)
@pytest.mark.parametrize('use', DEEP)
def test_layers_that_read_all_earlier_ones_are_their_equations_in_whole_and_in_steps(use, run):
    model, (oracle, near) = stack(run, [block(use, dropout=0.0)], layers=3), DEEP[use]
    variables = drawn(model)
    params = jax.tree.map(np.float64, variables['params']['pattern_0'])
    layers = [jax.tree.map(lambda leaf, number=number: leaf[number], params) for number in range(3)]
    whole = model.apply(variables, X, CONTEXT, False)
    expected = oracle(layers, np.float64(X))
    np.testing.assert_allclose(whole, expected, rtol=0, atol=near * np.abs(expected).max())
    state, found = model.apply(variables, X, T, method='init_state'), []
    for chunk in (slice(0, 2), slice(2, 3), slice(3, T)):
        context = LayerContext(CONTEXT.positions[:, chunk])
        y, state = model.apply(variables, X[:, chunk], context, state, method='step')
        found.append(y)
    np.testing.assert_allclose(jnp.concatenate(found, axis=1), whole, rtol=0, atol=near * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('use', DEEP)
def test_layers_that_read_all_earlier_ones_start_as_pre_norm(use):
    """Equal weights make a mean of what pre-norm sums up, which its norms do not tell apart."""
    deep, plain = (stack('unrolled', [block(name, dropout=0.0)]) for name in (use, 'block.pre_norm:PreNorm'))
    variables = drawn(plain)
    fresh = deep.init(jax.random.key(0), X, CONTEXT, False, mutable=['params'])['params']['pattern_0']
    params = {'params': {'pattern_0': {**fresh, **variables['params']['pattern_0']}}}
    expected = plain.apply(variables, X, CONTEXT, False)
    given = deep.apply(params, X, CONTEXT, False)
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.long
def test_each_pass_and_each_kind_of_layer_has_a_history_of_its_own():
    deep = [block(use, dropout=0.0) for use in DEEP]
    model = build({
        'use': 'model.stack:Stack', 'block': deep, 'layers': 5, 'run': RUNNERS['scanned'], 'passes': 2,
        'first_blocks': [block(dropout=0.0)],
    })()  # fmt: skip
    variables = drawn(model)
    whole = model.apply(variables, X, CONTEXT, False)
    state, found = model.apply(variables, X, T, method='init_state'), []
    for number in range(T):
        context = LayerContext(CONTEXT.positions[:, number : number + 1])
        y, state = model.apply(variables, X[:, number : number + 1], context, state, method='step')
        found.append(y)
    assert np.isfinite(whole).all()
    np.testing.assert_allclose(jnp.concatenate(found, axis=1), whole, rtol=0, atol=1e-5 * np.abs(whole).max())


def by_groups(run, size, **more):
    """Five layers of attention residuals, of which the last may differ."""
    deep = block('block.attention_residuals:AttentionResiduals', dropout=0.0) | {'group': size}
    return build({
        'use': 'model.stack:Stack', 'block': [deep], 'layers': 5, 'run': RUNNERS[run], 'last_blocks': [deep | more],
    })()  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(('run', 'size'), [('scanned', 2), ('unrolled', 3)])
def test_attention_residuals_by_groups_and_before_the_head_are_their_equations_in_whole_and_in_steps(run, size):
    model = by_groups(run, size, before_head=True)
    variables = drawn(model)
    params = jax.tree.map(np.float64, variables['params'])
    layers = [jax.tree.map(lambda leaf, number=number: leaf[number], params['pattern_0']) for number in range(4)]
    layers.append(jax.tree.map(lambda leaf: leaf[0], params['last_0']))
    whole = jax.jit(lambda variables: model.apply(variables, X, CONTEXT, False))(variables)
    expected = attention_residuals(layers, np.float64(X), size)
    np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    step = jax.jit(lambda *given: model.apply(variables, *given, method='step'))
    state, found = model.apply(variables, X, T, method='init_state'), []
    for number in range(T):
        y, state = step(X[:, number : number + 1], LayerContext(CONTEXT.positions[:, number : number + 1]), state)
        found.append(y)
    np.testing.assert_allclose(jnp.concatenate(found, axis=1), whole, rtol=0, atol=1e-5 * np.abs(whole).max())


@pytest.mark.long
def test_attention_residuals_of_groups_of_another_size_are_refused():
    model = by_groups('unrolled', 2, group=3)
    with pytest.raises(UserError, match="'added' is a sum over 2 layers in earlier layers, over 3 here"):
        model.apply(drawn(model), X, CONTEXT, False)


class Undeclared(PreNorm):
    """Hands something on that it does not declare."""

    def __call__(self, x, context, train):
        hand_on(self, 'secret', x)
        return x


def test_what_is_handed_on_must_be_declared():
    with pytest.raises(UserError, match=r"Undeclared hands on 'secret' and must declare it: hands_on = \('secret',\)"):
        drawn(grouped(layers=2, pattern=[block() | {'use': f'{__name__}:Undeclared'}], first_blocks=[]))
