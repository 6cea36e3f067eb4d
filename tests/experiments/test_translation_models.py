# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The encoder-decoders of published sizes: their parameters, by the closed form and by what was published."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from ml_collections import ConfigDict
from saccade.experiments.translation import base, t5

from saccade.build import build
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import param_shapes
from saccade.types import LayerContext

FOLDER = Path(__file__).parents[2] / 'experiments/translation'


@pytest.fixture
def models():
    """The functions that return models."""
    return {'transformer': base.transformer, 't5': t5.t5}


def count(spec: dict[str, Any]) -> int:
    model, tokens = build(ConfigDict(spec))(), jnp.zeros((1, 1), jnp.int32)
    sequence = tokens, LayerContext(tokens)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), *sequence, *sequence, False))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


CONTEXTS = {'source_context_length': 64, 'context_length': 64, 'dropout': 0.1}


@pytest.mark.parametrize(('width', 'heads', 'published'), [(512, 8, 65e6), (1024, 16, 213e6)], ids=['base', 'big'])
def test_the_transformer_has_the_parameters_of_the_paper(models, width, heads, published):
    """Vaswani et al. 2017, table 3, in millions, with the one vocabulary of about 37,000 of section 5.1."""
    V, D, F, L = 37_000, width, 4 * width, 6
    counted = count(models['transformer'](vocabulary=V, width=D, heads=heads, layers=L, **CONTEXTS))
    attention, feedforward, norm = 4 * D * D, 2 * D * F + F + D, 2 * D
    encoder, decoder = attention + feedforward + 2 * norm, 2 * attention + feedforward + 3 * norm
    assert counted == V * D + L * (encoder + decoder)
    assert counted == pytest.approx(published, rel=0.04)
    assert f'{counted:,} parameters' in (FOLDER / f'transformer_{"base" if D == 512 else "big"}.py').read_text()


T5 = {
    't5_small': (dict(vocabulary=32_128, width=512, heads=8, layers=6, inner=2048), 60_506_624),
    't5_v1_1_small': (dict(vocabulary=32_128, width=512, heads=6, layers=8, inner=1024, first=False), 76_961_152),
    'byt5_small': (
        dict(vocabulary=384, width=1472, heads=6, layers=12, decoder_layers=4, inner=3584, first=False), 299_637_760
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', T5)
def test_t5_has_the_published_number_of_parameters(models, name):
    sizes, published = T5[name]
    V, D, F, N, L = (sizes[key] for key in ('vocabulary', 'width', 'inner', 'heads', 'layers'))
    H, buckets, first = 64, 32, sizes.get('first', True)
    attention, feedforward = 4 * D * N * H, (2 if first else 3) * D * F
    encoder, decoder = attention + feedforward + 2 * D, 2 * attention + feedforward + 3 * D
    tables = (1 if first else 2) * V * D + 2 * buckets * N
    counted = count(models['t5'](**sizes, **CONTEXTS))
    assert counted == tables + L * encoder + sizes.get('decoder_layers', L) * decoder + 2 * D
    assert counted == published
    assert f'{published:,} parameters' in (FOLDER / f'{name}.py').read_text()


def test_one_override_changes_both_sides(models):
    config = ConfigDict(models['transformer'](vocabulary=11, width=8, heads=2, layers=2, **CONTEXTS))
    config.decoder.width, config.decoder.block.mixer.heads, config.decoder.dropout = 32, 4, 0.0
    encoder = config.encoder
    assert (encoder.width, encoder.block.mixer.heads, encoder.block.feedforward.dropout) == (32, 4, 0.0)
    assert encoder.embedding_scale == 32**0.5
    assert config.decoder.block.cross.heads == 4


NAMES = ('transformer_base', 'transformer_big', 't5_small', 't5_v1_1_small', 'byt5_small', 'bert_encoder')


@pytest.mark.parametrize('name', NAMES)
def test_an_experiment_builds_and_data_and_model_agree(name):
    experiment = Experiment.of(load_config(str(FOLDER / f'{name}.py')))
    model, data = experiment.model(), experiment.data()
    assert (model.context_length, model.source_context_length) == (data.context_length, data.source_context_length)
    assert experiment.schedule()(experiment.steps)(0) >= 0
    counted = sum(leaf.size for leaf in jax.tree.leaves(param_shapes(experiment)))
    if name in T5:
        assert counted == T5[name][1]


def test_the_big_transformer_is_the_base_one_of_other_sizes():
    base, big = (load_config(str(FOLDER / f'transformer_{size}.py')) for size in ('base', 'big'))
    assert [each['schedule']['width'] for each in (base, big)] == [512, 1024]
    assert big['model']['encoder']['block']['mixer'] == base['model']['encoder']['block']['mixer'] | {
        'heads': 16, 'dropout': 0.3, 'kernel': {'use': 'attention.plain:Plain', 'dropout': 0.3},
    }  # fmt: skip
