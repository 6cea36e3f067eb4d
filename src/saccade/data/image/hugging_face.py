# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Image processors of Hugging Face folders, as our fields: resize, centre crop, rescale and normalise.

Names and settings are as in the image processors of ViT, DeiT, CLIP and SigLIP in transformers, versions 4 and 5,
and of the earlier feature extractors, which omitted settings and wrote sizes as one number.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from saccade.paths import read_text
from saccade.types import UserError

_USUAL = {
    'do_resize': True, 'size': 224, 'default_to_square': True, 'resample': 2, 'do_center_crop': False,
    'crop_size': 224, 'do_rescale': True, 'rescale_factor': 1 / 255, 'do_normalize': True, 'image_mean': 0.5,
    'image_std': 0.5,
}  # fmt: skip
# Defaults that differ, by the model in the class's name.
_CLASSES: dict[str, dict[str, Any]] = {
    'vit': {},
    'deit': {'size': {'height': 256, 'width': 256}, 'resample': 3, 'do_center_crop': True},
    'clip': {
        'size': {'shortest_edge': 224}, 'default_to_square': False, 'resample': 3, 'do_center_crop': True,
        'image_mean': [0.48145466, 0.4578275, 0.40821073], 'image_std': [0.26862954, 0.26130258, 0.27577711],
    },
    'siglip': {'size': {'height': 224, 'width': 224}, 'default_to_square': False, 'resample': 3},
}  # fmt: skip
_TYPES = ('image_processor_type', 'feature_extractor_type')
# Images of other kinds are always converted; transformers fails on those that it does not convert.
_HARMLESS = (
    *_TYPES, 'auto_map', 'data_format', 'device', 'disable_grouping', 'do_convert_rgb', 'image_seq_length',
    'input_data_format', 'processor_class', 'return_tensors', 'transformers_version',
)  # fmt: skip


def of_processor(found: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """Return the fields of the image processor in a processor_config.json; None if it has none.

    Raises:
        UserError: as for `of_preprocessor`.
    """
    return of_preprocessor(found['image_processor'], folder) if 'image_processor' in found else None


def preprocessor_config(processor: Any) -> dict[str, Any]:
    """Return the preprocessor_config.json that describes an `ImageProcessor`."""
    resize, (height, width) = processor.resize, processor.size
    crops = resize is not None and resize != processor.size
    edges = {'shortest_edge': resize} if isinstance(resize, int) else None
    resampling = Image.Resampling[processor.resampling.upper()]
    return {
        'image_processor_type': 'CLIPImageProcessor' if crops else 'ViTImageProcessor',
        'do_resize': resize is not None,
        'size': edges or dict(zip(('height', 'width'), resize or processor.size, strict=True)),
        'resample': int(resampling),
        'do_center_crop': crops,
        'crop_size': {'height': height, 'width': width},
        'do_rescale': True,
        'rescale_factor': 1 / 255,
        'do_normalize': True,
        'image_mean': [*processor.mean] * (processor.channels if len(processor.mean) == 1 else 1),
        'image_std': [*processor.deviation] * (processor.channels if len(processor.deviation) == 1 else 1),
        'do_convert_rgb': processor.channels == 3,
    }


def of_preprocessor(found: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the fields of the image processor in a preprocessor_config.json.

    Args:
        folder: folder whose config.json has the model.

    Raises:
        UserError: a setting is not supported, or the model reads images of another size; the message has it and the
            right ones.
    """
    given = {key: value for key, value in found.items() if value is not None}
    for key, value in given.items():
        if value is not False and key not in (*_USUAL, *_HARMLESS) and not key.startswith('_'):
            raise UserError(f'{key} is {value!r}; only resizing, centre cropping and normalising are supported')
    settings = {**_USUAL, **_CLASSES[_class(given, folder)], **given}
    size = _edges('size', settings['size'], settings['default_to_square'])
    made = _edges('crop_size', settings['crop_size'], True) if settings['do_center_crop'] else size
    if len(made) == 1:
        raise UserError(
            f'size is {settings["size"]!r}, which gives images of several sizes; a shortest edge needs do_center_crop, '
            'and a crop_size of height and width'
        )
    config = _config(folder)
    side = config.get('vision_config', config).get('image_size')
    if side is not None and {*made} != {side}:
        raise UserError(f'images are made {made[0]} by {made[1]}, but the model reads {side} by {side} (config.json)')
    number = settings['resample']
    if number not in [*Image.Resampling]:
        raise UserError(f'resample is {number!r}; it must be a number of Pillow, from 0 to {max(Image.Resampling)}')
    scale = _scale(settings['rescale_factor']) if settings['do_rescale'] else 255.0
    mean, deviation = (settings['image_mean'], settings['image_std']) if settings['do_normalize'] else (0.0, 1.0)
    return {
        'size': made,
        'resize': (size if len(size) > 1 else size[0]) if settings['do_resize'] else None,
        'resampling': Image.Resampling(number).name.lower(),
        'mean': _by_channel(mean, scale),
        'deviation': _by_channel(deviation, scale),
        'convert': True,
    }


def _class(given: Mapping[str, Any], folder: Path) -> str:
    """Return the model in the name of the image processor's class."""
    key = next((key for key in _TYPES if key in given), None)
    if key is not None:
        name = re.sub(r'(ImageProcessor|FeatureExtractor)(Fast|Pil)?$', '', given[key]).lower()
        if name not in _CLASSES:
            raise UserError(
                f'{key} {given[key]!r} is not supported; the supported ones are of ViT, DeiT, CLIP and Siglip'
            )
        return name
    model = _config(folder).get('model_type')
    return model if model in _CLASSES else 'vit'


def _config(folder: Path) -> Mapping[str, Any]:
    """Return config.json; without one, no settings."""
    file = Path(folder) / 'config.json'
    return json.loads(read_text(file)) if file.is_file() else {}


def _edges(key: str, value: Any, square: bool) -> tuple[int, ...]:
    """Return rows and columns of a size, or only its shortest edge."""
    edges = value
    if isinstance(value, int):
        edges = {'height': value, 'width': value} if square else {'shortest_edge': value}
    elif isinstance(value, list) and len(value) == 2:
        edges = dict(zip(('height', 'width'), value, strict=True))
    if isinstance(edges, dict):
        edges = {name: edge for name, edge in edges.items() if edge is not None}
        for names in (('height', 'width'), ('shortest_edge',)):
            if edges.keys() == {*names} and all(type(edge) is int and edge > 0 for edge in edges.values()):
                return tuple(edges[name] for name in names)
    raise UserError(
        f"{key} is {value!r}, which is not supported; supported are {{'height': rows, 'width': columns}} and "
        "{'shortest_edge': pixels}"
    )


def _scale(factor: Any) -> float:
    """Return the rescaled value of a pixel of 255, which is 1 in our processor."""
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < float('inf'):
        raise UserError(f'rescale_factor is {factor!r}; it must be a number above 0')
    return 255.0 * factor


def _by_channel(numbers: Any, scale: float) -> tuple[float, ...]:
    return tuple(number / scale for number in (numbers if isinstance(numbers, list) else [numbers]))
