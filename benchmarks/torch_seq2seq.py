# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peer of the sequence-to-sequence benchmark: Marian or T5 of transformers, random weights, and its `generate`."""

from typing import Any

import torch
import transformers
from torch import Tensor, nn

from benchmarks import torch_decoding, torch_training
from benchmarks.size import DecodingSize, PairSize, pair_rows, seq2seq_settings


class _Loss:
    def forward(self, source: Tensor, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss in nats of `targets` [B T], given `source` [B S] and `tokens` [B T]."""
        return super().forward(input_ids=source, decoder_input_ids=tokens, labels=targets, use_cache=False).loss


class MarianMTModel(_Loss, transformers.MarianMTModel):  # of these names, for they are saved with the weights
    """MarianMTModel of transformers whose forward pass returns the loss."""


class T5ForConditionalGeneration(_Loss, transformers.T5ForConditionalGeneration):
    """T5ForConditionalGeneration of transformers whose forward pass returns the loss."""


_TRAINED = {'marian': MarianMTModel, 't5': T5ForConditionalGeneration}
_MODELS = {'marian': transformers.MarianMTModel, 't5': transformers.T5ForConditionalGeneration}
_CONFIGS = {'marian': transformers.MarianConfig, 't5': transformers.T5Config}


class Training(torch_training.Training):
    """Training steps of Marian or T5, eager or compiled."""

    size_type = PairSize

    def _made(self) -> nn.Module:
        return _TRAINED[self._size.family](_config(self._size)).train()

    def save(self, folder: str) -> None:
        """Write a Hugging Face directory for the others to start from."""
        self._model.save_pretrained(folder)

    def _batch(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        source, tokens = map(torch.from_numpy, pair_rows(self._size, number))
        return source, tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


class Decoding(torch_decoding.Decoding):
    """Greedy decoding by Marian or T5; the prompts are sources."""

    def _made(self, size: DecodingSize) -> Any:
        return _MODELS[size.family](_config(size))

    def tokens(self, batch: int) -> list[list[int]]:
        """Return the new tokens of each row, without the start token."""
        return self._generate(self._prompts(batch))[:, 1:].tolist()


def _config(size: PairSize | DecodingSize) -> Any:
    return _CONFIGS[size.family](**seq2seq_settings(size))
