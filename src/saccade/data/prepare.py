# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prepare a TFDS dataset once: quietly, whole or not at all, whoever else is at it."""

import contextlib
import io
import logging
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import tensorflow_datasets as tfds
from absl import logging as absl_logging

from saccade.types import UserError


def prepare(builder: tfds.core.DatasetBuilder) -> Path:
    """Write the dataset unless that is done, and return its folder.

    TFDS writes beside the folder and renames at the end. So what was interrupted is done again, and of two
    processes that prepare at once the later finds the folder taken and uses it.

    Raises:
        UserError: the folder cannot be written, or what the dataset is made from cannot be read.
    """
    folder = Path(builder.data_dir)
    if not folder.is_dir():
        try:
            with quiet():
                builder.download_and_prepare(
                    download_config=tfds.download.DownloadConfig(try_download_gcs=False),
                    file_format='array_record',
                )
        except (OSError, RuntimeError) as error:  # ArrayRecord tells of a full disk by RuntimeError
            if not folder.is_dir():
                raise UserError(f'{folder}: cannot be prepared ({first_line(error)})') from error
        _sweep(folder)
    return folder


def _sweep(folder: Path) -> None:
    """Delete what killed preparations left. One still at work fails, and finds the folder there."""
    for left in folder.parent.glob(f'incomplete.*_{folder.name}'):
        shutil.rmtree(left, ignore_errors=True)


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
