# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peer of the training benchmark: a GPT-2 in PyTorch, equivalent to nanoGPT's model without biases and dropout.

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; the sizes, initialisation, optimizer and
names of the parameters are those of https://github.com/karpathy/nanoGPT
"""

import time
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import torch
import torch.nn.functional as F  # noqa: N812, as everyone calls it
from safetensors.torch import save_file
from torch import Tensor, nn

from benchmarks.size import BETAS, CLIP_NORM, LEARNING_RATE, WEIGHT_DECAY, Size, rows

INIT_STD = 0.02


class Attention(nn.Module):
    """Causal multi-head self-attention by SDPA, without biases."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.c_attn = nn.Linear(size.width, 3 * size.width, bias=False)
        self.c_proj = nn.Linear(size.width, size.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B T D] of x [B T D]."""
        parts = self.c_attn(x).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    """Feed-forward layer with GELU, of hidden width 4 D, without biases."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.c_fc = nn.Linear(size.width, 4 * size.width, bias=False)
        self.c_proj = nn.Linear(4 * size.width, size.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B T D] of x [B T D]."""
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    """Pre-norm block: attention, then the feed-forward layer, each with a residual connection."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(size.width, bias=False)
        self.attn = Attention(size)
        self.ln_2 = nn.LayerNorm(size.width, bias=False)
        self.mlp = FeedForward(size)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B T D] of x [B T D]."""
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """GPT-2 with the embedding tied to the output, whose forward pass returns the loss."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.wte = nn.Embedding(size.vocabulary, size.width)
        self.wpe = nn.Embedding(size.context_length, size.width)
        self.h = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.ln_f = nn.LayerNorm(size.width, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                residual = name.endswith('c_proj.weight')
                nn.init.normal_(parameter, std=INIT_STD / (2 * size.layers) ** 0.5 if residual else INIT_STD)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy in nats of `targets` [B T], given `tokens` [B T]."""
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Training:
    """Training steps of the GPT-2, eager or compiled, on a device; in bfloat16 its weights stay in float32."""

    size_type: ClassVar[type[Size]] = Size

    def __init__(self, size: dict[str, Any], compiled: bool, device: str = 'cpu', bfloat16: bool = False) -> None:
        self._size = self.size_type(**size)
        self._device, self._bfloat16 = device, bfloat16
        self._compiled = compiled
        torch.manual_seed(0)
        self._model = self._made().to(device)
        self._loss = torch.compile(self._model) if compiled else self._model
        parameters = list(self._model.parameters())
        groups = [
            {'params': [p for p in parameters if p.dim() > 1], 'weight_decay': WEIGHT_DECAY},
            {'params': [p for p in parameters if p.dim() == 1], 'weight_decay': 0.0},
        ]
        self._optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=BETAS, fused=True)
        self._taken = 0

    def _made(self) -> nn.Module:
        return GPT(self._size)

    def save(self, folder: str) -> None:
        """Write the initial weights, under nanoGPT's names, for the others to start from."""
        save_file(dict(self._model.named_parameters()), Path(folder) / 'model.safetensors')

    def check(self) -> dict[str, Any]:
        """Take two steps on batch 0; return losses in nats, number of parameters, seconds to compile, and threads."""
        batch = self._batch(0)
        start = time.perf_counter()
        first = self._step(*batch)
        middle = time.perf_counter()
        second = self._step(*batch)
        warming = middle - start - (time.perf_counter() - middle)
        return {
            'losses': [first.item(), second.item()],
            'parameters': sum(weight.numel() for weight in self._model.parameters() if weight.requires_grad),
            'compile_seconds': warming if self._compiled else 0.0,
            'threads': torch.get_num_threads(),
        }

    def step(self, count: int) -> float:
        """Take steps on new batches; return seconds."""
        batches = [self._batch(self._taken + number + 1) for number in range(count)]
        self._taken += count
        start = time.perf_counter()
        for batch in batches:
            self._step(*batch)
        if self._device == 'cuda':
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def multiply(self, product: tuple[int, int, int, int], runs: int) -> float:
        """Return the median of the seconds of a matrix product, on the CPU."""
        batch, rows, inner, columns = product
        left, right = torch.ones(batch, rows, inner), torch.ones(batch, inner, columns)
        seconds = []
        for _ in range(runs + 1):  # the first plans
            start = time.perf_counter()
            left @ right
            seconds.append(time.perf_counter() - start)
        return median(seconds[1:])

    def _batch(self, number: int) -> tuple[Tensor, ...]:
        tokens = torch.from_numpy(rows(self._size, number)).to(self._device)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def _step(self, *batch: Tensor) -> Tensor:
        with torch.autocast(self._device, torch.bfloat16, enabled=self._bfloat16):
            loss = self._loss(*batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self._model.parameters(), CLIP_NORM)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss.detach()
