# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""TFDS datasets by name: opened if they are prepared, or prepared here if possible.

TFDS itself looks up an unknown name on the network, and retries for minutes without one.
"""

import difflib
import inspect
import queue
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

import tensorflow_datasets as tfds
from tensorflow_datasets.core import read_only_builder, registered
from tensorflow_datasets.core.utils import file_utils

from saccade.data.cache import is_sound
from saccade.data.corpus.prepare import first_line, opened, prepare, quiet, require_known_features
from saccade.types import UserError

_TENSORFLOW = re.compile(r'\btf\.(?:io|data|compat)\.')
_PATIENCE = 6  # seconds to wait for a host to answer
_NOWHERE = '.none'  # a folder that is never made: TFDS reads existing files at a builder's path, even damaged ones
_HOSTS = 3  # maximum number of hosts to try
_ELSEWHERE = "prepare it on another machine with file_format='array_record' and give its folder as path"


def open_named(name: str, cache: Path) -> tfds.core.DatasetBuilder:
    """Return the prepared dataset, from the cache or from TFDS's own folders.

    Args:
        name: as in TFDS: 'name', 'name/config' or 'name/config:version'.
        cache: folder to prepare into.

    Raises:
        UserError: the name is unknown, the dataset is neither prepared nor can be prepared here, or its files name a
            module that reading them would import.
    """
    for folder in map(Path, (cache, *file_utils.list_data_dirs())):
        try:
            require_known_features(folder / re.split('[:/]', name)[0])
            builder = read_only_builder.builder_from_files(name, data_dir=folder)
        except UserError:
            raise
        except Exception:  # missing, an invalid name, or damaged in any way
            continue
        if folder != cache or is_sound(Path(builder.data_dir)):
            return builder
    return opened(_prepare(name, cache))


def _prepare(name: str, cache: Path) -> Path:
    _refuse_unknown(name)
    try:
        with quiet():
            builder = tfds.builder(name, data_dir=cache / _NOWHERE)
        _refuse_tensorflow(name, builder)
        _refuse_unreachable(name, builder)
        place = Path(builder.data_dir).relative_to(cache / _NOWHERE)
        return prepare(partial(tfds.builder, name), cache / place, cache / 'downloads')
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f'{name}: TFDS needs a package to prepare it ({first_line(error)}); {_ELSEWHERE}') from error
    except Exception as error:  # a builder is foreign code with its own errors
        raise UserError(f'{name}: TFDS cannot prepare it ({first_line(error)})') from error


def register() -> None:
    """Import the packages of text datasets, which TFDS knows only after their import."""
    with quiet():
        import tensorflow_datasets.question_answering
        import tensorflow_datasets.summarization
        import tensorflow_datasets.text
        import tensorflow_datasets.text_simplification
        import tensorflow_datasets.translate  # noqa: F401


def _has_tensorflow() -> bool:
    try:
        version('tensorflow')
    except PackageNotFoundError:
        return False
    return True


def _refuse_unknown(name: str) -> None:
    register()
    names = registered.list_imported_builders()
    base, _, config = name.partition(':')[0].partition('/')
    if base not in names:
        raise UserError(f"there is no dataset '{base}'{_nearest(base, names)}")
    configs = tfds.builder_cls(base).builder_configs
    if config and configs and config not in configs:
        raise UserError(f"{base}: there is no config '{config}'{_nearest(config, configs)}")


def _refuse_tensorflow(name: str, builder: tfds.core.DatasetBuilder) -> None:
    """Raise an error, before any download, for a dataset that TFDS prepares with TensorFlow."""
    if not _is_of_tfds(builder) or _has_tensorflow():
        return
    if _TENSORFLOW.search(inspect.getsource(inspect.getmodule(builder))):
        raise UserError(f'{name}: TFDS needs TensorFlow to prepare it; {_ELSEWHERE}')


def _refuse_unreachable(name: str, builder: tfds.core.DatasetBuilder) -> None:
    """Raise an error for a dataset whose hosts are all unreachable."""
    parts = [urlsplit(url) for url in builder.url_infos or {}]
    hosts = sorted({f'{part.scheme}://{part.netloc}' for part in parts if part.scheme.startswith('http')})[:_HOSTS]
    if not hosts and _is_of_tfds(builder):
        hosts = ['https://storage.googleapis.com']  # TFDS's default, if the dataset does not list its files
    if hosts and not reachable(hosts):
        raise UserError(f'{name}: is not prepared here, and there is no network to {", ".join(hosts)}; {_ELSEWHERE}')


def _is_of_tfds(builder: tfds.core.DatasetBuilder) -> bool:
    return type(builder).__module__.startswith('tensorflow_datasets.')


def reachable(hosts: Iterable[str]) -> bool:
    """Return True if any of these hosts answers in time."""
    answers = queue.SimpleQueue()
    for host in hosts:  # in daemon threads, since a DNS lookup has no timeout
        threading.Thread(target=lambda host=host: answers.put(is_answering(host)), daemon=True).start()
    try:
        return any(answers.get(timeout=_PATIENCE) for _ in hosts)
    except queue.Empty:
        return False


def is_answering(host: str) -> bool:
    """Return True if a host answers, even with an error."""
    request = urllib.request.Request(host, method='HEAD')
    try:
        urllib.request.urlopen(request, timeout=_PATIENCE).close()
    except urllib.error.HTTPError as error:  # an answer nevertheless
        error.close()
    except OSError:
        return False
    return True


def _nearest(name: str, names: Iterable[str]) -> str:
    match = difflib.get_close_matches(name, [*names, 'pydocs'], n=1, cutoff=0.5)
    return f"; did you mean '{match[0]}'?" if match else '; see https://www.tensorflow.org/datasets/catalog'
