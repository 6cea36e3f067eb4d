# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Denoising as a task: what is corrupted when, which targets count, and what does not fit is said."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_seq2seq import made

from saccade.build import build
from saccade.ops.denoising import Sequential, Spans
from saccade.task.denoising import Denoising
from saccade.types import LayerContext, Part, Task, UserError

NEAR = 1e-5
T, V, END, START, R, S = 16, 32, 0, 1, 2, 3
SENTINELS = np.arange(4, 10)
MODEL, PARAMS = made(vocabulary=V, context_length=20, source_context_length=20)
KEY = jax.random.key(5)
SPANS = Part(Spans, (('mean', 2.0), ('mode', '[R]'), ('rate', 0.3)))
REST = Part(Sequential, (('mode', '[S]'),))
MIXED = (SPANS, REST)


def batch(lengths=(T + 1, T + 1, 9, 0), **changes):
    draw, rows = np.random.default_rng(0), len(lengths)
    there = (np.arange(T + 1) < np.array(lengths)[:, None]).astype(int)
    arrays = {
        'tokens': draw.integers(10, V, there.shape) * there,
        'segments': there * np.where(np.arange(T + 1) < 5, 1, 2),  # of two documents: a row is one text nevertheless
        'positions': np.arange(T + 1) * there,
        'row': np.array([7, 3, 5, -1][:rows]),
        'sentinels': np.tile(SENTINELS, (rows, 1)),
        **{name: np.full(rows, id) for name, id in (('end', END), ('start', START), ('[R]', R), ('[S]', S))},
    }
    return {name: jnp.array(array, jnp.int32) for name, array in (arrays | changes).items()}


def corrupted(rows=None, key=KEY, denoisers=MIXED):
    return Denoising(denoisers).corrupted(MODEL, key, batch() if rows is None else rows)


def loss(train=False, rows=None, key=KEY, denoisers=MIXED, **settings):
    return Denoising(denoisers, **settings).loss(MODEL, PARAMS, batch() if rows is None else rows, key, train)


@pytest.mark.long
def test_the_loss_is_the_mean_surprise_at_what_is_written_and_at_nothing_else():
    rows, _ = corrupted(key=jax.random.key(0))
    contexts = (
        LayerContext(rows['source_positions'], rows['source_segments']),
        LayerContext(rows['positions'][:, :-1], rows['segments'][:, :-1]),
    )
    logits = MODEL.apply({'params': PARAMS}, rows['source'], contexts[0], rows['tokens'][:, :-1], contexts[1], False)
    known, tokens = np.asarray(jax.nn.log_softmax(logits), np.float64), np.asarray(rows['tokens'])
    counts = np.asarray(rows['segments']).sum(axis=-1)
    expected = [-known[b, t, tokens[b, t + 1]] for b in range(3) for t in range(counts[b] - 1)]
    found = loss()
    assert counts[3] == 0  # a row of padding has nothing to learn from
    assert found['loss'].weight == found['accuracy'].weight == len(expected)
    assert found['loss'].mean() == pytest.approx(np.mean(expected), rel=NEAR)


@pytest.mark.long
def test_rows_have_all_that_a_model_which_reads_and_writes_needs():
    rows, which = corrupted()
    for b, mode in enumerate(np.array([R, S])[np.asarray(which)[:3]]):
        read, written = (int(rows[name][b].sum()) for name in ('source_segments', 'segments'))
        assert rows['source'][b, 0] == mode
        assert rows['source'][b, read - 1] == rows['tokens'][b, written - 1] == END
        assert rows['tokens'][b, 0] == START
        np.testing.assert_array_equal(rows['source_positions'][b, :read], np.arange(read))
        np.testing.assert_array_equal(rows['positions'][b, :written], np.arange(written))
    assert rows['source'].shape == (4, T - 1 + 2)
    np.testing.assert_array_equal(rows['row'], [7, 3, 5, -1])


