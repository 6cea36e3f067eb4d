# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The decoder language model: its sizes, its loss before training, its steps, and what it refuses."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saccade
from saccade.build import build
from saccade.task.causal_lm import CausalLM
from saccade.types import LanguageModel, LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
BF16_RELATIVE = 0.05  # eight bits, through one layer and back
B, T, V, D = 2, 9, 13, 16
TOKENS = jnp.array(np.random.default_rng(0).integers(0, V, (B, T)))
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))

NORM = {'use': 'norm.layer:LayerNorm'}
MIXER = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 2,
    'bias': True,
    'output_bias': True,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}
FEEDFORWARD = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}


def decoder(heads=2, width=D, context_length=12, layers=2, vocabulary=V, **changes):
    block = {
        'use': 'block.pre_norm:PreNorm',
        'mixer': {**MIXER, 'heads': heads},
        'feedforward': FEEDFORWARD,
        'norm': NORM,
    }
    spec = {
        'use': 'model.decoder:Decoder',
        'vocabulary': vocabulary,
        'context_length': context_length,
        'width': width,
        'layers': layers,
        'block': block,
        'position': {'use': 'position.learned:Learned', 'length': context_length},
        'norm': NORM,
        'run': {'use': 'model.stack:Unrolled'},
        'tied': True,
    }
    return build({**spec, **changes})()


def shapes(model, tokens=TOKENS):
    context = LayerContext(jnp.zeros(tokens.shape, int))
    return jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, context, False))['params']


@functools.cache
def params():
    random = np.random.default_rng(1)
    draw = functools.partial(random.normal, scale=0.4)
    with (
        jax.ensure_compile_time_eval()
    ):  # the first call may be inside a traced function, whose values must not be kept
        return {'params': jax.tree.map(lambda leaf: jnp.array(draw(size=leaf.shape), leaf.dtype), shapes(decoder()))}


def logits_of(model, given, tokens=TOKENS):
    context = LayerContext(CONTEXT.positions[:, : tokens.shape[1]])
    return jax.jit(lambda given, tokens: model.apply(given, tokens, context, False))(given, tokens)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.parametrize(
    ('layers', 'width', 'heads', 'published'),
    [
        (12, 768, 12, 124_439_808),
        (24, 1024, 16, 354_823_168),
        (36, 1280, 20, 774_030_080),
        (48, 1600, 25, 1_557_611_200),
    ],
)
def test_the_parameters_of_gpt2(layers, width, heads, published):
    model = decoder(heads, width, context_length=1024, layers=layers, vocabulary=50257)
    counted = sum(leaf.size for leaf in jax.tree.leaves(shapes(model)))
    V, T, D, L = 50257, 1024, width, layers
    assert counted == published == V * D + T * D + L * (12 * D * D + 13 * D) + 2 * D


@pytest.mark.long
def test_before_training_the_loss_is_that_of_equal_odds():
    V = 256
    model, task = decoder(vocabulary=V, width=32), CausalLM()
    tokens = jnp.array(np.random.default_rng(2).integers(0, V, (8, T + 1)))
    batch = {
        'tokens': tokens,
        'segments': jnp.ones_like(tokens),
        'positions': jnp.tile(jnp.arange(T + 1), (8, 1)),
    }

    @jax.jit
    def loss(key):
        return task.loss(model, task.init(model, key, batch), batch, key, train=False)['loss'].mean()

    assert loss(jax.random.key(0)) == pytest.approx(np.log(V), abs=0.1)


@pytest.mark.long
def test_tied_logits_are_products_with_the_embedding():
    assert 'head' not in shapes(decoder())
    given = {'params': {**params()['params'], 'norm': {'scale': jnp.zeros(D), 'bias': jnp.ones(D)}}}
    logits = logits_of(decoder(), given)
    assert logits.shape == (B, T, V)
    assert_near(logits[0, 0], params()['params']['embedding'].sum(axis=-1))


@pytest.mark.long
def test_untied_logits_have_a_projection_of_their_own():
    model = decoder(tied=False)
    assert shapes(model)['head'].shape == (D, V)
    head = jnp.array(np.random.default_rng(3).normal(size=(D, V)), jnp.float32)
    given = {'params': {**params()['params'], 'head': head, 'norm': {'scale': jnp.zeros(D), 'bias': jnp.ones(D)}}}
    assert_near(logits_of(model, given)[0, 0], head.sum(axis=0))


@pytest.mark.long
def test_logits_stay_within_the_cap():
    logits = logits_of(decoder(), params())
    assert_near(logits_of(decoder(logit_cap=0.5), params()), 0.5 * jnp.tanh(logits / 0.5))
    assert np.abs(logits).max() > 0.5


@pytest.mark.parametrize('cap', [0.0, -1.0])
def test_a_cap_that_is_not_positive_is_refused(cap):
    with pytest.raises(UserError, match=rf'logit_cap must be above 0, not {cap}'):
        shapes(decoder(logit_cap=cap))


