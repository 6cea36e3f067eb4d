# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of one layer by length: of each mixer, kernel, softmax, score term and mask of the sweep over attention.

A batch has the same number of tokens at each length, so a cost that is proportional to the length is constant in a
table. Exponents are of one sequence: 1 for such a cost, 2 for all pairs of tokens. FLOPs and bytes are counted in
programs that are not run. A file of records has a row for each layer and length, and a later call measures the rest.
"""

import csv
import io
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from saccade.experiments.sweeps import attention as sweep

from benchmarks.one_layer import forward_and_backward, forward_flops, layer, params_like
from saccade.build import build
from saccade.train.log.provenance import processor
from saccade.train.workdir import write_atomically
from saccade.types import LayerContext, UserError

LENGTHS = (256, 1024, 4096, 16384)
TOKENS, WIDTH, WINDOW, BLOCK = 16384, 128, 64, 256
DECODED = 32  # tokens, one after another
LARGEST = 4 * 2**30  # temporary bytes of a program that is run
PLAIN = sweep.PLAIN['use']
IN_BLOCKS = {'use': 'attention.blockwise:Blockwise', 'query_block': BLOCK, 'key_block': BLOCK}
MULTI_HEAD: Mapping[str, Any] = {
    'use': 'attention.multi_head:MultiHead',
    'heads': sweep.HEADS,
    'kernel': sweep.PLAIN,
    'mask': sweep.CAUSAL,
    'position': sweep.ROTARY,
}


FIGURES = ('flops', 'temp_bytes', 'state_bytes', 'compile_seconds', 'seconds', 'token_seconds')
MACHINE = ('jax', 'processor')
Record = Mapping[str, Any]  # figures of one layer at one length, None where there is none, and the machine


def variants(length: int) -> dict[str, dict[str, Any]]:
    """Return the spec of each layer for rows of a length, with the plain kernel in those that have one."""
    layers = sweep.mixers(length, WINDOW) | sweep.without_attention(length, WINDOW)
    kernels = sweep.kernels(length, WINDOW)
    softmaxes = {name: sweep.PLAIN | {'softmax': spec} for name, spec in sweep.softmaxes(length).items()}
    changes = (
        {name: {'kernel': spec} for name, spec in (kernels | softmaxes).items()}
        | {name: {'terms': [spec]} for name, spec in sweep.terms().items()}
        | {name: {'mask': spec} for name, spec in sweep.masks(length, WINDOW).items()}
    )
    changed = {name: {**MULTI_HEAD, **each} for name, each in changes.items()}
    return {'multi_head': dict(MULTI_HEAD)} | layers | changed


def layers(length: int) -> dict[str, dict[str, Any]]:
    """Return the spec of each row of the tables: `plain`, and each variant with the blockwise kernel if it takes it."""
    return {'plain': dict(MULTI_HEAD)} | {name: cheapest(spec) for name, spec in variants(length).items()}


def cheapest(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec with the blockwise kernel in place of the plain one, or as it is if the layer refuses it."""
    return dict(spec) if refusal(spec) else _in_blocks(spec)


def refusal(spec: Mapping[str, Any]) -> str | None:
    """Return the message of a layer that refuses the blockwise kernel in place of the plain one, or None."""
    try:
        build(_in_blocks(spec))
    except UserError as error:
        return str(error)
    return None


def _in_blocks(spec: Any) -> Any:
    if isinstance(spec, list | tuple):
        return [_in_blocks(each) for each in spec]
    if not isinstance(spec, Mapping):
        return spec
    inner = {name: _in_blocks(each) for name, each in spec.items()}
    return inner | IN_BLOCKS if spec.get('use') == PLAIN else inner


def measured(lengths: Sequence[int], rounds: int, file: Path | None = None) -> dict[tuple[str, int], Record]:
    """Count and measure each layer at each length.

    Args:
        rounds: runs of which the median is reported; 0 to count FLOPs and bytes only.
        file: CSV file of records, which is continued; rows without the seconds that are to be measured are replaced.

    Raises:
        UserError: fewer than three lengths are given, one does not divide the tokens of a batch, or the file has other
            columns.
    """
    if len(set(lengths)) < 3:
        raise UserError(f'--length: an exponent with an interval needs three lengths or more, not {list(lengths)}')
    if unfit := [length for length in lengths if TOKENS % length]:
        raise UserError(f'--length={unfit[0]}: rows of a batch of {TOKENS} tokens need a length that divides it')
    machine = dict(zip(MACHINE, (jax.__version__, processor() or platform.machine()), strict=True))
    names = [*layers(min(lengths))]
    earlier = read(file) if file and file.exists() else {}
    found = {key: record for key, record in earlier.items() if key[0] in names}
    for length in sorted(set(lengths)):
        for name, spec in layers(length).items():
            before = found.get((name, length))
            if before is None or (rounds and before['compile_seconds'] is None):
                found[name, length] = measure(spec, length, rounds) | machine
                if file:
                    ordered = sorted(found, key=lambda key: (names.index(key[0]), key[1]))
                    write(file, {key: found[key] for key in ordered})
    return {(name, length): found[name, length] for name in names for length in sorted(set(lengths))}


