# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Search benchmark: the most similar of n texts to each of them, by a bi-encoder and by a cross-encoder.

    bi-encoder: n texts are read, n² D multiplications;   cross-encoder: n (n - 1) / 2 pairs are read

Reimers and Gurevych 2019, "Sentence-BERT", section 1, https://arxiv.org/abs/1908.10084: 5 seconds for 10,000 sentences
where BERT takes 65 hours. Both are the same small encoder with random weights, on random tokens: what is measured is
time. A cross-encoder of more texts than `most` is not run: its time is the pairs by the seconds a pair of the largest
that was, and is marked as extrapolated.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from benchmarks.size import CROSSED, SEARCHED
from saccade.analysis.report.figures import MeasurementReport, Table, exponent
from saccade.build import build
from saccade.ops.pool import mean
from saccade.ops.similarity import normalised
from saccade.types import LayerContext, UserError

LENGTH, WIDTH, LAYERS, HEADS, VOCABULARY = 16, 64, 2, 2, 8192
_TEXTS, _PAIRS = 256, 128  # read at once, so that both have as many tokens in a batch
_BLOCK = 1024  # texts whose cosines with all are held at once
_NORM = {'use': 'norm.layer:LayerNorm'}
_MODEL = {
    'use': 'model.encoder:Encoder',
    'vocabulary': VOCABULARY,
    'context_length': 2 * LENGTH,
    'width': WIDTH,
    'layers': LAYERS,
    'run': {'use': 'model.stack:Unrolled'},
    'position': {'use': 'position.learned:Learned', 'length': 2 * LENGTH},
    'norm': _NORM,
    'block': {
        'use': 'block.pre_norm:PreNorm',
        'norm': _NORM,
        'mixer': {
            'use': 'attention.multi_head:MultiHead',
            'heads': HEADS,
            'kernel': {'use': 'attention.plain:Plain'},
            'mask': {'use': 'ops.mask:Full'},
            'position': {'use': 'position.none:NoPosition'},
        },
        'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}, 'ratio': 4.0},
    },
    'heads': {
        'pooled': {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:mean'}, 'classes': 1},
    },
}


@dataclass(frozen=True)
class Timed:
    """Times for n texts, in seconds.

    Attributes:
        encode: the bi-encoder reads all texts; compare: cosines of all, and the largest for each.
        cross: the cross-encoder reads all pairs.
        measured: whether it did, or its time is extrapolated.
    """

    texts: int
    encode: float
    compare: float
    cross: float
    measured: bool

    @property
    def bi(self) -> float:
        """All that the bi-encoder takes."""
        return self.encode + self.compare


def search(counts: Sequence[int] = SEARCHED, most: int = CROSSED) -> MeasurementReport:
    """Measure both at each number of texts, the cross-encoder at no more than `most`.

    Raises:
        UserError: there are not two numbers of texts or more that both are measured at.
    """
    counts = sorted(set(counts))
    if sum(count <= most for count in counts) < 2 or counts[0] < 2:
        raise UserError(f'--texts: an exponent needs two numbers of 2 to {most} texts, not {counts}')
    model = build(_MODEL)()
    params = _params(model)
    encode, score = (jax.jit(partial(read, model, params)) for read in (_vectors, _scores))
    for read, width, rows in ((encode, LENGTH, _TEXTS), (score, 2 * LENGTH, _PAIRS)):  # compiled before the clock runs
        jax.block_until_ready(read(np.zeros((rows, width), np.int32)))
    found: list[Timed] = []
    for count in counts:
        tokens = np.random.default_rng(count).integers(VOCABULARY, size=(count, LENGTH), dtype=np.int32)
        encoding, vectors = _timed(lambda tokens=tokens: _in_batches(encode, tokens, _TEXTS))
        comparing, _ = _timed(lambda vectors=vectors: _nearest(vectors))
        pairs = count * (count - 1) // 2
        if count <= most:
            crossing, _ = _timed(lambda tokens=tokens: _cross_nearest(score, tokens))
            a_pair = crossing / pairs
        found.append(Timed(count, encoding, comparing, a_pair * pairs, count <= most))
    return _report(found)


def _report(found: list[Timed]) -> MeasurementReport:
    exponents = {
        name: exponent([each.texts for each in some], [getattr(each, name) for each in some])
        for name, some in {'bi': found, 'cross': [each for each in found if each.measured]}.items()
    }
    rows = [
        (
            f'{each.texts:,}',
            f'{each.encode:,.3f}',
            f'{each.compare:,.4f}',
            f'{each.cross:,.1f}{"" if each.measured else " (extrapolated)"}',
            f'{each.cross / each.bi:,.0f}',
        )
        for each in found
    ]
    title = f'Seconds to find the nearest of n texts to each; {LENGTH} tokens, {LAYERS} layers of width {WIDTH}'
    table = Table(title, ('n', 'bi-encoder: read', 'compare', 'cross-encoder', 'ratio'), rows)
    note = f'seconds ~ n^{exponents["bi"]:.2f} for the bi-encoder, n^{exponents["cross"]:.2f} for the cross-encoder'
    figures = {'times': [{**vars(each), 'bi': each.bi} for each in found], 'exponents': exponents}
    return MeasurementReport('search', figures, (table,), (note,))


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def _params(model: Any) -> Any:
    tokens = jnp.zeros((1, 2 * LENGTH), jnp.int32)
    return model.init(jax.random.key(0), tokens, _context(tokens), False)['params']


def _context(tokens: Array) -> LayerContext:
    return LayerContext(jnp.broadcast_to(jnp.arange(tokens.shape[-1]), tokens.shape))


def _vectors(model: Any, params: Any, tokens: Int[Array, 'B T']) -> Float[Array, 'B D']:
    x, _ = model.apply({'params': params}, tokens, _context(tokens), False, method='encode')
    return normalised(mean(x))


def _scores(model: Any, params: Any, tokens: Int[Array, 'B T']) -> Float[Array, 'B']:
    return model.apply({'params': params}, tokens, _context(tokens), False)['pooled'][:, 0]


def _in_batches(read: Callable[[Any], Array], tokens: np.ndarray, rows: int) -> np.ndarray:
    """Outputs for all rows in batches of one size, the last one padded, so that one program serves."""
    found = []
    for start in range(0, len(tokens), rows):
        some = tokens[start : start + rows]
        found.append(np.asarray(read(np.resize(some, (rows, tokens.shape[-1]))))[: len(some)])
    return np.concatenate(found)


def _nearest(vectors: Float[np.ndarray, 'n D']) -> Int[np.ndarray, 'n']:
    nearest = []
    for start in range(0, len(vectors), _BLOCK):
        cosines = np.einsum('AD,BD->AB', vectors[start : start + _BLOCK], vectors, optimize=True)
        cosines[np.arange(len(cosines)), start + np.arange(len(cosines))] = -np.inf
        nearest.append(cosines.argmax(axis=-1))
    return np.concatenate(nearest)


def _cross_nearest(score: Callable[[Any], Array], tokens: Int[np.ndarray, 'n T']) -> Int[np.ndarray, 'n']:
    """The best partner of each text, of which no pair is read twice."""
    count = len(tokens)
    first, second = np.triu_indices(count, 1)
    scores = np.full((count, count), -np.inf, np.float32)
    pairs = np.concatenate([tokens[first], tokens[second]], axis=-1)
    scores[first, second] = scores[second, first] = _in_batches(score, pairs, _PAIRS)
    return scores.argmax(axis=-1)
