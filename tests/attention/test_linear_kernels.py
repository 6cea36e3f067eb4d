# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels without scores: what they equal, what they approach, and what they refuse."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.cosformer import CosFormer
from saccade.attention.linear import Linear
from saccade.attention.linformer import Linformer
from saccade.attention.nystromformer import Nystromformer, pseudoinverse
from saccade.attention.performer import Performer
from saccade.build import build
from saccade.ops.flops import flops
from saccade.ops.linear_attention import elu_plus_one
from saccade.ops.mask import ByPosition, Causal, Either, Full, SameSegment, Window
from saccade.ops.random_features import orthogonal_directions
from saccade.ops.scoring import Scoring
from saccade.ops.term import Softcap
from saccade.types import LayerContext, Part, Source, UserError

F32_RELATIVE = 1e-5  # of the largest element
LINEAR_EXPONENT = 1.1
B, T, N, K, H = 2, 7, 4, 2, 4
SEGMENTS = jnp.array([[0, 1, 1, 2, 2, 2, 0], [1, 1, 1, 1, 3, 3, 3]])
SAME = SameSegment(SEGMENTS, SEGMENTS)
MASKS = {'causal': Causal(), 'full': Full(), 'causal, packed': Causal() & SAME, 'full, packed': SAME & Full()}
ELU = Part(elu_plus_one)
RELU = Part(jax.nn.relu)


def assert_near(given, expected, relative=F32_RELATIVE):
    given, expected = np.asarray(given), np.asarray(expected)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * max(1e-3, np.abs(expected).max()))


@cache
def inputs(tokens=T, keys=None):
    random = np.random.default_rng(tokens)
    shapes = ((B, tokens, N, H), *2 * [(B, keys or tokens, K, H)])
    return tuple(jnp.array(random.normal(size=shape), jnp.float32) for shape in shapes)


def run(kernel, mask, arrays=None, scale=0.5, terms=()):
    scoring = Scoring(mask, terms, scale)
    return jax.jit(lambda *arrays: kernel.apply({}, *arrays, scoring, False))(*(inputs() if arrays is None else arrays))


