# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse mixers next to blockwise full attention, by length: seconds, temporary bytes and FLOPs.

FLOPs and bytes are counted in programs that are not run. FLOPs of the choice are apart: these grow with the square of
the length, with a small factor, and the others in proportion to it.
"""

import functools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.one_layer import forward_and_backward, forward_flops, layer, params_like
from saccade.analysis.report.figures import MeasurementReport, Table, exponent
from saccade.ops.flops import flops
from saccade.ops.mask import Causal
from saccade.ops.selection import best_keys
from saccade.types import UserError

LENGTHS = (1024, 2048, 4096, 8192, 16384)
BATCH, WIDTH, HEADS, KEY_HEADS, HEAD_WIDTH = 1, 512, 8, 1, 64
KERNEL = {'use': 'attention.blockwise:Blockwise', 'query_block': 256, 'key_block': 256}
SHARED: Mapping[str, Any] = {
    'use': 'attention.multi_head:MultiHead',
    'heads': HEADS,
    'key_value_heads': KEY_HEADS,
    'kernel': KERNEL,
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.rotary:Rotary'},
}
MOBA = {'block': 512, 'chosen': 3}
NATIVE = {'length': 32, 'stride': 16, 'block': 64, 'chosen': 16, 'window': 512}
INDEXER = {'index_heads': 4, 'index_width': 32, 'chosen': 512}


@dataclass(frozen=True)
class Sparse:
    """Mixer to measure. Attributes: its spec; FLOPs of its choice, forward, at a length."""

    spec: Mapping[str, Any]
    choice: Callable[[int], int]


def _indexer(length: int) -> int:
    heads, width, chosen = INDEXER.values()
    shapes = (BATCH, length, heads, width), (BATCH, length, 1, width), (BATCH, length, heads)
    like = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)
    blocks = KERNEL['query_block'], KERNEL['key_block']
    return flops(lambda *given: best_keys(*given, Causal(), chosen, blocks), *like)


_NATIVE = {**SHARED, **NATIVE, 'use': 'attention.native_sparse:NativeSparse'}
_INDEXED = {**SHARED, **INDEXER, 'use': 'attention.lightning_indexer:LightningIndexer'}
MIXERS: Mapping[str, Sparse] = {
    'full': Sparse(SHARED, lambda T: 0),
    'MoBA': Sparse(
        {**SHARED, 'kernel': {'use': 'attention.moba:MoBA', **MOBA, 'inner': KERNEL}},
        lambda T: 2 * BATCH * HEADS * T * (T // MOBA['block']) * HEAD_WIDTH,
    ),
    'native sparse': Sparse(
        _NATIVE,
        lambda T: 4 * BATCH * HEADS * T * ((T - NATIVE['length']) // NATIVE['stride'] + 1) * HEAD_WIDTH,
    ),
    'lightning indexer': Sparse(_INDEXED, _indexer),
}


def sparse(lengths: Sequence[int], rounds: int) -> MeasurementReport:
    """Measure and count each mixer at each length, and fit exponents of the length.

    Args:
        rounds: runs of each mixer at each length, in turn.

    Raises:
        UserError: fewer than two lengths are given, or one is shorter than a block.
    """
    if len(set(lengths)) < 2:
        raise UserError(f'--length: an exponent needs two lengths or more, not {list(lengths)}')
    if min(lengths) < MOBA['block']:
        raise UserError(f'--length: {min(lengths)} is shorter than a block of {MOBA["block"]} tokens')
    choices = {name: [mixer.choice(length) for length in lengths] for name, mixer in MIXERS.items()}
    others = {
        name: [work(mixer, length) - apart for length, apart in zip(lengths, choices[name], strict=True)]
        for name, mixer in MIXERS.items()
    }
    taken = {name: [temp_bytes(mixer, length) for length in lengths] for name, mixer in MIXERS.items()}
    by_length = [seconds(length, rounds) for length in lengths]
    timed = {name: [found[name] for found in by_length] for name in MIXERS}
    sizes = f'batch {BATCH}, {HEADS} heads of {HEAD_WIDTH}, {KEY_HEADS} key head, float32'
    tables = (
        _table(f'Seconds, forward and backward, median of {rounds}; {sizes}', lengths, timed, '{:,.3f}', 1),
        _table('Temporary MiB, forward and backward', lengths, taken, '{:,.1f}', 2**20),
        _table('GFLOPs forward, without the choice', lengths, others, '{:,.2f}', 10**9),
        _table(
            'GFLOPs of choosing keys',
            lengths,
            {name: choices[name] for name in MIXERS if any(choices[name])},
            '{:,.2f}',
            10**9,
        ),
    )
    figures = {
        'lengths': list(lengths),
        'seconds': timed,
        'temp_bytes': taken,
        'flops': others,
        'choice_flops': choices,
    }
    note = f'MoBA {MOBA}; native sparse {NATIVE}; lightning indexer {INDEXER}; blocks of {KERNEL["query_block"]}.'
    return MeasurementReport('sparse', figures, tables, (note,))


def work(mixer: Sparse, length: int) -> int:
    """Return the FLOPs of the forward pass of a mixer, as it is traced for inference."""
    return forward_flops(mixer.spec, _tokens(length))


def temp_bytes(mixer: Sparse, length: int) -> int:
    """Return the bytes that the compiled forward and backward pass needs besides its arguments and results."""
    x = _tokens(length)
    program = forward_and_backward(mixer.spec).lower(params_like(mixer.spec, x), x).compile()
    return program.memory_analysis().temp_size_in_bytes


def seconds(length: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of the forward and backward pass of each mixer, which run in turn."""
    x = jax.random.normal(jax.random.key(0), (BATCH, length, WIDTH))
    programs = {}
    for name, mixer in MIXERS.items():
        params = jax.jit(lambda x, mixer=mixer: {'params': layer(mixer.spec).init(jax.random.key(1), x)['params']})(
            x[:, :8]
        )
        programs[name] = functools.partial(forward_and_backward(mixer.spec), params, x)
        jax.block_until_ready(programs[name]())
    found: dict[str, list[float]] = {name: [] for name in MIXERS}
    for _ in range(rounds):
        for name, program in programs.items():
            start = time.perf_counter()
            jax.block_until_ready(program())
            found[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in found.items()}


def _tokens(length: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((BATCH, length, WIDTH), jnp.float32)


def _table(title: str, lengths: Sequence[int], found: Mapping[str, Sequence[float]], form: str, unit: int) -> Table:
    """Return the figures of each mixer by length, with the exponent of the length."""
    rows = [
        (name, *(form.format(size / unit) for size in sizes), f'{exponent(lengths, sizes):.2f}')
        for name, sizes in found.items()
    ]
    return Table(title, ('mixer', *(f'T = {length}' for length in lengths), 'exponent'), rows)
