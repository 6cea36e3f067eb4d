# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: scaled_dot_product_attention by backend, FlexAttention, MultiheadAttention, encoder layers, and RNNs.

Documents in a row are given as an attention mask, or a block mask. RNNs take padding on the right as packed sequences.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, flex_attention, sdpa_kernel

from conformance.layer import Array, Layer, NotOffered, Weights, mask_of, refuse_documents
from conformance.torch_layer import TorchLayer, boolean

TITLE = 'PyTorch'
REQUIRES = ('torch==2.13.0', 'numpy==2.4.6')
HEADS = 4


class Projected(nn.Module):
    """Projections around a function of queries, keys and values [B N T H]."""

    def __init__(self, kv_heads: int = HEADS) -> None:
        super().__init__()
        self.query, self.output = nn.Linear(16, 16), nn.Linear(16, 16)
        self.key, self.value = nn.Linear(16, 4 * kv_heads), nn.Linear(16, 4 * kv_heads)

    def heads(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Queries, keys and values."""
        return tuple(part(x).unflatten(-1, (-1, 4)).transpose(1, 2) for part in (self.query, self.key, self.value))


class Fused(TorchLayer):
    """scaled_dot_product_attention between projections, with keys and values as the cache."""

    def __init__(self, backend: SDPBackend = SDPBackend.MATH, causal: bool = True, kv_heads: int = HEADS) -> None:
        torch.manual_seed(0)
        super().__init__(Projected(kv_heads), causal)
        self.backend, self.made = backend, (causal, kv_heads)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Attend with a mask [B T S], or causally without one."""
        with sdpa_kernel(self.backend):
            return nn.functional.scaled_dot_product_attention(
                q, k, v, None if mask is None else mask[:, None], is_causal=self.causal and mask is None,
                enable_gqa=k.shape[1] != q.shape[1],
            )  # fmt: skip

    def forward(self, x: torch.Tensor, segments: Array | None) -> torch.Tensor:
        mask = None if segments is None else boolean(mask_of(segments, self.causal))
        return self.module.output(self.attend(*self.module.heads(x), mask).transpose(1, 2).flatten(-2))

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.causal:
            raise NotOffered('both directions')
        return ()

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        """Append keys and values, with the mask of the last tokens."""
        with torch.no_grad():
            q, k, v = self.module.heads(torch.tensor(x))
        segments = np.ones(x.shape[:2], np.int32) if segments is None else segments
        if state:
            k, v = torch.cat([state[0], k], dim=2), torch.cat([state[1], v], dim=2)
            segments = np.concatenate([state[2], segments], axis=1)
        mask = boolean(mask_of(segments, causal=True)[:, -x.shape[1] :])
        with torch.no_grad():
            y = self.module.output(self.attend(q, k, v, mask).transpose(1, 2).flatten(-2))
        return y.numpy(), (k, v, segments)

    def kernels(self) -> dict[str, Layer]:
        other = Fused(SDPBackend.FLASH_ATTENTION, *self.made)
        other.module.load_state_dict(self.module.state_dict())
        return {'flash': other}


class Flex(Fused):
    """flex_attention, not compiled, with a block mask and a score modification."""

    def __init__(self, bias: float = 0.0, window: int = 1000, kv_heads: int = HEADS) -> None:
        super().__init__(kv_heads=kv_heads)
        self.bias, self.window = bias, window

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        before = k.shape[2] - q.shape[2]

        def seen(b: Any, h: Any, i: Any, j: Any) -> Any:
            near = (j <= i + before) & (i + before - j < self.window)
            return near if mask is None else near & mask[b, i, j]

        blocks = flex_attention.create_block_mask(seen, q.shape[0], None, q.shape[2], k.shape[2], device='cpu')
        return flex_attention.flex_attention(
            q, k, v, lambda score, b, h, i, j: score - self.bias * (i + before - j), blocks,
            enable_gqa=k.shape[1] != q.shape[1],
        )  # fmt: skip

    def gradients(self, x: Array, direction: Array, segments: Array | None = None) -> tuple[Array, dict[str, Array]]:
        raise NotOffered('no gradients on the CPU')

    def kernels(self) -> dict[str, Layer]:
        raise NotOffered('compiling needs a C++ compiler; not run here')


class MultiHead(TorchLayer):
    """nn.MultiheadAttention, or a TransformerEncoderLayer around it."""

    def __init__(self, make: Callable[[], nn.Module], causal: bool) -> None:
        torch.manual_seed(0)
        super().__init__(make(), causal)

    def forward(self, x: torch.Tensor, segments: Array | None, need_weights: bool = False) -> Any:
        causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype) if self.causal else None
        masks = {'attn_mask': causal, 'key_padding_mask': None}
        if segments is not None and segments.max() > 1:
            masks['attn_mask'] = ~boolean(mask_of(segments, self.causal)).repeat_interleave(HEADS, 0)
        elif segments is not None:
            padded = boolean(segments == 0)
            masks['key_padding_mask'] = (
                padded if causal is None else torch.zeros(x.shape[:2]).masked_fill(padded, -torch.inf)
            )
        if isinstance(self.module, nn.TransformerEncoderLayer):
            return self.module(x, masks['attn_mask'], src_key_padding_mask=masks['key_padding_mask'])
        y, weights = self.module(x, x, x, need_weights=need_weights, average_attn_weights=False, **masks)
        return (y, weights) if need_weights else y

    def weights(self, x: Array) -> Weights:
        if not isinstance(self.module, nn.MultiheadAttention):
            raise NotOffered('no attention weights')
        with torch.no_grad():
            y, weights = self.forward(torch.tensor(x), None, need_weights=True)
            _, _, of_values = self.module.in_proj_weight.chunk(3)
            values = torch.tensor(x) @ of_values.T + self.module.in_proj_bias[32:]
            mixed = (y - self.module.out_proj.bias) @ torch.linalg.inv(self.module.out_proj.weight.T)
        values, mixed = (each.unflatten(-1, (HEADS, 4)).transpose(1, 2).numpy() for each in (values, mixed))
        return Weights(weights.numpy(), values, mixed)


