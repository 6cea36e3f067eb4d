# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""QK-clip: recorded scores are the largest ones, a clipped head ends at the threshold, and others are left alone."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.attention.largest_scores import RECORD, largest_scores
from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.hub.export import Source, export
from saccade.ops.mask import Causal, SameSegment, Window
from saccade.ops.scoring import Scoring
from saccade.train.experiment import Experiment
from saccade.train.optimizer import Optimizer
from saccade.train.qk_clip import QKClip
from saccade.train.rates import Frozen
from saccade.train.start import start_from
from saccade.train.trained import open_run
from saccade.types import LayerContext, Part, Total, UserError

THRESHOLD = 2.0
KERNEL = {'use': 'attention.largest_scores:LargestScores', 'query_block': 4, 'inner': {'use': 'attention.plain:Plain'}}
ROTARY = {'use': 'position.rotary:Rotary'}
MULTI_HEAD = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 4,
    'kernel': KERNEL,
    'mask': {'use': 'ops.mask:Causal'},
    'position': ROTARY,
}
LATENT = {
    'use': 'attention.latent:Latent',
    'heads': 4,
    'rank': 6,
    'head_width': 4,
    'value_width': 3,
    'rotated_width': 2,
    'kernel': KERNEL,
    'mask': {'use': 'ops.mask:Causal'},
    'position': ROTARY,
}
MIXERS = {
    'multi-head': MULTI_HEAD,
    'bias': MULTI_HEAD | {'bias': True},
    'grouped': MULTI_HEAD | {'key_value_heads': 2},
    'fused': MULTI_HEAD | {'fused': True},
    'latent': LATENT,
    'latent queries': LATENT | {'query_rank': 5},
}
X = 2.0 * jax.random.normal(jax.random.key(1), (2, 10, 16))
CONTEXT = LayerContext(jnp.broadcast_to(jnp.arange(10), (2, 10)), jnp.array([[1] * 10, [1] * 4 + [2] * 4 + [0] * 2]))


def initial(spec):
    """Return parameters, and the axes that they declare."""
    with recorded_axes():
        variables = build(spec)().init(jax.random.key(0), X)
    random = np.random.default_rng(2)
    draw = jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), jnp.float32), variables['params'])
    return draw | {'kernel': variables['params']['kernel']}, declared(variables)


def gradient(spec, params):
    def loss(params):
        y, reports = build(spec)().apply({'params': params}, X, CONTEXT, True, mutable=['losses'])
        totals = jax.tree.leaves(reports, is_leaf=lambda node: isinstance(node, Total))
        return jnp.square(y).mean() + sum(total.mean() for total in totals)

    return jax.grad(loss)(params)


def stepped(spec, params, axes, rate, projection=None, **optimizer):
    """Return the parameters after a step of Adam."""
    made = Optimizer(Part(optax.scale_by_adam), projection=projection, **optimizer)
    transformation = made(optax.constant_schedule(rate), params, axes)
    updates, _ = transformation.update(gradient(spec, params), transformation.init(params), params)
    return optax.apply_updates(params, updates)


def recorded(spec, params):
    return params['kernel'][RECORD] - gradient(spec, params)['kernel'][RECORD]


CLIP = Part(QKClip, (('threshold', THRESHOLD),))


