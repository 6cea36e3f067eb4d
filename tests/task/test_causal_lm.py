# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causal language modelling on models whose logits are known."""

import traceback
from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saccade
from saccade.task.causal_lm import CausalLM, is_target
from saccade.types import Task, Total, UserError

NEAR = 1e-5
V = 6
TOKENS = np.array([[3, 1, 4, 1, 5, 2], [2, 0, 5, 5, 3, 0]])
SEGMENTS = np.array([[1, 1, 1, 2, 2, 0], [0, 1, 1, 1, 1, 1]])
TARGETS = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], bool)
BATCH = {'tokens': jnp.array(TOKENS), 'segments': jnp.array(SEGMENTS), 'positions': jnp.zeros(TOKENS.shape, int)}
KEY = jax.random.key(0)


class Known(nn.Module):
    """Logits that are its one parameter, whatever the tokens are."""

    vocabulary: int = V
    context_length: int = 8

    @nn.compact
    def __call__(self, tokens, context, train):
        assert tokens.shape == context.positions.shape == context.segments.shape
        return self.param('logits', nn.initializers.normal(2.0), (*tokens.shape, self.vocabulary))

    def init_state(self, tokens, capacity):
        return ()

    def step(self, tokens, segments, state):
        raise NotImplementedError


PARAMS = CausalLM().init(Known(), KEY, BATCH)
LOG_P = np.asarray(jax.nn.log_softmax(PARAMS['logits']), np.float64)


def total(train=False, **settings):
    return CausalLM(**settings).loss(Known(), PARAMS, BATCH, KEY, train)


def test_parameters_are_those_for_one_token_fewer_than_the_batch_has():
    assert PARAMS['logits'].shape == (2, 5, V)


def test_a_target_is_the_next_token_of_the_same_document():
    np.testing.assert_array_equal(is_target(BATCH), TARGETS)


def test_the_loss_is_the_mean_surprise_at_the_next_token():
    expected = [-LOG_P[b, t, TOKENS[b, t + 1]] for b, t in np.argwhere(TARGETS)]
    loss = total()['loss']
    assert loss.weight == len(expected) == 7
    assert loss.mean() == pytest.approx(np.mean(expected), rel=NEAR)


def test_accuracy_is_the_share_of_targets_that_are_the_likeliest():
    hits = [LOG_P[b, t].argmax() == TOKENS[b, t + 1] for b, t in np.argwhere(TARGETS)]
    assert total()['accuracy'].mean() == pytest.approx(np.mean(hits))
    sure = {'logits': 10.0 * jax.nn.one_hot(BATCH['tokens'][:, 1:], V)}
    assert CausalLM().loss(Known(), sure, BATCH, KEY, train=False)['accuracy'].mean() == 1.0


def test_label_smoothing_spreads_a_share_over_the_vocabulary_in_training_alone():
    e = 0.3
    expected = [-(1 - e) * LOG_P[b, t, TOKENS[b, t + 1]] - e * LOG_P[b, t].mean() for b, t in np.argwhere(TARGETS)]
    assert total(train=True, label_smoothing=e)['loss'].mean() == pytest.approx(np.mean(expected), rel=NEAR)
    assert total(train=False, label_smoothing=e)['loss'].mean() == total()['loss'].mean()


@pytest.mark.parametrize('smoothing', [0.0, 0.3])
def test_what_is_no_target_has_no_gradient(smoothing):
    task = CausalLM(label_smoothing=smoothing)
    gradient = jax.grad(lambda params: task.loss(Known(), params, BATCH, KEY, train=True)['loss'].mean())(PARAMS)[
        'logits'
    ]
    np.testing.assert_array_equal(gradient[~TARGETS], 0.0)
    assert (np.abs(gradient[TARGETS]).max(axis=-1) > 0).all()


def test_totals_of_parts_add_up_to_the_whole():
    halves = [jax.tree.map(lambda leaf, row=row: leaf[row : row + 1], (PARAMS, BATCH)) for row in range(2)]
    losses = [CausalLM().loss(Known(), params, batch, KEY, False)['loss'] for params, batch in halves]
    added = jax.tree.map(lambda a, b: a + b, *losses)
    assert added.mean() == pytest.approx(float(total()['loss'].mean()), rel=NEAR)


def test_a_batch_without_targets_costs_nothing():
    empty = {**BATCH, 'segments': jnp.zeros_like(BATCH['segments'])}
    assert CausalLM().loss(Known(), PARAMS, empty, KEY, False)['loss'].mean() == 0.0


