# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of PyTorch modules."""

import copy

import numpy as np
import torch

from conformance.layer import Array, Layer

torch.set_num_threads(1)


class TorchLayer(Layer):
    """A layer around a module, whose parameters are moved from where they start, so that no gate is zero.

    An adapter overrides `forward(x, segments)`, on tensors; segments are NumPy.
    """

    def __init__(self, module: torch.nn.Module, causal: bool = True, noise: float = 0.1) -> None:
        self.module, self.causal, self.dtype = module.eval(), causal, torch.float32
        draw = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for leaf in filter(lambda leaf: leaf.requires_grad, module.parameters()):
                leaf.add_(noise * torch.randn(leaf.shape, generator=draw))

    def forward(self, x: torch.Tensor, segments: Array | None) -> torch.Tensor:
        """Map tokens [B T D]."""
        return self.module(x)

    def call(self, x: Array, segments: Array | None = None) -> Array:
        with torch.no_grad():
            return self.forward(torch.tensor(x, dtype=self.dtype), segments).float().numpy()

    def gradients(self, x: Array, direction: Array, segments: Array | None = None) -> tuple[Array, dict[str, Array]]:
        tokens = torch.tensor(x, requires_grad=True)
        self.module.zero_grad()
        (self.forward(tokens, segments) * torch.tensor(direction)).sum().backward()
        by_parameters = {
            name: leaf.grad.numpy().copy() for name, leaf in self.module.named_parameters() if leaf.grad is not None
        }
        return tokens.grad.numpy(), by_parameters

    def copied(self) -> 'TorchLayer':
        """Return the layer with a module of its own."""
        other = copy.copy(self)
        other.module = copy.deepcopy(self.module)
        return other

    def in_bfloat16(self) -> tuple[Layer, Layer]:
        low, exact = self.copied(), self.copied()
        low.module, low.dtype = low.module.bfloat16(), torch.bfloat16
        with torch.no_grad():
            for leaf in exact.module.parameters():
                leaf.copy_(leaf.bfloat16())
        return low, exact


def boolean(mask: Array) -> torch.Tensor:
    """Return a mask as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(mask))
