# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The mixture of experts: against loops over tokens, and what its cost, its drops and its losses come to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.flops import flops
from saccade.types import LayerContext, Total, UserError

NEAR = 1e-5
B, T, D = 2, 7, 8
TOKENS = B * T
KEY = jax.random.key(0)
MLP = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}, 'ratio': 2.0}
GATED = {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:silu'}, 'width': 12}
CHOICE = {
    'use': 'feedforward.token_choice:TokenChoice',
    'score': {'use': 'jax.nn:softmax'},
    'renormalised': True,
}
FREE = {**CHOICE, 'use': 'feedforward.loss_free:LossFree', 'score': {'use': 'jax.nn:sigmoid'}}
EXPERTS_CHOOSE = {'use': 'feedforward.expert_choice:ExpertChoice'}


def spec(experts, active, router=CHOICE, **fields):
    return {
        'use': 'feedforward.mixture:Mixture',
        'experts': experts,
        'active': active,
        'expert': MLP,
        'router': router,
        **fields,
    }


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


X = normal(0, B, T, D)


def drawn(module, number=1, x=X):
    """Parameters that none of which is zero."""
    shapes = jax.eval_shape(lambda: module.init(KEY, x, False)['params'])
    random = np.random.default_rng(number)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.5), leaf.dtype), shapes)


def applied(module, params, x=X, train=False):
    """Output, and by their names what was reported."""

    @jax.jit
    def run(params, x):
        return module.apply({'params': params}, x, train, rngs={'dropout': KEY}, mutable=['losses', 'metrics'])

    y, reports = run(params, x)
    named = {}
    for path, total in jax.tree_util.tree_leaves_with_path(reports, is_leaf=lambda node: isinstance(node, Total)):
        key = path[0].key, path[-2].key
        named[key] = named.get(key, 0.0) + total.mean()
    return y, named


def alone(part, params, number, x):
    """One expert on tokens [T D]."""
    own = jax.tree.map(lambda leaf: leaf[number], params)
    return np.asarray(build(part)().apply({'params': own}, x[None], False)[0], np.float64)


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sigmoid(scores):
    return 1 / (1 + np.exp(-scores))


SCORES = {jax.nn.softmax: softmax, jax.nn.sigmoid: sigmoid}


def chosen_by_tokens(module, params):
    """Loops: (token, expert, gate) in the order of the tokens."""
    router, x = module.router, np.asarray(X, np.float64).reshape(TOKENS, D)
    scores = SCORES[router['score'].target](x @ params['router']['kernel'])
    preferred = scores + np.asarray(params['router'].get('balance_bias', 0.0))
    routes = []
    for token in range(TOKENS):
        experts = sorted(range(module.experts), key=lambda e: -preferred[token, e])[: module.active]
        total = sum(scores[token, e] for e in experts) if router['renormalised'] else 1.0
        scale = dict(router.arguments).get('scale', 1.0)
        routes += [(token, e, scale * scores[token, e] / total) for e in experts]
    return routes, scores


def summed(module, given, params, routes):
    outputs = [alone(given['expert'], params['expert'], e, X.reshape(TOKENS, D)) for e in range(module.experts)]
    y = np.zeros((TOKENS, D))
    for token, expert, gate in routes:
        y[token] += gate * outputs[expert][token]
    if module.shared is not None:
        y += np.asarray(module.shared().apply({'params': params['shared']}, X, False)).reshape(TOKENS, D)
    return y.reshape(B, T, D)


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=NEAR * max(1.0, np.abs(expected).max()))


def random_settings(number):
    random = np.random.default_rng(number)
    experts = int(random.integers(1, 9))
    router = {
        **[CHOICE, FREE][number % 2],
        'score': {'use': ['jax.nn:softmax', 'jax.nn:sigmoid'][int(random.integers(2))]},
        'renormalised': bool(random.integers(2)),
        'scale': float(random.uniform(0.5, 2.5)),
    }
    return spec(
        experts,
        int(random.integers(1, experts + 1)),
        router,
        expert=[MLP, GATED][int(random.integers(2))],
        shared=[None, GATED][int(random.integers(2))],
        block=int(random.integers(1, 9)),
    )


