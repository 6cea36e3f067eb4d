# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Print how far ring and Ulysses attention over eight devices are from the whole matrix on one, by kernel and case.

Of outputs and of all gradients, relative to the largest element. And what the compiled programs hold and send.
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from jax.sharding import NamedSharding

from saccade.analysis.preflight.collectives import collectives
from saccade.attention.blockwise import Blockwise
from saccade.attention.plain import Plain
from saccade.attention.ring import Ring
from saccade.attention.ulysses import Ulysses
from saccade.ops.devices import traced_for
from saccade.ops.mask import Causal, Full, SameSegment, Window
from saccade.ops.scoring import Dropout, Scoring
from saccade.ops.softmax import SoftmaxWeights
from saccade.ops.term import DistanceTable, LinearBias, RelativeWaves, Softcap, TermBase
from saccade.train.mesh import devices_of, make_mesh
from saccade.types import Part

B, T, N, K, H = 4, 48, 4, 2, 8
MESHES = {'sequence': {'sequence': 8}, 'all three': {'data': 2, 'sequence': 2, 'tensor': 2}}
KERNELS = {
    'ring': Ring(query_block=4, key_block=5, parent=None),
    'ulysses': Ulysses(inner=Part(Blockwise, (('key_block', 8), ('query_block', 8))), parent=None),
}


@struct.dataclass
class KeyBias(TermBase):
    """Adds a number of each key and head, made of the layer's input."""

    def change(self, scores, pairs):
        return scores + jnp.swapaxes(pairs.features['bias'], 1, 2)[:, :, None]


def drawn(*shape, number=0):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


def scorings(N):
    segments = jnp.array([[1] * 20 + [2] * 28, [0] * 5 + [1] * 30 + [0] * 13, [1] * T, [1] * 9 + [2] * 9 + [3] * 30])
    packed, key = SameSegment(segments, segments), jax.random.key_data(jax.random.key(3))
    table = DistanceTable(drawn(T, N, number=5), lambda distance: jnp.clip(-distance, 0, T - 1))
    waves = RelativeWaves(drawn(N, H, number=6), drawn(N, H, number=7), drawn(6, N, H, number=8), 100.0)
    return {
        'full': Scoring(Full()),
        'causal, packed': Scoring(Causal() & packed),
        'window': Scoring(Causal() & Window(7)),
        'window both ways, packed': Scoring(Window(5, 9) & packed),
        'ALiBi': Scoring(Causal(), terms=(LinearBias(tuple(0.5**n for n in range(N))),)),
        'T5 bias, sink': Scoring(Causal(), terms=(table,), softmax=SoftmaxWeights(drawn(N, number=4))),
        'Transformer-XL, softcap': Scoring(Causal() & packed, terms=(waves, Softcap(2.0))),
        'features': Scoring(Causal() & packed, terms=(KeyBias(),), features={'bias': drawn(B, T, N, number=9)}),
        'dropout': Scoring(Causal(), dropout=Dropout(key, 0.3)),
    }


def with_gradients(kernel, scoring, q, k, v):
    y, pull = jax.vjp(kernel.attend, q, k, v, scoring.replace(scale=0.3))
    gradients = [leaf for leaf in jax.tree.leaves(pull(jnp.sin(y + 1.0))) if leaf.dtype == jnp.float32]
    return [y, *gradients]


def errors(kernel, devices, N, K):
    """By case: the largest relative difference from the whole matrix."""
    qkv = [drawn(B, T, heads, H, number=number) for number, heads in enumerate((N, K, K))]
    found = {}
    for name, scoring in scorings(N).items():
        with traced_for(devices):
            kernel.require_served(*qkv, scoring)
            given = jax.jit(lambda *given: with_gradients(kernel, *given))(scoring, *qkv)
        expected = jax.jit(lambda *given: with_gradients(Plain(parent=None), *given))(scoring, *qkv)
        pairs = zip(given, expected, strict=True)
        found[name] = max(float(np.abs(one - other).max() / np.abs(other).max()) for one, other in pairs)
    return found


def compiled(kernel, devices, length, K):
    """Temporary bytes and collectives of a device, for causal attention and its gradients on so many tokens."""

    def like(heads):
        sharding = NamedSharding(devices.mesh, devices.spec_of('B T N H', B, K))
        return jax.ShapeDtypeStruct((B, length, heads, H), jnp.float32, sharding=sharding)

    def attended(q, k, v, dout):
        y, pull = jax.vjp(lambda *qkv: kernel.attend(*qkv, Scoring(Causal(), scale=0.3)), q, k, v)
        return y, *pull(dout)

    given = [like(heads) for heads in (N, K, K, N)]
    with traced_for(devices):
        places = tuple(given[place].sharding for place in (3, 0, 1, 2))
        program = jax.jit(attended, out_shardings=places).lower(*given).compile()
    found = collectives(program.as_text(), devices.mesh.shape)
    sent = {f'{each.kind} along {each.along}': each.bytes for each in found}
    return {'temp_bytes': program.memory_analysis().temp_size_in_bytes, 'sent': sent}


def main(what, kernel, mesh):
    devices = devices_of(make_mesh(MESHES[mesh], jax.devices()))
    keys = K if kernel == 'ring' else N
    if what == 'errors':
        print(json.dumps(errors(KERNELS[kernel], devices, N, keys)))
    else:
        wide = {'ring': Ring(query_block=16, key_block=16, parent=None)}.get(kernel, KERNELS[kernel])
        print(json.dumps({length: compiled(wide, devices, length, keys) for length in (1024, 2048)}))


if __name__ == '__main__':
    main(*sys.argv[1:])
