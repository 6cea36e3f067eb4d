# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A wrong result of a method that a variant overrides is one line with the class, the method and what is expected."""

import dataclasses
import re

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.memory_base import FixedState
from saccade.attention.multi_head import MultiHead
from saccade.build import build
from saccade.data.split import Split
from saccade.module import Layer
from saccade.task.causal_lm import CausalLM
from saccade.train.config import load_config
from saccade.train.evaluate import evaluation, with_task_metrics
from saccade.train.experiment import Experiment
from saccade.types import LayerContext, Part, Total, UserError

B, T, D, N = 2, 9, 16, 4
X, CONTEXT = jnp.ones((B, T, D)), LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
PLAIN, CAUSAL = Part(build({'use': 'attention.plain:Plain'}).target), Part(build({'use': 'ops.mask:Causal'}).target)
NO_POSITION = Part(build({'use': 'position.none:NoPosition'}).target)


class Returns(FixedState):
    """A mixer that returns what `results` makes of its values and its memory."""

    made: str = 'right'

    def update_state(self, x, q, k, v, context, state):
        results = {
            'right': (v, state),
            'nothing': None,
            'no memory': v,
            'merged heads': (v.reshape(B, T, D), state),
            'another memory': (v, v),
            'a smaller memory': (v, jax.tree.map(lambda leaf: leaf[..., :1], state)),
        }
        return results[self.made]


@pytest.mark.parametrize(
    ('made', 'given'),
    [
        ('nothing', 'not None'),
        ('no memory', 'not array [2, 9, 4, 4]'),
        ('merged heads', 'not (array [2, 9, 16], Memory('),
        ('another memory', 'not (array [2, 9, 4, 4], array [2, 9, 4, 4])'),
        ('a smaller memory', 'not (array [2, 9, 4, 4], Memory('),
    ],
)
def test_of_a_memory(made, given):
    jax.eval_shape(lambda: Returns(heads=N).init(jax.random.key(0), X, CONTEXT, False))
    with pytest.raises(UserError) as refused:
        jax.eval_shape(lambda: Returns(heads=N, made=made).init(jax.random.key(0), X, CONTEXT, False))
    said = str(refused.value)
    assert re.match(r'test_own_results:Returns\.update_state must return \(array \[2, 9, 4, 4\], Memory\(', said)
    assert given in said
    assert '\n' not in said


class Forgetful(MultiHead):
    def project(self, x, context, made):
        super().project(x, context, made)


def test_of_a_projection():
    mixer = Forgetful(heads=N, kernel=PLAIN, mask=CAUSAL, position=NO_POSITION)
    with pytest.raises(UserError, match=r'Forgetful\.project must return \(array, array, array\), not None'):
        jax.eval_shape(lambda: mixer.init(jax.random.key(0), X, CONTEXT, False))


class Wide(nn.Module):
    """A norm or a feed-forward layer that returns twice the width."""

    @nn.compact
    def __call__(self, x, train=False, real=None):
        return jnp.concatenate([x, x], axis=-1)


class WideMixer(Layer):
    def mix(self, x, context, train, state):
        return jnp.concatenate([x, x], axis=-1), state

    def init_state(self, x, capacity):
        return None


class Stateless(WideMixer):
    def mix(self, x, context, train, state):
        return x


WRONG = {
    'norm': (Wide, r'Wide\.__call__ must return array \[2, 9, 16\], not array \[2, 9, 32\]'),
    'feedforward': (Wide, r'Wide\.__call__ must return array \[2, 9, 16\], not array \[2, 9, 32\]'),
    'mixer': (WideMixer, r'WideMixer\.mix must return \(array \[2, 9, 16\], None\), not \(array \[2, 9, 32\], None\)'),
    'mixer ': (Stateless, r'Stateless\.mix must return \(array \[2, 9, 16\], None\), not array \[2, 9, 16\]'),
}


@pytest.mark.parametrize('place', WRONG)
def test_of_the_parts_of_a_block(place):
    norm = Part(build({'use': 'norm.rms:RMSNorm'}).target)
    right = {'norm': norm, 'mixer': Part(Returns, (('heads', N),)), 'feedforward': None}
    block = build({'use': 'block.pre_norm:PreNorm', 'mixer': right['mixer'], 'norm': norm, 'feedforward': None})
    wrong, said = WRONG[place]
    block = block.replace(**{place.strip(): Part(wrong)})
    with pytest.raises(UserError, match=said):
        jax.eval_shape(lambda: block().init(jax.random.key(0), X, CONTEXT, False))


def returns(totals):
    class Own(CausalLM):
        def totals(self, forward, batch):
            return totals

    return Own()


ONE = jnp.ones(())


@pytest.mark.parametrize(
    ('totals', 'words'),
    [
        (None, r"Own\.totals must return a dict of Total by name with 'loss' among them$"),
        ({'accuracy': Total(ONE, ONE)}, r"Own\.totals must return a dict of Total by name with 'loss' among them$"),
        ({'loss': ONE}, r"Own\.totals must return a dict of Total by name with 'loss' among them$"),
        ({'loss': Total(ONE, ONE), 'sure': ONE}, r"Own\.totals: 'sure' must be a Total\(sum, weight\)$"),
    ],
)
def test_of_the_totals_of_a_task(totals, words):
    with pytest.raises(UserError, match=words):
        returns(totals).loss(None, {}, {}, jax.random.key(0), True)


class Judge(CausalLM):
    def predict(self, model, params, batch):
        return {'tokens': batch['tokens']}

    def evaluate(self, predictions, split):
        return {'median': 0.5}


class NoRows:
    def __len__(self):
        return 0

    def __getitem__(self, row):
        return {}

    def padding(self):
        return {}


def test_of_what_a_task_measures_on_a_whole_split(monkeypatch):
    monkeypatch.setattr('saccade.train.evaluate.eval_batches', lambda *_, **__: [{'tokens': np.zeros((2, 3))}])
    experiment = dataclasses.replace(Experiment.of(load_config('causal_lm/quickstart')), task=Part(Judge))
    split = Split(rows=NoRows(), targets=3)
    found = evaluation(1, 'validation', split, {'loss': 1.0})
    words = r"test_own_results:Judge\.evaluate: 'median' must be an estimate with value, low and high$"
    with pytest.raises(UserError, match=words):
        with_task_metrics(experiment, {}, split, found)
