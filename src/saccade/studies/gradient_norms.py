# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient norms by layer before training, with and without LayerNorm, in models of several depths.

    pre-norm    x + f(norm(x)), and a norm after the last layer
    post-norm   norm(x + f(x))
    no norm     x + f(x)

Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", https://arxiv.org/abs/2002.04745, section
3: before training, the gradient of the last layer shrinks as 1 / sqrt(L) in pre-norm, and does not in post-norm. The
models are decoders of attention and feed-forward layers on random tokens; the weights of a map of D inputs have
variance 1 / D.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.build import build
from saccade.inside.inspection import by_layer
from saccade.ops.loss import cross_entropy
from saccade.studies.chart import Chart, Claim
from saccade.types import LayerContext, Params, UserError

VOCABULARY, WIDTH, HEADS, LENGTH, ROWS = 64, 64, 4, 32, 16
DEPTHS = (2, 6, 12)

_LAYER_NORM, _NONE = {'use': 'norm.layer:LayerNorm'}, {'use': 'norm.none:NoNorm'}
# Block, its norm, and the norm after the last block.
VARIANTS = {
    'pre-norm': ('block.pre_norm:PreNorm', _LAYER_NORM, _LAYER_NORM),
    'post-norm': ('block.post_norm:PostNorm', _LAYER_NORM, _NONE),
    'no norm': ('block.pre_norm:PreNorm', _NONE, _NONE),
}


def gradient_norms(seeds: int = 3, depths: Sequence[int] = DEPTHS) -> Claim:
    """Measure the norm of the gradient of each layer, as the geometric mean over the seeds.

    Raises:
        UserError: there are no seeds.
    """
    if seeds < 1:
        raise UserError(f'--seeds={seeds}: give at least one seed')
    found = {
        f'{name}, {depth} layers': norms_by_layer(name, depth, seeds).tolist() for depth in depths for name in VARIANTS
    }
    rows = [
        (name, f'{norms[0]:.3g}', f'{norms[-1]:.3g}', f'{max(norms) / min(norms):.3g}') for name, norms in found.items()
    ]
    columns = ('model', 'first layer', 'last layer', 'largest / smallest')
    title = f'Gradient norm by layer before training; width {WIDTH}, {HEADS} heads, {LENGTH} random tokens'
    figures = {'seeds': seeds, 'norms': found}
    report = MeasurementReport('gradient norms by layer', figures, (Table(title, columns, rows),))
    layers = range(max(depths))
    lines = {name: [*norms, *[0.0] * (len(layers) - len(norms))] for name, norms in found.items()}
    return Claim(report, Chart('layer', 'norm of the gradient', layers, lines, 'linear'))


def norms_by_layer(variant: str, depth: int, seeds: int) -> Float[np.ndarray, 'L']:
    """Return the gradient norm of each layer of a variant: the geometric mean over the seeds."""
    model, context = build(_decoder(variant, depth))(), LayerContext(jnp.tile(jnp.arange(LENGTH), (ROWS, 1)))

    @jax.jit
    def gradient(seed: Array) -> Params:
        initial, drawn = jax.random.split(jax.random.key(seed))
        tokens = jax.random.randint(drawn, (ROWS, LENGTH), 0, VOCABULARY)

        def loss(params: Params) -> Float[Array, '']:
            logits = model.apply({'params': params}, tokens, context, False)
            return cross_entropy(logits[:, :-1], tokens[:, 1:]).mean()

        return jax.grad(loss)(model.init(initial, tokens, context, False)['params'])

    squares = np.zeros((seeds, depth))
    for seed in range(seeds):
        for _, layer, _, leaf in by_layer(gradient(seed)):
            squares[seed, layer] += np.square(np.asarray(leaf, np.float64)).sum()
    return np.exp(0.5 * np.log(squares).mean(axis=0))


def _decoder(variant: str, depth: int) -> dict[str, Any]:
    block, norm, last = VARIANTS[variant]
    return {
        'use': 'model.decoder:Decoder',
        'block': {
            'use': block,
            'norm': norm,
            'mixer': {
                'use': 'attention.multi_head:MultiHead',
                'heads': HEADS,
                'mask': {'use': 'ops.mask:Causal'},
                'position': {'use': 'position.rotary:Rotary'},
            },
            'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:relu'}},
        },
        'position': {'use': 'position.none:NoPosition'},
        'norm': last,
        'run': {'use': 'model.stack:Scanned'},
        'vocabulary': VOCABULARY,
        'context_length': LENGTH,
        'width': WIDTH,
        'layers': depth,
        'tied': False,
        'embedding_init': {'use': 'jax.nn.initializers:normal', 'stddev': 1.0},
    }
