# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masked language modelling and what goes with it, on small encoders and on known logits."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.masking import choose_words
from saccade.task.base import context_of
from saccade.task.distillation import Distillation
from saccade.task.masked_lm import MaskedLM
from saccade.task.replaced_token import ReplacedToken
from saccade.types import IGNORED, Part, Task, UserError

NEAR = 1e-5
B, T, V, MASK = 6, 20, 30, 4
KEY = jax.random.key(1)
NORM = {'use': 'norm.layer:LayerNorm'}
GELU = {'use': 'jax.nn:gelu', 'approximate': False}
MASKED = {'use': 'head.masked:Masked', 'activation': GELU, 'norm': NORM}
TANH = {'use': 'jax.numpy:tanh'}
POOLED = {'use': 'head.pooled:Pooled', 'classes': 2, 'pool': {'use': 'ops.pool:first'}, 'activation': TANH}
TOLD = {'use': 'head.each_token:EachToken', 'classes': 1, 'activation': GELU}


def spec(heads, width=16, **changes):
    block = {
        'use': 'block.post_norm:PostNorm',
        'norm': NORM,
        'mixer': {
            'use': 'attention.multi_head:MultiHead',
            'heads': 2,
            'kernel': {'use': 'attention.plain:Plain'},
            'mask': {'use': 'ops.mask:Full'},
            'position': {'use': 'position.none:NoPosition'},
        },
        'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': GELU},
    }
    own = {
        'use': 'model.encoder:Encoder',
        'vocabulary': V,
        'context_length': T,
        'width': width,
        'layers': 2,
        'types': 2,
        'block': block,
        'position': {'use': 'position.learned:Learned', 'length': T},
        'norm': {'use': 'norm.none:NoNorm'},
        'embedding_norm': NORM,
        'run': {'use': 'model.stack:Unrolled'},
        'heads': heads,
    }
    return own | changes