def by_weights(similarity, mask, arrays, fading=lambda distance: 1.0):
    """y of every query as a loop over the keys that the mask leaves, weighted by similarity and distance."""
    q, k, v = (np.asarray(x, np.float64) for x in arrays)
    allowed = np.broadcast_to(mask(jnp.arange(q.shape[1]), jnp.arange(k.shape[1])), (B, q.shape[1], k.shape[1]))
    y = np.zeros((*q.shape[:3], v.shape[-1]))
    for b, t, n in np.ndindex(*q.shape[:3]):
        keys = np.flatnonzero(allowed[b, t])
        weights = np.array([similarity(q[b, t, n], k[b, s, n // (N // K)]) * fading(t - s) for s in keys])
        if weights.sum() > 0:
            y[b, t, n] = weights @ v[b, keys, n // (N // K)] / weights.sum()
    return y


FEATURES = {
    'elu': (ELU, lambda x: np.where(x > 0, x + 1, np.exp(x))),
    'relu': (RELU, lambda x: np.maximum(x, 0)),
}


@pytest.mark.parametrize('mask', MASKS)
@pytest.mark.parametrize('feature', FEATURES)
def test_linear_is_its_equation(feature, mask):
    part, function = FEATURES[feature]
    expected = by_weights(lambda q, k: function(q) @ function(k), MASKS[mask], inputs())
    assert_near(run(Linear(feature=part, chunk=3), MASKS[mask]), expected)


@pytest.mark.parametrize('mask', MASKS)
def test_performer_is_its_equation(mask):
    directions = orthogonal_directions(6, H, 3).astype(np.float64)

    def similarity(q, k):
        return sum(np.exp(0.5**0.5 * w @ (q + k) - 0.25 * (q @ q + k @ k)) for w in directions)

    kernel = Performer(random_features=6, seed=3, chunk=3)
    assert_near(run(kernel, MASKS[mask]), by_weights(similarity, MASKS[mask], inputs()))


@pytest.mark.parametrize('mask', MASKS)
def test_cosformer_is_its_equation(mask):
    relu = FEATURES['relu'][1]
    expected = by_weights(
        lambda q, k: relu(q) @ relu(k), MASKS[mask], inputs(), lambda distance: np.cos(np.pi / 2 * distance / 9)
    )
    assert_near(run(CosFormer(length=9, chunk=3), MASKS[mask]), expected)


# Outputs of CosformerAttention, OpenNLPLab/cosFormer at 8e12da1, for the queries, keys and values of `waves`: its
# projections to these are identities, without biases and without one of the output.
COSFORMER = {
    'causal': [
        [0.14112, -0.756803, 0.0, 0.0],
        [0.0, 0.0, 0.412118, -0.544021],
        [0.14112, -0.756803, 0.0, 0.0],
        [0.569675, -0.008721, 0.412118, -0.544021],
        [0.0, 0.0, 0.665433, 0.086697],
    ],
    'full': [
        [0.448604, -0.135288, 0.510044, -0.420576],
        [0.0, 0.0, 0.568916, -0.083422],
        [0.427036, -0.493499, 0.0, 0.0],
        [0.540544, 0.055236, 0.633018, -0.265555],
        [0.0, 0.0, 0.665433, 0.086697],
    ],
}


@pytest.mark.oracle_of('attention.cosformer:CosFormer', by='OpenNLPLab/cosFormer')
@pytest.mark.parametrize('mask', COSFORMER)
def test_outputs_of_cosformer_are_those_that_the_authors_code_gave(mask):
    arrays = (jnp.array(np.sin(start + np.arange(20.0)).reshape(1, 5, 2, 2), jnp.float32) for start in (1, 2, 3))
    y = run(CosFormer(length=5), MASKS[mask], tuple(arrays))
    np.testing.assert_allclose(y.reshape(5, 4), COSFORMER[mask], atol=2e-6)


@pytest.mark.long
@pytest.mark.parametrize('mask', MASKS)
def test_cosformer_far_shorter_than_its_length_is_linear_attention(mask):
    expected = run(Linear(feature=RELU), MASKS[mask])
    assert_near(run(CosFormer(length=10**6), MASKS[mask]), expected)
    assert np.abs(run(CosFormer(length=T), MASKS[mask]) - expected).max() > 0.01


def test_cosformer_decodes_no_more_tokens_than_its_length():
    _, k, v = inputs()
    with pytest.raises(UserError, match=r'attention\.cosformer:CosFormer: 10 tokens exceed the length of 9'):
        CosFormer(length=9).init_state(k, v, {}, 10)


@pytest.mark.parametrize('kernel', [Linear(), Performer(random_features=8)])
def test_the_mask_full_serves_keys_of_another_length(kernel):
    arrays = inputs(5, 9)
    repeated = (arrays[0], *(jnp.concatenate([x, x], axis=1) for x in arrays[1:]))
    assert_near(run(kernel, Full(), arrays), run(kernel, Full(), repeated))


@pytest.mark.long
@pytest.mark.parametrize('mask', MASKS)
def test_key_heads_may_share_values_of_another_width(mask):
    q, k, v = inputs()
    shared = jnp.concatenate([v[:, :, :1], -v[:, :, :1]], axis=-1)
    y = run(Linear(chunk=3), MASKS[mask], (q, k, shared))
    assert_near(y, run(Linear(chunk=3), MASKS[mask], (q, k, jnp.repeat(shared, K, axis=2))))


def test_one_token_reads_its_own_value_from_linear_attention():
    q, k, v = inputs(1)
    assert_near(run(Linear(), Causal(), (q, k, v)), jnp.repeat(v, N // K, axis=2))


def error_of_performer(features, mask, seeds=2):
    """Root mean square distance from attention by softmax, over a few draws."""
    arrays = tuple(x / 2 for x in inputs(32))
    scoring = Scoring(mask, scale=H**-0.5)
    exact, _ = scoring.attend(*arrays)
    drawn = [run(Performer(random_features=features, seed=seed), mask, arrays, H**-0.5) for seed in range(seeds)]
    return np.sqrt(np.mean([np.square(y - exact) for y in drawn]))


@pytest.mark.long
@pytest.mark.parametrize('mask', ['causal', 'full'])
def test_performer_nears_the_softmax_as_its_features_grow(mask):
    few, more, many = (error_of_performer(features, MASKS[mask]) for features in (16, 256, 4096))
    assert more < few / 2
    assert many < more / 2
    assert many < 0.02


def test_linear_attention_weighs_what_is_far_below_zero():
    """elu(x) + 1 of these is exp(-60): the sum of their products has no number in float32, their ratio has."""
    q, k, v = inputs()
    q, k = q - 60.0, k - 60.0
    expected = by_weights(lambda q, k: np.exp(q + 60) @ np.exp(k + 60), Causal(), (q, k, v))
    assert_near(run(Linear(), Causal(), (q, k, v)), expected, 1e-4)


@pytest.mark.parametrize('size', [1e-3, 30.0])
def test_performer_is_finite_for_queries_and_keys_of_any_length(size):
    q, k, v = inputs()

    def loss(q, k, v):
        return jnp.sin(Performer(random_features=8).apply({}, q, k, v, Scoring(Causal(), scale=0.5), False)).sum()

    gradients = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(size * q, size * k, v)
    assert all(np.isfinite(leaf).all() for leaf in gradients)
    assert np.abs(gradients[2]).max() > 0


def test_directions_are_orthogonal_normal_and_those_of_the_seed():
    directions = orthogonal_directions(10, 4, 0)
    first = directions[:4] / np.linalg.norm(directions[:4], axis=1, keepdims=True)
    np.testing.assert_allclose(first @ first.T, np.eye(4), atol=1e-6)
    many = orthogonal_directions(20000, 4, 1)
    np.testing.assert_allclose(many.T @ many / 20000, np.eye(4), atol=0.05)
    np.testing.assert_array_equal(directions, orthogonal_directions.__wrapped__(10, 4, 0))
    assert np.abs(directions - orthogonal_directions(10, 4, 1)).max() > 0.1


def test_performer_has_no_parameters():
    scoring = Scoring(Causal(), scale=0.5)
    assert jax.eval_shape(lambda: Performer(random_features=8).init(jax.random.key(0), *inputs(), scoring, False)) == {}


def linformer(keys, slots, params=None):
    q, k, v = inputs(5, keys)
    module, scoring = Linformer(length=12, slots=slots), Scoring(Full(), scale=0.5)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), q, k, v, scoring, False))
    random = np.random.default_rng(0)
    params = (
        jax.tree.map(lambda x: jnp.array(random.normal(size=x.shape), jnp.float32), shapes)
        if params is None
        else params
    )
    return params['params'], jax.jit(lambda params: module.apply(params, q, k, v, scoring, False))(params)


def test_linformer_is_its_equation():
    params, y = linformer(9, 3)
    q, k, v = (np.asarray(x, np.float64) for x in inputs(5, 9))
    for b, t, n in np.ndindex(B, 5, N):
        keys, values = (
            np.asarray(params[name])[:9].T @ x[b, :, n // (N // K)]
            for name, x in (('key_slots', k), ('value_slots', v))
        )
        weights = np.exp(0.5 * keys @ q[b, t, n])
        assert_near(y[b, t, n], weights @ values / weights.sum())


def test_linformer_with_a_slot_for_each_token_is_attention():
    arrays = inputs(5, 9)
    params = {'params': {name: jnp.eye(12)[:, :9] for name in ('key_slots', 'value_slots')}}
    expected, _ = Scoring(Full(), scale=0.5).attend(*arrays)
    assert_near(linformer(9, 9, params)[1], expected)


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def test_nystromformer_is_its_equation():
    arrays = inputs(8)
    y = run(Nystromformer(landmarks=3, iterations=40), Full(), arrays)
    q, k, v = (np.asarray(x, np.float64) for x in arrays)
    groups = (slice(0, 3), slice(3, 6), slice(6, 8))
    for b, n in np.ndindex(B, N):
        keys, values = k[b, :, n // (N // K)], v[b, :, n // (N // K)]
        q_means, k_means = (np.stack([x[group].mean(axis=0) for group in groups]) for x in (q[b, :, n], keys))
        first, middle, last = (
            softmax(0.5 * one @ other.T) for one, other in ((q[b, :, n], k_means), (q_means, k_means), (q_means, keys))
        )
        assert_near(y[b, :, n], first @ np.linalg.pinv(middle) @ last @ values, 1e-3)


@pytest.mark.parametrize('landmarks', [T, T + 5])
def test_nystromformer_with_a_landmark_for_each_token_is_attention(landmarks):
    expected, _ = Scoring(Full(), scale=0.5).attend(*inputs())
    assert_near(run(Nystromformer(landmarks=landmarks), Full()), expected)


@pytest.mark.long
def test_nystromformer_of_tokens_in_equal_pairs_is_attention():
    """The means of two equal tokens are the tokens, so all that is approximate is the pseudoinverse."""
    arrays = tuple(jnp.repeat(2 * x, 2, axis=1) for x in inputs(4))
    expected, _ = Scoring(Full(), scale=0.5).attend(*arrays)
    few, many = (run(Nystromformer(landmarks=4, iterations=count), Full(), arrays) for count in (6, 20))
    assert_near(many, expected, 1e-4)
    assert np.abs(few - expected).max() > 1e-4


def test_six_steps_are_a_pseudoinverse_of_weights_of_a_few_landmarks():
    weights = softmax(2 * np.eye(4) + np.random.default_rng(0).normal(size=(3, 4, 4)))
    assert_near(pseudoinverse(jnp.asarray(weights, jnp.float32), 6), np.linalg.inv(weights), 1e-3)


@pytest.mark.long
def test_the_convolution_of_nystromformer_adds_neighbouring_values():
    module, scoring, arrays = Nystromformer(landmarks=3, convolution=3), Scoring(Full(), scale=0.5), inputs()
    taps = np.random.default_rng(0).normal(size=(3, N))
    y = module.apply({'params': {'taps': jnp.array(taps, jnp.float32)}}, *arrays, scoring, False)
    padded = np.pad(np.repeat(arrays[2], N // K, axis=2), ((0, 0), (1, 1), (0, 0), (0, 0)))
    added = sum(taps[tap][:, None] * padded[:, tap : tap + T] for tap in range(3))
    assert_near(y - run(Nystromformer(landmarks=3), Full()), added)


def test_the_state_is_of_one_size_whatever_its_capacity():
    for kernel in (Linear(), Performer(random_features=8), CosFormer(length=10**9)):
        sizes = [jax.tree.map(jnp.shape, kernel.init_state(*inputs()[1:3], {}, capacity)) for capacity in (1, 10**9)]
        assert sizes[0] == sizes[1]
        assert sizes[0].sums[1] == K


SCORING = Scoring(Causal())
BY_POSITION = ByPosition(Causal(), SEGMENTS, SEGMENTS, aligned=False)
REFUSED = {
    'a term': (
        Linear(),
        Scoring(Causal(), (Softcap(2.0),)),
        'attention.linear:Linear has no scores for ops.term:Softcap',
    ),
    'a row longer than the period': (CosFormer(length=6), SCORING, '7 tokens exceed the length of 6'),
    'a window': (Linear(), Scoring(Causal() & Window(3)), 'does not support ops.mask:Window'),
    'another mask': (
        Performer(random_features=8),
        Scoring(Either(Causal(), Window(3))),
        'does not support ops.mask:Either',
    ),
    'a causal Linformer': (Linformer(length=12, slots=3), SCORING, 'attention.linformer:Linformer cannot be causal'),
    'a packed Linformer': (Linformer(length=12, slots=3), Scoring(Full() & SAME), 'cannot tell segments apart'),
    'a scale': (Performer(random_features=8), Scoring(Causal(), scale=-1.0), 'scale of the scores must be positive'),
    'the order of another sequence': (Linear(), Scoring(BY_POSITION), 'not by the positions of another'),
    'a causal Nystromformer': (Nystromformer(landmarks=3), SCORING, 'Nystromformer cannot be causal'),
    'a packed Nystromformer': (Nystromformer(landmarks=3), Scoring(Full() & SAME), 'cannot tell segments apart'),
    'an even convolution': (Nystromformer(landmarks=3, convolution=4), Scoring(Full()), '4 must be an odd number'),
    'a long row': (Linformer(length=6, slots=3), Scoring(Full()), '7 keys exceed the length of 6'),
}


@pytest.mark.parametrize('name', REFUSED)
def test_what_a_kernel_cannot_serve_is_refused_by_name(name):
    kernel, scoring, words = REFUSED[name]
    with pytest.raises(UserError, match=words):
        kernel.init(jax.random.key(0), *inputs(), scoring, False)


def test_causal_kernels_want_as_many_keys_as_queries():
    with pytest.raises(UserError, match='5 queries over 9 keys'):
        run(Linear(), Causal(), inputs(5, 9))


def test_steps_are_causal_alone():
    arrays, context = inputs(), LayerContext(jnp.zeros((B, T), int))
    with pytest.raises(UserError, match=r'only under ops\.mask:Causal'):
        Linear().step(*arrays, Scoring(Full()), Linear().init_state(*arrays[1:3], {}, 0), context)
    with pytest.raises(UserError, match='cannot decode'):
        Linformer(length=12, slots=3).step(*arrays, Scoring(Full()), None, context)
    with pytest.raises(UserError, match=r'attention\.nystromformer:Nystromformer cannot decode'):
        Nystromformer(landmarks=3).step(*arrays, Scoring(Full()), None, context)


@pytest.mark.long
def test_cross_attention_reads_the_source_by_its_segments():
    spec = {
        'use': 'attention.multi_head:MultiHead',
        'heads': 2,
        'kernel': {'use': 'attention.linear:Linear', 'chunk': 2},
        'mask': {'use': 'ops.mask:Full'},
        'position': {'use': 'position.none:NoPosition'},
    }
    module, random = build(spec)(), np.random.default_rng(0)
    x, hidden = (jnp.array(random.normal(size=(1, length, 8)), jnp.float32) for length in (4, 6))
    places = [jnp.zeros((1, length), int) for length in (4, 6)]
    packed = LayerContext(
        places[0], jnp.array([[1, 1, 2, 2]]), Source(hidden, places[1], jnp.array([[1, 1, 2, 2, 2, 0]]))
    )
    params = module.init(jax.random.key(0), x, packed, False)
    y = module.apply(params, x, packed, False)
    for queries, keys in ((slice(0, 2), slice(0, 2)), (slice(2, 4), slice(2, 5))):
        alone = LayerContext(places[0][:, queries], None, Source(hidden[:, keys], places[1][:, keys]))
        assert_near(y[:, queries], module.apply(params, x[:, queries], alone, False))


LINEAR = {
    'Linear': (Linear(), Causal()),
    'Linear, full': (Linear(), Full()),
    'Performer': (Performer(random_features=16), Causal()),
    'CosFormer': (CosFormer(length=4096), Causal()),
    'Linformer': (Linformer(length=4096, slots=16), Full()),
}
KERNELS = LINEAR | {'Nystromformer': (Nystromformer(landmarks=16, convolution=3), Full())}


def gradient_of(name, length):
    """The gradient by q, k, v and the parameters, and what it takes."""
    kernel, mask = KERNELS[name]
    shapes = (jax.ShapeDtypeStruct((1, length, 2, 8), jnp.float32),) * 3
    params = jax.eval_shape(lambda *x: kernel.init(jax.random.key(0), *x, Scoring(mask), False), *shapes)

    def loss(params, q, k, v):
        return kernel.apply(params, q, k, v, Scoring(mask), False).sum()

    return jax.grad(loss, argnums=(1, 2, 3)), (params, *shapes)


def work(name, length):
    function, arguments = gradient_of(name, length)
    return flops(function, *arguments)


def temporary_bytes(name, length):
    function, arguments = gradient_of(name, length)
    return jax.jit(function).lower(*arguments).compile().memory_analysis().temp_size_in_bytes


def exponent(measure, lengths):
    return np.polyfit(np.log(lengths), np.log([measure(length) for length in lengths]), 1)[0]


@pytest.mark.long
@pytest.mark.parametrize('name', LINEAR)
def test_work_and_memory_grow_linearly(name):
    assert exponent(partial(work, name), [512, 1024, 2048]) == pytest.approx(1.0, abs=1e-6)
    assert exponent(partial(temporary_bytes, name), [1024, 4096]) < LINEAR_EXPONENT


@pytest.mark.long
def test_each_further_token_of_nystromformer_is_as_much_work_after_the_pseudoinverse():
    less, more = np.diff([work('Nystromformer', length) for length in (512, 1024, 2048)])
    assert more == 2 * less
    assert exponent(partial(temporary_bytes, 'Nystromformer'), [1024, 4096]) < LINEAR_EXPONENT
