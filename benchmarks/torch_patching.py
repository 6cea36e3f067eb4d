# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peer of the benchmark of patching: TransformerLens, on the same weights."""

import time
from functools import partial
from typing import Any

import torch
from transformer_lens.model_bridge import TransformerBridge
from transformer_lens.patching import (
    generic_activation_patch,
    get_act_patch_attn_head_out_all_pos,
    layer_pos_patch_setter,
)

from benchmarks import torch_decoding
from benchmarks.size import prompts

by_token = partial(
    generic_activation_patch,
    patch_setter=layer_pos_patch_setter,
    activation_name='resid_post',
    index_axis_names=('layer', 'pos'),
)


class Patching(torch_decoding.Decoding):
    """Patching of a randomly initialised GPT-2 in TransformerLens."""

    def save(self, folder: str) -> int:
        """Write config and weights, and open them; return the number of parameters."""
        count = super().save(folder)
        self._bridge = TransformerBridge.boot_transformers(folder, hf_model=self._model, device='cpu')
        return count

    @torch.no_grad()
    def step(self, count: int, answers: list[int]) -> float:
        """Patch so often; return seconds."""
        start = time.perf_counter()
        for _ in range(count):
            self.restored(answers)
        return time.perf_counter() - start

    @torch.no_grad()
    def restored(self, answers: list[int]) -> list[list[list[float]]]:
        """Shares of the clean answer that are restored, by layer and token, and by layer and head."""
        clean, corrupted = (torch.tensor([row]) for row in prompts(self._size, 2))
        answer, other = answers

        def difference(logits: Any) -> Any:
            return logits[0, -1, answer] - logits[0, -1, other]

        logits, cache = self._bridge.run_with_cache(clean)
        high, low = difference(logits), difference(self._bridge(corrupted))
        sweeps = by_token, get_act_patch_attn_head_out_all_pos
        made = [sweep(self._bridge, corrupted, cache, difference) for sweep in sweeps]
        return [((each - low) / (high - low)).tolist() for each in made]