@pytest.mark.long
def test_embedded_tokens_are_scaled_and_normed_before_their_positions():
    head = jnp.array(np.random.default_rng(3).normal(size=(D, V)), jnp.float32)
    given = {**params()['params'], 'head': head}
    bare = {'use': 'norm.layer:LayerNorm', 'scale': False, 'bias': False, 'epsilon': 0.0}
    changed = logits_of(decoder(tied=False, embedding_scale=3.0, embedding_norm=bare), {'params': given})
    table = given['embedding'] - given['embedding'].mean(axis=-1, keepdims=True)
    normed = {**given, 'embedding': table / table.std(axis=-1, keepdims=True)}
    assert_near(changed, logits_of(decoder(tied=False), {'params': normed}))
    scaled = {**given, 'embedding': 3.0 * given['embedding']}
    changed = logits_of(decoder(tied=False, embedding_scale=3.0), {'params': given})
    assert_near(changed, logits_of(decoder(tied=False), {'params': scaled}))


@pytest.mark.long
@pytest.mark.parametrize('tied', [True, False])
def test_an_embedding_of_another_width_is_projected_in_and_out(tied):
    E, random = 5, np.random.default_rng(3)
    narrow = decoder(tied=tied, embedding_width=E)
    given = jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), jnp.float32), shapes(narrow))
    into, out = given.pop('embedding_output'), given.pop('head_input')
    assert (into.shape, out.shape, given['embedding'].shape) == ((E, D), (D, E), (V, E))
    whole = {**given, 'embedding': given['embedding'] @ into}
    whole['head'] = out @ (given['embedding'].T if tied else given['head'])
    changed = logits_of(narrow, {'params': {**given, 'embedding_output': into, 'head_input': out}})
    assert_near(changed, logits_of(decoder(tied=False), {'params': whole}))


@pytest.mark.long
def test_a_norm_may_stand_after_the_positions():
    given = {**params()['params'], 'head': jnp.array(np.random.default_rng(3).normal(size=(D, V)), jnp.float32)}
    bare = {'use': 'norm.layer:LayerNorm', 'scale': False, 'bias': False, 'epsilon': 0.0}
    changed = logits_of(decoder(tied=False, position_norm=bare), {'params': given})
    x = given['embedding'][TOKENS] + given['position']['positions'][:T]
    x = (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)
    alone = decoder(tied=False, position={'use': 'position.none:NoPosition'}, vocabulary=B * T)
    head = jnp.pad(given['head'], ((0, 0), (0, B * T - V)))
    by_hand = {'embedding': x.reshape(-1, D), 'head': head, **{name: given[name] for name in ('layers', 'norm')}}
    places = jnp.arange(B * T).reshape(B, T)  # each place is a word of its own
    assert_near(changed, logits_of(alone, {'params': by_hand}, places)[..., :V])


@pytest.mark.long
def test_the_future_is_not_read():
    before = logits_of(decoder(), params())
    after = logits_of(decoder(), params(), TOKENS.at[:, 5].add(1) % V)
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).any(axis=(0, -1)).all()


@pytest.mark.long
def test_steps_replay_the_whole_for_rows_of_different_lengths():
    segments = jnp.array([[1] * 9, [0, 0, 0, 1, 1, 1, 1, 1, 1]])
    positions = jnp.array([list(range(9)), [0, 0, 0, 0, 1, 2, 3, 4, 5]])
    model = decoder()
    context = LayerContext(positions, segments)
    whole = jax.jit(lambda tokens: model.apply(params(), tokens, context, False))(TOKENS)
    state, parts = model.apply(params(), TOKENS, 11, method='init_state'), []
    step = jax.jit(lambda tokens, segments, state: model.apply(params(), tokens, segments, state, method='step'))
    for here in (slice(0, 4), slice(4, 5), slice(5, 9)):
        part, state = step(TOKENS[:, here], segments[:, here], state)
        parts.append(part)
    real = np.asarray(segments) != 0
    assert_near(jnp.concatenate(parts, axis=1)[real], whole[real])
    np.testing.assert_array_equal(state.position, [9, 6])


@functools.cache
def taken(count):
    """The step of the small model, and its state after so many tokens."""
    model = decoder()
    step = jax.jit(lambda tokens, segments, state: model.apply(params(), tokens, segments, state, method='step'))
    state = model.apply(params(), TOKENS, 11, method='init_state')
    return step, step(TOKENS[:, :count], jnp.ones((B, count), int), state)[1]


@pytest.mark.long
def test_a_row_that_is_finished_stays_where_it_is():
    step, state = taken(4)
    _, state = step(TOKENS[:, 4:5], jnp.array([[1], [0]]), state)
    np.testing.assert_array_equal(state.position, [5, 4])
    again, _ = step(TOKENS[:, 4:5], jnp.ones((B, 1), int), state)
    whole = logits_of(decoder(), params(), TOKENS[:, :5])
    assert_near(again[1, 0], whole[1, 4])


@pytest.mark.long
def test_rows_of_a_state_can_be_reordered():
    step, state = taken(4)
    swapped = jax.tree.map(lambda leaf: leaf[::-1], state)
    one = jnp.ones((B, 1), int)
    straight, _ = step(TOKENS[:, 4:5], one, state)
    crossed, _ = step(TOKENS[::-1, 4:5], one, swapped)
    assert_near(crossed[::-1], straight)