@pytest.mark.parametrize('heads', [4, 2, 1])
@pytest.mark.parametrize('mask', [Causal(), Window(left=2, right=1)], ids=str)
def test_the_record_is_the_largest_product_of_an_allowed_pair(heads, mask):
    random = np.random.default_rng(3)
    q, k = (random.normal(size=(2, 10, N, 3)).astype(np.float32) for N in (4, heads))
    segments = jnp.asarray(CONTEXT.segments)
    found = largest_scores(jnp.array(q), jnp.array(k), Scoring(SameSegment(segments, segments), scale=0.5), 4)
    same = (segments[:, :, None] == segments[:, None]) & (segments[:, :, None] != 0)
    scores = 0.5 * np.einsum('btnh,bsnh->bnts', q, np.repeat(k, 4 // heads, axis=2))
    np.testing.assert_allclose(found, np.where(same[:, None], scores, 0).max((0, 2, 3)), rtol=1e-6)
    found = largest_scores(jnp.array(q), jnp.array(k), Scoring(mask, scale=0.5), 4)
    allowed = mask(jnp.arange(10), jnp.arange(10))
    np.testing.assert_allclose(found, np.where(allowed, scores, 0).max((0, 2, 3)), rtol=1e-6)


@pytest.mark.parametrize(
    'name', [pytest.param(name, marks=[] if name == 'grouped' else pytest.mark.long) for name in MIXERS]
)
def test_a_head_above_the_threshold_is_at_it_after_a_step_of_rate_zero_and_others_are_left_alone(name):
    spec = MIXERS[name]
    params, axes = initial(spec)
    before = recorded(spec, params)
    after = recorded(spec, stepped(spec, params, axes, 0.0, CLIP))
    assert (before > THRESHOLD).any()
    np.testing.assert_allclose(after, jnp.minimum(before, THRESHOLD), rtol=1e-5)


def test_queries_and_keys_of_the_plain_step_are_scaled_by_the_root_of_the_share():
    params, axes = initial(MULTI_HEAD)
    params['query'] = params['query'].at[:, 0].multiply(0.01)
    plain, clipped = (stepped(MULTI_HEAD, params, axes, 0.1, projection) for projection in (None, CLIP))
    share = jnp.minimum(1.0, THRESHOLD / plain['kernel'][RECORD])
    assert share[0] == 1.0
    assert (share[1:] < 1.0).all()
    for name in ('query', 'key'):
        np.testing.assert_allclose(clipped[name], jnp.sqrt(share)[:, None] * plain[name], rtol=1e-5, atol=1e-6)
    for name in ('value', 'output', 'kernel'):
        jax.tree.map(np.testing.assert_array_equal, clipped[name], plain[name])


@pytest.mark.parametrize(
    ('change', 'rates', 'message'),
    [
        ({'kernel': {'use': 'attention.plain:Plain'}}, None, 'finds no record of scores'),
        ({'head_norm': {'use': 'norm.rms:RMSNorm'}}, None, 'which no norm follows'),
        ({}, Part(Frozen, (('match', '^query$'),)), "needs trained projections 'query' and 'key'"),
    ],
)
def test_what_it_cannot_clip_is_refused(change, rates, message):
    spec = MULTI_HEAD | change
    made = build(spec)().init(jax.random.key(0), X)['params']
    with pytest.raises(UserError, match=message):
        stepped(spec, made, {}, 0.1, CLIP, rates=rates)


def test_evaluation_records_nothing():
    params, _ = initial(MULTI_HEAD)
    reports = build(MULTI_HEAD)().apply({'params': params}, X, CONTEXT, False, mutable=['losses'])[1]
    assert not reports


BYTES = "data.tokenizer={'use': 'data.tokenizer.byte:Byte'}"
SMALL = (BYTES, 'model.width=12', 'model.layers=1', 'model.vocabulary=264')
RECORDING = "model.block.mixer.kernel={'use': 'attention.largest_scores:LargestScores'}"


@pytest.fixture(scope='module')
def runs(untrained_run):
    """The folders of two runs, the second with a record."""
    return [untrained_run('causal_lm/quickstart.py', *SMALL, *more) for more in ((), (RECORDING,))]


@pytest.mark.long
def test_a_model_with_a_record_starts_from_one_without_and_the_other_way_round(runs):
    for path, other in (runs, runs[::-1]):
        initial = open_run(other).params
        start = start_from((path, ''), initial, {})
        assert jax.tree.structure(start.params) == jax.tree.structure(initial)
        assert [name.rpartition('/')[2] for name in (*start.new, *start.left)] == [RECORD]


@pytest.mark.long
def test_an_export_leaves_the_record_out(runs, tmp_path):
    for number, path in enumerate(runs):
        run = open_run(path)
        export(Source(Experiment.of(run.config).model, run.params), tmp_path / str(number))
    plain, recording = (sorted((file.name, file.stat().st_size) for file in (tmp_path / n).iterdir()) for n in '01')
    assert plain == recording