def rows(seed=0):
    """Rows [CLS] a [SEP] b [SEP], the last of them padding alone."""
    draw = np.random.default_rng(seed)
    lengths = np.array([T, T - 3, T - 6, 9, 5, 0])[:, None]
    at = np.arange(T)
    there = at < lengths
    special = (at == 0) | (at == 3) | (at == lengths - 1)
    words = np.where(there & ~special, 1 + at // 2, 0)
    return {
        'tokens': jnp.array(np.where(there, np.where(special, 2, draw.integers(5, V, (B, T))), 0)),
        'segments': jnp.array(there.astype(np.int32)),
        'positions': jnp.array(at * there),
        'types': jnp.array((there & (at > 3)).astype(np.int32)),
        'words': jnp.array(words),
        'mask': jnp.full(B, MASK),
        'row': jnp.arange(B),
        'label': jnp.array([1, 0, 1, 0, IGNORED, IGNORED]),
    }


BATCH = rows()
MODEL = build(spec({'masked': MASKED, 'pooled': POOLED}))()
PARAMS = jax.jit(lambda key: MaskedLM().init(MODEL, key, BATCH))(KEY)


def total(task, train=False, batch=BATCH, params=PARAMS, model=MODEL, key=KEY):
    return jax.jit(lambda params: task.loss(model, params, batch, key, train))(params)


@pytest.mark.parametrize('task', [MaskedLM(), ReplacedToken(), Distillation()])
def test_it_is_a_task(task):
    assert isinstance(task, Task)


@pytest.mark.long
def test_the_loss_is_the_surprise_at_the_hidden_tokens_and_at_the_label():
    task = MaskedLM(share=0.3)
    tokens, chosen = task.hide(jax.random.key(0), BATCH, V)
    outputs = MODEL.apply({'params': PARAMS}, tokens, context_of(BATCH), False)
    surprise = -np.asarray(jax.nn.log_softmax(outputs['masked']))
    hidden = [
        surprise[row, at, BATCH['tokens'][row, at]]
        for row in range(B)
        for at, counts in zip(np.asarray(chosen.at[row]), np.asarray(chosen.counts[row]), strict=True)
        if counts
    ]
    found = total(task)
    assert found['masked_loss'].weight == len(hidden)
    np.testing.assert_allclose(found['masked_loss'].mean(), np.mean(hidden), rtol=NEAR)
    pairs = -np.asarray(jax.nn.log_softmax(outputs['pooled']))[np.arange(4), np.asarray(BATCH['label'][:4])]
    np.testing.assert_allclose(found['pair_loss'].mean(), pairs.mean(), rtol=NEAR)
    np.testing.assert_allclose(found['loss'].mean(), np.mean(hidden) + pairs.mean(), rtol=NEAR)


@pytest.mark.long
def test_only_hidden_tokens_have_a_gradient_and_only_they_reach_the_vocabulary():
    task = MaskedLM()
    _, chosen = task.hide(jax.random.key(0), BATCH, V)

    def loss(logits_bias):
        outputs = jnp.zeros((B, T, V)) + logits_bias
        asked = jnp.take_along_axis(outputs, chosen.at[..., None], axis=1)
        return (jax.nn.log_softmax(asked)[..., 0] * chosen.counts).sum()

    gradient = jax.grad(loss)(jnp.zeros((B, T, V)))
    marked = np.zeros((B, T), bool)
    for row in range(B):
        marked[row, np.asarray(chosen.at[row])[np.asarray(chosen.counts[row]) > 0]] = True
    np.testing.assert_array_equal(np.abs(np.asarray(gradient)).sum(axis=-1) > 0, marked)
    traced = jax.make_jaxpr(lambda params: task.loss(MODEL, params, BATCH, KEY, True)['loss'].mean())(PARAMS)
    shapes = {variable.aval.shape for equation in traced.jaxpr.eqns for variable in equation.outvars}
    assert (B, 3, V) in shapes
    assert (B, T, V) not in shapes


@pytest.mark.long
def test_special_tokens_and_padding_are_never_hidden():
    for seed in range(20):
        tokens, _ = MaskedLM(share=0.5, hidden=1.0, noise=0.0).hide(jax.random.key(seed), BATCH, V)
        changed = np.asarray(tokens != BATCH['tokens'])
        assert not changed[np.asarray(BATCH['words']) == 0].any()
        assert changed.any()


@pytest.mark.long
@pytest.mark.parametrize('static', [False, True])
def test_dynamic_masks_are_of_the_step_and_static_ones_of_the_row(static):
    task = MaskedLM(static=static)
    losses = [float(total(task, train=True, key=jax.random.key(seed))['masked_loss'].total) for seed in range(3)]
    assert (len(set(losses)) == 1) == static


@pytest.mark.long
def test_evaluation_is_the_same_whatever_the_key_and_the_place_in_the_batch():
    first, second = (total(MaskedLM(), key=jax.random.key(seed)) for seed in range(2))
    assert float(first['loss'].mean()) == float(second['loss'].mean())
    turned = {name: rows[::-1] for name, rows in BATCH.items()}
    np.testing.assert_allclose(total(MaskedLM(), batch=turned)['loss'].mean(), first['loss'].mean(), rtol=NEAR)


@pytest.mark.long
def test_padding_and_other_documents_change_nothing():
    other = {**BATCH, 'tokens': jnp.where(BATCH['segments'] == 0, 7, BATCH['tokens'])}
    np.testing.assert_allclose(
        total(MaskedLM(), batch=other)['loss'].mean(), total(MaskedLM())['loss'].mean(), rtol=NEAR
    )
    packed = {**BATCH, 'segments': jnp.where(jnp.arange(T) < 10, 1, 2) * (BATCH['segments'] > 0)}

    def states(tokens):
        context = context_of({**packed, 'tokens': tokens})
        return MODEL.apply({'params': PARAMS}, tokens, context, False)['masked']

    first, second = (states(packed['tokens'].at[:, 12].set(token)) for token in (5, 9))
    np.testing.assert_allclose(first[:, :10], second[:, :10], rtol=NEAR, atol=NEAR)
    assert not np.allclose(first[0, 10:], second[0, 10:])


@pytest.mark.long
def test_whole_words_by_name():
    part = build({'use': 'task.masked_lm:MaskedLM', 'choose': {'use': 'ops.masking:choose_words'}}, 'task')
    assert part['choose'] == Part(choose_words)
    assert np.isfinite(total(part(), train=True)['loss'].mean())


@pytest.mark.long
def test_an_encoder_without_pairs_is_trained_on_masks_alone():
    model = build(spec({'masked': MASKED}))()
    params = MaskedLM().init(model, KEY, BATCH)
    found = total(MaskedLM(), model=model, params=params)
    assert set(found) == {'loss', 'masked_loss', 'masked_accuracy'}
    assert float(found['loss'].mean()) == float(found['masked_loss'].mean())


def electra(width=16):
    told = spec({'tokens': TOLD}, width, embedding_width=8)
    return build({
        'use': 'model.together:Electra',
        'generator': spec({'masked': MASKED}, 8, embedding_width=8),
        'discriminator': told,
    })()  # fmt: skip


@pytest.mark.long
def test_electra_shares_the_embedding_and_learns_both():
    model = electra()
    params = ReplacedToken().init(model, KEY, BATCH)
    assert {'embedding', 'position', 'types'} <= params['discriminator'].keys()
    assert not {'embedding', 'position', 'types'} & params['generator'].keys()
    found = total(ReplacedToken(), model=model, params=params, train=True)
    gradient = jax.grad(lambda params: ReplacedToken().loss(model, params, BATCH, KEY, True)['loss'].mean())(params)
    assert all(np.isfinite(leaf).all() and np.abs(leaf).sum() > 0 for leaf in jax.tree.leaves(gradient['generator']))
    assert found['replaced_loss'].weight == (BATCH['segments'] > 0).sum()
    assert 0 < found['replaced_share'].mean() < 0.2
    expected = found['masked_loss'].mean() + 50 * found['replaced_loss'].mean()
    np.testing.assert_allclose(found['loss'].mean(), expected, rtol=NEAR)


@pytest.mark.long
def test_the_generator_does_not_learn_from_the_discriminator():
    model = electra()
    params = ReplacedToken().init(model, KEY, BATCH)

    def gradient(weight):
        task = ReplacedToken(weight=weight)
        return jax.grad(lambda params: task.loss(model, params, BATCH, KEY, True)['loss'].mean())(params)['generator']

    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=NEAR, atol=NEAR), gradient(0.0), gradient(50.0))


