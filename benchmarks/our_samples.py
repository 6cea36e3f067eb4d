# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of the benchmark of samples: the plain cache and the cache in pages, with the peer's weights."""

from typing import Any

import jax

from benchmarks.our_decoding import Decoding
from benchmarks.size import DecodingSize, prompts
from saccade.decode.generate import generate, laid_out
from saccade.decode.paged import CacheUsage, Paging, generate_paged
from saccade.decode.sampling import Sampler

SAMPLER = Sampler(1.0)


class Samples(Decoding):
    """Samples of one prompt with the plain cache."""

    def cache_bytes(self, batch: int) -> int:
        """Bytes of the decoding state."""
        tokens, _ = laid_out(self._model, batch * prompts(self._size, 1), self._size.new, None)
        room = tokens.shape[1] - 1 + self._size.new
        state = jax.eval_shape(
            lambda params: self._model.apply({'params': params}, tokens, room, method='init_state'), self._params
        )
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))

    def _generate(self, rows: list[list[int]]) -> list[list[int]]:
        return generate(self._model, self._params, _same(self._size, rows), SAMPLER, self._size.new, jax.random.key(0))


class Paged(Decoding):
    """Samples of one prompt with the cache in pages."""

    def __init__(self, size: dict[str, Any]) -> None:
        self._paging = Paging(size['page_size'])
        super().__init__({name: value for name, value in size.items() if name != 'page_size'})

    def cache_bytes(self, batch: int) -> int:
        """Bytes of the pages in use at most, and of the rows."""
        return self._sampled(prompts(self._size, batch))[1].bytes

    def _generate(self, rows: list[list[int]]) -> list[list[int]]:
        return self._sampled(rows)[0]

    def _sampled(self, rows: list[list[int]]) -> tuple[list[list[int]], CacheUsage]:
        given = self._model, self._params, _same(self._size, rows), SAMPLER, self._size.new, jax.random.key(0)
        return generate_paged(*given, paging=self._paging)


def _same(size: DecodingSize, rows: list[list[int]]) -> list[list[int]]:
    """One prompt, as often as there are rows."""
    return len(rows) * prompts(size, 1)
