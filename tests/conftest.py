# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What every test runs under: JAX on the CPU, and array shapes checked against their annotations."""

import atexit
import gc
import os
import shutil
import tempfile
from importlib.metadata import version

os.environ.setdefault('JAX_PLATFORMS', 'cpu')
if 'backend_optimization' not in os.environ.get('XLA_FLAGS', ''):  # tests compile much and run little: half the time
    os.environ['XLA_FLAGS'] = (
        f'{os.environ.get("XLA_FLAGS", "")} --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1'
    )
    if version('jaxlib').startswith('0.10.'):  # later ones know of no such flag, and end the process
        os.environ['XLA_FLAGS'] += ' --xla_cpu_use_fusion_emitters=false'
os.environ.setdefault('JAX_TRACEBACK_IN_LOCATIONS_LIMIT', '0')
# What was compiled for one file of tests, or by a launcher, is not compiled again. Each worker has a folder of its own:
# JAX writes a program bit by bit, and another might read the half of it.
if worker := os.environ.get('PYTEST_XDIST_WORKER'):
    os.environ['JAX_COMPILATION_CACHE_DIR'] += f'/{worker}'
else:
    os.environ['JAX_COMPILATION_CACHE_DIR'] = tempfile.mkdtemp(prefix='saccade_programs_')
    atexit.register(shutil.rmtree, os.environ['JAX_COMPILATION_CACHE_DIR'], ignore_errors=True)
os.environ.setdefault('JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS', '0')

import functools
import inspect
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import beartype
import flax.linen
import flax.struct
import jax
import jaxtyping
import pytest


