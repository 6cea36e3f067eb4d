# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prompt and prefix tuning: a prompt is like tokens in front, and only it and the head are trained."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.sweep.plan import as_overrides, read_sweep_file
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.types import LayerContext

ROOT = Path(__file__).parents[2] / 'experiments'
B, T, V, D, M = 2, 5, 11, 8, 3
SPEC = {
    'use': 'model.encoder:Encoder', 'vocabulary': V, 'context_length': T + M, 'width': D, 'layers': 2, 'types': 2,
    'position': {'use': 'position.learned:Learned', 'length': T + M},
    'block': {'use': 'block.pre_norm:PreNorm', 'mixer': {'use': 'attention.multi_head:MultiHead', 'heads': 2}},
    'heads': {'pooled': {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:mean'}, 'classes': 3}},
}  # fmt: skip
PROMPT = {'use': 'embed.prompt:Prompt', 'count': M, 'embed': {'use': 'embed.token:TokenEmbedding'}}


@pytest.mark.long
def test_a_prompt_of_the_vectors_of_tokens_is_these_tokens_in_front():
    plain, prompted = build(SPEC)(), build({**SPEC, 'embed': PROMPT})()
    tokens = jnp.array(np.random.default_rng(0).integers(0, V, (B, T)))
    segments = jnp.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    types = jnp.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])
    first = jnp.array([7, 2, 9])
    context = LayerContext(jnp.arange(T) * segments, segments, types=types)
    longer = jnp.concatenate([jnp.ones((B, M), int), segments], axis=1)
    whole = LayerContext(jnp.arange(T + M) * longer, longer, types=jnp.pad(types, ((0, 0), (M, 0))))
    rows = jnp.concatenate([jnp.tile(first, (B, 1)), tokens], axis=1)
    params = plain.init(jax.random.key(0), rows, whole)['params']
    with_prompt = {**params, 'embed': {'prompt': params['embedding'][first]}}
    found = prompted.apply({'params': with_prompt}, tokens, context)['pooled']
    np.testing.assert_allclose(found, plain.apply({'params': params}, rows, whole)['pooled'], atol=1e-6)


@pytest.mark.parametrize(('name', 'own'), [('prompt', 1), ('prefix', 2), ('head', 0)])
def test_the_sweep_trains_what_it_says(name, own):
    """Of the whole model: the prompt, keys and values of the prefix, or nothing, and the two leaves of the head."""
    (point,) = (
        each for each in read_sweep_file(str(ROOT / 'sweeps/adapters.py'))[1]['runs']['list'] if each['name'] == name
    )
    fields = {key: value for key, value in point.items() if key not in ('name', 'adapt')}
    made = Experiment.of(
        load_config(str(ROOT / 'finetune/classify.py'), ['--config.adapt=None', *as_overrides(fields)])
    )
    tokens = jnp.zeros((1, 16), int)
    shapes = jax.eval_shape(lambda: made.model().init(jax.random.key(0), tokens, LayerContext(jnp.arange(16)[None])))
    factors = made.optimizer['rates']()(shapes['params'], {})
    trained = [path for path, factor in jax.tree_util.tree_leaves_with_path(factors) if factor]
    assert len(trained) == own + 2
