# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""flash-linear-attention: its layers and Triton kernels as they are, run on the CPU by Triton's interpreter.

Documents in a row are given as `cu_seqlens` of one flat row, padding as `attention_mask`, chunks with its `Cache`.
"""

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from conformance.layer import Array, Layer, NotOffered, refuse_documents, refuse_padding, spans
from conformance.torch_layer import TorchLayer

os.environ['TRITON_INTERPRET'] = '1'

import fla.layers
from fla.models.utils import Cache
from triton.runtime.autotuner import Autotuner

TITLE = 'flash-linear-attention'
NOTE = (
    "Run by Triton's interpreter, which takes minutes a layer on a busy machine: layers that are not listed were not "
    'run. Left out are Mamba, Mamba2, MesaNet, MomAttention, PaTHAttention and WallAttention, as it is not known '
    "whether failures there are the layer's, the adapter's or the interpreter's, and layers that need CUDA, flash-attn "
    'or bfloat16.'
)
REQUIRES = (
    'flash-linear-attention[cpu]==0.6.0',
    'fla-core==0.6.0',
    'torch==2.13.0',
    'transformers==5.24.0',
    'triton==3.9.0',
)


class Number(int):
    """A number of a Python loop within a kernel: the interpreter loops over these where the compiler has scalars."""

    def to(self, dtype: Any) -> 'Number':
        return self


for module in [module for name, module in sys.modules.items() if name.startswith('fla.ops.')]:
    module.range = lambda *bounds: map(Number, range(*bounds))
Autotuner.do_bench = property(lambda self: lambda call, quantiles: [1.0] * 3)  # nothing to time: the first setting

TWO_HEADS: dict[str, Any] = {'num_heads': 2}
# The quickest first.
LAYERS: dict[str, dict[str, Any]] = {
    'BasedLinearAttention': {**TWO_HEADS, 'num_key_value_heads': 2, 'feature_dim': 8},
    'ReBasedLinearAttention': {**TWO_HEADS, 'num_key_value_heads': 2, 'feature_dim': 8},
    'LinearAttention': TWO_HEADS,
    'ForgettingAttention': TWO_HEADS,
    'GatedLinearAttention': TWO_HEADS,
    'DeltaNet': TWO_HEADS,
    'MultiScaleRetention': TWO_HEADS,
    'GatedDeltaNet': {**TWO_HEADS, 'head_dim': 16},
    'HGRN2Attention': {'expand_ratio': 16},
    'KimiDeltaAttention': {**TWO_HEADS, 'head_dim': 16},
    'RWKV6Attention': TWO_HEADS,
    'GatedSlotAttention': TWO_HEADS,
    'Comba': {**TWO_HEADS, 'head_dim': 16},
    'GatedDeltaNet2': {**TWO_HEADS, 'head_dim': 16},
    'PrecondGatedDeltaNet': {**TWO_HEADS, 'head_dim': 16},
    'PrecondKDA': {**TWO_HEADS, 'head_dim': 16},
    'Raven': TWO_HEADS,
    'RodimusAttention': {},
    'YOCOGatedRetention': TWO_HEADS,
}


class FlashLinear(TorchLayer):
    """A layer of `fla.layers`."""

    width = 32

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        torch.manual_seed(0)
        kind = getattr(fla.layers, name)
        self.cached = 'past_key_values' in inspect.signature(kind.forward).parameters
        numbered = {'layer_idx': 0} if self.cached else {}
        super().__init__(kind(hidden_size=self.width, **numbered, **options))

    def forward(self, x: torch.Tensor, segments: Array | None) -> torch.Tensor:
        if segments is None or not self.cached:  # those without a cache have no masks either
            refuse_padding(segments)
            refuse_documents(segments)
            y = self.module(x)
            return y[0] if isinstance(y, tuple) else y
        if segments.max() == 1:
            return self.module(x, attention_mask=torch.tensor(segments))[0]
        refuse_padding(segments, 'no argument for documents and padding together')
        lengths = [places.stop - places.start for _, places in spans(segments)]
        flat = self.module(x.reshape(1, -1, self.width), cu_seqlens=torch.tensor([0, *np.cumsum(lengths)]))[0]
        return flat.reshape(x.shape)

    def in_bfloat16(self) -> tuple[Layer, Layer]:
        raise NotOffered("Triton's interpreter does not round as bfloat16 hardware does")

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.cached:
            raise NotOffered('no cache')
        return Cache(), np.zeros((batch, 0), np.int32)

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        refuse_documents(segments, 'a cache takes one document a row')
        cache, before = state
        mask = np.concatenate([before, np.ones(x.shape[:2], np.int32) if segments is None else segments], axis=1)
        try:
            with torch.no_grad():
                y, _, cache = self.module(
                    torch.tensor(x), past_key_values=cache, use_cache=True, attention_mask=torch.tensor(mask)
                )
        except AssertionError as refusal:
            raise NotOffered(str(refusal)) from None
        return y.numpy(), (cache, mask)


def layers() -> dict[str, Callable[[], Layer]]:
    """The layers that run in float32 on Triton's interpreter."""
    return {name: functools.partial(FlashLinear, name, options) for name, options in LAYERS.items()}