def unchecked(make: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the constructors of pytrees out: JAX rebuilds them around placeholders, which no annotation admits."""

    @functools.wraps(make)
    def dataclass(target: type | None = None, **options: Any) -> Any:
        if target is None:
            return functools.partial(dataclass, **options)
        made = make(target, **options)
        made.__init__ = jaxtyping.jaxtyped(made.__init__, typechecker=None)
        return made

    return dataclass


# As jaxtyping's, its errors are TypeErrors.
TYPES = beartype.beartype(conf=beartype.BeartypeConf(violation_type=TypeError))


def where_needed(jaxtyped: Callable[..., Any]) -> Callable[..., Any]:
    """Bind sizes of axes in functions of arrays alone: others have the type checker alone, which is faster.

    Closures are left out, each of which would be wrapped anew at every call of what holds it, and Linen constructors:
    those of our modules check their own arguments; a part may be given as a module.
    """

    def check(target: Any = None, *, typechecker: Callable[..., Any] | None) -> Any:
        if target is None:
            return functools.partial(check, typechecker=typechecker)
        linen = isinstance(target, type) and issubclass(target, flax.linen.Module)
        if linen or '<locals>' in getattr(target, '__qualname__', ''):
            return target
        # A name in quotes may be that of an import that is missing here, which jaxtyping leaves alone.
        plain = inspect.isfunction(target) and not any(
            isinstance(hint, str) or 'jaxtyping' in repr(hint) for hint in target.__annotations__.values()
        )
        return TYPES(target) if plain and typechecker else jaxtyped(target, typechecker=typechecker)

    return check


def in_one_program(init: Callable[..., Any]) -> Callable[..., Any]:
    """Compile initialisation, as training does: else each operation of the first call is a program of its own."""

    @functools.wraps(init)
    def compiled(self: flax.linen.Module, rngs: Any, *args: Any, **options: Any) -> Any:
        return jax.jit(lambda rngs: init(self, rngs, *args, **options))(rngs)

    return compiled


gc.set_threshold(200_000, 20, 50)  # traces are many small objects, of which few are garbage: a sixth of the time

# Before anything of saccade is imported: the hook decorates modules as they are loaded.
flax.struct.dataclass = unchecked(flax.struct.dataclass)
jaxtyping.jaxtyped = where_needed(jaxtyping.jaxtyped)
flax.linen.Module.init = in_one_program(flax.linen.Module.init)
jaxtyping.install_import_hook(['saccade', 'benchmarks'], 'beartype.beartype')

ONLY_ON_REQUEST = ('long', 'oracle')
# The contracts of parts, each of which can be asked of one part alone, and that of an experiment.
OF_PARTS = ('test_every_part.py', 'test_mixing.py', 'test_axes.py', 'test_wholes.py', 'test_spread.py')
OF_EXPERIMENT = ('test_experiment.py',)
CONTRACT = Path(__file__).parent / 'contract'
# Folders that take long to collect, and the marker of all that is in them: one draws a grid, one imports torch.
COLLECTED_FOR = {Path(__file__).parent / 'grid': 'long', Path(__file__).parent / 'oracle': 'oracle'}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--variant', metavar='MODULE:CLASS', help='run the contract tests, on this part alone')
    parser.addoption(
        '--experiment',
        metavar='"FILE --config.FIELD=VALUE"',
        help='run the contract of its data, task and metrics alone',
    )
    parser.addoption('--sample', metavar='N', type=int, default=1, help='run one in N tests, chosen by the commit')


def pytest_configure(config: pytest.Config) -> None:
    """Look the variant and the experiment up once, so that others are refused in one line."""
    if files_of(config):
        from saccade.analysis.catalogue.catalogue import Catalogue
        from saccade.train.config import load_config
        from saccade.train.experiment import Experiment
        from saccade.types import UserError

        sys.path.append(os.getcwd())
        try:
            if config.option.variant:
                Catalogue.of(config.option.variant, '--variant')
            if config.option.experiment:
                file, *overrides = shlex.split(config.option.experiment) or ['']
                Experiment.of(load_config(file, overrides))
        except (UserError, ValueError) as error:
            raise pytest.UsageError(str(error)) from None
        # For the tests, which are made while they are imported.
        os.environ['SACCADE_VARIANT'] = config.option.variant or ''
        os.environ['SACCADE_EXPERIMENT'] = config.option.experiment or ''


def files_of(config: pytest.Config) -> tuple[str, ...]:
    """Return the files of the contracts that are asked of one variant or experiment; none for all tests."""
    option = config.option
    return (OF_PARTS if option.variant else ()) + (OF_EXPERIMENT if option.experiment else ())


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which share of the tests is run."""
    count = config.option.sample
    return f'one in {count}, share {share_of(count)}, chosen by commit {commit()[:12]}' if count > 1 else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect the contract asked for alone, and neither grid nor oracles without `-m` for them."""
    files = files_of(config)
    inside = collection_path == CONTRACT or (collection_path.parent == CONTRACT and collection_path.name in files)
    elsewhere = files and not inside and collection_path not in CONTRACT.parents
    unasked = COLLECTED_FOR.get(collection_path, '') not in config.option.markexpr
    return True if elsewhere or unasked else None


@pytest.hookimpl(trylast=True)  # of the tests that `-m` and `-k` have left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of a marker that `-m` does not mention, and all but this commit's share.

    A share is every n-th test in the order of files, so that each file and each long list of cases is thinned evenly.
    A variant is put through the long tests too, and not through tests that have no case for it.
    """
    unasked = {marker for marker in ONLY_ON_REQUEST if marker not in config.option.markexpr}
    if config.option.variant:
        unasked = unasked - {'long'} | {'skip'}  # pytest's marker of a test without parameters
    asked = [item for item in items if not unasked & {marker.name for marker in item.iter_markers()}]
    kept = asked[share_of(config.option.sample) :: config.option.sample]
    config.hook.pytest_deselected(items=[*set(items).difference(kept)])
    items[:] = kept


def share_of(count: int) -> int:
    """Return the number of the share, of `count`, that this commit runs: other commits run the others."""
    return int(commit(), 16) % count if count > 1 else 0


@functools.cache
def commit() -> str:
    """Return the commit that is tested; 0 without git's history, as in an archive."""
    command = ['git', '-C', str(Path(__file__).parent), 'rev-parse', 'HEAD']
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or '0'


@pytest.fixture(scope='module', autouse=True)
def forget_programs() -> Iterator[None]:
    """Let go of what a file compiled: together the files would hold several GB."""
    yield
    jax.clear_caches()


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """Undo what a test, or what it calls, does to our variables: `trust` sets one for the processes that it starts.

    `monkeypatch.delenv(..., raising=False)` would not: of a variable that is not set it puts nothing back.
    """
    before = {name: value for name, value in os.environ.items() if name.startswith('SACCADE_')}
    yield
    for name in [name for name in os.environ if name.startswith('SACCADE_') and name not in before]:
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope='session')
def gate_class() -> type:
    """A trained score term with a carry: the gates of the keys from j to i add up to a distance (CoPE, 2405.18719)."""
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class CumulativeGate:
        table: jax.Array

        def init_carry(self, q):
            return jnp.zeros((q.shape[0], q.shape[2], q.shape[1]))

        def __call__(self, scores, q, k, pairs, carry):
            gates = jnp.where(pairs.allowed, jax.nn.sigmoid(scores), 0.0)
            distance = jnp.cumsum(gates[..., ::-1], axis=-1)[..., ::-1] + carry[..., None]
            return scores + self.table[:, None, None] * jnp.sin(distance), distance[..., 0]

    return CumulativeGate