@pytest.mark.long
@pytest.mark.parametrize('number', range(6))
def test_it_is_the_sum_over_each_tokens_experts(number):
    given = random_settings(number)
    module = build(given)()
    params = drawn(module, number)
    routes, _ = chosen_by_tokens(module, params)
    y, reported = applied(module, params)
    assert_near(y, summed(module, given, params, routes))
    assert reported['metrics', 'dropped'] == reported['metrics', 'overflow'] == 0.0


@pytest.mark.long
@pytest.mark.parametrize(('experts', 'active'), [(3, 1), (4, 2), (5, 5), (6, 1)])
def test_expert_choice_takes_the_likeliest_tokens_of_each_expert(experts, active):
    given = spec(experts, active, EXPERTS_CHOOSE, shared=GATED)
    module = build(given)()
    params = drawn(module, experts)
    scores = softmax(np.asarray(X.reshape(TOKENS, D), np.float64) @ params['router']['kernel'])
    count = -(-active * TOKENS // experts)
    routes = [
        (token, e, scores[token, e])
        for e in range(experts)
        for token in np.argsort(-scores[:, e], kind='stable')[:count]
    ]
    y, reported = applied(module, params)
    assert_near(y, summed(module, given, params, routes))
    left = TOKENS - len({token for token, _, _ in routes})
    assert reported['metrics', 'dropped'] == pytest.approx(left / TOKENS, abs=NEAR)
    assert reported['metrics', 'overflow'] == 0.0


@pytest.mark.long
@pytest.mark.parametrize('router', [CHOICE, {**CHOICE, 'renormalised': False}, EXPERTS_CHOOSE])
def test_one_expert_is_the_dense_layer(router):
    module = build(spec(1, 1, router))()
    params = drawn(module)
    assert_near(applied(module, params)[0], alone(MLP, params['expert'], 0, X.reshape(TOKENS, D)).reshape(X.shape))


@pytest.mark.long
def test_all_experts_with_equal_gates_are_their_mean():
    module = build(spec(4, 4))()
    params = drawn(module)
    params['router']['kernel'] *= 0.0
    mean = np.mean([alone(MLP, params['expert'], e, X.reshape(TOKENS, D)) for e in range(4)], axis=0)
    assert_near(applied(module, params)[0], mean.reshape(X.shape))


@pytest.mark.long
@pytest.mark.parametrize('router', [CHOICE, FREE, {**CHOICE, 'score': {'use': 'jax.nn:sigmoid'}}])
def test_renormalised_gates_of_a_token_sum_to_one(router):
    module = build(router)()
    routes, _ = module.init_with_output(KEY, X.reshape(TOKENS, D), 6, 3, False, jnp.ones(TOKENS, bool))
    np.testing.assert_allclose(jax.ops.segment_sum(routes.gate, routes.token, TOKENS), 1.0, rtol=NEAR)


@pytest.mark.long
@pytest.mark.parametrize('router', [CHOICE, FREE, EXPERTS_CHOOSE])
def test_the_order_of_the_experts_is_of_no_account(router):
    module = build(spec(5, 2, router))()
    params, order = drawn(module), np.array([3, 0, 4, 1, 2])
    moved = {
        'expert': jax.tree.map(lambda leaf: leaf[order], params['expert']),
        'router': {name: leaf[..., order] for name, leaf in params['router'].items()},
    }
    (y, reported), (again, reported_again) = applied(module, params), applied(module, moved)
    assert_near(again, y)
    for name, value in reported.items():
        assert reported_again[name] == pytest.approx(float(value), abs=NEAR)


def test_parameters_grow_by_the_experts_and_products_by_those_that_are_active():
    x, E, A = jax.ShapeDtypeStruct((4, 512, 64), jnp.float32), 8, 2
    dense, mixture = (build(part)() for part in (MLP, spec(E, A, expert=MLP)))

    def sizes_and_flops(module):
        params = jax.eval_shape(lambda x: module.init(KEY, x, False)['params'], x)
        forward = flops(lambda params, x: module.apply({'params': params}, x, True), params, x)
        step = jax.grad(lambda params, x: module.apply({'params': params}, x, True).sum(), argnums=(0, 1))
        return sum(leaf.size for leaf in jax.tree.leaves(params)), forward, flops(step, params, x)

    ours, one = sizes_and_flops(mixture), sizes_and_flops(dense)
    router = 64 * E
    assert ours[0] == E * one[0] + router
    for pass_, expected in zip(ours[1:], one[1:], strict=True):
        routed = pass_ - (expected // one[1]) * 2 * 2048 * router
        assert A <= routed / expected <= 1.25 * A


def test_bounded_experts_have_the_products_of_their_room():
    x = jax.ShapeDtypeStruct((4, 512, 64), jnp.float32)
    module = build(spec(8, 2, {**CHOICE, 'capacity': 1.5}))()
    params = jax.eval_shape(lambda x: module.init(KEY, x, False)['params'], x)
    counted = flops(lambda params, x: module.apply({'params': params}, x, True), params, x)
    assert counted == 1.5 * 2 * 2048 * 2 * 2 * 64 * 128 + 2 * 2048 * 64 * 8


@pytest.mark.parametrize('capacity', [0.3, 0.8, 1.0, 9.0])
@pytest.mark.parametrize('active', [1, 2])
def test_what_finds_no_room_is_counted_and_dropped_last_come_first(capacity, active):
    given = spec(5, active, {**CHOICE, 'capacity': capacity})
    module = build(given)()
    params = drawn(module, 3)
    routes, _ = chosen_by_tokens(module, params)
    room, taken, served = min(TOKENS, np.ceil(capacity * active * TOKENS / 5)), np.zeros(5), []
    for token, expert, gate in routes:
        if taken[expert] < room:
            served.append((token, expert, gate))
        taken[expert] += 1
    y, reported = applied(module, params, train=True)
    assert_near(y, summed(module, given, params, served))
    assert reported['metrics', 'overflow'] == pytest.approx(1 - len(served) / len(routes), abs=NEAR)
    left = TOKENS - len({token for token, _, _ in served})
    assert reported['metrics', 'dropped'] == pytest.approx(left / TOKENS, abs=NEAR)
    assert (len(served) < len(routes)) == (capacity < 9.0)


@pytest.mark.long
def test_capacity_binds_in_training_alone():
    module, free = (build(spec(4, 2, {**CHOICE, 'capacity': capacity}))() for capacity in (0.5, None))
    params = drawn(module)
    assert_near(applied(module, params)[0], applied(free, params)[0])
    assert np.abs(applied(module, params, train=True)[0] - applied(free, params, train=True)[0]).max() > 0.01


@pytest.mark.long
def test_no_token_depends_on_a_later_one_of_its_row_where_room_is_bounded():
    module = build(spec(3, 2, {**CHOICE, 'capacity': 0.6}))()
    params = drawn(module)
    before = applied(module, params, X[:1], train=True)[0]
    after = applied(module, params, X[:1].at[:, 4:].add(1.0), train=True)[0]
    np.testing.assert_array_equal(before[:, :4], after[:, :4])


def test_losses_are_those_of_the_papers():
    router = {**CHOICE, 'balance': 0.3, 'z': 0.2}
    module = build(spec(5, 2, router))()
    params = drawn(module, 5)
    routes, scores = chosen_by_tokens(module, params)
    counts = np.bincount([expert for _, expert, _ in routes], minlength=5)
    balance = 5 * sum(counts[e] / len(routes) * scores[:, e].mean() for e in range(5))
    logits = np.asarray(X.reshape(TOKENS, D), np.float64) @ params['router']['kernel']
    z = np.mean(np.log(np.exp(logits).sum(axis=-1)) ** 2)
    _, reported = applied(module, params)
    assert reported['metrics', 'balance_loss'] == pytest.approx(balance, rel=NEAR)
    assert reported['metrics', 'router_z_loss'] == pytest.approx(z, rel=NEAR)
    assert reported['metrics', 'expert_load_max'] == pytest.approx(5 * counts.max() / len(routes), rel=NEAR)
    assert reported['losses', 'router'] == pytest.approx(0.3 * balance + 0.2 * z, rel=NEAR)


@pytest.mark.long
def test_an_even_load_has_a_balance_loss_of_one():
    """Token t is a unit vector that expert t mod 4 scores highest for."""
    x = jnp.tile(jnp.eye(4), (3, 1))[None]
    module = build(spec(4, 1))()
    params = drawn(module, x=x)
    params['router']['kernel'] = 2.0 * jnp.eye(4)
    _, reported = applied(module, params, x)
    assert reported['metrics', 'balance_loss'] == pytest.approx(1.0, rel=NEAR)
    assert reported['metrics', 'expert_load_max'] == pytest.approx(1.0, rel=NEAR)
    params['router']['kernel'] = jnp.zeros((4, 4)).at[:, 0].set(30.0)
    _, reported = applied(module, params, x)
    assert reported['metrics', 'balance_loss'] == pytest.approx(4.0, rel=NEAR)


def test_no_loss_is_reported_where_none_is_weighted():
    _, reported = applied(build(spec(4, 2, {**CHOICE, 'balance': 0.0}))(), drawn(build(spec(4, 2))()))
    assert not any(collection == 'losses' for collection, _ in reported)


def test_the_bias_of_loss_free_balance_takes_the_papers_step():
    module = build(spec(4, 2, {**FREE, 'rate': 0.25}))()
    params = drawn(module, 2)
    routes, _ = chosen_by_tokens(module, params)
    counts = np.bincount([expert for _, expert, _ in routes], minlength=4)

    def loss(params):
        reports = module.apply({'params': params}, X, True, rngs={'dropout': KEY}, mutable=['losses'])[1]
        return reports['losses']['router']['pull'][0].mean()

    value, gradient = jax.jit(jax.value_and_grad(loss))(params)
    assert value == 0.0
    bias = params['router']['balance_bias']
    expected = np.asarray(bias) + 0.25 * np.sign(counts.mean() - counts)
    np.testing.assert_allclose(bias - gradient['router']['balance_bias'], expected, atol=NEAR)
    assert len(set(counts)) > 1
    others = [leaf for path, leaf in jax.tree_util.tree_leaves_with_path(gradient) if path[-1].key != 'balance_bias']
    assert all((leaf == 0).all() for leaf in others)


def test_loss_free_balance_evens_a_lopsided_load():
    """All experts but one score low; following the gradient of the bias alone shares the tokens out."""
    module = build(spec(4, 1, {**FREE, 'rate': 0.02}))()
    params = drawn(module, 2)
    params['router']['kernel'] = params['router']['kernel'] * 0.2
    params['router']['balance_bias'] = jnp.array([1.0, 0.0, 0.0, 0.0])

    def loss(bias):
        router = {**params['router'], 'balance_bias': bias}
        variables = {'params': {**params, 'router': router}}
        reports = module.apply(variables, X, True, mutable=['losses', 'metrics'])[1]
        pull, load = reports['losses']['router']['pull'], reports['metrics']['router']['expert_load_max']
        return pull[0].mean(), load[0].mean()

    step = jax.jit(jax.grad(loss, has_aux=True))
    bias, loads = params['router']['balance_bias'], []
    for _ in range(60):
        gradient, load = step(bias)
        bias, loads = bias - gradient, [*loads, float(load)]
    assert loads[0] == pytest.approx(4.0)
    assert np.mean(loads[-10:]) < 2.0


@pytest.mark.long
@pytest.mark.parametrize('router', [CHOICE, {**CHOICE, 'capacity': 9.0}, EXPERTS_CHOOSE])
def test_gradients_reach_the_router_and_every_expert_that_is_used(router):
    module = build(spec(4, 2, router))()
    params = drawn(module, 4)

    def total(run, params):
        return (run(params) * normal(9, B, T, D)).sum()

    def looped(params):
        """The same routes; every expert on every token."""
        routes = module.router().apply(
            {'params': params['router']}, X.reshape(TOKENS, D), 4, 2, True, jnp.ones(TOKENS, bool)
        )
        gates = jnp.zeros((TOKENS, 4)).at[routes.token, routes.expert].add(routes.gate)
        outputs = jax.vmap(lambda own: build(MLP)().apply({'params': own}, X, False))(params['expert'])
        return jnp.einsum('te,etd->td', gates, outputs.reshape(4, TOKENS, D)).reshape(B, T, D)

    def direct(params):
        return module.apply({'params': params}, X, True)

    ours, expected = (jax.jit(jax.grad(lambda p, run=run: total(run, p)))(params) for run in (direct, looped))
    jax.tree.map(assert_near, ours, expected)
    assert (np.abs(ours['router']['kernel']).max(axis=0) > 0).all()
    assert (np.abs(ours['expert']['up']).max(axis=(-2, -1)) > 0).all()


@pytest.mark.long
def test_experts_start_unlike_each_other():
    up = jax.jit(build(spec(4, 2))().init, static_argnums=2)(KEY, X, False)['params']['expert']['up']
    assert np.std(up) == pytest.approx(D**-0.5, rel=0.2)
    assert all(np.abs(up[0] - up[number]).max() > 0.1 for number in (1, 2, 3))


def test_noise_moves_the_routes_in_training_alone_and_comes_of_the_key():
    module = build(spec(6, 1, {**CHOICE, 'noisy': True}))()
    params = drawn(module)

    @jax.jit
    def run(key):
        rngs = {'dropout': jax.random.key(key)}
        return [module.apply({'params': params}, X, train, rngs=rngs) for train in (True, False)]

    (trained, still), (again, _), (other, still_other) = run(1), run(1), run(2)
    np.testing.assert_array_equal(trained, again)
    np.testing.assert_array_equal(still, still_other)
    assert np.abs(trained - other).max() > 0.01


@pytest.mark.long
def test_the_noise_of_a_logit_is_normal_with_a_spread_of_the_softplus_of_what_the_token_says():
    """By the gates of many equal tokens that all experts serve: their logarithms differ as the logits do."""
    count, experts = 20_000, 3
    router = build({**CHOICE, 'noisy': True})()
    kernel, noise, token = normal(1, D, experts), normal(2, D, experts), normal(3, D)
    routes = router.apply(
        {'params': {'kernel': kernel, 'noise': noise}}, jnp.tile(token, (count, 1)), experts, experts, True,
        jnp.ones(count, bool), rngs={'dropout': KEY},
    )  # fmt: skip
    logs = np.zeros((count, experts))
    logs[routes.token, routes.expert] = np.log(np.asarray(routes.gate, np.float64))
    apart, logits, spread = logs[:, 1:] - logs[:, :1], token @ kernel, np.logaddexp(0, token @ noise)
    expected = np.hypot(spread[1:], spread[0])
    np.testing.assert_allclose(apart.std(axis=0), expected, rtol=0.03)  # six standard errors
    np.testing.assert_allclose(apart.mean(axis=0), logits[1:] - logits[0], atol=0.05 * expected.max())


def test_without_noise_routes_are_the_same_whatever_the_key():
    module = build(spec(6, 2))()
    params = drawn(module)
    run = jax.jit(lambda key: module.apply({'params': params}, X, True, rngs={'dropout': jax.random.key(key)}))
    np.testing.assert_array_equal(run(1), run(2))


@pytest.mark.long
@pytest.mark.parametrize('capacity', [None, 2.0])
def test_experts_drop_out_independently(capacity):
    """Each of two experts returns its dropout of ones with a gate of a half."""
    ones = {**MLP, 'dropout': 0.5}
    module = build(spec(2, 2, {**CHOICE, 'capacity': capacity}, expert=ones))()
    params = jax.tree.map(jnp.zeros_like, drawn(module))
    params['expert']['down_bias'] += 1.0
    y = applied(module, params, train=True)[0]
    assert set(np.round(np.asarray(y)).astype(int).flat) == {0, 1, 2}


@pytest.mark.long
def test_padding_is_routed_as_any_token_and_disturbs_none():
    """A feed-forward layer is not told of padding: it counts in the shares, and only there."""
    module = build(spec(4, 2))()
    params = drawn(module)
    padded = jnp.concatenate([X, 100.0 + X], axis=1)
    y, reported = applied(module, params, padded)
    alone_, reported_alone = applied(module, params)
    assert_near(y[:, :T], alone_)
    assert reported['metrics', 'balance_loss'] != reported_alone['metrics', 'balance_loss']


def decoder(feedforward, layers=2):
    return build({
        'use': 'model.decoder:Decoder', 'vocabulary': 11, 'context_length': 8, 'width': D, 'layers': layers,
        'tied': True,
        'run': {'use': 'model.stack:Scanned'},
        'position': {'use': 'position.none:NoPosition'},
        'norm': {'use': 'norm.rms:RMSNorm'},
        'block': {
            'use': 'block.pre_norm:PreNorm',
            'norm': {'use': 'norm.rms:RMSNorm'},
            'mixer': {
                'use': 'attention.multi_head:MultiHead', 'heads': 2,
                'kernel': {'use': 'attention.plain:Plain'},
                'mask': {'use': 'ops.mask:Causal'},
                'position': {'use': 'position.none:NoPosition'},
            },
            'feedforward': feedforward,
        },
    })()  # fmt: skip


@pytest.mark.long
def test_a_decoder_with_experts_of_bounded_room_replays_step_by_step():
    model, tokens = decoder(spec(4, 2, {**CHOICE, 'capacity': 0.5})), jnp.array([[3, 1, 4, 1, 5, 9]])
    context = LayerContext(jnp.arange(6)[None])
    params = jax.jit(lambda: model.init(KEY, tokens, context, False))()
    whole = jax.jit(lambda: model.apply(params, tokens, context, False))()
    state, parts = model.apply(params, tokens[:, :1], 6, method='init_state'), []
    step = jax.jit(lambda *chunk: model.apply(params, *chunk, method='step'))
    for here in (slice(0, 3), slice(3, 6)):
        part, state = step(tokens[:, here], jnp.ones((1, 3), int), state)
        parts.append(part)
    assert_near(jnp.concatenate(parts, axis=1), whole)


def test_a_causal_decoder_refuses_expert_choice_by_name():
    model, tokens = decoder(spec(4, 2, EXPERTS_CHOOSE)), jnp.zeros((1, 4), int)
    with pytest.raises(UserError, match=r'Decoder is causal.*feedforward.expert_choice:ExpertChoice'):
        jax.eval_shape(lambda: model.init(KEY, tokens, LayerContext(tokens), False))


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'experts': 2, 'active': 3}, '3 active experts .* 2'),
        ({'experts': 0}, 'experts must be at least 1'),
        ({'active': 0}, 'active must be at least 1'),
        ({'block': 0}, 'block must be at least 1'),
        ({'router': {**CHOICE, 'capacity': 0.0}}, 'capacity must be above 0'),
    ],
)
def test_settings_that_cannot_be_are_refused(fields, message):
    def init() -> None:
        build({**spec(4, 2), **fields})().init_with_output({'params': KEY, 'dropout': KEY}, X, True)

    with pytest.raises(UserError, match=message):
        jax.eval_shape(init)


def test_what_is_no_router_is_refused():
    with pytest.raises(UserError, match='is not a Router'):
        build(spec(4, 2, MLP))


@pytest.mark.long
def test_a_shared_expert_may_have_a_gate():
    layer = build(spec(4, 2, shared=GATED, shared_gate={'use': 'jax.nn:sigmoid'}))()
    params = drawn(layer)
    own = {name: leaf for name, leaf in params.items() if name != 'shared_gate_kernel'}
    whole = build(spec(4, 2, shared=GATED))().apply({'params': own}, X)
    shared = build(GATED)().apply({'params': params['shared']}, X)
    gate = jax.nn.sigmoid(X @ params['shared_gate_kernel'])
    found = layer.apply({'params': params}, X)
    np.testing.assert_allclose(found, whole - (1 - gate) * shared, atol=1e-4)
    with pytest.raises(UserError, match='shared_gate has no effect without shared'):
        drawn(build(spec(4, 2, shared_gate={'use': 'jax.nn:sigmoid'}))())
