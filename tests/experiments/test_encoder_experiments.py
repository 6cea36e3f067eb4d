# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment with an encoder builds and takes a step, and those of published sizes have them."""

from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept, param_shapes
from saccade.train.setup import make_learner
from saccade.types import UserError

ROOT = Path(__file__).parents[2] / 'experiments'
FILES = [
    path
    for folder in ('masked_lm', 'finetune', 'pairs', 'protein')
    for path in sorted((ROOT / folder).glob('*.py'))
    if 'def get_config(' in path.read_text()
]
ALONE = [path for path in FILES if path.stem != 'distil']  # it needs a teacher
LARGE = ('width=1024', 'layers=24', 'block.mixer.heads=16')
STATES = 'embedding', 'embedding_norm', 'embedding_output', 'embedding_output_bias', 'layers', 'position', 'types'


def count(shapes):
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


def shapes_of(name, *changes):
    return param_shapes(Experiment.of(load_config(str(ROOT / name), [f'--config.model.{each}' for each in changes])))


def test_there_are_experiments():
    assert {path.stem for path in FILES} >= {
        'quickstart', 'bert_base', 'roberta_base', 'albert_base', 'electra_small', 'distil', 'modernbert',
        'classify', 'regress', 'tag', 'sort', 'sentence_bert', 'similarity', 'entailment',
        'motifs', 'fasta', 'order',
    }  # fmt: skip


@pytest.mark.parametrize('file', ALONE, ids=lambda path: path.stem)
def test_it_builds_and_data_and_model_agree(file):
    experiment = Experiment.of(load_config(str(file)))
    assert experiment.model().context_length == experiment.data().context_length
    experiment.optimizer()(experiment.schedule()(experiment.steps), *kept(experiment))


@pytest.mark.parametrize(
    ('file', 'changes', 'whole', 'body'),
    [
        # transformers' BertForPreTraining and BertModel, whose pooler is in our head; 110 M and 340 M in the paper.
        ('bert_base', (), 110_106_428, 109_482_240),
        ('bert_base', LARGE, 336_226_108, 335_141_888),
        # AlbertModel; 12 M in the paper, table 1.
        ('albert_base', (), 11_813_810, 11_683_584),
        # RobertaForMaskedLM, less two positions that are never used; 125 M in the paper, table 9.
        ('roberta_base', (), 124_697_433 - 2 * 768, None),
        # ModernBertForMaskedLM; 149 M in the paper, section 2.
        ('modernbert', (), 149_655_232, None),
    ],
)
def test_the_published_sizes_have_the_published_numbers_of_parameters(file, changes, whole, body):
    shapes = shapes_of(f'masked_lm/{file}.py', *changes)
    assert count(shapes) == whole
    if body is not None:
        pooler = {name: leaf for name, leaf in shapes['pooled_head'].items() if name.startswith('hidden')}
        assert count([shapes[name] for name in STATES if name in shapes]) + count(pooler) == body


def test_electra_small_has_the_published_discriminator():
    shapes = shapes_of('masked_lm/electra_small.py', 'discriminator.context_length=512')
    # transformers' ElectraForPreTraining; 14 M in the paper, table 1.
    assert count(shapes['discriminator']) == 13_549_057


def test_a_student_needs_its_teacher():
    with pytest.raises(UserError, match=r'config\.init_from: give the run.*model\.teacher'):
        load_config(str(ROOT / 'masked_lm/distil.py'))


def narrow(file):
    """The experiment with encoders of one layer, or of one repeat of their pattern."""
    small = ('batch_size=2', 'accumulate=1', 'dtype=float32')
    fields = [*small, *shallow(load_config(str(file))['model'], 'model')]
    return load_config(str(file), [f'--config.{each}' for each in fields])


def shallow(value, path):
    """Overrides that leave every tower one repeat of its blocks."""
    if not isinstance(value, Mapping):
        return
    if 'block' in value and 'layers' in value:
        pattern = len(value['block']) if isinstance(value['block'], list) else 1
        yield f'{path}.layers={pattern + len(value.get("first_blocks", ())) + len(value.get("last_blocks", ()))}'
    for name, item in value.items():
        yield from shallow(item, f'{path}.{name}')


@pytest.mark.long
@pytest.mark.parametrize('file', ALONE, ids=lambda path: path.stem)
def test_a_step_is_finite(file):
    experiment = Experiment.of(narrow(file))
    learner, like = make_learner(experiment), experiment.data().batch_like(2)
    batch = {name: jnp.ones(leaf.shape, leaf.dtype) for name, leaf in like.items()}
    draw = np.random.default_rng(0).integers(5, experiment.model().vocabulary, batch['tokens'].shape)
    batch['tokens'] = jnp.array(draw, jnp.int32)
    batch['positions'] = jnp.broadcast_to(jnp.arange(draw.shape[-1], dtype=jnp.int32), draw.shape)
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
    state, metrics = jax.jit(learner.train_step)(state, batch)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.params, metrics)))
    assert metrics['gradient_norm'] > 0
