# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Preparation of a TFDS dataset: once, silently, and atomically even in several processes."""

import contextlib
import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds
from absl import logging as absl_logging

from saccade.data.cache import cached
from saccade.paths import read_text
from saccade.types import UserError

_CORE = 'tensorflow_datasets.core.features'
FEATURES = frozenset(  # classes allowed in a prepared dataset
    f'{_CORE}.{name}'
    for name in (
        'audio_feature.Audio',
        'bounding_boxes.BBoxFeature',
        'class_label_feature.ClassLabel',
        'dataset_feature.Dataset',
        'feature.Tensor',
        'features_dict.FeaturesDict',
        'image_feature.Image',
        'labeled_image.LabeledImage',
        'scalar.Scalar',
        'sequence_feature.Sequence',
        'tensor_feature.Tensor',
        'text_feature.Text',
        'translation_feature.Translation',
        'translation_feature.TranslationVariableLanguages',
        'video_feature.Video',
    )
)


def prepare(make: Callable[..., tfds.core.DatasetBuilder], folder: Path, downloads: Path | None = None) -> Path:
    """Write a dataset into a folder of the cache unless it exists, and return the folder.

    Args:
        make: returns the builder for a folder, `data_dir`, which is empty: TFDS reads existing files, even damaged
            ones.
        downloads: folder of downloads, so that a second attempt can resume.

    Raises:
        UserError: the folder cannot be written, or the dataset's sources cannot be read.
    """

    def write(new: Path) -> None:
        with quiet():
            builder = make(data_dir=new.with_name('tfds'))
            builder.download_and_prepare(
                download_dir=downloads,
                download_config=tfds.download.DownloadConfig(try_download_gcs=False),
                file_format='array_record',
            )
        Path(builder.data_dir).rename(new)

    try:
        return cached(folder, write)
    except (OSError, RuntimeError) as error:  # ArrayRecord raises RuntimeError on a full disk
        raise UserError(f'{folder}: cannot be prepared ({first_line(error)})') from error


def prepare_own(builder: type[tfds.core.DatasetBuilder], cache: Path, *arguments: Any) -> Path:
    """Prepare one of our own datasets, and return its folder.

    Args:
        cache: persistent folder, used only by this dataset if its content depends on more than its class.
        arguments: arguments of the class.

    Raises:
        UserError: as for `prepare`.
    """
    return prepare(partial(builder, *arguments), cache / builder.name / str(builder.VERSION))


def opened(folder: Path) -> tfds.core.DatasetBuilder:
    """Open a prepared dataset.

    Raises:
        UserError: the folder is damaged, or its files name a module that reading them would import.
    """
    try:
        require_known_features(folder)
        return tfds.builder_from_directory(folder)
    except UserError:
        raise
    except Exception as error:  # TFDS parses arbitrary JSON and may raise anything
        raise UserError(
            f'{folder}: cannot be read as a prepared TFDS dataset ({first_line(error)}); prepare it again'
        ) from error


def require_known_features(folder: Path) -> None:
    """Check that a folder names only the feature connectors of `FEATURES`, since TFDS imports each named class.

    Raises:
        UserError: a file below the folder names another class.
        ValueError: a file is not JSON.
    """
    for file in (each for name in ('features.json', 'dataset_info.json') for each in sorted(folder.rglob(name))):
        named = _classes_named(json.loads(read_text(file)))
        others = [name for name in named if name not in FEATURES]
        if others:
            raise UserError(
                f'{file}: {others[0][:80]} is not a known feature of TFDS; reading these data would import its module'
            )


def _classes_named(value: Any) -> Iterator[str]:
    """Yield the classes named in a TFDS file, in each spelling of protobuf's JSON and of older versions.

    Strings that contain JSON are searched too, since some features store others as text.
    """
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            inner = json.loads(value)
            value = inner if isinstance(inner, dict | list) else None
    if isinstance(value, dict):
        names = ('pythonClassName', 'python_class_name', *(['type'] if 'content' in value else []))
        yield from (value[name] for name in names if isinstance(value.get(name), str))
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            yield from _classes_named(each)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Context without TFDS's progress bars, notices and warnings; errors are still logged."""
    downloads = logging.getLogger('urllib3')
    before = absl_logging.get_verbosity(), downloads.level
    absl_logging.set_verbosity(absl_logging.ERROR)
    downloads.setLevel(logging.ERROR)
    tfds.display_progress_bar(False)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        tfds.display_progress_bar(True)
        absl_logging.set_verbosity(before[0])
        downloads.setLevel(before[1])


def first_line(error: Exception) -> str:
    """Return the first line of an error, without TFDS's preamble about the arguments."""
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return re.sub(r'^Failed to construct dataset .*?}": ', '', line)
