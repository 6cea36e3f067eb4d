# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The optimizer against a plain NumPy loop of AdamW, and each rule against optax on unstacked matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.axes import declaration
from saccade.build import bind, build
from saccade.train.optimizer import Optimizer, adafactor, muon, path_of
from saccade.train.rates import Frozen, LayerWise
from saccade.types import Part, UserError

L, D, N, H, K, F, V = 3, 8, 2, 3, 1, 10, 12
RATE = 0.1
RELATIVE, ABSOLUTE = 1e-5, 1e-6
# The five Newton-Schulz iterations multiply a small singular value, and its rounding, by up to 3.4445 each.
NEWTON_SCHULZ = 3.4445**5 * np.finfo(np.float32).eps

MIXER = {'query': (L, D, N, H), 'key': (L, D, K, H), 'output': (L, N, H, D), 'query_bias': (L, N, H)}
SHAPES = {
    'embedding': (V, D),
    'positions': (5, D),
    'head': (D, V),
    'layers': {
        'pattern_0': {
            'mixer': MIXER,
            'feedforward': {'up': (L, D, F), 'down': (L, F, D), 'up_bias': (L, F)},
            'norm': {'scale': (L, D), 'bias': (L, D)},
        }
    },
}


KERNELS = {
    'mixer/query': 'L D -> N H',
    'mixer/key': 'L D -> K H',
    'mixer/output': 'L N H -> D',
    'feedforward/up': 'L D -> F',
    'feedforward/down': 'L F -> D',
}
REST = {
    'mixer/query_bias': 'L N H',
    'feedforward/up_bias': 'L F',
    'norm/scale': 'L D',
    'norm/bias': 'L D',
}
AXES = {'embedding': 'V D', 'positions': 'T D', 'head': 'D -> V'} | {
    f'layers/pattern_0/{name}': axes for name, axes in (KERNELS | REST).items()
}


def is_shape(node):
    return isinstance(node, tuple)


def draw(seed, shapes=SHAPES):
    generator = np.random.default_rng(seed)
    return jax.tree.map(lambda shape: jnp.asarray(generator.normal(size=shape), jnp.float32), shapes, is_leaf=is_shape)


