# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Image processors of Hugging Face folders: spellings of a size, defaults of each class, and what is refused."""

import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from saccade.data.image.processor import ImageProcessor
from saccade.types import UserError

VIT = {'image_processor_type': 'ViTImageProcessor', 'image_mean': [0.5, 0.5, 0.5], 'image_std': [0.5, 0.5, 0.5]}


CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)


def opened(folder, settings: dict[str, Any], name: str = 'preprocessor_config.json') -> ImageProcessor:
    (folder / name).write_text(json.dumps(settings))
    return ImageProcessor.load(folder)


@pytest.mark.parametrize(
    ('settings', 'resize', 'made'),
    [
        ({'size': 32}, (32, 32), (32, 32)),
        ({'size': [32, 48]}, (32, 48), (32, 48)),
        ({'size': {'height': 32, 'width': 48}}, (32, 48), (32, 48)),
        ({'size': {'width': 48, 'height': 32, 'shortest_edge': None}}, (32, 48), (32, 48)),
        ({'size': 40, 'do_center_crop': True, 'crop_size': 32}, (40, 40), (32, 32)),
        ({'size': {'shortest_edge': 40}, 'do_center_crop': True, 'crop_size': [32, 24]}, 40, (32, 24)),
        ({'size': 40, 'default_to_square': False, 'do_center_crop': True, 'crop_size': 32}, 40, (32, 32)),
        ({'size': {'height': 32, 'width': 48}, 'do_resize': False}, None, (32, 48)),
        ({'size': 32, 'crop_pct': None, 'do_pad': False, '_name': 'a', 'processor_class': 'A'}, (32, 32), (32, 32)),
        ({}, (224, 224), (224, 224)),
    ],
)
def test_sizes(tmp_path, settings, resize, made):
    found = opened(tmp_path, VIT | settings)
    assert (found.resize, found.size) == (resize, made)


@pytest.mark.parametrize(
    ('kind', 'resize', 'resampling', 'mean'),
    [
        ({'feature_extractor_type': 'ViTFeatureExtractor', 'size': 32}, (32, 32), 'bilinear', (0.5,)),
        ({'feature_extractor_type': 'DeiTFeatureExtractor', 'size': 32}, (32, 32), 'bicubic', (0.5,)),
        ({'feature_extractor_type': 'CLIPFeatureExtractor', 'size': 32}, 32, 'bicubic', CLIP_MEAN),
        ({'image_processor_type': 'SiglipImageProcessorFast'}, (224, 224), 'bicubic', (0.5,)),
        ({'image_processor_type': 'DeiTImageProcessor'}, (256, 256), 'bicubic', (0.5,)),
        ({'image_processor_type': 'CLIPImageProcessorPil'}, 224, 'bicubic', CLIP_MEAN),
    ],
)  # fmt: skip
def test_each_class_has_its_defaults(tmp_path, kind, resize, resampling, mean):
    found = opened(tmp_path, kind)
    assert (found.resize, found.resampling, found.mean) == (resize, resampling, mean)


def test_the_model_says_which_class_it_is_where_the_settings_do_not(tmp_path):
    assert opened(tmp_path, {'size': 32}).resize == (32, 32)
    (tmp_path / 'config.json').write_text('{"model_type": "clip"}')
    assert opened(tmp_path, {'size': 32}).resize == 32


def test_the_settings_of_version_5_are_in_processor_config_json_and_come_first(tmp_path):
    opened(tmp_path, VIT | {'size': 32})
    opened(tmp_path, {'processor_class': 'CLIPProcessor'}, 'processor_config.json')
    assert ImageProcessor.load(tmp_path).size == (32, 32)
    assert opened(tmp_path, {'image_processor': VIT | {'size': 48}}, 'processor_config.json').size == (48, 48)


@pytest.mark.parametrize(
    ('settings', 'expected'),
    [
        ({'do_rescale': False}, (200 - 0.5) / 0.5),
        ({'rescale_factor': 1 / 127.5}, (200 / 127.5 - 0.5) / 0.5),
        ({'do_normalize': False}, 200 / 255),
        ({'do_normalize': False, 'do_rescale': False}, 200),
        ({'image_mean': 0.25, 'image_std': 2.0}, (200 / 255 - 0.25) / 2),
    ],
)
def test_pixels(tmp_path, settings, expected):
    image = Image.fromarray(np.full((4, 4, 3), 200, np.uint8))
    np.testing.assert_allclose(opened(tmp_path, VIT | {'size': 4} | settings)(image, 'a.png'), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ('settings', 'words'),
    [
        ({'crop_pct': 0.875}, r'crop_pct is 0\.875; only resizing, centre cropping and normalising are supported'),
        ({'do_pad': True}, 'do_pad is True; only'),
        ({'do_flip_channel_order': True}, 'do_flip_channel_order is True; only'),
        ({'size_divisor': 32}, 'size_divisor is 32; only'),
        ({'image_processor_type': 'ConvNextImageProcessor'}, "image_processor_type 'ConvNextImageProcessor' is not"),
        ({'size': {'shortest_edge': 32}}, r"size is \{'shortest_edge': 32\}, which gives images of several sizes"),
        ({'size': {'shortest_edge': 32, 'longest_edge': 64}}, r"size is \{.*'longest_edge': 64\}, which is not"),
        ({'size': {'height': 32}}, r"size is \{'height': 32\}, which is not supported; supported are \{'height': rows"),
        ({'size': {'height': 32, 'width': 0}}, 'size is .*, which is not supported'),
        ({'size': '32'}, "size is '32', which is not supported"),
        ({'size': True}, 'size is True, which is not supported'),
        ({'size': 32, 'do_center_crop': True, 'crop_size': {'shortest_edge': 32}}, 'size is 32, which gives'),
        ({'resample': 9}, r'resample is 9; it must be a number of Pillow, from 0 to \d'),
        ({'rescale_factor': 0}, 'rescale_factor is 0; it must be a number above 0'),
        ({'image_mean': 'grey'}, 'is not a processor of images'),
    ],
)  # fmt: skip
def test_what_cannot_be_represented_is_refused(tmp_path, settings, words):
    with pytest.raises(UserError, match=rf'preprocessor_config\.json: {words}') as caught:
        opened(tmp_path, VIT | settings)
    assert '\n' not in str(caught.value)
