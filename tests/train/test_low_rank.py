# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""LoRA against its formula, worked out axis by axis, and against the training of the same kernels themselves."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.traverse_util import flatten_dict

from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.ops.statistic import is_statistic
from saccade.task.causal_lm import CausalLM
from saccade.train.learner import Learner
from saccade.train.low_rank import LowRank
from saccade.train.optimizer import Optimizer
from saccade.train.rates import Frozen
from saccade.types import LayerContext, Part, UserError

NORM = dict(use='norm.rms:RMSNorm')
BLOCK = dict(
    use='block.pre_norm:PreNorm',
    norm=NORM,
    mixer=dict(
        use='attention.multi_head:MultiHead',
        heads=2,
        kernel=dict(use='attention.plain:Plain'),
        mask=dict(use='ops.mask:Causal'),
        position=dict(use='position.rotary:Rotary'),
        bias=True,
    ),
    feedforward=dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:relu'), ratio=3.0),
)
V, T, D, F, L, N, H = 11, 6, 8, 24, 2, 2, 4
DECODER = dict(
    use='model.decoder:Decoder',
    vocabulary=V,
    context_length=T,
    width=D,
    layers=L,
    tied=True,
    embedding_init=dict(use='jax.nn.initializers:normal', stddev=1.0),
    run=dict(use='model.stack:Unrolled'),
    position=dict(use='position.none:NoPosition'),
    norm=NORM,
    block=BLOCK,
)
MODEL = build(DECODER)()
RANK, ALPHA, RATE = 3, 6.0, 0.01
LORA = LowRank(rank=RANK, alpha=ALPHA)
# The path of each kernel below a layer; W + s A B as an einsum over axes, A [L a r] and B [L r b] with a, b cut up.
KERNELS = {
    'mixer/query': ('ldr,lrnh->ldnh', (L, D, RANK), (L, RANK, N, H)),
    'mixer/key': ('ldr,lrnh->ldnh', (L, D, RANK), (L, RANK, N, H)),
    'mixer/value': ('ldr,lrnh->ldnh', (L, D, RANK), (L, RANK, N, H)),
    'mixer/output': ('lnhr,lrd->lnhd', (L, N, H, RANK), (L, RANK, D)),
    'feedforward/up': ('ldr,lrf->ldf', (L, D, RANK), (L, RANK, F)),
    'feedforward/down': ('lfr,lrd->lfd', (L, F, RANK), (L, RANK, D)),
}
SAME_NUMBERS = 1e-5
NEAR = 0.03  # nats
KEY = jax.random.key_data(jax.random.key(0))


def optimizer(schedule, params, **fields):
    return Optimizer(Part(optax.scale_by_adam), weight_decay=0.1, clip_norm=1.0, **fields)(schedule, params, AXES)


def learner(adapter=None, make=optimizer, **fields):
    """One that trains the decoder, through an adapter if there is one."""
    return learner_of(MODEL, AXES, RATE, adapter, make, **fields)


def learner_of(model, axes, rate, adapter, make=optimizer, **fields):
    schedule, task = optax.constant_schedule(rate), CausalLM()
    shapes = jax.eval_shape(lambda: task.init(model, jax.random.key(0), BATCH))
    make = functools.partial(make, schedule)
    if adapter is None:
        return Learner(model, task, make(shapes), schedule, **{'dtype': 'float32'} | fields)
    kept = jax.eval_shape(functools.partial(adapter.init, axes=axes), jax.random.key(0), shapes)
    made, axes = adapter.optimizer(make, kept), adapter.axes(axes)
    return Learner(model, task, made, schedule, **{'dtype': 'float32'} | fields, adapter=adapter, axes=axes)


def other(**block):
    """The decoder with other fields of its block, and the axes of its parameters."""
    model = build({**DECODER, 'block': {**BLOCK, **block}})()
    return model, axes_of(model)


def batch():
    tokens = np.random.default_rng(0).integers(0, V, (4, T + 1)).astype(np.int32)
    places = np.broadcast_to(np.arange(T + 1, dtype=np.int32), tokens.shape)
    return jax.tree.map(jnp.asarray, {'tokens': tokens, 'segments': np.ones_like(tokens), 'positions': places})


BATCH = batch()
PLACES = LayerContext(BATCH['positions'][:, :T])


def axes_of(model):
    with recorded_axes():
        return declared(jax.eval_shape(lambda: model.init(jax.random.key(0), BATCH['tokens'][:, :T], PLACES, False)))


AXES = axes_of(MODEL)


def trained(this, steps):
    state, step = jax.jit(this.init)(KEY, BATCH), jax.jit(this.train_step)
    losses = []
    for _ in range(steps):
        state, metrics = step(state, BATCH)
        losses.append(float(metrics['loss']))
    return state, losses


@functools.cache
def after():
    """What a few steps make of it, with an average beside."""
    return trained(learner(LORA, ema=0.7), steps=5)[0]


@functools.cache
def base():
    """The same model, as it starts without."""
    return jax.jit(learner().init)(KEY, BATCH).params


