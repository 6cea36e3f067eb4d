# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loaded Vision Transformers, and processors of images, against transformers itself."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image
from theirs import torch, transformers

from saccade.build import build
from saccade.data.image.processor import ImageProcessor
from saccade.hub.load import load
from saccade.types import LayerContext, UserError

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-4  # greatest difference of a logit
PIXELS = 1e-3  # of a pixel in [0, 1]
SIZES = dict(
    hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, image_size=12, patch_size=4,
    num_labels=5, initializer_range=0.5,
)  # fmt: skip
DRAW = np.random.default_rng(0)


def seen(images, spec, params):
    context = LayerContext(jnp.zeros((len(images), 1), int), jnp.ones((len(images), 1), int))
    return build(spec, 'model')().apply(
        {'params': jax.tree.map(jnp.asarray, params)}, jnp.asarray(images), context, False
    )['pooled']


@pytest.mark.oracle_of(
    'embed.patch:PatchEmbedding',
    'embed.class_token:ClassToken',
    'position.learned_grid:LearnedGrid',
    by='transformers, ViT and DeiT',
)
@pytest.mark.parametrize('changes', [{}, {'hidden_act': 'relu', 'layer_norm_eps': 1e-2, 'num_channels': 1}])
@pytest.mark.parametrize('name', ['ViTForImageClassification', 'ViTModel', 'DeiTForImageClassification', 'DeiTModel'])
def test_logits_are_those_of_transformers(name, changes, tmp_path, record_property):
    torch.manual_seed(0)
    made = getattr(transformers, name)
    theirs = made(made.config_class(**SIZES, **changes)).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():  # class tokens and biases start from 0
            parameter.add_(0.1 * torch.randn(parameter.shape))
    theirs.save_pretrained(tmp_path)
    images = DRAW.normal(size=(3, 12, 12, changes.get('num_channels', 3))).astype(np.float32)
    with torch.no_grad():
        output = theirs(torch.tensor(images).permute(0, 3, 1, 2))
    wanted = (output.logits if 'Classification' in name else output.pooler_output).numpy()
    found = load(tmp_path)
    made = seen(images, found.spec, found.params)
    assert wanted.std() > 100 * TOLERANCE
    np.testing.assert_allclose(made, wanted, atol=TOLERANCE)
    record_property(f'{theirs.config.model_type} in', float(np.abs(made - wanted).max()))


def test_positions_are_interpolated_as_theirs_are(tmp_path):
    torch.manual_seed(0)
    theirs = transformers.ViTModel(transformers.ViTConfig(**SIZES)).eval()
    theirs.save_pretrained(tmp_path)
    images = DRAW.normal(size=(2, 20, 28, 3)).astype(np.float32)
    with torch.no_grad():
        wanted = theirs(torch.tensor(images).permute(0, 3, 1, 2), interpolate_pos_encoding=True).pooler_output.numpy()
    found = load(tmp_path)
    with pytest.raises(UserError, match='set `onto`'):
        seen(images, found.spec | {'context_length': 36}, found.params)
    spec = found.spec | {'context_length': 36, 'position': found.spec['position'] | {'onto': [5, 7]}}
    np.testing.assert_allclose(seen(images, spec, found.params), wanted, atol=TOLERANCE)


def test_the_two_classifiers_of_a_distilled_deit_are_refused(tmp_path):
    transformers.DeiTForImageClassificationWithTeacher(transformers.DeiTConfig(**SIZES)).save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r'architecture .* cannot be loaded; there are DeiTModel, DeiTForImageClassif'):
        load(tmp_path)


@pytest.mark.parametrize('size', [(50, 70), (300, 240), (64, 64)])
@pytest.mark.parametrize('name', ['ViT', 'DeiT', 'CLIP', 'Siglip'])
def test_pixels_are_those_of_their_processors(name, size, tmp_path):
    theirs = getattr(transformers, f'{name}ImageProcessorPil', None) or getattr(transformers, f'{name}ImageProcessor')
    theirs = theirs()
    theirs.save_pretrained(tmp_path)
    image = Image.fromarray(DRAW.integers(0, 256, (*size, 3), dtype=np.uint8))
    wanted = np.asarray(theirs(image, return_tensors='np')['pixel_values'])[0].transpose(1, 2, 0)
    found = ImageProcessor.load(tmp_path)(image, 'a.png')
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=PIXELS / 0.25)  # by the least deviation of theirs


@pytest.mark.parametrize('mode', ['RGB', 'L', 'RGBA'])
@pytest.mark.parametrize(
    ('name', 'settings'),
    [
        ('ViT', {'size': 32}),
        ('ViT', {'size': [32, 48], 'image_mean': 0.25, 'image_std': 2.0}),
        ('ViT', {'size': {'height': 32, 'width': 48}, 'do_rescale': False}),
        ('ViT', {'size': 32, 'rescale_factor': 1 / 127.5, 'resample': 0}),
        ('ViT', {'size': 32, 'do_normalize': False, 'resample': 1}),
        ('DeiT', {'size': 40, 'crop_size': 32}),
        ('DeiT', {'size': 40, 'do_center_crop': False}),
        ('DeiT', {'size': {'shortest_edge': 40}, 'crop_size': [24, 32]}),
        ('CLIP', {'size': 40, 'crop_size': 32}),
        ('CLIP', {'size': 40, 'crop_size': {'height': 48, 'width': 32}}),
        ('CLIP', {'size': 40, 'default_to_square': True, 'do_center_crop': False}),
        ('Siglip', {'size': {'height': 32, 'width': 32}}),
        ('Siglip', {}),
    ],
    ids=str,
)
def test_every_spelling_of_the_settings_makes_their_pixels(name, settings, mode, tmp_path):
    settings = {'image_processor_type': f'{name}ImageProcessor', 'do_convert_rgb': True} | settings
    (tmp_path / 'preprocessor_config.json').write_text(json.dumps(settings))
    theirs = getattr(transformers, f'{name}ImageProcessorPil').from_pretrained(tmp_path)
    pixels = DRAW.integers(0, 256, (50, 70, 4), dtype=np.uint8)
    image = Image.fromarray(pixels, 'RGBA').convert(mode)
    wanted = np.asarray(theirs(image, return_tensors='np')['pixel_values'])[0].transpose(1, 2, 0)
    found = ImageProcessor.load(tmp_path)(image, 'a.png')
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=2e-5 * np.abs(wanted).max())
