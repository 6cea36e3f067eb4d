# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Preparation of a TFDS dataset: once, without output, and atomically even if several processes do it."""

import contextlib
import io
import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds
from absl import logging as absl_logging

from saccade.data.cache import kept
from saccade.types import UserError


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
        UserError: what lies in the folder is damaged, or names a module that reading it would import.
    """
    try:
        _require_features_of_tfds(folder / 'features.json')
        return tfds.builder_from_directory(folder)
    except UserError:
        raise
    except Exception as error:  # TFDS parses JSON of any form with whatever comes of it
        raise UserError(
            f'{folder}: cannot be read as a prepared TFDS dataset ({first_line(error)}); prepare it again'
        ) from error


def _require_features_of_tfds(file: Path) -> None:
    """Refuse features of other packages: TFDS imports the module of each class that the file names."""
    named = re.findall(r'"pythonClassName"\s*:\s*"([^"]*)"', file.read_text(encoding='utf-8'))
    others = [name for name in named if not name.startswith('tensorflow_datasets.')]
    if others:
        raise UserError(f"{file}: {others[0]} is no feature of TFDS's own; reading these data would import its module")


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
