# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""x-transformers: one-layer decoders and encoders, by the options of `AttentionLayers`.

Documents in a row are given as an attention mask, padding as a mask, chunks with a `cache`. All positions are relative.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from x_transformers import Decoder, Encoder

from conformance.layer import Array, Layer, NotOffered, Weights, mask_of, refuse_documents
from conformance.torch_layer import TorchLayer, boolean

TITLE = 'x-transformers'
REQUIRES = ('x-transformers==2.31.10', 'torch==2.13.0')
ROTARY: dict[str, Any] = {'rotary_pos_emb': True, 'rotary_emb_dim': 8, 'verbose': False}

OPTIONS: dict[str, dict[str, Any]] = {
    'attention': {},
    'rotary': ROTARY,
    'rotary, xpos': {**ROTARY, 'rotary_xpos': True},
    'PoPE': {'polar_pos_emb': True},
    'ALiBi': {'alibi_pos_bias': True},
    'T5 relative bias': {'rel_pos_bias': True},
    'dynamic position bias': {'dynamic_pos_bias': True},
    'CoPE': {'attn_use_cope': True},
    'forgetting (data-dependent ALiBi)': {'attn_data_dependent_alibi': True},
    'grouped queries': {**ROTARY, 'attn_kv_heads': 2},
    'one key/value head': {**ROTARY, 'attn_one_kv_head': True},
    'latent keys and values': {'attn_use_latent_kv': True, 'attn_dim_latent_kv': 8},
    'query and key norm': {**ROTARY, 'attn_qk_norm': True},
    'talking heads': {'attn_pre_talking_heads': True, 'attn_post_talking_heads': True},
    'sigmoid': {'attn_sigmoid': True},
    'soft-clamped logits': {'attn_softclamp_logits': True},
    'sparse top-k': {'attn_sparse_topk': 3},
    'l2 distance': {'attn_l2_distance': True},
    'selective': {'attn_selective': True},
    'cog (signed)': {'attn_cog_signed': True},
    'gated values': {'attn_gate_values': True},
    'memory key/values': {'attn_num_mem_kv': 2},
    'zero key/value': {'attn_add_zero_kv': True},
    'head sink': {'attn_head_learned_sink': True},
    'LASER': {'attn_laser': True},
    'window': {**ROTARY, 'attn_max_attend_past': 3},
    'shifted tokens': {**ROTARY, 'shift_tokens': 1},
}

# Options with which the reported weights are those that mix the values.
REPORTS = {
    *ROTARY,
    'rotary_xpos',
    'polar_pos_emb',
    'alibi_pos_bias',
    'rel_pos_bias',
    'dynamic_pos_bias',
    'attn_use_cope',
    'attn_data_dependent_alibi',
    'attn_kv_heads',
    'attn_one_kv_head',
    'attn_qk_norm',
    'attn_softclamp_logits',
    'attn_sparse_topk',
    'attn_l2_distance',
    'attn_selective',
    'attn_max_attend_past',
}


class XTransformers(TorchLayer):
    """A one-layer stack."""

    def __init__(self, kind: type, options: dict[str, Any]) -> None:
        torch.manual_seed(0)
        self.options = options
        self.continuous = not options.keys() & {'attn_sparse_topk', 'attn_cog_signed'}
        super().__init__(
            kind(dim=16, depth=1, heads=4, attn_dim_head=8, only_attn=True, **options), causal=kind is Decoder
        )

    def forward(self, x: torch.Tensor, segments: Array | None) -> torch.Tensor:
        if segments is None:
            return self.module(x)
        if segments.max() > 1:
            return self.module(x, attn_mask=boolean(mask_of(segments, causal=False)[:, None]))
        return self.module(x, mask=boolean(segments != 0))

    def kernels(self) -> dict[str, Layer]:
        try:
            flash = XTransformers(type(self.module), {**self.options, 'attn_flash': True})
        except AssertionError as refusal:
            raise NotOffered(str(refusal)) from None
        flash.module.load_state_dict(self.module.state_dict())
        return {'flash': flash}

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.causal:
            raise NotOffered('an encoder does not decode')
        if not self.module.can_cache_kv:
            raise NotOffered('its can_cache_kv is false')
        return None, None

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        refuse_documents(segments, 'a cache takes no attention mask')
        cache, start = state
        if segments is not None and start is None:
            start = torch.tensor((segments == 0).sum(axis=1))
        with torch.no_grad():
            y, cache = self.module(
                torch.tensor(x), cache=cache, cache_age=x.shape[1], seq_start_pos=start, return_hiddens=True
            )
        return y.numpy(), (cache, start)

    def weights(self, x: Array) -> Weights:
        if not self.options.keys() <= REPORTS:
            raise NotOffered('the weights reported are not those that mix the values')
        mixed = []
        hook = self.module.layers[0][1].to_out.register_forward_pre_hook(lambda _, given: mixed.append(given[0]))
        with torch.no_grad():
            _, hidden = self.module(torch.tensor(x), return_hiddens=True)
        hook.remove()
        (inside,) = hidden.attn_intermediates
        weights, values = inside.post_softmax_attn.numpy(), inside.values.numpy()
        values = np.tile(values, (1, weights.shape[1] // values.shape[1], 1, 1))
        return Weights(weights, values, mixed[0].numpy().reshape(*x.shape[:2], 4, 8).swapaxes(1, 2))


def layers() -> dict[str, Callable[[], Layer]]:
    """Decoders with each option, and encoders with some that have no direction."""
    both_ways = ('attention', 'rotary', 'ALiBi', 'T5 relative bias')
    decoders = {f'Decoder, {name}': functools.partial(XTransformers, Decoder, given) for name, given in OPTIONS.items()}
    encoders = {f'Encoder, {name}': functools.partial(XTransformers, Encoder, OPTIONS[name]) for name in both_ways}
    return {**decoders, **encoders}