def test_two_encoders_must_agree_on_what_they_read():
    generator, discriminator = spec({'masked': MASKED}), spec({'tokens': TOLD}, vocabulary=V + 1)
    with pytest.raises(UserError, match='same vocabulary'):
        build({'use': 'model.together:Electra', 'generator': generator, 'discriminator': discriminator})()


@pytest.mark.parametrize(
    ('other', 'field'),
    [
        (dict(types=3), 'types'),
        (dict(embedding_width=4), 'embedding_width'),
        (dict(embedding_width=None, width=16), 'embedding_width'),
        (dict(position={'use': 'position.none:NoPosition'}), 'position'),
    ],
)
def test_a_generator_has_what_it_shares_as_its_discriminator_has_it(other, field):
    generator = spec({'masked': MASKED}, 8, embedding_width=8) | other
    discriminator = spec({'tokens': TOLD}, embedding_width=8)
    with pytest.raises(UserError, match=f'^config.model: generator and discriminator must have the same {field}$'):
        build({'use': 'model.together:Electra', 'generator': generator, 'discriminator': discriminator})()


@pytest.mark.long
def test_distillation_adds_its_three_losses_and_leaves_the_teacher_alone():
    model = build({
        'use': 'model.together:Distilled',
        'student': spec({'masked': MASKED}, layers=1),
        'teacher': spec({'masked': MASKED}),
    })()  # fmt: skip
    task = Distillation()
    params = task.init(model, KEY, BATCH)
    found = total(task, model=model, params=params)
    expected = 5 * found['soft_loss'].mean() + 2 * found['masked_loss'].mean() + found['cosine_loss'].mean()
    np.testing.assert_allclose(found['loss'].mean(), expected, rtol=NEAR)
    gradient = jax.grad(lambda params: task.loss(model, params, BATCH, KEY, True)['loss'].mean())(params)
    assert not any(np.abs(leaf).any() for leaf in jax.tree.leaves(gradient['teacher']))
    assert all(np.abs(leaf).any() for name, leaf in gradient['student'].items() if name == 'embedding')


@pytest.mark.long
def test_a_student_that_is_its_teacher_has_nothing_to_learn_from_it():
    both = spec({'masked': MASKED})
    model = build({'use': 'model.together:Distilled', 'student': both, 'teacher': both})()
    task = Distillation()
    params = task.init(model, KEY, BATCH)
    same = {'student': params['teacher'], 'teacher': params['teacher']}
    found = total(task, model=model, params=same)
    np.testing.assert_allclose(found['soft_loss'].mean(), 0.0, atol=NEAR)
    np.testing.assert_allclose(found['cosine_loss'].mean(), 0.0, atol=NEAR)


@pytest.mark.long
def test_the_temperature_scales_the_divergence():
    task = dataclasses.replace(Distillation(), temperature=3.0)
    teacher, student = jnp.array([[2.0, 0.0, -1.0]]), jnp.array([[0.5, 0.2, 0.0]])
    p, q = (np.exp(x / 3) / np.exp(x / 3).sum() for x in (np.asarray(teacher[0]), np.asarray(student[0])))
    np.testing.assert_allclose(task._divergence(teacher, student)[0], 9 * (p * np.log(p / q)).sum(), rtol=NEAR)


def test_more_hidden_and_noise_than_all_is_refused():
    with pytest.raises(UserError, match=r'hidden 0\.8 and noise 0\.3 must be shares of 1'):
        MaskedLM(hidden=0.8, noise=0.3)


def test_a_task_that_reads_all_logits_refuses_a_sample_of_them():
    with pytest.raises(UserError, match=r'^task\.sampled: task\.distillation:Distillation .* need the whole softmax'):
        Distillation(sampled=4).by_chunks(lambda: ((), ()), (), ())