class Recurrent(TorchLayer):
    """nn.RNN, nn.GRU or nn.LSTM."""

    def __init__(self, kind: type[nn.RNNBase], both: bool = False) -> None:
        torch.manual_seed(0)
        super().__init__(kind(16, 8 if both else 16, batch_first=True, bidirectional=both), causal=not both)

    def forward(self, x: torch.Tensor, segments: Array | None) -> torch.Tensor:
        if segments is None:
            return self.module(x)[0]
        refuse_documents(segments)
        lengths = (segments != 0).sum(axis=1)
        if (lengths == 0).any() or ((segments != 0) != (np.arange(x.shape[1]) < lengths[:, None])).any():
            raise NotOffered('pack_padded_sequence takes padding on the right, and at least one token a row')
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.module(packed)[0], batch_first=True, total_length=x.shape[1])[0]

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.causal:
            raise NotOffered('both directions')
        return None

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        if segments is not None:
            raise NotOffered('a state takes no masks')
        with torch.no_grad():
            y, state = self.module(torch.tensor(x), state)
        return y.numpy(), state


def layers() -> dict[str, Callable[[], Layer]]:
    """Attention and recurrence of torch.nn."""
    encoder = functools.partial(nn.TransformerEncoderLayer, 16, HEADS, 32, batch_first=True)
    multi_head = functools.partial(nn.MultiheadAttention, 16, HEADS, batch_first=True)
    return {
        'scaled_dot_product_attention, causal': Fused,
        'scaled_dot_product_attention, both directions': functools.partial(Fused, causal=False),
        'scaled_dot_product_attention, grouped queries': functools.partial(Fused, kv_heads=2),
        'flex_attention': Flex,
        'flex_attention, ALiBi': functools.partial(Flex, bias=0.5),
        'flex_attention, window': functools.partial(Flex, window=3),
        'flex_attention, grouped queries': functools.partial(Flex, kv_heads=2),
        'MultiheadAttention, causal': functools.partial(MultiHead, multi_head, True),
        'MultiheadAttention, both directions': functools.partial(MultiHead, multi_head, False),
        'TransformerEncoderLayer, causal': functools.partial(MultiHead, encoder, True),
        'TransformerEncoderLayer, both directions': functools.partial(MultiHead, encoder, False),
        'TransformerEncoderLayer, norm first': functools.partial(
            MultiHead, functools.partial(encoder, norm_first=True), False
        ),
        'RNN': functools.partial(Recurrent, nn.RNN),
        'GRU': functools.partial(Recurrent, nn.GRU),
        'LSTM': functools.partial(Recurrent, nn.LSTM),
        'GRU, both directions': functools.partial(Recurrent, nn.GRU, both=True),
        'LSTM, both directions': functools.partial(Recurrent, nn.LSTM, both=True),
    }
