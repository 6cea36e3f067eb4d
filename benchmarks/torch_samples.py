# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peer of the benchmark of samples: `generate` of `transformers` with `num_return_sequences`."""

import time
from typing import Any

import torch

from benchmarks import torch_decoding
from benchmarks.size import prompts


class Samples(torch_decoding.Decoding):
    """Samples of one prompt by a randomly initialised GPT-2."""

    def step(self, count: int, batch: int) -> float:
        """Sample so often; return seconds."""
        start = time.perf_counter()
        for _ in range(count):
            self._sampled(batch).sequences.cpu()  # which waits for the device
        return time.perf_counter() - start

    def cache_bytes(self, batch: int) -> int:
        """Bytes of the keys and values after a generation."""
        layers = self._sampled(batch).past_key_values.layers
        return sum(each.nbytes for layer in layers for each in (layer.keys, layer.values))

    def _sampled(self, batch: int) -> Any:
        prompt = torch.tensor(prompts(self._size, 1), device=self._device)
        return self._model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=True,
            top_k=0,
            num_return_sequences=batch,
            min_new_tokens=self._size.new,
            max_new_tokens=self._size.new,
            pad_token_id=0,
            return_dict_in_generate=True,
        )
