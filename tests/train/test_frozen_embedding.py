# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""An embedding that is not learned, drawn or one-hot, while all else is."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.traverse_util import flatten_dict

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import make_learner

CONFIG = str(Path(__file__).parents[2] / 'experiments/masked_lm/quickstart.py')
V, D = 20, 24
SMALL = (
    f'model.vocabulary={V}',
    f'model.width={D}',
    'model.layers=1',
    'model.context_length=8',
    "data.tokenizer={'use': 'data.tokenizer.byte:Byte'}",
    'batch_size=4',
    'optimizer.weight_decay=0.5',
    'ema=0.9',
    'schedule.warmup=0',
    "optimizer.rates=[{'use': 'train.rates:Frozen', 'match': '^embedding$'}]",
)


@pytest.mark.long
@pytest.mark.parametrize('start', ['jax.nn.initializers:normal', 'ops.embedding:one_hot'])
def test_it_stays_as_it_was_bit_for_bit_while_all_else_learns(start):
    fields = (*SMALL, f"model.embedding_init={{'use': '{start}'}}")
    run = Experiment.of(load_config(CONFIG, [f'--config.{field}' for field in fields]))
    learner, batch = make_learner(run), rows(run)
    first = state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
    step = jax.jit(learner.train_step)
    for _ in range(4):
        state, _ = step(state, batch)
    before, after = (flatten_dict(params, sep='/') for params in (first.params, state.params))
    for found in (after, flatten_dict(state.averaged, sep='/')):
        np.testing.assert_array_equal(found['embedding'], before['embedding'])
    # What is added to all scores of a query alike does not change its weights.
    alike = {'embedding', 'layers/pattern_0/mixer/key_bias'}
    assert {path for path in before if (before[path] == after[path]).all()} <= alike
    if start.endswith('one_hot'):
        np.testing.assert_array_equal(before['embedding'], np.eye(V, D))


def rows(run):
    like = run.data().batch_like(run.batch_size)
    batch = {name: jnp.ones(leaf.shape, leaf.dtype) for name, leaf in like.items()}
    tokens = jnp.array(np.random.default_rng(0).integers(5, V, batch['tokens'].shape), jnp.int32)
    places = jnp.broadcast_to(jnp.arange(tokens.shape[1], dtype=jnp.int32), tokens.shape)
    types = (places > 3).astype(jnp.int32)
    return {**batch, 'tokens': tokens, 'positions': places, 'types': types, 'row': places[0][: tokens.shape[0]]}


def learner_and_state(*fields):
    run = Experiment.of(load_config(CONFIG, [f'--config.{field}' for field in (*SMALL, 'model.layers=2', *fields)]))
    learner, batch = make_learner(run), rows(run)
    return learner, jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch), batch


@pytest.mark.long
@pytest.mark.parametrize('more', [(), ('accumulate=2',)])
def test_gradients_of_what_is_frozen_are_zero_and_those_of_the_rest_are_the_same(more):
    frozen = '^embedding|/query$|/ff/'
    rates = f"optimizer.rates={{'use': 'train.rates:Frozen', 'match': '{frozen}'}}"
    all_learn, (some, state, batch) = (
        learner_and_state('optimizer.rates=None', *more)[0],
        learner_and_state(rates, *more),
    )
    whole, part = (flatten_dict(each._gradient(state, batch)[1], sep='/') for each in (all_learn, some))
    for path, leaf in part.items():
        if path in some.frozen:
            assert not leaf.any()
        else:
            np.testing.assert_allclose(leaf, whole[path], rtol=1e-5, atol=1e-7)
    assert {'embedding', 'layers/pattern_0/mixer/query'} <= some.frozen
    norm = jax.jit(some.train_step)(state, batch)[1]['gradient_norm']
    np.testing.assert_allclose(norm, np.sqrt(sum(np.square(leaf).sum() for leaf in part.values())), rtol=1e-5)


def test_a_frozen_lower_part_costs_no_backward_pass():
    def flops(*fields):
        learner, state, batch = learner_and_state(*fields)
        return jax.jit(learner._gradient).lower(state, batch).cost_analysis()['flops']

    below = 'optimizer.rates=' + str({'use': 'train.rates:Frozen', 'match': '^(embed|types|position|layers)'})
    whole, above = flops('optimizer.rates=None'), flops(below)
    assert above < 0.6 * whole
