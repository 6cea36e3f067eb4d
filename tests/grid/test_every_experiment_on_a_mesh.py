# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment declares the axes of all its parameters, and four devices along fsdp share nearly all of them."""

import re
from pathlib import Path

import jax
import pytest
from jax.sharding import AbstractMesh

from saccade.axes import letters_of
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept
from saccade.train.mesh import AXES, spec_of
from saccade.train.optimizer import path_of

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2] / 'experiments'
OF_A_RUN = ('distil',)  # it needs a teacher
FILES = [
    path for path in sorted(ROOT.rglob('*.py')) if 'def get_config(' in path.read_text() and path.stem not in OF_A_RUN
]
MOST_REPLICATED = 0.05  # of the parameters: vectors, and small tables that no axis divides
MESHES = [AbstractMesh(sizes, AXES) for sizes in ((1, 4, 1, 1, 1), (2, 2, 2, 1, 2), (1, 3, 7, 1, 5))]

# Where the kernels that every Transformer has lie, whatever letters say it.
PLACES = {
    r'layers/[a-z]+_.*/(query|key|value)|layers/[a-z]+_.*(mixer|cross)/gate': (None, 'fsdp', 'tensor', None),
    r'layers/[a-z]+_.*(query|key|value)_bias': (None, 'tensor', None),
    r'layers/[a-z]+_.*(mixer|cross)/output': (None, 'tensor', None, 'fsdp'),
    r'layers/[a-z]+_.*/(up|gate)': (None, 'fsdp', 'tensor'),
    r'layers/[a-z]+_.*(up|gate)_bias': (None, 'tensor'),
    r'layers/[a-z]+_.*/down': (None, 'tensor', 'fsdp'),
    r'layers/[a-z]+_.*expert/(up|gate)': (None, 'expert', 'fsdp', 'tensor'),
    r'layers/[a-z]+_.*expert/down': (None, 'expert', 'tensor', 'fsdp'),
    r'.*embedding': ('tensor', 'fsdp'),
    r'(.*/)?head': ('fsdp', 'tensor'),
}


def expected(path, shape, mesh):
    """The place of such a kernel; None for any other parameter."""
    if path.endswith('/gate') and shape[-1] == 1:
        return None  # one number a token, as of a shared expert: no features to split
    for pattern, spec in PLACES.items():
        if re.fullmatch(rf'(.*/)?({pattern})', path) and len(spec) == len(shape):
            return tuple(
                name if name and size % mesh.shape[name] == 0 else None for name, size in zip(spec, shape, strict=True)
            )
    return None


def test_there_are_experiments():
    assert len(FILES) > 40


@pytest.mark.parametrize('file', FILES, ids=lambda path: f'{path.parent.stem}/{path.stem}')
def test_its_parameters_have_a_place(file):
    shapes, axes = kept(Experiment.of(load_config(str(file))))
    leaves = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(shapes)}
    assert axes.keys() == leaves.keys()
    assert {path: len(letters_of(axes[path])) for path in leaves} == {path: leaf.ndim for path, leaf in leaves.items()}
    places = [{path: spec_of(axes[path], leaf.shape, mesh) for path, leaf in leaves.items()} for mesh in MESHES]
    whole = sum(leaf.size for path, leaf in leaves.items() if 'fsdp' not in places[0][path])
    assert whole / sum(leaf.size for leaf in leaves.values()) < MOST_REPLICATED
    for mesh, given in zip(MESHES, places, strict=True):
        for path, leaf in leaves.items():
            assert expected(path, leaf.shape, mesh) in (None, tuple(given[path])), path
