# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The training step as a pure function."""

import dataclasses
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.build import build
from saccade.ops.flops import flops
from saccade.ops.statistic import is_statistic
from saccade.task.causal_lm import CausalLM
from saccade.train.learner import Learner
from saccade.train.optimizer import Optimizer, path_of
from saccade.types import Part

NORMAL = dict(use='jax.nn.initializers:normal', stddev=0.02)
MODEL = dict(
    use='model.decoder:Decoder',
    vocabulary=17,
    context_length=8,
    width=8,
    layers=2,
    tied=True,
    run=dict(use='model.stack:Unrolled'),
    position=dict(use='position.none:NoPosition'),
    norm=dict(use='norm.rms:RMSNorm'),
    block=dict(
        use='block.pre_norm:PreNorm',
        norm=dict(use='norm.rms:RMSNorm'),
        mixer=dict(
            use='attention.multi_head:MultiHead',
            heads=2,
            kernel=dict(use='attention.plain:Plain'),
            mask=dict(use='ops.mask:Causal'),
            position=dict(use='position.rotary:Rotary'),
        ),
        feedforward=dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:relu')),
    ),
)
SAME_NUMBERS = 1e-5
# bfloat16 keeps 8 bits: the loss of a small model moves by less than this, relatively.
NEAR_BFLOAT16 = 1e-2


def learner(optimizer: optax.GradientTransformation | None = None, **fields) -> Learner:
    optimizer = optimizer or optax.sgd(0.1)
    task = build(dict(use='task.causal_lm:CausalLM'))()
    fields = {'dtype': 'float32', **fields}
    return Learner(build(MODEL)(), task, optimizer, optax.constant_schedule(0.1), **fields)


@pytest.fixture(scope='module')
def batch() -> dict[str, jax.Array]:
    """Eight rows of which some are half padding, so that microbatches differ in their number of targets."""
    tokens = np.random.default_rng(0).integers(0, 17, (8, 9)).astype(np.int32)
    segments = np.ones_like(tokens)
    segments[::3, 4:] = 0
    positions = np.broadcast_to(np.arange(9, dtype=np.int32), tokens.shape)
    return jax.tree.map(jnp.asarray, {'tokens': tokens, 'segments': segments, 'positions': positions})


def begin(learner: Learner, batch: dict[str, jax.Array]):
    return jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)


def differences(first, second) -> float:
    return max(jax.tree.leaves(jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()), first, second)))


@pytest.mark.long
def test_a_step_is_gradient_descent_on_the_mean_loss_of_the_targets(batch):
    this = learner()
    state = begin(this, batch)

    def mean_loss(params):
        return this.task.loss(this.model, params, batch, jax.random.key(1), True)['loss'].mean()

    loss, gradient = jax.jit(jax.value_and_grad(mean_loss))(state.params)
    expected = jax.tree.map(lambda p, g: p - 0.1 * g, state.params, gradient)
    after, metrics = jax.jit(this.train_step)(state, batch)
    assert differences(after.params, expected) < SAME_NUMBERS
    assert float(metrics['loss']) == pytest.approx(float(loss), rel=SAME_NUMBERS)
    assert int(after.step) == 1


@pytest.mark.long
def test_a_learning_rate_that_is_given_stands_in_place_of_the_schedules(batch):
    rising, plain = optax.linear_schedule(0.25, 1.0, 3), learner()
    shapes = jax.eval_shape(lambda: plain.task.init(plain.model, jax.random.key(0), batch))
    made = Optimizer(Part(optax.scale_by_adam), weight_decay=0.1)(rising, shapes, {})
    this = dataclasses.replace(plain, optimizer=made, schedule=rising)
    state = begin(this, batch)
    step = jax.jit(this.train_step)
    for rate in (0.25, 0.5, 0.75):
        (own, said), (given, metrics) = step(state, batch), step(state, batch, jnp.float32(rate))
        assert differences(own, given) == 0
        assert float(metrics['learning_rate']) == float(said['learning_rate']) == rate
        other, _ = step(state, batch, jnp.float32(0))
        assert differences(other.params, state.params) == 0
        state = given


@pytest.mark.long
@pytest.mark.parametrize('parts', [2, 4])
def test_accumulated_microbatches_equal_one_batch(batch, parts):
    whole, accumulated = learner(), learner(accumulate=parts)
    state = begin(whole, batch)
    one, of_one = jax.jit(whole.train_step)(state, batch)
    many, of_many = jax.jit(accumulated.train_step)(state, batch)
    assert differences(one.params, many.params) < SAME_NUMBERS
    assert float(of_one['loss']) == pytest.approx(float(of_many['loss']), rel=SAME_NUMBERS)