def flat(tree):
    return {path: np.asarray(leaf) for path, leaf in flatten_dict(tree, sep='/').items()}


@pytest.mark.long
@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
def test_it_starts_as_the_model_without_it_to_the_last_bit(dtype):
    plain, low_rank = learner(dtype=dtype), learner(LORA, dtype=dtype)
    state = jax.jit(low_rank.init)(KEY, BATCH)
    jax.tree.map(np.testing.assert_array_equal, low_rank.weights(state), base())
    losses = [
        jax.jit(this.eval_step)(kept, BATCH)['loss'] for this, kept in [(plain, base()), (low_rank, state.params)]
    ]
    assert losses[0].total == losses[1].total


@pytest.mark.long
def test_the_model_is_its_base_plus_the_scaled_product_of_two_matrices_a_layer():
    kept, merged = flat(after().params), flat(LORA.merged(after().params))
    assert merged.keys() == flat(base()).keys()
    for name, (axes, a, b) in KERNELS.items():
        A, B = (kept[f'low_rank/layers/pattern_0/{name}/{which}'] for which in 'AB')
        update = ALPHA / RANK * np.einsum(axes, A.reshape(a), B.reshape(b))
        before, now = flat(base())[f'layers/pattern_0/{name}'], merged[f'layers/pattern_0/{name}']
        np.testing.assert_allclose(now - before, update, atol=SAME_NUMBERS)
        assert np.abs(update).max() > 100 * SAME_NUMBERS


@pytest.mark.long
def test_only_the_matrices_change_and_only_they_have_moments():
    state = after()
    for kept in (state.params, state.ema):
        for path, leaf in flat(base()).items():
            np.testing.assert_array_equal(leaf, flat(kept)[path], strict=True)
    matrices = flat(state.params['low_rank'])
    before = flat(jax.jit(learner(LORA).init)(KEY, BATCH).params['low_rank'])
    assert all((leaf != before[path]).any() for path, leaf in matrices.items())
    moments = sorted(leaf.shape for leaf in jax.tree.leaves(state.opt_state) if leaf.ndim)
    assert moments == sorted(2 * [leaf.shape for leaf in matrices.values()])


@pytest.mark.long
def test_it_trains_r_times_inputs_and_outputs_of_each_kernel():
    (line,) = LORA.lines(after().params)
    count = L * RANK * (3 * (D + N * H) + (N * H + D) + (D + F) + (F + D))
    assert sum(leaf.size for leaf in flat(after().params['low_rank']).values()) == count
    assert line == (
        f'trained     {count:,} of these: updates of rank {RANK} of feedforward/down, feedforward/up, '
        'mixer/key, mixer/output, mixer/query, mixer/value'
    )


@pytest.mark.long
def test_microbatches_give_what_the_whole_batch_gives():
    whole, parts = (trained(learner(LORA, accumulate=count), steps=2)[0] for count in (1, 2))
    difference = jax.tree.map(
        lambda one, other: np.abs(one - other).max(), LORA.merged(whole.params), LORA.merged(parts.params)
    )
    assert max(jax.tree.leaves(difference)) < SAME_NUMBERS


@pytest.mark.long
def test_updates_are_added_before_the_weights_are_rounded():
    low_rank, plain = learner(LORA, dtype='bfloat16'), learner(dtype='bfloat16')
    found = jax.jit(low_rank.eval_step)(after().params, BATCH)['loss'].total
    merged = jax.jit(plain.eval_step)(LORA.merged(after().params), BATCH)['loss'].total
    assert found == pytest.approx(float(merged), rel=SAME_NUMBERS)


@pytest.mark.long
def test_the_norm_of_the_gradient_is_that_of_what_is_trained():
    this = learner(LORA)
    state = after()
    _, metrics = jax.jit(this.train_step)(state, BATCH)
    paths = flatten_dict(state.params, sep='/')
    squares = dict(zip(sorted(paths), metrics['squares'], strict=True))
    assert {path for path, square in squares.items() if square} <= {
        path for path in paths if path.startswith('low_rank/')
    }


@pytest.mark.long
def test_at_full_rank_it_learns_what_training_the_kernels_learns_and_at_rank_one_less():
    make = functools.partial(optimizer, rates=Part(Frozen, (('match', '(bias|scale|embedding)$'),)))
    rivals = learner(make=make), learner(LowRank(rank=D, alpha=8.0)), learner(LowRank(rank=1, alpha=1.0))
    kernels, full, one = (trained(this, steps=60)[1] for this in rivals)
    assert kernels[0] == full[0] == one[0] > 4.0
    assert full[-1] == pytest.approx(kernels[-1], abs=NEAR)
    assert one[-1] > kernels[-1] + 10 * NEAR