def test_it_is_a_task():
    assert isinstance(CausalLM(), Task)


def test_between_a_loss_and_its_model_are_the_totals_of_the_task_and_the_forward_pass():
    package, ours = str(Path(saccade.__file__).parent), []

    class Watching(Known):
        def apply(self, *args, **settings):
            ours.extend(frame.name for frame in traceback.extract_stack() if frame.filename.startswith(package))
            return super().apply(*args, **settings)

    CausalLM().loss(Watching(), PARAMS, BATCH, KEY, train=True)
    assert ours == ['loss', 'totals', '__call__']


class Reporting(Known):
    """The same, with what two stacks of layers report: [2] of the one, [1] of the other."""

    @nn.compact
    def __call__(self, tokens, context, train):
        logits = super().__call__(tokens, context, train)
        for layers, value, weight in (('one', jnp.array([0.1, 0.2]), 5.0), ('other', jnp.array([0.6]), 3.0)):
            for collection in filter(self.is_mutable_collection, ('losses', 'metrics')):
                total = Total(weight * value * logits.mean(), jnp.full(value.shape, weight))
                self.put_variable(collection, layers, {'router': {'balance': (total,)}})
        return logits


def reported(train):
    return CausalLM().loss(Reporting(), PARAMS, BATCH, KEY, train)


def test_losses_that_layers_report_are_added_in_training_summed_over_the_layers():
    bare, mean = total()['loss'], float(PARAMS['logits'].mean())
    added = float(bare.mean()) + (0.1 + 0.2 + 0.6) * mean
    totals = reported(train=True)
    assert totals['loss'].mean() == pytest.approx(added, rel=NEAR)
    assert totals['cross_entropy'].mean() == pytest.approx(float(bare.mean()), rel=NEAR)
    np.testing.assert_array_equal(totals['loss'].weight, [bare.weight, 5, 5, 3])  # each mean has its own


def test_what_is_added_has_a_gradient():
    gradient = jax.grad(lambda params: CausalLM().loss(Reporting(), params, BATCH, KEY, train=True)['loss'].mean())(
        PARAMS
    )['logits']
    np.testing.assert_allclose(gradient[~TARGETS], 0.9 / gradient.size, rtol=NEAR)


def test_evaluation_reports_the_bare_loss():
    totals = reported(train=False)
    assert totals.keys() == {'loss', 'accuracy', 'balance'}
    assert totals['loss'].mean() == total()['loss'].mean()


@pytest.mark.parametrize('train', [True, False])
def test_metrics_are_means_over_layers_that_add_up_over_microbatches(train):
    metric = reported(train)['balance']
    assert metric.mean() == pytest.approx(0.3 * float(PARAMS['logits'].mean()), rel=NEAR)
    np.testing.assert_array_equal(metric.weight, [5, 5, 3])


def test_a_report_that_is_no_total_is_refused_by_its_path():
    class Averaging(Known):
        @nn.compact
        def __call__(self, tokens, context, train):
            self.put_variable('losses', 'layers', {'router': {'balance': (jnp.ones(()),)}})
            return super().__call__(tokens, context, train)

    with pytest.raises(UserError, match=r"^layers/router/balance: a part reports an array in 'losses'; report a"):
        CausalLM().loss(Averaging(), PARAMS, BATCH, KEY, train=True)


@pytest.mark.parametrize('train', [True, False])
def test_a_model_that_reports_nothing_makes_the_program_of_one_that_cannot(train):
    """Asked for what its layers report, it is traced to the same jaxpr as when it is not asked."""

    class Unasked(Known):
        def apply(self, *args, mutable, **settings):
            return super().apply(*args, **settings), {}

    traced = [
        str(jax.make_jaxpr(lambda params, m=model: CausalLM().loss(m, params, BATCH, KEY, train))(PARAMS))
        for model in (Known(), Unasked())
    ]
    assert traced[0] == traced[1]
    assert total(train).keys() == {'loss', 'accuracy'}


def test_in_an_evaluation_the_first_of_tied_tokens_is_the_prediction():
    tied = jax.tree.map(jnp.zeros_like, PARAMS)
    found = CausalLM().loss(Known(), tied, BATCH, KEY, False)['accuracy']
    wanted = (TOKENS[:, 1:] == 0)[TARGETS].sum()
    assert 0 < wanted < TARGETS.sum()
    assert found.total == wanted
