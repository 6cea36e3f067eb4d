# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peer of the decoding benchmark: `generate` of `transformers`, greedy, with its KV cache."""

import time
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.size import DecodingSize, prompts


class Decoding:
    """Greedy decoding by a randomly initialised GPT-2, on a device, by default with a cache that grows."""

    def __init__(
        self, size: dict[str, Any], device: str = 'cpu', bfloat16: bool = False, cache: str | None = None
    ) -> None:
        self._size = DecodingSize(**size)
        self._device, self._cache = device, cache
        torch.manual_seed(0)
        self._model = self._made(self._size).eval().to(device, torch.bfloat16 if bfloat16 else torch.float32)

    def _made(self, size: DecodingSize) -> Any:
        config = GPT2Config(
            vocab_size=size.vocabulary,
            n_positions=size.prompt + size.new,
            n_embd=size.width,
            n_layer=size.layers,
            n_head=size.heads,
            embd_pdrop=0.0,
            resid_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
        return GPT2LMHeadModel(config)

    def save(self, folder: str) -> int:
        """Write config and weights, as for anyone; return the number of parameters."""
        self._model.save_pretrained(folder)
        return self._model.num_parameters(only_trainable=True)

    def tokens(self, batch: int) -> list[list[int]]:
        """The new tokens of each row."""
        return self._generate(self._prompts(batch))[:, self._size.prompt :].tolist()

    def step(self, count: int, batch: int) -> float:
        """Decode so often; return seconds."""
        tokens = self._prompts(batch)
        start = time.perf_counter()
        for _ in range(count):
            self._generate(tokens).cpu()  # which waits for the device
        return time.perf_counter() - start

    def _prompts(self, batch: int) -> torch.Tensor:
        return torch.tensor(prompts(self._size, batch), device=self._device)

    def _generate(self, tokens: torch.Tensor) -> torch.Tensor:
        return self._model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=False,
            use_cache=True,
            min_new_tokens=self._size.new,
            max_new_tokens=self._size.new,
            pad_token_id=0,
            cache_implementation=self._cache,
        )
