# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Preparation of a TFDS dataset: once, without output, and atomically even if several processes do it."""

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

from saccade.data.cache import kept
from saccade.paths import read_text
from saccade.types import UserError

_CORE = 'tensorflow_datasets.core.features'
FEATURES = frozenset(  # classes that a prepared dataset may name
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
    """Write a dataset into a folder of the cache unless that is done, and return the folder.

    Args:
        make: builds the dataset below a folder, `data_dir`. It is given one that is empty: TFDS reads what is there,
            damaged or not.
        downloads: folder that keeps what is downloaded, so that a second attempt goes on with it.

    Raises:
        UserError: the folder cannot be written, or what the dataset is made from cannot be read.
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
        return kept(folder, write)
    except (OSError, RuntimeError) as error:  # ArrayRecord tells of a full disk by RuntimeError
        raise UserError(f'{folder}: cannot be prepared ({first_line(error)})') from error


def prepare_own(builder: type[tfds.core.DatasetBuilder], cache: Path, *arguments: Any) -> Path:
    """Prepare a dataset of our own, and return its folder.

    Args:
        cache: folder that outlives the run, of this dataset alone where it is made of more than its class.
        arguments: of the class.

    Raises:
        UserError: as `prepare`.
    """
    return prepare(partial(builder, *arguments), cache / builder.name / str(builder.VERSION))


def opened(folder: Path) -> tfds.core.DatasetBuilder:
    """Open a prepared dataset.

    Raises:
        UserError: the folder is damaged, or names a module that reading it would import.
    """
    try:
        require_known_features(folder)
        return tfds.builder_from_directory(folder)
    except UserError:
        raise
    except Exception as error:  # TFDS parses JSON of any form and raises any error
        raise UserError(
            f'{folder}: cannot be read as a prepared TFDS dataset ({first_line(error)}); prepare it again'
        ) from error


def require_known_features(folder: Path) -> None:
    """Allow the feature connectors of `FEATURES` only: TFDS imports the module of each class that a file names.

    Raises:
        UserError: a file below the folder names another class.
        ValueError: a file is no JSON.
    """
    for file in (each for name in ('features.json', 'dataset_info.json') for each in sorted(folder.rglob(name))):
        named = _classes_named(json.loads(read_text(file)))
        others = [name for name in named if name not in FEATURES]
        if others:
            raise UserError(
                f'{file}: {others[0][:80]} is not a known feature of TFDS; reading these data would import its module'
            )


def _classes_named(value: Any) -> Iterator[str]:
    """Yield the classes that a file of TFDS names, in each spelling that protobuf's JSON and older versions have.

    Text is searched too, if it is JSON: some features hold others as text.
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
    """Keep TFDS's progress bars, notices and warnings off the terminal; errors still come through."""
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
