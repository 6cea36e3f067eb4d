# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peer of masked-LM training: BertForMaskedLM of transformers, random weights, attention by SDPA."""

import torch
import transformers
from torch import Tensor, nn

from benchmarks import torch_training
from benchmarks.size import bert_settings, masked_rows

_IGNORED = -100


class BertForMaskedLM(transformers.BertForMaskedLM):  # of this name, for it is saved with the weights
    """BertForMaskedLM of transformers whose forward pass returns the loss."""

    def forward(self, tokens: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss in nats of `labels` [B T], given `tokens` [B T]."""
        return super().forward(input_ids=tokens, labels=labels).loss


class Training(torch_training.Training):
    """Training steps of BertForMaskedLM, eager or compiled."""

    def _made(self) -> nn.Module:
        return BertForMaskedLM(transformers.BertConfig(**bert_settings(self._size), attn_implementation='sdpa')).train()

    def save(self, folder: str) -> None:
        """Write a Hugging Face directory for the others to start from."""
        self._model.save_pretrained(folder)

    def _batch(self, number: int) -> tuple[Tensor, Tensor]:
        made = {name: torch.from_numpy(array) for name, array in masked_rows(self._size, number).items()}
        labels = torch.full_like(made['tokens'], _IGNORED)
        labels.scatter_(-1, made['at'], made['tokens'].gather(-1, made['at']))
        return made['hidden'], labels
