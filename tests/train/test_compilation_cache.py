# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The compilation cache: what is read is what was written, or nothing."""

import collections
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import compilation_cache as jax_cache

from saccade.train.process import compilation_cache
from saccade.train.process.compilation_cache import CompilationCache, use_compilation_cache
from saccade.types import UserError

KEY, PROGRAM = 'jit_step-0123', jax_cache.compress_executable(bytes(range(256)) * 4)


@pytest.fixture
def cache(tmp_path: Path) -> CompilationCache:
    return CompilationCache(tmp_path / 'compiled', limit=10**6)


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing chosen by the user; JAX's cache as it was before, afterwards."""
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path))
    for variable in (compilation_cache.VARIABLE, 'JAX_COMPILATION_CACHE_DIR'):
        monkeypatch.delenv(variable, raising=False)
    for name in ('_cache', '_cache_initialized'):
        monkeypatch.setattr(jax_cache, name, getattr(jax_cache, name))


def file_of(cache: CompilationCache, key: str = KEY) -> Path:
    return cache._path / key


def test_a_program_comes_back(cache):
    assert cache.get(KEY) is None
    cache.put(KEY, PROGRAM)
    assert cache.get(KEY) == PROGRAM
    assert [path.name for path in cache._path.iterdir()] == [KEY]
    assert file_of(cache).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize('damage', ['cut', 'flipped', 'longer', 'of another key', 'of another user'])
def test_a_damaged_entry_is_none_and_is_replaced(cache, monkeypatch, damage):
    cache.put(KEY, PROGRAM)
    path, entry = file_of(cache), file_of(cache).read_bytes()
    damaged = {
        'cut': [entry[:length] for length in range(len(entry))],
        'flipped': [
            entry[:place] + bytes([entry[place] ^ (1 << bit)]) + entry[place + 1 :]
            for place in range(len(entry))
            for bit in (0, 7)
        ],
        'longer': [entry + b'\0'],
        'of another key': [entry],
        'of another user': [entry],
    }[damage]
    if damage == 'of another user':
        monkeypatch.setattr(compilation_cache, '_USER', compilation_cache._USER + 1)
    key = 'jit_step-4567' if damage == 'of another key' else KEY
    for content in damaged:
        file_of(cache, key).write_bytes(content)
        assert cache.get(key) is None
    monkeypatch.undo()
    cache.put(KEY, PROGRAM)
    assert cache.get(KEY) == PROGRAM
    assert path.read_bytes() == entry


def test_what_was_not_used_for_longest_goes(tmp_path):
    base = tmp_path / 'compiled'
    older = base / 'another processor' / 'jax-0.1-jaxlib-0.1' / 'program'
    older.parent.mkdir(parents=True)
    older.write_bytes(bytes(1000))
    os.utime(older, (1, 1))
    cache = CompilationCache(base, limit=20_000)
    random = np.random.default_rng(0)
    programs = {f'program-{number}': jax_cache.compress_executable(random.bytes(3000)) for number in range(20)}
    for number, (key, program) in enumerate(programs.items()):
        cache.put(key, program)
        for name in [*programs][: number + 1]:  # so that each was used at a time of its own
            path = file_of(cache, name)
            if path.exists():
                os.utime(path, (10 + number, 10 + number) if name == 'program-0' else (os.stat(path).st_mtime, 1e6))
        cache.get('program-0')
        assert sum(path.stat().st_size for path in base.rglob('*') if path.is_file()) <= 20_000
    assert not older.exists()
    assert cache.get('program-0') == programs['program-0']
    assert cache.get('program-19') == programs['program-19']
    assert cache.get('program-2') is None


def test_a_program_larger_than_the_cache_is_not_kept(tmp_path):
    cache = CompilationCache(tmp_path, limit=50)
    cache.put(KEY, PROGRAM)
    assert not any(tmp_path.iterdir())


def test_without_a_place_there_is_no_cache(tmp_path):
    (tmp_path / 'compiled').write_text('a file')
    cache = CompilationCache(tmp_path / 'compiled', limit=10**6)
    cache.put(KEY, PROGRAM)
    assert cache.get(KEY) is None


def test_a_full_disk_leaves_nothing(cache, monkeypatch):
    def full(*_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'replace', full)
    cache.put(KEY, PROGRAM)
    assert not any(cache._path.iterdir())


def test_processes_at_once(cache):
    programs = [jax_cache.compress_executable(bytes([number]) * 200_000) for number in range(4)]
    others = [CompilationCache(cache._base, limit=2000) for _ in programs]

    def at_work(number: int) -> int:
        for _ in range(100):
            others[number].put(KEY, programs[number])
            assert others[number].get(KEY) in (None, *programs)
        return number

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(at_work, range(4))) == [0, 1, 2, 3]


def test_the_cores_have_programs_of_their_own(cache, monkeypatch):
    cache.put(KEY, PROGRAM)
    monkeypatch.setattr(os, 'sched_getaffinity', lambda _: set(range(17)), raising=False)
    assert CompilationCache(cache._base, limit=10**6).get(KEY) is None


def test_preferences_of_a_compiler_are_no_features():
    features = b'+64bit,+cmov,+prefer-no-gather,+prefer-no-scatter,+sse'
    found = jax_cache.decompress_executable(
        compilation_cache.only_features(jax_cache.compress_executable(b'12345678' + features))
    )
    assert len(found) == 8 + len(features)
    assert set(found[8:].split(b',')) == {b'+64bit', b'+cmov', b'+cx8', b'+fxsr', b'+sse'}


def test_jax_compiles_once(unset):
    events: collections.Counter = collections.Counter()
    listener = lambda event, **_: events.update([event.rpartition('/')[2]])  # noqa: E731
    jax.monitoring.register_event_listener(listener)
    try:
        use_compilation_cache()
        jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)
        results = []
        for _ in range(2):
            jax.clear_caches()
            results.append(np.asarray(jax.jit(lambda x: jnp.tanh(x) @ x.T)(np.eye(5, dtype='float32'))))
            if len(results) == 1:
                assert events['cache_misses']
                events.clear()
    finally:
        jax.monitoring.unregister_event_listener(listener)
    assert events['cache_hits']
    assert not events['cache_misses']
    np.testing.assert_array_equal(*results)


def test_the_users_own_choice_goes_first(unset, monkeypatch, tmp_path):
    before = jax_cache._cache
    monkeypatch.setenv(compilation_cache.VARIABLE, '0')
    use_compilation_cache()
    assert jax_cache._cache is before
    monkeypatch.delenv(compilation_cache.VARIABLE)
    monkeypatch.setenv('JAX_COMPILATION_CACHE_DIR', str(tmp_path))
    use_compilation_cache()
    assert jax_cache._cache is before


@pytest.mark.parametrize('text', ['much', '-1', 'nan', 'inf'])
def test_a_size_that_is_none(unset, monkeypatch, text):
    monkeypatch.setenv(compilation_cache.VARIABLE, text)
    with pytest.raises(UserError, match=f'SACCADE_COMPILED_GB={text}: must be the size of the compilation cache in GB'):
        use_compilation_cache()