@pytest.mark.long
def test_a_fresh_state_may_be_donated():
    model = decoder()
    state = model.apply(params(), TOKENS, 11, method='init_state')
    one = TOKENS[:, :1], jnp.ones((B, 1), int)
    step = jax.jit(lambda state: model.apply(params(), *one, state, method='step'), donate_argnums=0)
    assert np.isfinite(step(state)[0]).all()


@pytest.mark.long
def test_dropout_of_the_embedding_acts_in_training_alone():
    model, given = decoder(dropout=0.5), params()

    @jax.jit
    def run(key):
        return [model.apply(given, TOKENS, CONTEXT, train, rngs={'dropout': key}) for train in (False, True)]

    still, trained = run(jax.random.key(0))
    assert_near(still, logits_of(decoder(), params()))
    assert np.abs(trained - still).max() > 0.01


def test_it_is_a_language_model():
    assert isinstance(decoder(), LanguageModel)


def test_a_sequence_longer_than_the_context_is_refused():
    with pytest.raises(UserError, match=r'9 tokens .* context of 8'):
        shapes(decoder(context_length=8))


def test_a_context_longer_than_the_learned_positions_is_refused():
    model = decoder(context_length=12, position={'use': 'position.learned:Learned', 'length': 8})
    with pytest.raises(UserError, match='8 learned positions'):
        shapes(model)


def test_a_width_that_the_heads_do_not_divide_is_refused():
    with pytest.raises(UserError, match='width 16 is not divisible by 3 heads'):
        shapes(decoder(heads=3))


def masked(mask):
    """A decoder whose layers have this mask."""
    parts = {'mixer': {**MIXER, 'mask': mask}, 'feedforward': FEEDFORWARD, 'norm': NORM}
    return decoder(block={'use': 'block.pre_norm:PreNorm', **parts})


WINDOW = {'use': 'ops.mask:Window', 'left': 3, 'right': 3}
CAUSAL = {'use': 'ops.mask:Causal'}


@pytest.mark.parametrize(
    ('mask', 'named'),
    [
        ({'use': 'ops.mask:Full'}, 'ops.mask:Full'),
        (WINDOW, 'ops.mask:Window'),
        ({'use': 'ops.pattern:prefix_lm', 'count': 2}, 'ops.pattern:prefix_lm'),
        ({'use': 'ops.mask:any_of', 'masks': [CAUSAL, WINDOW]}, 'ops.mask:any_of'),
    ],
)
def test_a_mask_under_which_a_token_attends_to_later_ones_is_refused_by_name(mask, named):
    with pytest.raises(UserError, match=f'Decoder is causal: under the mask {named}'):
        shapes(masked(mask))


@pytest.mark.parametrize(
    'mask',
    [
        {'use': 'ops.mask:all_of', 'masks': [CAUSAL, WINDOW]},
        {'use': 'ops.mask:CausalAfterPrefix'},
        {'use': 'ops.pattern:sparse_strided', 'stride': 3},
    ],
)
def test_a_mask_that_is_causal_by_its_values_is_taken(mask):
    assert shapes(masked(mask))


@pytest.mark.long
def test_the_gradient_of_a_frequent_token_adds_up_in_bfloat16_too():
    """Sixteen thousand equal tokens: a sum kept in eight bits would stall long before it is complete."""
    model, rows = decoder(layers=1, tied=False, context_length=64), 256
    tokens = jnp.ones((rows, 64), int)
    context = LayerContext(jnp.tile(jnp.arange(64), (rows, 1)))
    exact = model.init(jax.random.key(0), tokens[:1], LayerContext(context.positions[:1]), False)['params']
    direction = jax.random.normal(jax.random.key(1), (V,))

    def gradient(dtype):
        def loss(params):
            return (
                (model.apply({'params': params}, tokens, context, False) @ direction.astype(dtype)).astype(float).sum()
            )

        return jax.jit(jax.grad(loss))(jax.tree.map(lambda leaf: leaf.astype(dtype), exact))['embedding'][1]

    given, expected = gradient(jnp.bfloat16), gradient(jnp.float32)
    assert jnp.linalg.norm(given - expected) < BF16_RELATIVE * jnp.linalg.norm(expected)


def test_a_mask_that_is_left_out_attends_to_all_and_is_refused():
    """In a config and in Python: the default of a mixer would let tokens see later ones."""
    spec = {
        'use': 'model.decoder:Decoder',
        'vocabulary': 7,
        'context_length': 4,
        'width': 8,
        'layers': 1,
        'block': {'use': 'block.pre_norm:PreNorm', 'mixer': {'use': 'attention.multi_head:MultiHead', 'heads': 2}},
    }
    block = saccade.PreNorm(mixer=saccade.MultiHead(heads=2))
    for model in (build(spec)(), saccade.Decoder(vocabulary=7, context_length=4, width=8, layers=1, block=block)):
        with pytest.raises(UserError, match=r'is causal: under the mask ops\.mask:Full .* take ops\.mask:Causal'):
            model.init(jax.random.key(0), jnp.zeros((1, 4), jnp.int32))
