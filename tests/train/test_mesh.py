# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Where parameters lie on a mesh."""

import jax
import pytest
from jax.sharding import AbstractMesh, PartitionSpec

from saccade.train.mesh import make_mesh, spec_of
from saccade.types import UserError

MESH = AbstractMesh((2, 2, 2), ('data', 'fsdp', 'tensor'))


@pytest.mark.parametrize(
    ('path', 'shape', 'spec'),
    [
        ('layers/pattern_0/mixer/query', (4, 8, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('opt/mu/layers/pattern_0/mixer/query', (4, 8, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('layers/pattern_0/mixer/output', (4, 2, 4, 8), (None, 'tensor', None, 'fsdp')),
        ('layers/pattern_0/feedforward/up', (4, 8, 32), (None, 'fsdp', 'tensor')),
        ('layers/pattern_0/feedforward/down', (4, 32, 8), (None, 'tensor', 'fsdp')),
        ('layers/pattern_0/feedforward/up_bias', (4, 32), (None, 'tensor')),
        ('layers/pattern_0/mixer/gate', (4, 8, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('decoder/layers/pattern_0/cross/key', (4, 8, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('decoder/layers/pattern_0/cross/output', (4, 2, 4, 8), (None, 'tensor', None, 'fsdp')),
        ('decoder/layers/pattern_0/cross/gate', (4, 8, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('decoder/layers/pattern_0/cross/value_bias', (4, 2, 4), (None, 'tensor', None)),
        ('encoder/embedding', (64, 8), ('tensor', 'fsdp')),
        ('layers/pattern_0/feedforward/expert/gate', (4, 6, 8, 32), (None, None, 'fsdp', 'tensor')),
        ('layers/pattern_0/feedforward/expert/down', (4, 6, 32, 8), (None, None, 'tensor', 'fsdp')),
        ('embedding', (64, 8), ('tensor', 'fsdp')),
        ('embedding', (65, 8), (None, 'fsdp')),
        ('norm/scale', (8,), ()),
        ('layers/pattern_0/mixer_norm/scale', (4, 8), ()),
        ('step', (), ()),
    ],
)
def test_parameters_and_their_moments_are_placed_by_path(path, shape, spec):
    assert spec_of(path, shape, MESH) == PartitionSpec(*spec)


@pytest.mark.parametrize(
    ('sizes', 'words'),
    [
        ({'data': 4096}, 'asks for 4096 devices'),
        ({'expert': 2}, "there is no axis 'expert'"),
        ({'data': -1, 'fsdp': -1}, 'at most one is -1'),
        ({'data': 0}, 'sizes are positive'),
    ],
)
def test_a_mesh_that_cannot_be_is_refused(sizes, words):
    with pytest.raises(UserError, match=words):
        make_mesh(sizes, jax.devices())


def test_the_rest_of_the_devices_go_where_minus_one_stands():
    assert make_mesh({'data': -1}, jax.devices()).shape['data'] == jax.device_count()
