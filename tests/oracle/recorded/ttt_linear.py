# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Record outputs and gradients of the authors' TTT-Linear for drawn inputs and parameters in `ttt_linear.npz`.

    python tests/oracle/recorded/ttt_linear.py CHECKOUT

CHECKOUT is a copy of https://github.com/test-time-training/ttt-lm-jax at COMMIT. Only `ttt/models/ttt_layer.py` runs:
what it imports from the package shards arrays and chooses what is saved for a backward pass, which changes no output.
"""

import sys
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict

COMMIT = '6f529b124c7fb5879b33c06926408b15add1d82f'
B, T, D, N = 2, 48, 12, 2
CONFIG = dict(
    hidden_size=D,
    num_attention_heads=N,
    mini_batch_size=16,
    max_sequence_length=T,
    rope_theta=10000.0,
    initializer_range=0.02,
    ttt_base_lr=1.0,
    remat_mini_batch_group_size=1,
    remat_conv='',
    conv_width=4,
    output_ttt_stats=False,
)


def layers(checkout: Path) -> types.ModuleType:
    """Return their module of layers."""
    helpers = types.ModuleType('ttt.infra.jax_utils')
    helpers.with_sharding_constraint = lambda x, _: x
    helpers.get_gradient_checkpoint_policy = None
    sys.modules['ttt.infra.jax_utils'] = helpers
    module = types.ModuleType('ttt_layer')
    source = (checkout / 'ttt' / 'models' / 'ttt_layer.py').read_text()
    exec(source.replace('a_min=', 'min='), vars(module))  # `jnp.clip` has renamed its arguments
    return module


def record(checkout: Path) -> dict[str, np.ndarray]:
    """Return x, and by the name of a class its parameters, y, and the gradient of sum(y * dy) with respect to x."""
    random = np.random.default_rng(0)

    def drawn(shape: tuple[int, ...]) -> np.ndarray:
        return random.normal(scale=0.5, size=shape).astype(np.float32)

    x, dy = drawn((B, T, D)), drawn((B, T, D))
    found = {'commit': np.array(COMMIT), 'x': x, 'dy': dy}
    positions = jnp.tile(jnp.arange(T), (B, 1))
    for name in ('TTTLinearBase', 'TTTLinear'):
        layer = getattr(layers(checkout), name)(types.SimpleNamespace(**CONFIG))
        params = layer.init(jax.random.key(0), x, None, positions)['params']
        params = jax.tree.map(lambda leaf: drawn(leaf.shape), params)
        y, pull = jax.vjp(lambda x: layer.apply({'params': params}, x, None, positions)[0], x)  # noqa: B023
        found |= {f'{name}/params/{path}': leaf for path, leaf in flatten_dict(params, sep='/').items()}
        found |= {f'{name}/y': y, f'{name}/dx': pull(dy)[0]}
    return found


if __name__ == '__main__':
    np.savez_compressed(Path(__file__).with_suffix('.npz'), **record(Path(sys.argv[1])))
