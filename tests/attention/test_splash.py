# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The splash kernel, in Pallas's interpreter, against the whole score matrix; and what it refuses."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.plain import Plain
from saccade.attention.splash import Splash
from saccade.ops.flops import flops
from saccade.ops.mask import Causal, CausalAfterPrefix, Chunked, Full, SameSegment, Strided, Window
from saccade.ops.scoring import Dropout, Scoring
from saccade.ops.softmax import SoftmaxWeights
from saccade.ops.term import LinearBias, Softcap
from saccade.softmax.top_k import TopKWeights
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import batches_like, make_learner
from saccade.types import UserError

RELATIVE = 1e-5
B, T, N, K, H = 2, 150, 4, 2, 8  # more than a block of queries
SEGMENTS = jnp.array([[1] * 60 + [2] * 90, [0] * 5 + [1] * 100 + [0] * 45])
PACKED = SameSegment(SEGMENTS, SEGMENTS)
SINK = SoftmaxWeights(jnp.array([0.3, -1.0, 2.0, 0.0]))
SERVED = {
    'full': Scoring(Full()),
    'causal': Scoring(Causal()),
    'causal, packed': Scoring(Causal() & PACKED),
    'full, packed': Scoring(Full() & PACKED),
    'window back': Scoring(Causal() & Window(7) & PACKED),
    'window both ways': Scoring(Window(5, 3)),
    'window longer than the row': Scoring(Window(400, 400)),
    'softcap': Scoring(Causal(), terms=(Softcap(2.0),)),
    'sink': Scoring(Causal() & PACKED, softmax=SINK),
}
CONFIG = Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py'


def drawn(*shape, number=0):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


Q, K_, V, OUT = drawn(B, T, N, H), drawn(B, T, K, H, number=1), drawn(B, T, K, H, number=2), drawn(B, T, N, H, number=3)


def with_gradients(kernel, scoring, q=Q, k=K_, v=V):
    y, pull = jax.vjp(jax.jit(kernel.attend), q, k, v, scoring.replace(scale=0.3))
    gradients = [leaf for leaf in jax.tree.leaves(pull(OUT[:, : q.shape[1]])) if leaf.dtype == jnp.float32]
    return [y, *gradients]


def assert_near(given, expected):
    assert len(given) == len(expected)
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=RELATIVE * np.abs(other).max())


def splash(**fields):
    return Splash(**{'interpret': True, 'block': 128} | fields, parent=None)


@pytest.mark.long
@pytest.mark.parametrize('name', SERVED)
def test_outputs_and_gradients_are_those_of_the_whole_matrix(name):
    kernel, scoring = splash(), SERVED[name]
    kernel.require_served(Q, K_, V, scoring)
    assert_near(with_gradients(kernel, scoring), with_gradients(Plain(parent=None), scoring))


@pytest.mark.long
def test_keys_of_another_length_and_padding_among_them():
    k, v, queries = K_[:, :20], V[:, :20], jnp.ones((B, T), int)
    for mask in (Full(), SameSegment(queries, jnp.array([[1] * 20, [0] * 20]))):
        scoring = Scoring(mask)
        assert_near(with_gradients(splash(), scoring, Q, k, v), with_gradients(Plain(parent=None), scoring, Q, k, v))


@pytest.mark.long
def test_a_query_without_a_key_gets_zeros_and_sends_no_gradient():
    y, *gradients = with_gradients(splash(), Scoring(Causal() & PACKED))
    padding = np.asarray(SEGMENTS == 0)
    np.testing.assert_array_equal(y[padding], 0.0)
    for gradient in gradients[:3]:
        np.testing.assert_array_equal(gradient[padding], 0.0)


@pytest.mark.parametrize(
    ('scoring', 'words'),
    [
        (Scoring(Causal() & Strided(2)), 'does not support ops.mask:Strided'),
        (Scoring(Causal() & Chunked(4)), 'does not support ops.mask:Chunked'),
        (Scoring(CausalAfterPrefix()), 'does not support ops.mask:CausalAfterPrefix'),
        (Scoring(Causal(), terms=(LinearBias((1.0,) * N),)), 'not ops.term:LinearBias'),
        (Scoring(Causal(), terms=(Softcap(2.0), Softcap(3.0))), 'not ops.term:Softcap'),
        (Scoring(Causal(), softmax=TopKWeights(3)), 'not softmax.top_k:TopKWeights'),
        (Scoring(Causal(), dropout=Dropout(jax.random.key_data(jax.random.key(0)), 0.5)), 'attention dropout'),
    ],
)
def test_what_it_has_not_is_refused_by_name(scoring, words):
    with pytest.raises(UserError, match=f'attention.splash:Splash.*{words}'):
        splash().require_served(Q, K_, V, scoring)


@pytest.mark.parametrize(
    ('fields', 'words'), [({'block': 100}, 'block must be a multiple of 128'), ({'interpret': False}, 'only TPUs')]
)
def test_wrong_blocks_and_platforms_are_refused(fields, words):
    with pytest.raises(UserError, match=words):
        splash(**fields).require_served(Q, K_, V, Scoring(Causal()))


def test_a_causal_mask_is_for_as_many_queries_as_keys():
    with pytest.raises(UserError, match='150 queries over 20 keys'):
        splash().require_served(Q, K_[:, :20], V[:, :20], Scoring(Causal()))


def test_the_blocks_that_the_mask_empties_are_not_counted():
    shapes = [jax.ShapeDtypeStruct((1, 1024, heads, H), jnp.float32) for heads in (N, K, K)]

    def count(mask):
        return flops(lambda *qkv: splash().attend(*qkv, Scoring(mask)), *shapes)

    assert count(Full()) == 4 * N * 1024 * 1024 * H
    assert count(Causal()) / count(Full()) == 36 / 64  # of 8 x 8 blocks


@pytest.mark.long
def test_a_language_model_trains_as_it_does_with_the_whole_matrix():
    def losses(kernel):
        flags = ['model.layers=2', 'model.width=32', 'model.context_length=32', 'model.vocabulary=64', 'batch_size=2']
        flags += [
            'model.block.mixer.heads=4',
            'model.block.mixer.key_value_heads=2',
            f'model.block.mixer.kernel={kernel}',
        ]
        experiment = Experiment.of(load_config(str(CONFIG), [f'--config.{flag}' for flag in flags]))
        learner, (like,) = make_learner(experiment), batches_like(experiment)
        random = np.random.default_rng(0)
        batch = {name: jnp.asarray(random.integers(1, 3, leaf.shape), leaf.dtype) for name, leaf in like.items()}
        batch |= {name: jnp.sort(leaf, axis=-1) for name, leaf in batch.items() if 'segment' in name}
        state, step, found = (
            learner.init(jax.random.key_data(jax.random.key(0)), batch),
            jax.jit(learner.train_step),
            [],
        )
        for _ in range(20):
            state, metrics = step(state, batch)
            found.append(float(metrics['loss']))
        return found

    ours = losses({'use': 'attention.splash:Splash', 'interpret': True})
    assert ours[-1] < ours[0] - 0.3
    np.testing.assert_allclose(ours, losses({'use': 'attention.plain:Plain'}), rtol=1e-4)
