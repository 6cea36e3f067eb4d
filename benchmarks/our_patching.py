# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of the benchmark of patching: the peer's folder as one of our models, and `inside.circuits.patch`."""

import time

import jax.numpy as jnp

from benchmarks.our_decoding import Decoding
from benchmarks.size import prompts
from saccade.inside.activations import Inside
from saccade.inside.circuits import patch
from saccade.inside.reading import Reading
from saccade.types import LayerContext


class Patching(Decoding):
    """Patching of every layer and token, and of every layer and head, between two prompts."""

    def step(self, count: int, answers: list[int]) -> float:
        """Patch so often; return seconds."""
        start = time.perf_counter()
        for _ in range(count):
            self.restored(answers)
        return time.perf_counter() - start

    def restored(self, answers: list[int]) -> list[list[list[float]]]:
        """Shares of the clean answer that are restored, by layer and token, and by layer and head."""
        clean, corrupted = (Reading(_arguments(row)) for row in prompts(self._size, 2))
        insides = [Inside(self._model, self._params, reading.arguments) for reading in (clean, corrupted)]
        labels = {'': tuple(map(str, range(self._size.prompt)))}
        grids = patch(*insides, Reading(corrupted.arguments, labels), (answers[0], answers[1]))
        return [grid.values.tolist() for grid in grids]


def _arguments(row: list[int]) -> tuple[jnp.ndarray, LayerContext]:
    return jnp.array([row]), LayerContext(jnp.arange(len(row))[None])