@pytest.mark.long
def test_what_also_finds_is_trained_itself_and_gets_no_matrices():
    adapter = LowRank(rank=RANK, alpha=ALPHA, match='mixer', also='^embedding$|mixer/key')
    this = learner(adapter)
    state, _ = trained(this, steps=2)
    kept, before, merged = flat(state.params), flat(base()), flat(this.weights(state))
    trained_paths = {path for path in before if (before[path] != kept[path]).any()}
    assert trained_paths == {'embedding', *(f'layers/pattern_0/mixer/key{end}' for end in ('', '_bias'))}
    np.testing.assert_array_equal(merged['embedding'], kept['embedding'])
    updated = {path.removesuffix('/A') for path in kept if path.endswith('/A')}
    assert updated == {f'low_rank/layers/pattern_0/mixer/{name}' for name in ('query', 'value', 'output')}
    assert this.adapter.lines(state.params)[0].endswith(
        '; and embedding, layers/pattern_0/mixer/key, layers/pattern_0/mixer/key_bias'
    )


MIXTURE = dict(
    use='feedforward.mixture:Mixture',
    experts=3,
    expert=BLOCK['feedforward'],
    active=1,
    router=dict(use='feedforward.loss_free:LossFree', score=dict(use='jax.nn:sigmoid'), renormalised=True),
)
BATCH_NORM, POWER_NORM = dict(use='norm.batch:BatchNorm'), dict(use='norm.power:PowerNorm')


@pytest.mark.long
@pytest.mark.parametrize('block', [dict(norm=BATCH_NORM), dict(norm=POWER_NORM), dict(feedforward=MIXTURE)])
def test_running_statistics_move_as_they_do_without_it(block):
    model, axes = other(**block)
    without, unmoved, tuned = (
        flat(trained(learner_of(model, axes, rate, adapter), steps=3)[0].params)
        for rate, adapter in ((0.0, None), (0.0, LORA), (RATE, LORA))
    )
    first = flat(jax.jit(learner_of(model, axes, 0.0, None).init)(KEY, BATCH).params)
    statistics = [path for path in without if is_statistic(path)]
    assert statistics
    for path in statistics:
        np.testing.assert_array_equal(unmoved[path], without[path])
        assert (tuned[path] != first[path]).any()
    assert (tuned['embedding'] == first['embedding']).all()
    assert not any(word in line for line in LORA.lines(trained_shapes(model, axes)) for word in ('running', 'balance'))


def trained_shapes(model, axes):
    return jax.eval_shape(learner_of(model, axes, RATE, LORA).init, KEY, BATCH).params


@pytest.mark.long
def test_the_first_feed_forward_layer_of_a_macaron_block_learns_too():
    model, axes = other(use='block.macaron:Macaron')
    kept = flat(trained(learner_of(model, axes, RATE, LORA), steps=2)[0].params)
    assert all(kept[f'low_rank/layers/pattern_0/first_feedforward/{name}/B'].any() for name in ('up', 'down'))


def test_its_matrices_decay_as_the_kernels_do():
    this = learner(LORA)
    shapes = jax.eval_shape(this.init, KEY, BATCH).params['low_rank']
    marks = Optimizer(Part(optax.identity), weight_decay=0.1).decays({'low_rank': shapes}, this.axes)
    assert all(jax.tree.leaves(marks))


@pytest.mark.long
def test_each_expert_of_each_layer_has_matrices_of_its_own():
    E = 5
    expert = 'layers/pattern_0/feedforward/expert'
    shapes = {expert: {'up': jnp.zeros((L, E, D, F)), 'up_bias': jnp.zeros((L, E, F))}, 'latent': jnp.zeros((D, 2))}
    axes = {f'{expert}/up': 'L E D -> F', f'{expert}/up_bias': 'L E F', 'latent': 'D -> R'}
    adapter = LowRank(rank=RANK, alpha=ALPHA, match='up|latent')
    kept = flat(adapter.init(jax.random.key(0), shapes, axes)['low_rank'])
    assert {path: leaf.shape for path, leaf in kept.items()} == {
        'layers/pattern_0/feedforward/expert/up/A': (L, E, D, RANK),
        'layers/pattern_0/feedforward/expert/up/B': (L, E, RANK, F),
        'latent/A': (D, RANK),
        'latent/B': (RANK, 2),
    }
    normal = kept['layers/pattern_0/feedforward/expert/up/A']
    assert normal.std() == pytest.approx(D**-0.5, rel=0.2)
    assert len(np.unique(normal)) == normal.size


@pytest.mark.parametrize(
    ('fields', 'words'),
    [
        (dict(rank=1, alpha=1.0, match='('), r"low_rank.match: '\(' is not a regular expression"),
        (dict(rank=1, alpha=1.0, also='('), r"low_rank.also: '\(' is not a regular expression"),
        (
            dict(rank=1, alpha=1.0, match='encoder'),
            "'encoder' finds none of the hidden kernels .*layers/pattern_0/mixer/query",
        ),
        (dict(rank=1, alpha=1.0, match='^embedding$'), r"'\^embedding\$' finds none of the hidden kernels"),
    ],
)
def test_refuses_what_cannot_be(fields, words):
    with pytest.raises(UserError, match=words):
        LowRank(**fields).init(jax.random.key(0), base(), AXES)
