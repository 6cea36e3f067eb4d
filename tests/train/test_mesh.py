# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Where parameters lie on a mesh."""

from dataclasses import dataclass
from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import AbstractMesh, AxisType, Mesh, PartitionSpec

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept
from saccade.train.mesh import AXES, make_mesh, require_experts, rows_read, shardings, spec_of
from saccade.train.optimizer import adafactor
from saccade.train.plan import expert_lines, replicated_lines, undeclared_lines
from saccade.types import Hidden, Real, UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
MESH = AbstractMesh((2, 2, 2, 2, 2), AXES)
FSDP, ROWS_ALONE = (
    AbstractMesh(sizes, AXES, axis_types=(AxisType.Auto,) * 5) for sizes in ((1, 4, 1, 1, 1), (4, 1, 1, 1, 1))
)
# Shares of a model's parameters that four devices along fsdp may each have whole: its vectors.
MOST = {
    'causal_lm/quickstart.py': 0.01,
    'causal_lm/deepseek_tiny.py': 0.01,
    'masked_lm/electra_small.py': 0.01,
    'translation/dates.py': 0.02,
    'translation/dates_recurrent.py': 0.01,
    'embedding/skip_gram.py': 0.01,
}


@pytest.mark.parametrize(
    ('axes', 'shape', 'spec'),
    [
        ('L D -> N H', (4, 8, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('L D -> K H', (4, 8, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('L D -> K H', (4, 8, 1, 4), (None, 'fsdp', None, None)),
        ('L R -> N H', (4, 8, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('L N H -> D', (4, 2, 4, 8), (None, 'tensor', None, 'fsdp')),
        ('L K H', (4, 2, 4), (None, 'tensor', None)),
        ('L D -> F', (4, 8, 32), (None, 'fsdp', 'tensor')),
        ('L F -> D', (4, 32, 8), (None, 'tensor', 'fsdp')),
        ('L F', (4, 32), (None, 'tensor')),
        ('L E D -> F', (4, 6, 8, 32), (None, 'expert', 'fsdp', 'tensor')),
        ('L E F -> D', (4, 6, 32, 8), (None, 'expert', 'tensor', 'fsdp')),
        ('L E F', (4, 6, 32), (None, 'expert', 'tensor')),
        ('L E D', (4, 6, 8), (None, 'expert', None)),
        ('L E D -> F', (4, 5, 8, 32), (None, None, 'fsdp', 'tensor')),
        ('L M K H', (4, 6, 2, 4), (None, 'fsdp', 'tensor', None)),
        ('L D -> R', (4, 8, 6), (None, 'fsdp', None)),
        ('L D -> R', (4, 7, 6), (None, None, 'fsdp')),
        ('D -> D', (8, 8), ('fsdp', None)),
        ('D -> X', (8, 32), ('fsdp', None)),
        ('V D', (64, 8), ('tensor', 'fsdp')),
        ('V D', (65, 8), (None, 'fsdp')),
        ('D -> V', (8, 64), ('fsdp', 'tensor')),
        ('D', (8,), (None,)),
        ('L D', (4, 8), (None, None)),
        ('', (), ()),
        (None, (4, 8), ()),
    ],
)
def test_letters_say_which_axes_are_split(axes, shape, spec):
    assert spec_of(axes, shape, MESH) == PartitionSpec(*spec)


def test_moments_lie_as_their_parameter_and_what_else_the_optimizer_keeps_is_whole():
    leaf = jax.ShapeDtypeStruct((4, 256, 128), jnp.float32)
    params = {'layers': {'norm': {'up': leaf}, 'foreign': {'norm': {'up': leaf}}}, 'norm': {'up': leaf}}
    axes = {'layers/norm/up': 'L D -> F', 'norm/up': 'L F -> D'}
    rules = {'adam': optax.scale_by_adam(), 'adafactor': adafactor().of(axes)}
    state = {'params': params, **jax.eval_shape(lambda: {name: rule.init(params) for name, rule in rules.items()})}
    mesh = make_mesh({'data': -1}, jax.devices())
    placed = jax.tree_util.tree_leaves_with_path(shardings(state, params, axes, mesh))
    specs = {jax.tree_util.keystr(path, simple=True, separator='/'): place.spec for path, place in placed}
    for ending, spec in (('layers/norm/up', (None, 'fsdp', 'tensor')), ('foreign/norm/up', ())):
        moments = {path: given for path, given in specs.items() if path.endswith(ending) and 'adafactor' not in path}
        assert len(moments) == 3, specs
        assert set(moments.values()) == {PartitionSpec(*spec)}
    assert specs['params/norm/up'] == specs['adam/mu/norm/up'] == PartitionSpec(None, 'tensor', 'fsdp')
    assert {spec for path, spec in specs.items() if 'v_row' in path or 'count' in path} == {PartitionSpec()}


def placed(name, mesh, *overrides):
    """Shapes of an experiment's parameters, as they lie, and their axes."""
    params, axes = kept(Experiment.of(load_config(str(EXPERIMENTS / name), overrides)))
    places = shardings(params, params, axes, mesh)
    return jax.tree.map(
        lambda leaf, place: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place), params, places
    ), axes


@pytest.mark.parametrize('name', MOST)
def test_every_kind_of_model_is_split(name):
    params = jax.tree.leaves(placed(name, FSDP)[0])
    whole = sum(leaf.size for leaf in params if leaf.sharding.is_fully_replicated)
    assert whole / sum(leaf.size for leaf in params) < MOST[name]


def test_updates_of_low_rank_are_split_as_their_kernels():
    rank = "--config.low_rank={'use': 'train.low_rank:LowRank', 'rank': 2, 'alpha': 4.0}"
    mixer = placed('causal_lm/quickstart.py', MESH, rank)[0]['low_rank']['layers']['pattern_0']['mixer']
    specs = jax.tree.map(lambda leaf: tuple(leaf.sharding.spec), mixer)
    assert specs['query'] == specs['value'] == {'A': (None, 'fsdp', None), 'B': (None, None, 'tensor')}
    assert specs['output'] == {'A': (None, 'tensor', None), 'B': (None, None, 'fsdp')}


@pytest.mark.long
def test_the_plan_says_how_many_experts_a_device_has():
    experts, mesh = '--config.model.block.feedforward.experts=6', AbstractMesh((1, 1, 3, 1, 1), AXES)
    assert expert_lines(*placed('causal_lm/mixtral_tiny.py', mesh, experts)) == [
        'experts     6 over 3 devices, 2 each: tokens go to theirs by all-to-all'
    ]
    assert expert_lines(*placed('causal_lm/mixtral_tiny.py', ROWS_ALONE)) == []


class ForeignNorm(nn.Module):
    """A part from elsewhere, which declares nothing."""

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        return x * self.param('gain', nn.initializers.ones, x.shape[-1:])


def test_the_plan_says_what_is_replicated_and_what_declares_nothing():
    params, axes = placed('causal_lm/quickstart.py', FSDP)
    assert undeclared_lines(params, axes) == []
    assert replicated_lines(params) == [
        'replicated  1,728 of the parameters (0.1%), 7 KiB a device: layers/pattern_0/feedforward_norm/scale, '
        'layers/pattern_0/mixer_norm/scale, norm/scale'
    ]
    given = f"--config.model.norm={{'use': '{__name__}:ForeignNorm'}}"
    assert undeclared_lines(*placed('causal_lm/quickstart.py', ROWS_ALONE, given)) == [
        'no axes     norm/gain: a whole copy on every device, and Muon, muP and LoRA do not see kernels in them'
    ]


def test_the_plan_says_nothing_where_no_parameters_are_split():
    assert replicated_lines(placed('causal_lm/quickstart.py', ROWS_ALONE)[0]) == []
    params, _ = placed('causal_lm/quickstart.py', FSDP)
    bare = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), params)
    assert replicated_lines(bare) == []


@pytest.mark.parametrize(
    ('sizes', 'words'),
    [
        ({'data': 4096}, 'needs 4096 devices'),
        ({'experts': 2}, "there is no axis 'experts'; there are data, fsdp, expert, sequence, tensor"),
        ({'data': -1, 'fsdp': -1}, 'at most one is -1'),
        ({'data': 0}, 'sizes are positive'),
    ],
)
def test_a_mesh_that_cannot_be_is_refused(sizes, words):
    with pytest.raises(UserError, match=words):
        make_mesh(sizes, jax.devices())


@pytest.mark.parametrize(
    ('axes', 'words'),
    [
        ({'router': 'D -> X', 'expert/up': 'E D -> X'}, r'expert: 6 experts \(expert/up\) do not divide by 4'),
        ({'router': 'D -> X'}, 'expert: 4 devices for experts, but the model has no mixture'),
    ],
)
def test_experts_that_cannot_be_split_are_refused(axes, words):
    params = {
        'router': jax.ShapeDtypeStruct((8, 6), 'float32'),
        'expert': {'up': jax.ShapeDtypeStruct((6, 8, 8), 'float32')},
    }
    require_experts(params, axes, AbstractMesh((8, 1, 1, 1, 1), AXES))
    with pytest.raises(UserError, match=words):
        require_experts(params, axes, AbstractMesh((2, 1, 4, 1, 1), AXES))


def test_the_rest_of_the_devices_go_where_minus_one_stands():
    assert make_mesh({'data': -1}, jax.devices()).shape['data'] == jax.device_count()


@dataclass(frozen=True)
class Device:
    id: int
    process_index: int


def on_hosts(sizes, each):
    """A mesh over devices of several processes, each of which has so many, one after another."""
    shape = [sizes.get(name, 1) for name in AXES]
    devices = [Device(number, number // each) for number in range(np.prod(shape))]
    return Mesh(np.array(devices, dtype=object).reshape(shape), AXES)


@pytest.mark.parametrize(
    ('sizes', 'each', 'reads'),
    [
        ({'data': 8}, 4, [(0, 2), (1, 2)]),
        ({'data': 2, 'tensor': 4}, 4, [(0, 2), (1, 2)]),
        ({'tensor': 8}, 4, [(0, 1), (0, 1)]),
        ({'sequence': 4, 'tensor': 2}, 4, [(0, 1), (0, 1)]),
        ({'data': 2, 'sequence': 4}, 2, [(0, 2), (0, 2), (1, 2), (1, 2)]),
        ({'fsdp': 4, 'expert': 2}, 2, [(0, 4), (1, 4), (2, 4), (3, 4)]),
    ],
)
def test_processes_whose_devices_have_the_same_rows_read_the_same(sizes, each, reads):
    assert [rows_read(on_hosts(sizes, each), process) for process in range(len(reads))] == reads


def test_processes_that_have_some_rows_in_common_are_refused():
    with pytest.raises(
        UserError, match=r'config\.mesh: data=2 x tensor=3 over 3 processes lets some of them share only a part'
    ):
        rows_read(on_hosts({'data': 2, 'tensor': 3}, 2), 0)
