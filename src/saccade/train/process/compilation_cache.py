# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Compilation cache: a run loads programs that XLA compiled for an earlier run.

JAX decides what is kept and under which key: a digest of the program, the compiler's options and the versions. Files
are written whole or not at all and carry a digest, so what a kill cut short, or a disk changed, is compiled again. They
are in a folder for each processor and version of JAX, below the user's cache folder; those that were not used for
longest are deleted.

JAX's own cache with a limit (`jax._src.lru_cache`, jax 0.10 to 0.12) lets several processes write, but not one be
killed: it writes in place, returns a part of a program as if it were all, and never replaces it; on jax 0.10 a kill
between a program and its time stamp makes every later deletion fail. It verifies nothing, needs the package filelock,
and holds one lock over all reads and writes, which a process waits 10 s for.

JAX's key leaves out the number of cores, although XLA:CPU divides its loops by it: the results of a program for two
cores differ in their bits from the results for one core. So the folder's name contains it.
"""

import hashlib
import math
import os
import platform
import re
import tempfile
from contextlib import suppress
from pathlib import Path

import jax
import jaxlib

from saccade.train.experiment import cache_folder
from saccade.types import UserError

try:  # JAX has no public function to install a cache
    from jax._src import compilation_cache as jax_cache
    from jax._src.compilation_cache_interface import CacheInterface
except ImportError:  # another JAX may have it elsewhere: then nothing is cached
    jax_cache, CacheInterface = None, object

VARIABLE, DEFAULT_GB = 'SACCADE_COMPILED_GB', '4'
# A program that compiles faster than this takes about as long to read.
_WORTH_SECONDS = 0.1
_DIGEST_BYTES = 32
_KEPT_SHARE = 0.75  # of the greatest size, after a deletion: so not every added program causes another deletion
_USER = os.getuid() if hasattr(os, 'getuid') else 0
# Lines of /proc/cpuinfo that describe the instruction set, on x86 and on Arm.
_IDENTITY = re.compile(r'vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+')
# XLA records these two preferences among the features of a program, does not find them among the processor's, and
# prints an error for each program that it loads (https://github.com/openxla/xla/issues/44565). They are replaced by
# features of any x86-64 with the same number of bytes.
_NO_FEATURES = {
    b'+prefer-no-gather': b'+64bit,+cmov,+cx8',
    b'+prefer-no-scatter': b'+64bit,+cmov,+fxsr',
}


def use_compilation_cache() -> None:
    """Install this cache in JAX, unless the user has set JAX's own cache, or a size of 0.

    Raises:
        UserError: SACCADE_COMPILED_GB is not a size.
    """
    limit = _limit()
    if limit and jax_cache and not os.environ.get('JAX_COMPILATION_CACHE_DIR'):
        if 'JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS' not in os.environ:
            jax.config.update('jax_persistent_cache_min_compile_time_secs', _WORTH_SECONDS)
        jax_cache._cache, jax_cache._cache_initialized = CompilationCache(cache_folder() / 'compiled', limit), True


def _limit() -> int:
    """Return the greatest size of all programs together, in bytes; 0 for no cache."""
    text = os.environ.get(VARIABLE) or DEFAULT_GB
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not 0 <= size < math.inf:
        raise UserError(f'{VARIABLE}={text}: must be the size of the compilation cache in GB, or 0 for none')
    return int(size * 1e9)


class CompilationCache(CacheInterface):
    """Compilation cache in files, which several processes may read and write at once.

    An error of a file is never raised: the program is compiled.
    """

    def __init__(self, base: Path, limit: int) -> None:
        """Set the folder, which the first program creates.

        Args:
            limit: greatest total of bytes in `base`.
        """
        self._path = base / _processor() / f'jax-{jax.__version__}-jaxlib-{jaxlib.__version__}'
        self._base, self._limit = base, limit
        self._room = 0  # bytes that may be written before the sizes are summed again

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, if it is intact and was written by this user."""
        if jax.process_count() > 1:  # with a cached program, a process would not take part in the joint compilation
            return None
        path = self._path / key
        try:
            with path.open('rb') as file:
                mine, entry = os.fstat(file.fileno()).st_uid == _USER, file.read()
        except OSError:
            return None
        digest, value = entry[:_DIGEST_BYTES], entry[_DIGEST_BYTES:]
        if not mine or digest != _digest(key, value):
            return None
        with suppress(OSError):
            os.utime(path)
        return value

    def put(self, key: str, value: bytes) -> None:
        """Store a program, and delete others if there is no room for it."""
        value = only_features(value)
        size = _DIGEST_BYTES + len(value)
        if jax.process_count() > 1 or size > self._limit:
            return
        with suppress(OSError):
            self._path.mkdir(parents=True, exist_ok=True)
            self._write(key, _digest(key, value) + value)
            self._room -= size
            if self._room < 0:
                self._delete_oldest()

    def _write(self, key: str, entry: bytes) -> None:
        draft, path = tempfile.mkstemp(prefix='.', dir=self._path)  # readable for this user only
        try:
            with open(draft, 'wb') as file:
                file.write(entry)
            os.replace(path, self._path / key)
        except OSError:
            os.unlink(path)
            raise

    def _delete_oldest(self) -> None:
        files = []
        for path in self._base.rglob('*'):
            with suppress(FileNotFoundError):  # another process deletes too
                if path.is_file():
                    found = path.stat()
                    files.append((found.st_mtime_ns, found.st_size, path))
        total = sum(size for _, size, _ in files)
        wanted = self._limit if total <= self._limit else _KEPT_SHARE * self._limit
        for _, size, path in sorted(files):
            if total <= wanted:
                break
            path.unlink(missing_ok=True)
            total -= size
        self._room = self._limit - total


def _digest(key: str, value: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + b'\0' + value, digest_size=_DIGEST_BYTES).digest()


def only_features(value: bytes) -> bytes:
    """Return a compiled program without the compiler's preferences among its features."""
    program = jax_cache.decompress_executable(value)
    if not any(name in program for name in _NO_FEATURES):
        return value
    for name, other in _NO_FEATURES.items():
        program = program.replace(name, other)
    return jax_cache.compress_executable(program)


def _processor() -> str:
    """Return a name of the processor: model, digest of features, and cores, since XLA:CPU compiles by these."""
    try:
        first = Path('/proc/cpuinfo').read_text().split('\n\n')[0]
        lines = [[part.strip() for part in line.partition(':')[::2]] for line in first.splitlines()]
        found = {name: text for name, text in lines if _IDENTITY.fullmatch(name)}
    except OSError:
        found = {'model name': platform.processor(), 'system': platform.version()}
    # XLA's number of cores: https://github.com/openxla/xla, DefaultThreadPoolSize.
    cores = os.environ.get('NPROC') or len(os.sched_getaffinity(0) if hasattr(os, 'sched_getaffinity') else ())
    model = re.sub(r'\W+', '-', found.get('model name') or platform.machine()).strip('-')
    identity = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:8]
    return f'{model}-{identity}-{cores or os.cpu_count()}-cores'