ROUTED = MODEL['block'] | {
    'feedforward': dict(
        use='feedforward.mixture:Mixture',
        experts=4,
        active=2,
        expert=dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:relu'), ratio=1.0),
        router=dict(
            use='feedforward.token_choice:TokenChoice',
            score=dict(use='jax.nn:softmax'),
            renormalised=True,
            balance=0.0,
            z=0.5,
        ),
    ),
}


@pytest.mark.long
def test_a_loss_over_tokens_is_of_the_whole_batch_next_to_one_over_targets(batch):
    """The z-loss of a router: microbatches and devices differ in their tokens, and otherwise in their targets."""
    model = build(MODEL | {'layers': 1, 'block': ROUTED, 'embedding_init': NORMAL | {'stddev': 1.0}})()
    whole, accumulating, parallel = (
        dataclasses.replace(learner(**fields), model=model) for fields in ({}, {'accumulate': 2}, {'axis': 'devices'})
    )
    state = begin(whole, batch)
    halves = {name: jnp.stack([rows[0::2], rows[1::2]]) for name, rows in batch.items()}
    one, of_one = jax.jit(whole.train_step)(state, batch)
    many, of_many = jax.jit(accumulating.train_step)(state, batch)
    together, of_devices = jax.jit(jax.vmap(parallel.train_step, in_axes=(None, 0), axis_name='devices'))(state, halves)
    assert differences(one.params, many.params) < 1e-6
    assert differences(one.params, jax.tree.map(lambda leaf: leaf[0], together.params)) < 1e-6
    for name in ('loss', 'cross_entropy', 'router_z_loss', 'dropped', 'overflow', 'gradient_norm'):
        expected = pytest.approx(float(of_one[name]), rel=SAME_NUMBERS, abs=1e-6)
        assert [float(of_many[name]), float(of_devices[name][0])] == [expected, expected], name
    assert float(of_one['router_z_loss']) > 0.1


@pytest.mark.long
def test_microbatches_trace_the_model_once_and_cost_no_more_products(batch):
    whole, accumulated = (learner(accumulate=parts) for parts in (1, 4))
    state = jax.eval_shape(whole.init, jax.random.key_data(jax.random.key(0)), batch)
    assert flops(accumulated.train_step, state, batch) == flops(whole.train_step, state, batch)
    with mock.patch.object(CausalLM, 'totals', autospec=True, side_effect=CausalLM.totals) as totals:
        jax.eval_shape(accumulated.train_step, state, batch)
    assert totals.call_count == 1


@pytest.mark.long
def test_the_average_of_parameters_follows_its_recurrence(batch):
    this = learner(ema=0.9)
    state = begin(this, batch)
    average, step = state.params, jax.jit(this.train_step)
    for decay in (1 / 10, 2 / 11, 3 / 12):
        state, _ = step(state, batch)
        average = jax.tree.map(lambda a, p, decay=decay: decay * a + (1 - decay) * p, average, state.params)
    assert differences(state.ema, average) < SAME_NUMBERS
    before, late = state.ema, state.replace(step=jnp.asarray(1000))
    state, _ = step(late, batch)
    average = jax.tree.map(lambda a, p: 0.9 * a + 0.1 * p, before, state.params)
    assert differences(state.ema, average) < SAME_NUMBERS


@pytest.mark.long
def test_bfloat16_computes_low_and_keeps_float32_parameters(batch):
    high, low = learner(), learner(dtype='bfloat16')
    state = begin(high, batch)
    after, metrics = jax.jit(low.train_step)(state, batch)
    _, exact = jax.jit(high.train_step)(state, batch)
    assert {leaf.dtype for leaf in jax.tree.leaves(after.params)} == {jnp.dtype('float32')}
    assert float(metrics['loss']) == pytest.approx(float(exact['loss']), rel=NEAR_BFLOAT16)
    assert float(metrics['loss']) != float(exact['loss'])


@pytest.mark.long
def test_squares_name_the_gradient_leaf_that_is_not_finite(batch):
    this = learner()
    state = begin(this, batch)
    leaves, treedef = jax.tree.flatten(state.params)
    leaves[0] = leaves[0].at[0].set(jnp.nan)
    broken = state.replace(params=jax.tree.unflatten(treedef, leaves))
    _, metrics = jax.jit(this.train_step)(broken, batch)
    assert not np.isfinite(metrics['squares']).all()


@pytest.mark.long
def test_steps_draw_other_random_numbers_and_the_same_step_the_same(batch):
    noisy = dataclasses.replace(learner(), model=build(MODEL | {'dropout': 0.5})())
    state = begin(noisy, batch)
    step = jax.jit(noisy.train_step)
    first, again = (step(state, batch)[1]['loss'] for _ in range(2))
    later = step(state.replace(step=state.step + 1), batch)[1]['loss']
    assert float(first) == float(again)
    assert float(first) != float(later)