@pytest.mark.long
def test_a_row_is_one_text_whatever_documents_it_was_packed_of():
    documents, one = corrupted(), corrupted(batch(segments=np.minimum(batch()['segments'], 1)))
    jax.tree.map(np.testing.assert_array_equal, documents, one)


@pytest.mark.long
def test_in_training_each_step_corrupts_anew_and_else_a_row_is_always_the_same():
    keys = jax.random.split(KEY)
    assert loss(True, key=keys[0])['loss'].mean() != loss(True, key=keys[1])['loss'].mean()
    assert loss(True, key=keys[0])['loss'].mean() == loss(True, key=keys[0])['loss'].mean()
    assert loss(key=keys[0])['loss'].mean() == loss(key=keys[1])['loss'].mean()


@pytest.mark.long
def test_what_is_corrupted_of_a_row_depends_on_its_number_and_not_on_its_place():
    whole, which = corrupted()
    order = jnp.array([2, 0, 1])
    turned, turned_which = corrupted({name: array[order] for name, array in batch().items()})
    np.testing.assert_array_equal(turned['source'], whole['source'][order])
    np.testing.assert_array_equal(turned_which, which[order])
    other, _ = corrupted(batch(row=np.array([8, 3, 5, -1])))
    same = [np.array_equal(one, two) for one, two in zip(other['source'], whole['source'], strict=True)]
    assert same == [False, True, True, True]


@pytest.mark.long
def test_of_several_modes_each_is_reported_but_in_training():
    found = loss()
    assert set(found) == {'loss', 'accuracy', 'loss_R', 'accuracy_R', 'loss_S', 'accuracy_S'}
    assert found['loss_R'].weight + found['loss_S'].weight == found['loss'].weight
    assert found['loss_R'].total + found['loss_S'].total == pytest.approx(float(found['loss'].total), rel=NEAR)
    assert set(loss(denoisers=(SPANS,))) == set(loss(train=True)) == {'loss', 'accuracy'}


@pytest.mark.long
def test_label_smoothing_is_of_training_alone():
    assert loss(label_smoothing=0.2)['loss'].mean() == loss()['loss'].mean()
    assert loss(True, label_smoothing=0.2)['loss'].mean() != loss(True)['loss'].mean()
    with pytest.raises(UserError, match='label_smoothing'):
        build({'use': 'task.denoising:Denoising', 'denoisers': [], 'label_smoothing': 1.0})


@pytest.mark.long
def test_its_parameters_are_the_models_and_it_is_a_task():
    shapes = jax.tree.map(jnp.shape, Denoising(MIXED).init(MODEL, KEY, batch()))
    assert shapes == jax.tree.map(jnp.shape, PARAMS)
    assert isinstance(Denoising(MIXED), Task)


@pytest.mark.long
def test_too_few_sentinels_are_refused():
    few = batch(sentinels=np.tile(SENTINELS[:2], (4, 1)))
    with pytest.raises(UserError, match=r'data\.sentinels: 2 are too few: .* need 3 for rows of 16 tokens'):
        corrupted(few, denoisers=(SPANS,))
    assert corrupted(few, denoisers=(REST,))


def test_a_mode_that_the_data_do_not_name_is_refused():
    rows = batch()
    del rows['[S]']
    with pytest.raises(UserError, match=r"no mode '\[S\]' in data\.modes"):
        corrupted(rows)


@pytest.mark.long
@pytest.mark.parametrize('sizes', [{'source_context_length': 16}, {'context_length': 15}], ids=str)
def test_a_model_that_is_too_short_for_what_is_read_or_written_is_refused(sizes):
    longest = {'context_length': 16, 'source_context_length': 17}
    Denoising(MIXED).corrupted(made(vocabulary=V, **longest)[0], KEY, batch())
    with pytest.raises(UserError, match='a source of up to 17 tokens and a target of up to 16'):
        Denoising(MIXED).corrupted(made(vocabulary=V, **(longest | sizes))[0], KEY, batch())