def flat(tree):
    return {path_of(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def train(transformation, params, gradients):
    """Take one step a gradient and return the parameters after the last."""
    state, update = transformation.init(params), jax.jit(transformation.update)
    for gradient in gradients:
        updates, state = update(gradient, state, params)
        params = optax.apply_updates(params, updates)
    return params


def updates_of(rule, params, gradients):
    state, update = rule.init(params), jax.jit(rule.update)
    for gradient in gradients:
        updates, state = update(gradient, state, params)
    return updates


def assert_same(left, right, absolute=ABSOLUTE):
    assert left.keys() == right.keys()
    for path in left:
        np.testing.assert_allclose(left[path], right[path], rtol=RELATIVE, atol=absolute, err_msg=path)


def adamw_in_numpy(params, gradients, b1, b2, eps, weight_decay, spared):
    """Loop over algorithm 2 of Loshchilov & Hutter 2019 in float64, the decay times the learning rate."""
    params = {path: leaf.astype(np.float64) for path, leaf in params.items()}
    m, v = ({path: np.zeros_like(leaf) for path, leaf in params.items()} for _ in range(2))
    for t, gradient in enumerate(gradients, start=1):
        for path, g in gradient.items():
            m[path] = b1 * m[path] + (1 - b1) * g
            v[path] = b2 * v[path] + (1 - b2) * g**2
            step = (m[path] / (1 - b1**t)) / (np.sqrt(v[path] / (1 - b2**t)) + eps)
            step += 0.0 if path in spared else weight_decay * params[path]
            params[path] -= RATE / t * step
    return params


@pytest.mark.long
def test_adamw_equals_a_numpy_loop_of_the_paper():
    rule = {'use': 'optax:scale_by_adam', 'b1': 0.8, 'b2': 0.95, 'eps': 1e-7}
    optimizer = build({'use': 'train.optimizer:Optimizer', 'rule': rule, 'weight_decay': 0.3})()
    params, gradients = draw(0), [draw(seed) for seed in (1, 2, 3)]
    ours = train(optimizer(lambda count: RATE / (count + 1), params, AXES), params, gradients)
    layer = 'layers/pattern_0'
    spared = {
        f'{layer}/mixer/query_bias',
        f'{layer}/feedforward/up_bias',
        f'{layer}/norm/scale',
        f'{layer}/norm/bias',
    }
    wanted = adamw_in_numpy(flat(params), [flat(g) for g in gradients], 0.8, 0.95, 1e-7, 0.3, spared)
    assert_same(flat(ours), wanted)


def decaying(shapes, axes, **fields):
    optimizer = Optimizer(Part(optax.scale_by_adam), **{'weight_decay': 0.1} | fields)
    return {path for path, mark in flat(optimizer.decays(draw(0, shapes), axes)).items() if mark}


def test_kernels_and_tables_of_embeddings_decay():
    assert decaying(SHAPES, AXES) == set(AXES) - {f'layers/pattern_0/{name}' for name in REST}


def test_other_parameters_decay_if_they_say_so_whatever_their_names():
    shapes = {'layers': {'pattern_0': {'taps': (L, 4, D), 'scale': (L, D, F), 'gain': (L, N), 'mix': (L, N, N)}}}
    axes = {'taps': declaration('L X D', decays=True), 'scale': 'L D -> F', 'gain': 'L N', 'mix': 'L N N'}
    axes = {f'layers/pattern_0/{name}': declared for name, declared in axes.items()}
    assert decaying(shapes, axes) == {'layers/pattern_0/taps', 'layers/pattern_0/scale'}


def test_without_declared_axes_matrices_decay_if_they_are_not_named_bias_or_scale():
    layer = {'Dense_0': {'kernel': (L, D, F), 'bias': (L, F)}, 'gain': (L, D), 'query_bias': (L, N, H)}
    shapes = {'layers': {'pattern_0': layer}, 'embed': {'kernel': (D, F), 'bias': (F,)}, 'scale': (D, F)}
    assert decaying(shapes, {}) == {'layers/pattern_0/Dense_0/kernel', 'embed/kernel'}


def test_neither_does_what_no_decay_finds_nor_what_is_frozen_decay():
    left = decaying(SHAPES, AXES, no_decay=r'^(head|layers/.*/query)$', rates=Part(Frozen, (('match', '^embedding$'),)))
    assert decaying(SHAPES, AXES) - left == {'head', 'layers/pattern_0/mixer/query', 'embedding'}
    assert decaying(SHAPES, AXES, weight_decay=0.0) == set()


def test_a_bounded_parameter_ends_no_step_above_its_bound_and_comes_down_from_it():
    params, axes = {'gain': jnp.array([0.5, 0.9])}, {'gain': declaration('N', most=1.0)}
    optimizer = Optimizer(Part(optax.identity))(optax.constant_schedule(1.0), params, axes)
    up = train(optimizer, params, [{'gain': jnp.array([-0.2, -0.2])}])
    np.testing.assert_allclose(up['gain'], [0.7, 1.0], rtol=RELATIVE)
    down = train(optimizer, up, [{'gain': jnp.array([0.0, 0.3])}])
    np.testing.assert_allclose(down['gain'], [0.7, 0.7], rtol=RELATIVE)


def test_what_is_frozen_above_its_bound_stays_there():
    params, axes = {'gain': jnp.array(5.0), 'other': jnp.array(5.0)}, {'gain': declaration('', most=1.0)}
    optimizer = Optimizer(Part(optax.identity), rates=Part(Frozen, (('match', '^gain$'),)))
    moved = train(optimizer(optax.constant_schedule(1.0), params, axes), params, [jax.tree.map(jnp.ones_like, params)])
    assert moved == {'gain': 5.0, 'other': 4.0}


@pytest.mark.parametrize(('clip_norm', 'factor'), [(2.5, 0.5), (5.0, 1.0), (50.0, 1.0), (None, 1.0)])
def test_clip_scales_the_whole_gradient_before_the_rule_and_the_decay(clip_norm, factor):
    params, gradient = (
        {'a': jnp.ones((1, 1)), 'b': jnp.ones((1, 1))},
        {'a': jnp.array([[3.0]]), 'b': jnp.array([[4.0]])},
    )
    optimizer = Optimizer(Part(optax.scale, (('step_size', 2.0),)), weight_decay=0.5, clip_norm=clip_norm)
    moved = train(optimizer(optax.constant_schedule(1.0), params, {}), params, [gradient])
    wanted = [1 - (2 * size * factor + 0.5) for size in (3, 4)]
    np.testing.assert_allclose([moved['a'].item(), moved['b'].item()], wanted, rtol=RELATIVE)


@pytest.mark.long
def test_shapes_are_enough_to_make_the_optimizer():
    params = draw(0)
    optimizer, schedule = (
        Optimizer(Part(optax.scale_by_adam), weight_decay=0.1),
        optax.constant_schedule(RATE),
    )
    by_shape, by_value = (optimizer(schedule, given, AXES) for given in (jax.eval_shape(lambda: params), params))
    assert_same(flat(train(by_shape, params, [draw(1)])), flat(train(by_value, params, [draw(1)])))


def matrices_of(tree):
    """Return every hidden kernel as a dict of one [inputs, outputs] matrix a layer."""
    layer = tree['layers']['pattern_0']
    widths = {'query': D, 'key': D, 'output': N * H, 'up': D, 'down': F}
    kernels = {name: {**layer['mixer'], **layer['feedforward']}[name] for name in widths}
    return {
        f'{name}_{index}': kernel[index].reshape(widths[name], -1)
        for name, kernel in kernels.items()
        for index in range(L)
    }


@pytest.mark.long
@pytest.mark.parametrize('rms', [0.2, None])
def test_muon_treats_each_layer_as_a_matrix_of_its_own(rms):
    params, gradients = draw(0), [draw(1), draw(2)]
    ours = updates_of(muon(momentum=0.9, rms=rms).of(AXES), params, gradients)
    optaxs = updates_of(
        optax.contrib.muon(learning_rate=-1.0, beta=0.9, consistent_rms=rms),
        matrices_of(params),
        [matrices_of(gradient) for gradient in gradients],
    )
    assert_same(flat(matrices_of(ours)), flat(optaxs), NEWTON_SCHULZ)


@pytest.mark.long
def test_muon_leaves_what_is_no_kernel_to_adam():
    params, gradients = draw(0), [draw(1), draw(2)]
    ours = flat(updates_of(muon().of(AXES), params, gradients))
    adam = flat(updates_of(optax.scale_by_adam(), params, gradients))
    same = {path.rpartition('/')[2] for path in ours if np.allclose(ours[path], adam[path], rtol=RELATIVE)}
    assert same == {'embedding', 'positions', 'head', 'query_bias', 'up_bias', 'scale', 'bias'}


@pytest.mark.parametrize(
    ('axes', 'is_matrix'),
    [
        ('L D -> R', True),
        ('L R -> N H', True),
        ('L D -> D', True),
        ('L E D -> F', True),
        ('L D -> N', False),  # one number for each head
        ('L D -> X', False),  # a router, or the gates of a cell side by side
        ('L D -> C', False),
        ('L X -> D', False),
        ('L D 1', False),
        ('L R D', False),
        (None, False),
    ],
)
def test_muon_takes_what_maps_hidden_features_to_hidden_features(axes, is_matrix):
    shape = (L, 4, D, F) if axes and 'E' in axes else (L, D, N, H) if axes and 'N H' in axes else (L, D, F)
    shapes = {'layers': {'compress': shape, 'up': (L, D, F)}}
    params, gradient = draw(0, shapes), draw(1, shapes)
    lion = Part(optax.scale_by_lion)
    declared = {'layers/up': 'L D -> F'} | ({'layers/compress': axes} if axes else {})
    ours = updates_of(muon(others=lion).of(declared), params, [gradient])['layers']
    assert np.array_equal(ours['compress'], np.sign(gradient['layers']['compress'])) != is_matrix
    assert not np.array_equal(ours['up'], np.sign(gradient['layers']['up']))


@pytest.mark.long
def test_muon_has_another_rule_for_the_rest_from_the_config():
    spec = {'use': 'train.optimizer:muon', 'others': {'use': 'train.optimizer:adafactor'}}
    params, gradients = draw(0), [draw(1), draw(2)]
    ours = updates_of(build(spec)().of(AXES), params, gradients)
    rest = updates_of(adafactor().of(AXES), params, gradients)
    for name in ('embedding', 'positions', 'head'):
        np.testing.assert_array_equal(ours[name], rest[name])


@pytest.mark.long
def test_muon_keeps_experts_apart_as_it_does_layers():
    params, gradient = draw(0, {'up': (L, 2, D, F)}), draw(1, {'up': (L, 2, D, F)})
    ours = updates_of(muon().of({'up': 'L E D -> F'}), params, [gradient])['up'][2, 1]
    one, its_gradient = ({'up': tree['up'][2, 1]} for tree in (params, gradient))
    alone = updates_of(muon().of({'up': 'D -> F'}), one, [its_gradient])['up']
    np.testing.assert_allclose(ours, alone, rtol=RELATIVE, atol=NEWTON_SCHULZ)


@pytest.mark.long
def test_lion_is_that_of_optax():
    params, gradients = draw(0), [draw(1), draw(2)]
    rule = {'use': 'optax:scale_by_lion', 'b1': 0.9, 'b2': 0.98}
    optimizer = build({'use': 'train.optimizer:Optimizer', 'rule': rule, 'weight_decay': 0.1})()
    ours = train(optimizer(optax.constant_schedule(RATE), params, AXES), params, gradients)
    lion = optax.lion(RATE, b1=0.9, b2=0.98, weight_decay=0.1, mask=optimizer.decays(params, AXES))
    assert_same(flat(ours), flat(train(lion, params, gradients)))


@pytest.mark.long
def test_adafactor_is_that_of_optax_on_every_layer_alone():
    params, gradients = draw(0), [draw(1), draw(2)]
    ours = Optimizer(Part(adafactor, (('minimum_size', 2),)))(optax.constant_schedule(RATE), params, AXES)
    stepped = train(ours, params, gradients)
    optaxs = optax.adafactor(RATE, min_dim_size_to_factor=2)
    assert_same(flat(unstack(stepped)), flat(train(optaxs, unstack(params), [unstack(g) for g in gradients])))


def unstack(tree):
    layers = [jax.tree.map(lambda leaf, index=index: leaf[index], tree['layers']) for index in range(L)]
    return {**tree, 'layers': layers}


def test_adafactor_never_factors_the_axes_of_layers_and_experts():
    depth, experts = 40, 30
    params = {'layers': {'up': jnp.zeros((depth, experts, 4, 6))}}
    rule = adafactor(minimum_size=2).of({'layers/up': 'L E D -> F'})
    shapes = [leaf.shape for leaf in jax.tree.leaves(rule.init(params))]
    assert (depth, experts, 4) in shapes
    assert (depth, experts, 6) in shapes


def test_adafactor_has_what_no_axes_stack_as_one():
    """A recurrent decoder's `layers` are no stack."""
    params = {'layers': {'inputs': jnp.zeros((5, 8))}}
    rule = adafactor(minimum_size=2).of({'layers/inputs': 'D -> X'})
    assert {(5,), (8,)} <= {leaf.shape for leaf in jax.tree.leaves(rule.init(params))}


@pytest.mark.long
@pytest.mark.parametrize('rule', [Part(muon), Part(adafactor), Part(optax.scale_by_lion)])
def test_every_rule_descends_under_jit(rule):
    target = draw(7)

    def loss(params):
        return optax.tree.norm(optax.tree.sub(params, target), squared=True)

    transformation = Optimizer(rule)(optax.constant_schedule(0.02), draw(0), AXES)

    @jax.jit
    def step(params, state):
        updates, state = transformation.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    params, state = draw(0), transformation.init(draw(0))
    first = loss(params)
    for _ in range(10):
        params, state = step(params, state)
    assert loss(params) < first


@pytest.mark.long
@pytest.mark.parametrize('rule', [Part(optax.scale_by_adam), Part(muon), Part(optax.identity)])
def test_a_statistic_moves_by_its_negative_gradient_and_nothing_else_knows_of_it(rule):
    """Whatever the rule, the clipping, the decay, the schedule and the factors of the rate."""
    params, gradient = draw(0), draw(1)
    rates = Part(LayerWise, (('decay', 0.5),))
    optimizer = Optimizer(rule, weight_decay=0.3, clip_norm=0.5, rates=rates)
    without = flat(updates_of(optimizer(optax.constant_schedule(RATE), params, AXES), params, [gradient]))
    router = {'balance_bias': jnp.arange(3.0), 'running_mean': jnp.full(3, 1e3)}
    params['layers']['router'], gradient['layers']['router'] = jax.tree.map(jnp.square, router), router
    beside = flat(updates_of(optimizer(optax.constant_schedule(RATE), params, AXES), params, [gradient]))
    np.testing.assert_array_equal(beside.pop('layers/router/balance_bias'), -router['balance_bias'])
    np.testing.assert_array_equal(beside.pop('layers/router/running_mean'), -router['running_mean'])
    assert_same(beside, without)


@pytest.mark.parametrize(
    ('optimizer', 'words'),
    [
        (Optimizer(Part(optax.adamw, (('learning_rate', 1.0),))), 'learning rate of its own'),
        (Optimizer(Part(optax.adafactor)), 'learning rate of its own'),
        (Optimizer(Part(optax.scale_by_adam), no_decay='('), 'not a regular expression'),
        (Optimizer(Part(muon, (('others', Part(optax.constant_schedule, (('value', 1.0),))),))), r'rule\.others'),
    ],
)
def test_refuses_what_cannot_be(optimizer, words):
    with pytest.raises(UserError, match=words):
        optimizer(optax.constant_schedule(RATE), draw(0), AXES)


@pytest.mark.parametrize('axes', [{}, {'table': 'V D'}])
def test_muon_refuses_parameters_without_a_hidden_kernel(axes):
    with pytest.raises(UserError, match='finds no hidden kernel'):
        muon().of(axes).init({'table': jnp.zeros((4, 4))})


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'weight_decay': -0.1}, r'config\.weight_decay must be at least 0, not -0\.1'),
        ({'clip_norm': 0.0}, r'config\.clip_norm must be above 0, not 0\.0'),
    ],
)
def test_numbers_out_of_range_are_refused_when_the_optimizer_is_built(changes, words):
    with pytest.raises(UserError, match=words):
        bind(Optimizer, {'rule': {'use': 'optax:scale_by_adam'}, **changes})
