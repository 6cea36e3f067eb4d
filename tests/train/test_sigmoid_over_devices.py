# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What the compiled sigmoid loss and its gradient take on a device, however many devices there are."""

import pytest

TEMP_BYTES = """
import json
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from saccade.ops.sigmoid_pairs import sigmoid_pairs

ROWS, WIDTH = 256, 64  # of a device

def temp_bytes(devices, chunk):
    def loss(u, v):
        return sigmoid_pairs(u, v, (jnp.array(4.0), jnp.array(-2.0)), jnp.ones(ROWS), 'devices', chunk)[0].sum()

    mesh = Mesh(np.array(jax.devices()[:devices]), ('devices',))
    spread = jax.shard_map(
        jax.grad(loss, (0, 1)), mesh=mesh, in_specs=P('devices'), out_specs=P('devices'), check_vma=False
    )
    vectors = jax.ShapeDtypeStruct((ROWS * devices, WIDTH), jnp.float32)
    return jax.jit(spread).lower(vectors, vectors).compile().memory_analysis().temp_size_in_bytes

print(json.dumps([[temp_bytes(devices, chunk) for devices in (2, 4, 8)] for chunk in (None, 64)]))
"""


@pytest.mark.long
def test_temporary_bytes_are_the_same_on_two_four_and_eight_devices(in_processes):
    ((whole, in_chunks),) = in_processes(TEMP_BYTES, count=1, devices=8)
    assert len({*whole}) == len({*in_chunks}) == 1
    assert 0 < in_chunks[0] < whole[0] < 8 * 256 * 256 * 4  # the pairs of all rows of eight devices with a device's own
