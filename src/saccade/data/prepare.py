# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prepare a TFDS dataset once: quietly, whole or not at all, whoever else is at it."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import tensorflow_datasets as tfds
from absl import logging

from saccade.types import UserError


def prepare(builder: tfds.core.DatasetBuilder) -> Path:
    """Write the dataset unless that is done, and return its folder.

    TFDS writes beside the folder and renames at the end. So what was interrupted is done again, and of two
    processes that prepare at once the later finds the folder taken and uses it.

    Raises:
        UserError: the folder cannot be written.
    """
    folder = Path(builder.data_dir)
    if not folder.is_dir():
        try:
            with quiet():
                builder.download_and_prepare(
                    download_config=tfds.download.DownloadConfig(try_download_gcs=False),
                    file_format='array_record',
                )
        except OSError as error:
            if not folder.is_dir():
                raise UserError(f'{folder}: cannot be written ({error.strerror or error})') from error
    return folder


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep TFDS's progress bars, notices and warnings off the terminal; errors still come through."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    tfds.display_progress_bar(False)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        tfds.display_progress_bar(True)
        logging.set_verbosity(verbosity)
