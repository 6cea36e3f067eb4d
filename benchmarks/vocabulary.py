# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memory benchmark of the loss over a vocabulary, forward and backward, from the compiled program: nothing is run.

The logits of all places of all rows at once, beside those of a chunk of each row (`ops.vocabulary`), as every task of
tokens makes them with `vocabulary_chunk`: cross-entropy with label smoothing, z-loss, and hits.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.ops.vocabulary import OutputProjection
from saccade.task.causal_lm import CausalLM

VOCABULARIES = (32 * 1024, 256 * 1024)
CHUNKS = (None, 256, 64, 16)  # places of each row whose logits are in memory at once; None for all
BATCH, LENGTH, WIDTH = 4, 1024, 768
HEADS = {'tied': True, 'untied': False}


def vocabulary(sizes: Sequence[int] = VOCABULARIES) -> MeasurementReport:
    """Compile the loss of a tied and of an untied head with its gradients, at each size of the vocabulary and chunk."""
    found = {
        f'{head}, V = {size}': [temp_bytes(size, tied, chunk) for chunk in CHUNKS]
        for size in sizes
        for head, tied in HEADS.items()
    }
    rows = [(name, *(f'{taken / 2**20:,.0f}' for taken in bytes_taken)) for name, bytes_taken in found.items()]
    title = f'Temporary MiB, forward and backward; {BATCH} rows of {LENGTH} tokens, width {WIDTH}, float32'
    columns = ('head', *('whole' if chunk is None else f'chunk {chunk}' for chunk in CHUNKS))
    return MeasurementReport('vocabulary', {'chunks': CHUNKS, 'temp_bytes': found}, (Table(title, columns, rows),))


def temp_bytes(size: int, tied: bool, chunk: int | None) -> int:
    """Bytes that the compiled forward and backward pass needs besides its arguments and results.

    Args:
        size: V; tied: whether the kernel is the embedding [V D]; chunk: `vocabulary_chunk` of the task.
    """
    task = CausalLM(vocabulary_chunk=chunk, label_smoothing=0.1, z_loss=1e-4)

    def loss(
        hidden: Float[Array, 'B T D'], kernel: Float[Array, '_ _'], targets: Int[Array, 'B T']
    ) -> tuple[Float[Array, ''], Int[Array, '']]:
        projection = OutputProjection(hidden, kernel, tied)
        scores = task.each_target(projection.logits() if chunk is None else projection, targets, True)
        return scores.losses.mean(), scores.hits.sum()

    given = (
        jax.ShapeDtypeStruct((BATCH, LENGTH, WIDTH), jnp.float32),
        jax.ShapeDtypeStruct((size, WIDTH) if tied else (WIDTH, size), jnp.float32),
        jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
    )
    compiled = jax.jit(jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)).lower(*given).compile()
    return compiled.memory_analysis().temp_size_in_bytes
