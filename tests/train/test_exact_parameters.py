# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""In bfloat16, parameters that are computed in float32 are not rounded: a frequency of 97.4 stays what it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.axes import declared, in_float32, recorded_axes
from saccade.build import build
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import in_dtype
from saccade.train.learner import cast
from saccade.train.setup import make_learner

T, D = 512, 16
X = jnp.array(np.random.default_rng(0).normal(size=(1, T, D)), jnp.float32)
MIXERS = {
    'S4D': ({'use': 'recurrent.mixer.s4d:S4D'}, {'frequency', 'log_rate', 'log_step', 'skip'}),
    'Hyena': ({'use': 'recurrent.mixer.hyena:Hyena', 'length': T}, set()),
    'Mamba2': ({'use': 'attention.mamba2:Mamba2', 'heads': 2}, {'log_rate', 'step_bias'}),
}


@pytest.mark.parametrize('name', MIXERS)
def test_a_layer_in_bfloat16_is_near_that_in_float32(name):
    spec, exact = MIXERS[name]
    layer = build(spec)()
    with recorded_axes():
        variables = layer.init(jax.random.key(0), X)
    params, kept = variables['params'], in_float32(declared(variables))
    assert exact <= kept
    low = cast(params, 'bfloat16', kept)
    assert {leaf.dtype for path, leaf in low.items() if path in exact} <= {jnp.dtype('float32')}
    y, rounded = (jax.jit(layer.apply)({'params': each}, x) for each, x in ((params, X), (low, X.astype(jnp.bfloat16))))
    assert rounded.dtype == jnp.bfloat16
    assert jnp.abs(rounded - y).max() <= 0.03 * jnp.abs(y).max()


def test_a_change_too_small_for_bfloat16_changes_the_loss():
    mixer = "config.model.block.mixer={'use': 'recurrent.mixer.s4d:S4D'}"
    small = ('config.dtype=bfloat16', 'config.batch_size=2', 'config.model.layers=1', 'config.model.width=16')
    run = Experiment.of(load_config('experiments/diagnostics/parity.py', [f'--{each}' for each in (*small, mixer)]))
    learner = make_learner(run)
    batch = jax.tree.map(lambda leaf: jnp.ones(leaf.shape, leaf.dtype), run.data().batch_like(2))
    params = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch).params
    (path,) = [path for path in learner.exact if path.endswith('log_step')]
    change = jax.tree_util.tree_map_with_path(
        lambda at, leaf: leaf + 1e-3 * jax.tree_util.keystr(at, simple=True, separator='/').endswith('log_step'), params
    )
    assert path
    losses = [jax.jit(learner.eval_step)(each, batch)['loss'].mean() for each in (params, change)]
    assert losses[0] != losses[1]
    for each in (in_dtype(params, 'bfloat16', run), cast(params, 'bfloat16', learner.exact)):
        leaves = {
            jax.tree_util.keystr(at, simple=True, separator='/'): leaf for at, leaf in jax.tree.leaves_with_path(each)
        }
        assert {path for path, leaf in leaves.items() if leaf.dtype == jnp.float32} == learner.exact
