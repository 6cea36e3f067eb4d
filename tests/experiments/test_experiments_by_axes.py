# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment: which of its parameters decay, and muP's rates at its own width."""

import functools
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import pytest

from saccade.axes import letters_of
from saccade.ops.statistic import is_statistic
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept
from saccade.train.mup import MuP
from saccade.train.optimizer import path_of
from saccade.train.setup import shapes_at_width
from saccade.types import Part, UserError

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2] / 'experiments'
OF_A_RUN = ('distil',)  # it needs a teacher
FILES = [
    path for path in sorted(ROOT.rglob('*.py')) if 'def get_config(' in path.read_text() and path.stem not in OF_A_RUN
]
# By name and letters, copies aside: what decays without an arrow, and what does not though it is no bias and no scale.
TABLES = {
    ('embedding', 'V D'),
    ('context_embedding', 'V D'),
    ('source_embedding', 'V D'),
    ('positions', 'T D'),
    ('queries', 'T D'),
}
BY_THEIR_WORD = {('latents', 'M D'), ('output', 'X D'), ('types', 'X D'), ('modal', 'X D'), ('tables', 'X V D')}
SPARED = {
    ('bonus', 'N H'),
    ('feedforward_rate', 'D'),
    ('find', 'N H'),
    ('gain', 'N H'),
    ('gate_gain', 'F'),
    ('log_rate', 'N'),
    ('logit_gain', 'V'),
    ('mixer_rate', 'D'),
    ('query', 'M D'),
    ('skip', 'N'),
    ('table', 'X N'),
    ('token', 'D'),
    ('up_gain', 'F'),
    ('write', 'N H'),
    *((f'{of}_share', 'D') for of in ('decay', 'gate', 'key', 'query', 'rate', 'up', 'value')),
}

each_experiment = pytest.mark.parametrize('file', FILES, ids=lambda path: f'{path.parent.stem}/{path.stem}')


@functools.cache
def experiment(file):
    return Experiment.of(load_config(str(file)))


@functools.cache
def decaying(file):
    """Names and letters of what decays without being a kernel, and of what does not; both with a weight decay."""
    shapes, axes = kept(experiment(file))
    optimizer = replace(experiment(file).optimizer(), weight_decay=0.1)
    found = {True: set(), False: set()}
    for path, mark in jax.tree_util.tree_leaves_with_path(optimizer.decays(shapes, axes)):
        name, declared = path_of(path).rpartition('/')[2], axes[path_of(path)]
        if '->' in declared:
            assert mark, path_of(path)
        elif not is_statistic(path_of(path)):
            found[mark].add((name, ' '.join(letter for letter in letters_of(declared) if letter not in ('L', 'E'))))
    return found[True], found[False]


@each_experiment
def test_kernels_and_tables_decay_and_no_vector_does(file):
    decayed, spared = decaying(file)
    assert decayed <= TABLES | BY_THEIR_WORD
    named = {pair for pair in spared if not pair[0].endswith(('bias', 'scale'))}
    assert named <= SPARED
    assert not spared & (TABLES | BY_THEIR_WORD)


def test_each_of_the_spared_is_in_some_experiment():
    assert set().union(*(decaying(file)[1] for file in FILES)) >= SPARED


NO_COMMON_WIDTH = ROOT / 'pairs/captions.py'  # the heads of either tower do not divide the width of the other


@pytest.mark.parametrize(
    'file', [file for file in FILES if file != NO_COMMON_WIDTH], ids=lambda path: f'{path.parent.stem}/{path.stem}'
)
def test_every_rate_of_mup_is_1_at_its_own_width(file):
    given = experiment(file)
    shapes, axes = kept(given)
    for tower, width in widths(given.model).items():
        factors = MuP(width)(shapes, axes, partial(shapes_at_width, given))
        assert set(jax.tree.leaves(factors[tower] if tower else factors)) == {1.0}


def test_towers_without_a_common_width_are_refused():
    given = experiment(NO_COMMON_WIDTH)
    with pytest.raises(UserError, match=r'at base_width=256: .*width 256 is not divisible by 6 heads'):
        MuP(256)(*kept(given), partial(shapes_at_width, given))


def widths(model):
    """Width of a model, or of each of its towers by name."""
    whole = dict(model.arguments)
    if 'width' in whole:
        return {None: whole['width']}
    parts = {name: dict(part.arguments) for name, part in whole.items() if isinstance(part, Part)}
    return {name: fields['width'] for name, fields in parts.items() if 'width' in fields}
