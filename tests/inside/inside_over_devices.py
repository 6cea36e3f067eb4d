# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Print how far activations and changed outputs of a model on a mesh of eight devices are from those on one.

Relative to the largest element, or to 1, by name. Rows, the width, and heads are split.
"""

import json
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import test_recurrent_activations as recurrent
import test_rows as rows
from jax.sharding import NamedSharding

from saccade.axes import declared, recorded_axes
from saccade.inside.activations import Inside
from saccade.inside.interventions import Change, edits_of
from saccade.ops.devices import traced_for
from saccade.train.mesh import ROWS, devices_of, make_mesh, shardings
from saccade.types import LayerContext

B = 4


def on_one(kind):
    """A model with a batch of padded rows."""
    if kind in rows.MIXERS:
        model, length, vocabulary = rows.decoder(rows.MIXERS[kind]), rows.T, rows.V
        arguments = batch(length, vocabulary)
    else:
        model = recurrent.seq2seq(kind)
        arguments = *batch(recurrent.S, recurrent.V), *batch(recurrent.T, recurrent.V)
    return Inside(model, rows.drawn(model, *arguments), arguments)


def batch(length, vocabulary):
    lengths = length - np.arange(B)[:, None] % 3
    segments = (np.arange(length) < lengths).astype(np.int32)
    tokens = np.random.default_rng(length).integers(0, vocabulary, (B, length))
    return jnp.array(tokens), LayerContext(jnp.tile(jnp.arange(length), (B, 1)), jnp.array(segments))


def on_mesh(inside, mesh):
    with recorded_axes():
        axes = declared(jax.eval_shape(lambda: inside.model.init(jax.random.key(0), *inside.arguments)))
    params = jax.device_put(inside.params, shardings(inside.params, inside.params, axes, mesh))
    split = sum(not leaf.sharding.is_fully_replicated for leaf in jax.tree.leaves(params))
    assert split > len(jax.tree.leaves(params)) // 3
    return replace(inside, params=params, arguments=jax.device_put(inside.arguments, NamedSharding(mesh, ROWS)))


def changes(inside):
    """A head or gate set to zero, means over the batch, a direction, and a value of its own."""
    yield (
        'mean',
        {'layers.1.residual_before': 'mean'}
        if 'layers.1.residual_before' in inside.places
        else {'decoder.context': 'mean'},
    )
    for name, place in inside.places.items():
        if name.endswith('pattern') and place.editable:
            yield name, {name: np.full(place.shape, 1 / place.shape[-1])}
        if name.endswith('mixer.heads'):
            yield f'{name}.1', {f'{name}.1': 0.0}
        if name.endswith('forget_gate'):
            yield name, {name: Change(0.0, tokens=[2])}
        if name.endswith('layers.0.residual_after'):
            yield name, {name: Change(np.linspace(-1, 1, place.shape[-1]), add=True)}


def error(found, expected):
    return float(np.abs(np.asarray(found) - expected).max() / max(1.0, np.abs(expected).max()))


def main(kind):
    one = on_one(kind)
    mesh = make_mesh({'data': 2, 'fsdp': 2, 'tensor': 2}, jax.devices())
    logits, expected = one.run('*')
    wanted = {what: np.asarray(one.run((), edits_of(one.places, change))[0]) for what, change in changes(one)}
    with traced_for(devices_of(mesh)):
        spread = on_mesh(one, mesh)
        output, found = spread.run('*')
        errors = {name: error(found[name], value) for name, value in expected.items()}
        errors['logits'] = error(output, np.asarray(logits))
        for what, change in changes(spread):
            changed, _ = spread.run((), edits_of(spread.places, change))
            errors[f'changed: {what}'] = error(changed, wanted[what])
    print(json.dumps(errors))


if __name__ == '__main__':
    main(*sys.argv[1:])