def read(file: Path) -> dict[tuple[str, int], Record]:
    """Read a file of records.

    Raises:
        UserError: it has other columns.
    """
    columns, *rows = [*csv.reader(io.StringIO(file.read_text(encoding='utf-8')))] or [[]]
    if columns != ['layer', 'length', *FIGURES, *MACHINE]:
        raise UserError(f'{file}: it has the columns {", ".join(columns)}; name a file of records of --what=costs')
    figures = slice(2, 2 + len(FIGURES))
    return {
        (row[0], int(row[1])): dict(zip(FIGURES, map(_number, row[figures]), strict=True))
        | dict(zip(MACHINE, row[figures.stop :], strict=True))
        for row in rows
    }


def write(file: Path, records: Mapping[tuple[str, int], Record]) -> None:
    """Write a file of records."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator='\n')
    writer.writerow(('layer', 'length', *FIGURES, *MACHINE))
    writer.writerows((*key, *(record[column] for column in (*FIGURES, *MACHINE))) for key, record in records.items())
    write_atomically(file, table.getvalue())


def _number(text: str) -> int | float | None:
    return (int(text) if text.isdecimal() else float(text)) if text else None


def state_bytes(spec: Mapping[str, Any], length: int) -> int | None:
    """Return the bytes of the decoding state of a sequence of a length; None if the layer does not decode."""
    try:
        state = jax.eval_shape(lambda x: layer(spec).init_state(x, length), _tokens(1, 1))
    except UserError:
        return None
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))


def measure(spec: Mapping[str, Any], length: int, rounds: int) -> dict[str, int | float | None]:
    """Return the figures of one layer at one length; None for those that are not measured."""
    start = time.perf_counter()
    like = params_like(spec, _batch(length))
    program = forward_and_backward(spec).lower(like, _batch(length)).compile()
    compile_seconds, taken = time.perf_counter() - start, program.memory_analysis().temp_size_in_bytes
    state = state_bytes(spec, length)
    counted = {'flops': forward_flops(spec, _batch(length)), 'temp_bytes': taken, 'state_bytes': state}
    if not rounds:
        return dict.fromkeys(FIGURES) | counted
    params, batch, tokens = _drawn((like, _batch(length), _tokens(1, DECODED)))
    decode = None if state is None else jax.jit(_decoding(spec, length))
    return counted | {
        'compile_seconds': compile_seconds,
        'seconds': _median(lambda: program(params, batch), rounds) if taken <= LARGEST else None,
        'token_seconds': decode and _median(lambda: decode(params, tokens), rounds) / DECODED,
    }


def _decoding(spec: Mapping[str, Any], length: int) -> Callable[[PyTree, Float[Array, 'B T D']], Any]:
    """Return a function that decodes tokens one after another with a state for a whole sequence."""

    def decode(params: PyTree, x: Float[Array, 'B T D']) -> Float[Array, 'T B D']:
        def step(state: PyTree, each: tuple[Array, Array]) -> tuple[PyTree, Array]:
            token, position = each
            context = LayerContext(jnp.full((1, 1), position))
            y, state = layer(spec).apply(params, token[None, None], context, state, method='step')
            return state, y

        first = layer(spec).init_state(x[:, :1], length)
        return jax.lax.scan(step, first, (x[0], jnp.arange(x.shape[1])))[1]

    return decode


def _median(run: Callable[[], Any], rounds: int) -> float:
    jax.block_until_ready(run())
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(run())
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def _tokens(rows: int, length: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((rows, length, WIDTH), jnp.float32)


def _batch(length: int) -> jax.ShapeDtypeStruct:
    return _tokens(TOKENS // length, length)


def _drawn(like: PyTree) -> PyTree:
    """Return normal numbers with a deviation of 0.02: times do not depend on them."""
    return jax.tree.map(lambda leaf: 0.02 * jax.random.normal(jax.random.key(0), leaf.shape, leaf.dtype), like)
