# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention kernels side by side: what each serves, on which platform, in how much memory, and that they agree.

Memory is that of the compiled program, forward and backward, on the devices here or on a TPU slice that is nowhere
near; nothing is run for it. Whether kernels agree is seen by running them, next to the whole score matrix in float32.
"""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding
from jaxtyping import Array

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.attention.base import CachingKernel
from saccade.attention.blockwise import Blockwise
from saccade.attention.cudnn import CuDNN
from saccade.attention.plain import Plain
from saccade.attention.splash import Splash
from saccade.ops.devices import traced_for
from saccade.ops.mask import Causal, Full, SameSegment, Strided, Window
from saccade.ops.scoring import Dropout, Scoring
from saccade.ops.softmax import SoftmaxWeights
from saccade.ops.term import LinearBias, Softcap
from saccade.train.mesh import devices_of, make_mesh
from saccade.types import Mask, UserError

KERNELS: Mapping[str, type[CachingKernel]] = {
    'plain': Plain,
    'blockwise': Blockwise,
    'splash': Splash,
    'cudnn': CuDNN,
}
ANYWHERE: Mapping[str, Mapping[str, bool]] = {'splash': {'interpret': True}, 'cudnn': {'emulate': True}}
LENGTHS = (2048, 8192, 32768)
BATCH, HEADS, WIDTH = 1, 8, 64
KEY_HEADS = 4  # where kernels are compared; elsewhere as many as HEADS
DTYPES: Mapping[str, Any] = {'bfloat16': jnp.bfloat16, 'float32': jnp.float32}
NOTE = 'cudnn attends to packed rows in blocks, as blockwise does.'
NEAR = {'bfloat16': 2e-2, 'float32': 1e-5}  # of the largest number of an array


@dataclass(frozen=True)
class Case:
    """Requirements on a kernel. Attributes: mask, of so many tokens a row; what else the scoring has."""

    mask: Callable[[int], Mask]
    rest: Mapping[str, Any]

    def scoring(self, tokens: int) -> Scoring:
        """The scoring of rows of so many tokens."""
        return Scoring(self.mask(tokens), scale=WIDTH**-0.5, **self.rest)


def _rows(*shares: tuple[float, int]) -> Callable[[int], SameSegment]:
    """Two rows: one of one document, one whose segments take these shares of it."""

    def mask(tokens: int) -> SameSegment:
        row = np.concatenate([np.full(round(share * tokens), segment) for share, segment in shares])
        row = np.pad(row, (0, max(0, tokens - len(row))))[:tokens]
        segments = jnp.asarray(np.stack([np.ones(tokens), row]), jnp.int32)
        return SameSegment(segments, segments)

    return mask


_PADDED, _PACKED = _rows((0.6, 1)), _rows((0.3, 1), (0.5, 2))
CASES: Mapping[str, Case] = {
    'causal': Case(lambda T: Causal(), {}),
    'full': Case(lambda T: Full(), {}),
    'window back': Case(lambda T: Causal() & Window(T // 3), {}),
    'window both ways': Case(lambda T: Window(T // 3, T // 4), {}),
    'causal, padded': Case(lambda T: Causal() & _PADDED(T), {}),
    'full, padded': Case(lambda T: Full() & _PADDED(T), {}),
    'causal, packed': Case(lambda T: Causal() & _PACKED(T), {}),
    'softcap': Case(lambda T: Causal(), {'terms': (Softcap(5.0),)}),
    'bias': Case(lambda T: Causal(), {'terms': (LinearBias(tuple(2.0**-n for n in range(1, HEADS + 1))),)}),
    'sink': Case(lambda T: Causal(), {'softmax': SoftmaxWeights(jnp.linspace(-1.0, 1.0, HEADS))}),
    'dropout': Case(lambda T: Causal(), {'dropout': Dropout(jax.random.key_data(jax.random.key(0)), 0.1)}),
    'strided mask': Case(lambda T: Causal() & Strided(2), {}),
}


def kernels(lengths: Sequence[int], device: Any, where: str) -> MeasurementReport:
    """Report what each kernel serves, and the bytes of causal attention by length.

    Args:
        device: to compile for; where: its name, for people.
    """
    served = {name: {case: lacks(name, case) for case in CASES} for name in KERNELS}
    found = {name: {length: bytes_or_words(name, length, device) for length in lengths} for name in KERNELS}
    serves = [(case, *('refused' if served[name][case] else 'served' for name in KERNELS)) for case in CASES]
    rows = [(name, *(_in_mib(taken) for taken in by_length.values())) for name, by_length in found.items()]
    title = f'Temporary MiB of causal attention, forward and backward; {HEADS} heads of {WIDTH}, bfloat16; {where}'
    tables = (
        Table('What each kernel serves, on its own platform', ('asked', *KERNELS), serves),
        Table(title, ('kernel', *(f'T = {length}' for length in lengths)), rows),
    )
    reasons = [words for by_length in found.values() for words in by_length.values() if isinstance(words, str)]
    figures = {'served': served, 'temp_bytes': found, 'platform': device.platform, 'device': device.device_kind}
    return MeasurementReport('kernels', figures, tables, (*dict.fromkeys(reasons), NOTE))


def lacks(name: str, case: str, tokens: int = 128) -> str:
    """Missing features of a kernel for a case on its platform, in words; empty if none."""
    kernel = KERNELS[name](**ANYWHERE.get(name, {}), parent=None)
    return _refusal(kernel, _given(2, tokens, jnp.bfloat16, KEY_HEADS), CASES[case].scoring(tokens))


def bytes_or_words(name: str, length: int, device: Any) -> int | str | None:
    """Bytes that causal attention, forward and backward, needs besides arguments and results.

    Returns: why the kernel cannot, in words, in place of them; None where the compiler says that they do not fit.
    """
    shape = (BATCH, length, HEADS, WIDTH)
    like = jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=SingleDeviceSharding(device))
    kernel, scoring = KERNELS[name](parent=None), CASES['causal'].scoring(length)
    with traced_for(devices_of(make_mesh({}, [device]))):
        if words := _refusal(kernel, (like, like, like), scoring):
            return words
        program = jax.jit(jax.grad(_loss(kernel, scoring), argnums=(0, 1, 2)))
        try:
            return program.lower(like, like, like).compile().memory_analysis().temp_size_in_bytes
        except jax.errors.JaxRuntimeError as error:
            if 'RESOURCE_EXHAUSTED' not in str(error):
                raise
            return None


def differences(name: str, case: str, dtype: str, tokens: int) -> list[float] | str:
    """Distance of a kernel's output and gradients from the whole matrix in float32, as shares of the largest number.

    Returns: of the output and of the gradients by queries, keys and values; or why the kernel cannot, in words.
    """
    kernel, scoring = KERNELS[name](parent=None), CASES[case].scoring(tokens)
    given = tuple(x.astype(DTYPES[dtype]) for x in _given(2, tokens, jnp.bfloat16, KEY_HEADS))
    if words := _refusal(kernel, given, scoring):
        return words
    # A GPU rounds float32 products, unless it is told not to.
    with jax.default_matmul_precision('highest') if dtype == 'float32' else nullcontext():
        found = _with_gradients(kernel, scoring, given)
    return [_apart(one, other) for one, other in zip(found, _exact(case, tokens), strict=True)]


@functools.cache
def _exact(case: str, tokens: int) -> tuple[Array, ...]:
    """Output and gradients of the whole matrix in float32, for numbers that bfloat16 has."""
    given = tuple(x.astype(jnp.float32) for x in _given(2, tokens, jnp.bfloat16, KEY_HEADS))
    with jax.default_matmul_precision('highest'):
        return _with_gradients(Plain(parent=None), CASES[case].scoring(tokens), given)


def seconds_or_words(name: str, length: int, calls: int) -> float | str:
    """Seconds of causal attention, forward and backward, here; or why the kernel cannot, in words."""
    kernel, scoring, given = (
        KERNELS[name](parent=None),
        CASES['causal'].scoring(length),
        _given(BATCH, length, jnp.bfloat16, HEADS),
    )
    if words := _refusal(kernel, given, scoring):
        return words
    program = jax.jit(jax.grad(_loss(kernel, scoring), argnums=(0, 1, 2)))
    jax.block_until_ready(program(*given))
    start = time.perf_counter()
    jax.block_until_ready([program(*given) for _ in range(calls)])
    return (time.perf_counter() - start) / calls


def _loss(kernel: CachingKernel, scoring: Scoring) -> Callable[[Array, Array, Array], Array]:
    return lambda q, k, v: jnp.square(kernel.attend(q, k, v, scoring).astype(jnp.float32)).sum()


def _with_gradients(kernel: CachingKernel, scoring: Scoring, given: tuple[Array, ...]) -> tuple[Array, ...]:
    out = jnp.asarray(np.random.default_rng(3).normal(size=given[0].shape), jnp.bfloat16).astype(given[0].dtype)

    @jax.jit
    def run(q: Array, k: Array, v: Array, out: Array) -> tuple[Array, ...]:
        y, pull = jax.vjp(lambda *qkv: kernel.attend(*qkv, scoring), q, k, v)
        return (y, *pull(out))

    return run(*given, out)


def _apart(found: Array, expected: Array) -> float:
    found, expected = np.asarray(found, np.float32), np.asarray(expected, np.float32)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _given(rows: int, tokens: int, dtype: Any, key_heads: int) -> tuple[Array, Array, Array]:
    """Random queries, keys and values."""
    shapes = [(rows, tokens, heads, WIDTH) for heads in (HEADS, key_heads, key_heads)]
    return tuple(jnp.asarray(np.random.default_rng(at).normal(size=shape), dtype) for at, shape in enumerate(shapes))


def _refusal(kernel: CachingKernel, given: tuple[Any, ...], scoring: Scoring) -> str:
    try:
        jax.eval_shape(lambda q, k, v: kernel.require_served(q, k, v, scoring), *given)
    except UserError as error:
        return str(error)
    return ''


def _in_mib(taken: int | str | None) -> str:
    if taken is None:
        return 'does not fit'
    return 'refused' if isinstance(taken, str) else f'{taken / 2**20:,.1f}'
