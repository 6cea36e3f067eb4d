# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of the decoding benchmark: the peer's folder as one of our models, and `decode.generate`."""

import time
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.size import DecodingSize, prompts
from saccade.build import build
from saccade.decode.generate import generate
from saccade.decode.sampling import Sampler
from saccade.hub.load import load
from saccade.types import LayerContext, Params


class Decoding:
    """Greedy decoding by our model with the peer's weights, loaded before anything else is asked for."""

    def __init__(self, size: dict[str, Any]) -> None:
        self._size = DecodingSize(**size)

    def load(self, folder: str) -> int:
        """Take config and weights as from anyone; return the number of parameters."""
        self._model, self._params = self._opened(folder)
        return sum(leaf.size for leaf in jax.tree.leaves(self._params))

    def _opened(self, folder: str) -> tuple[Any, Params]:
        """The model of a folder, and its weights."""
        pretrained = load(folder)
        return build(pretrained.spec, 'model')(), jax.tree.map(jnp.asarray, pretrained.params)

    def tokens(self, batch: int) -> list[list[int]]:
        """The new tokens of each row."""
        return self._generate(prompts(self._size, batch))

    def gap(self, prefix: list[int], first: int, second: int) -> float:
        """Difference of the logits of two next tokens, after a prefix."""
        tokens = jnp.array([prefix], jnp.int32)
        context = LayerContext(jnp.arange(len(prefix))[None])
        logits = self._model.apply({'params': self._params}, tokens, context, False)[0, -1]
        return float(logits[first] - logits[second])

    def step(self, count: int, batch: int) -> float:
        """Decode so often; return seconds."""
        rows = prompts(self._size, batch)
        start = time.perf_counter()
        for _ in range(count):
            self._generate(rows)
        return time.perf_counter() - start

    def _generate(self, rows: list[list[int]]) -> list[list[int]]:
        return generate(self._model, self._params, rows, Sampler(temperature=0.0), self._size.new, jax.random.key(0))