BALANCE_RATE, MOMENTUM = 0.001, 0.75
TRACKING = MODEL['block'] | {
    'norm': dict(use='norm.power:PowerNorm', momentum=MOMENTUM),
    'feedforward': dict(
        use='feedforward.mixture:Mixture',
        experts=4,
        active=1,
        expert=dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:relu'), ratio=1.0),
        router=dict(
            use='feedforward.loss_free:LossFree',
            score=dict(use='jax.nn:sigmoid'),
            renormalised=False,
            rate=BALANCE_RATE,
        ),
    ),
}


def tracking(batch: dict[str, jax.Array], **fields) -> Learner:
    """A model with a balance and a running mean, and an optimizer that moves nothing else by as much."""
    fields_of_model = {'layers': 1, 'block': TRACKING, 'embedding_init': NORMAL | {'stddev': 1.0}}
    this = dataclasses.replace(learner(**fields), model=build(MODEL | fields_of_model)())
    shapes = jax.eval_shape(lambda: this.task.init(this.model, jax.random.key(0), batch))
    rule = Optimizer(Part(optax.scale_by_adam), weight_decay=0.1, clip_norm=1e-3)
    return dataclasses.replace(this, optimizer=rule(optax.constant_schedule(0.02), shapes, {}))


def statistics(state) -> tuple[jax.Array, jax.Array]:
    """The balance, which starts at 0, and the mean square of the embedded tokens, which starts at 1."""
    block = state.params['layers']['pattern_0']
    return block['feedforward']['router']['balance_bias'][..., 0, :], block['mixer_norm']['running_square'][..., 0, :]


def square_of_tokens(state, batch: dict[str, jax.Array]) -> jax.Array:
    """The running mean square after one step on the tokens of these rows, padding left out."""
    embedded = state.params['embedding'][batch['tokens'][:, :-1]]
    real = (batch['segments'][:, :-1] != 0)[..., None]
    return MOMENTUM + (1.0 - MOMENTUM) * jnp.square(embedded).mean(axis=(0, 1), where=real)


@pytest.fixture(scope='module')
def untrained(batch):
    return begin(tracking(batch), batch)


@pytest.mark.long
def test_statistics_move_at_their_own_rate_and_are_no_part_of_the_gradients_norm(batch, untrained):
    """In bfloat16 too, in which they are not rounded; the tokens that are averaged are."""
    after, metrics = jax.jit(tracking(batch, dtype='bfloat16').train_step)(untrained, batch)
    balance, square = statistics(after)
    assert set(np.unique(np.abs(balance).round(7))) <= {np.float32(BALANCE_RATE), 0.0}
    assert np.abs(balance).max() > 0
    np.testing.assert_allclose(square, square_of_tokens(untrained, batch), rtol=NEAR_BFLOAT16)
    paths = [path_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(after.params)]
    slopes = [size for path, size in zip(paths, metrics['squares'], strict=True) if not is_statistic(path)]
    assert float(metrics['gradient_norm']) == pytest.approx(np.sqrt(np.sum(slopes)), rel=SAME_NUMBERS)
    assert float(metrics['gradient_norm']) < 0.99 * np.sqrt(np.sum(metrics['squares']))
    assert float(metrics['cross_entropy']) == float(metrics['loss'])


@pytest.mark.long
def test_a_statistic_follows_the_tokens_of_the_whole_batch_under_microbatches_and_devices(batch, untrained):
    accumulating, parallel = tracking(batch, accumulate=2), tracking(batch, axis='devices')
    halves = {name: jnp.stack([rows[0::2], rows[1::2]]) for name, rows in batch.items()}
    one_by_one = statistics(jax.jit(accumulating.train_step)(untrained, batch)[0])
    together = jax.jit(jax.vmap(parallel.train_step, in_axes=(None, 0), axis_name='devices'))(untrained, halves)[0]
    squares = [square_of_tokens(untrained, {name: rows[half] for name, rows in halves.items()}) for half in (0, 1)]
    whole = square_of_tokens(untrained, batch)
    assert np.abs(np.mean(squares, axis=0) - whole).max() > 1e-4  # the halves have other numbers of tokens
    for found, same in zip(one_by_one, statistics(together), strict=True):
        np.testing.assert_allclose(same, jnp.stack(2 * [found]), rtol=SAME_NUMBERS)
    np.testing.assert_allclose(one_by_one[1], whole, rtol=SAME_NUMBERS)
