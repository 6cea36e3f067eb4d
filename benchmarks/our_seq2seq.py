# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of the sequence-to-sequence benchmark: the peer's folder and batches in a model of ours; `decode.greedy`."""

from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import our_decoding, our_training
from benchmarks.size import START, PairSize, pair_rows
from saccade.build import build
from saccade.decode.greedy import Greedy
from saccade.hub.load import load
from saccade.task.translation import Translation
from saccade.types import Batch, LayerContext, Params, Part

_NEVER = -1  # the token that ends a row


def read(folder: str | Path, run: str = 'unrolled') -> tuple[Any, Params]:
    """The model of a folder, and its weights; less the bias of the logits, which is none that Marian trains."""
    pretrained = load(folder)
    spec, params = pretrained.spec, pretrained.params
    for tower in ('encoder', 'decoder'):
        spec[tower]['run'] = {'use': f'model.stack:{run.capitalize()}'}
    if spec['decoder'].pop('head_bias', False):
        assert not params['decoder'].pop('head_bias').any()
    return build(spec, 'model')(), jax.tree.map(jnp.asarray, params)


class Training(our_training.Training):
    """Training steps of our encoder-decoder."""

    task = Translation(Part(Greedy), ())
    size_type = PairSize

    def _read(self, folder: Path) -> tuple[Any, Params]:
        return read(folder, self._run)

    def _batch(self, number: int) -> Batch:
        source, tokens = (jnp.asarray(rows, jnp.int32) for rows in pair_rows(self._size, number))
        own = {'tokens': tokens, 'segments': jnp.ones_like(tokens), 'positions': _places(tokens)}
        return {**own, **_sources(source)}


class Decoding(our_decoding.Decoding):
    """Greedy decoding by our encoder-decoder; the prompts are sources."""

    def _opened(self, folder: str) -> tuple[Any, Params]:
        return read(folder)

    def gap(self, prefix: list[int], first: int, second: int) -> float:
        """Return by how much one next token's logit exceeds another's after a source and a prefix of its target."""
        source, tokens = ([prefix[: self._size.prompt]], [[START, *prefix[self._size.prompt :]]])
        contexts = (LayerContext(_places(jnp.array(rows))) for rows in (source, tokens))
        given = [item for pair in zip(map(jnp.array, (source, tokens)), contexts, strict=True) for item in pair]
        logits = self._model.apply({'params': self._params}, *given, False)[0, -1]
        return float(logits[first] - logits[second])

    def _generate(self, rows: list[list[int]]) -> list[list[int]]:
        start = jnp.full((len(rows), 1), START, jnp.int32)
        batch = {**_sources(jnp.asarray(rows, jnp.int32)), 'tokens': start, 'end': jnp.array(_NEVER)}
        return np.asarray(self._written(self._params, batch).tokens).tolist()

    @cached_property
    def _written(self) -> Any:
        search = Greedy(self._size.new)
        return jax.jit(lambda params, batch: search(self._model, params, batch))


def _sources(source: jax.Array) -> Batch:
    return {'source': source, 'source_segments': jnp.ones_like(source), 'source_positions': _places(source)}


def _places(tokens: jax.Array) -> jax.Array:
    return jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
