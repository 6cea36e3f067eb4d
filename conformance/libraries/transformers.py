# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""transformers: models of one or two layers, by family, from embeddings to the last hidden state.

Documents in a row are given as its DataCollatorWithFlattening gives them: one flat row, position ids that start anew,
and the boundaries. Padding is `attention_mask`; chunks go through the family's cache.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers

from conformance.layer import Array, Layer, NotOffered, Weights, positions_of, refuse_documents, refuse_padding, spans
from conformance.torch_layer import TorchLayer

TITLE = 'transformers'
REQUIRES = ('transformers==5.24.0', 'torch==2.13.0')
transformers.logging.set_verbosity_error()

WIDTH = 32
# Values of config keys, under the names that the families use; a family is given those it has.
SMALL: dict[str, Any] = {
    **dict.fromkeys(('hidden_size', 'd_model', 'n_embd', 'dim'), WIDTH),
    **dict.fromkeys(('num_hidden_layers', 'n_layer', 'num_layers', 'n_layers'), 1),
    **dict.fromkeys(('num_attention_heads', 'n_head', 'n_heads', 'num_heads'), 4),
    **dict.fromkeys(('intermediate_size', 'ffn_dim', 'n_inner', 'hidden_dim', 'block_multiple_of'), 48),
    **dict.fromkeys(('num_local_experts', 'num_experts', 'n_routed_experts', 'num_experts_per_tok'), 2),
    **dict.fromkeys(('max_position_embeddings', 'n_positions', 'vocab_size'), 64),
    **dict(num_key_value_heads=2, head_dim=8, moe_intermediate_size=16, rotary_dim=8, word_embed_proj_dim=WIDTH),
    **dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, type_vocab_size=2, embedding_size=WIDTH),
}
TWO: dict[str, Any] = dict(num_hidden_layers=2, layer_types=['linear_attention', 'full_attention'])
DELTA: dict[str, Any] = dict(
    TWO, linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=8, linear_value_head_dim=8
)
LATENT: dict[str, Any] = dict(
    q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, head_dim=8,
    num_key_value_heads=4, first_k_dense_replace=1,
)  # fmt: skip
MAMBA2: dict[str, Any] = dict(
    mamba_n_heads=8, mamba_d_head=8, mamba_d_state=8, mamba_n_groups=1, mamba_d_ssm=64, mamba_chunk_size=4
)

DECODERS: dict[str, dict[str, Any]] = {
    **{
        name: {}
        for name in [
            'apertus',
            'arcee',
            'bloom',
            'cohere',
            'cohere2',
            'diffllama',
            'doge',
            'ernie4_5',
            'exaone4',
            'falcon',
            'gemma',
            'gemma2',
            'gemma3_text',
            'glm',
            'glm4',
            'gpt2',
            'gpt_neox',
            'gpt_oss',
            'granite',
            'helium',
            'llama',
            'minimax',
            'mistral',
            'mpt',
            'nemotron',
            'olmo',
            'olmo2',
            'olmo3',
            'opt',
            'persimmon',
            'phi',
            'phi3',
            'qwen2',
            'qwen3',
            'smollm3',
            'stablelm',
            'starcoder2',
            'lfm2',
            'mamba',
            'falcon_mamba',
        ]
    },
    'gpt_neo': {'attention_types': [[['global'], 1]]},
    'gptj': {},
    'deepseek_v2': LATENT,
    'deepseek_v3': LATENT,
    'mamba2': dict(expand=2, num_heads=8, head_dim=8, state_size=8, n_groups=1, chunk_size=4),
    'bamba': dict(MAMBA2, num_hidden_layers=2, attn_layer_indices=[1]),
    'granitemoehybrid': dict(
        MAMBA2, num_hidden_layers=2, layer_types=['mamba', 'attention'], shared_intermediate_size=16
    ),
    'falcon_h1': MAMBA2,
    'jamba': dict(num_hidden_layers=2, attn_layer_period=2, attn_layer_offset=1, mamba_d_state=8, mamba_dt_rank=4),
    'qwen3_next': dict(DELTA, num_key_value_heads=2),
    'qwen3_5_text': dict(DELTA, num_key_value_heads=2),
    'olmo_hybrid': dict(DELTA, num_key_value_heads=2),
    'recurrent_gemma': dict(num_hidden_layers=3, lru_width=WIDTH, block_types=['recurrent', 'recurrent', 'attention']),
}
ENCODERS: dict[str, dict[str, Any]] = {
    name: {}
    for name in [
        'bert',
        'camembert',
        'deberta-v2',
        'electra',
        'esm',
        'megatron-bert',
        'modernbert',
        'mpnet',
        'roberta',
        'roformer',
        'xlm-roberta',
    ]
}


class Transformers(TorchLayer):
    """A small model of a family."""

    width = WIDTH

    def __init__(self, family: str, options: dict[str, Any], causal: bool = True, attention: str = 'eager') -> None:
        torch.manual_seed(0)
        known = transformers.AutoConfig.for_model(family).to_dict()
        given = {name: value for name, value in SMALL.items() if name in known} | options
        config = transformers.AutoConfig.for_model(family, **given)
        super().__init__(transformers.AutoModel.from_config(config, attn_implementation=attention), causal)
        self.made, self.takes = (family, options, causal), inspect.signature(self.module.forward).parameters
        self.continuous = self.module.config.to_dict().get('num_experts_per_tok') is None

    def _given(self, segments: Array | None, past: int = 0) -> dict[str, Any]:
        """Arguments for segments that reach from the first token of the past to the last of the chunk."""
        if segments is None:
            return {}
        if not self.causal and self.made[0] not in RELATIVE and segments.any(axis=1).all():
            refuse_padding(segments[:, :1], 'absolute positions: padding on the left is not tried')
        if self.made[0] in RECURRENT:  # as generate() gives it: of the prompt
            return {'attention_mask': torch.tensor(segments).long()} if past == 0 else {}
        given = {'attention_mask': torch.tensor(segments).long()}
        if 'position_ids' in self.takes and self.causal:  # as generate() gives them
            given['position_ids'] = torch.tensor(positions_of(segments)[:, past:]).long()
        return given

    def forward(self, x: torch.Tensor, segments: Array | None) -> torch.Tensor:
        cached = {'use_cache': False} if self.causal else {}
        if segments is None or segments.max() == 1:
            return self.module(inputs_embeds=x, **cached, **self._given(segments)).last_hidden_state
        refuse_padding(segments, 'a flat row has no padding')
        if 'position_ids' not in self.takes or not self.causal:
            raise NotOffered('no argument for documents in a row')
        try:
            flat = self.module(inputs_embeds=x.reshape(1, -1, WIDTH), **cached, **_flattened(segments))
        except ValueError as refusal:
            if 'packed sequences' not in str(refusal):
                raise
            raise NotOffered('needs causal_conv1d, which needs CUDA') from None
        return flat.last_hidden_state.reshape(x.shape)

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.causal:
            raise NotOffered('an encoder does not decode')
        return None, np.zeros((batch, 0), np.int32)

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        refuse_documents(segments, 'a cache takes one document a row')
        cache, before = state
        both = np.concatenate([before, np.ones(x.shape[:2], np.int32) if segments is None else segments], axis=1)
        name = next(name for name in ('cache', 'cache_params', 'past_key_values') if name in self.takes)
        with torch.no_grad():
            made = self.module(
                inputs_embeds=torch.tensor(x),
                use_cache=True,
                **({name: cache} if cache is not None else {}),
                **self._given(both, before.shape[1]),
            )
        if name not in made:
            raise NotOffered('the base model returns no cache')
        return made.last_hidden_state.numpy(), (made[name], both)

    def copied(self, attention: str = 'eager') -> 'Transformers':
        try:
            other = Transformers(*self.made, attention=attention)
        except ValueError as refusal:
            raise NotOffered(str(refusal).splitlines()[0][:90]) from None
        other.module.load_state_dict(self.module.state_dict())
        return other

    def kernels(self) -> dict[str, Layer]:
        return {'sdpa': self.copied('sdpa')}

    def weights(self, x: Array) -> Weights:
        projections = {name.rpartition('.')[2]: part for name, part in self.module.named_modules()}
        if not {'v_proj', 'o_proj'} <= projections.keys() or self.made[0] not in GROUPED:
            raise NotOffered('its parts have other names')
        seen: dict[str, torch.Tensor] = {}
        hooks = [
            projections['v_proj'].register_forward_hook(lambda _, given, y: seen.update(values=y)),
            projections['o_proj'].register_forward_pre_hook(lambda _, given: seen.update(mixed=given[0])),
        ]
        with torch.no_grad():
            (weights,) = self.module(inputs_embeds=torch.tensor(x), output_attentions=True).attentions
        for hook in hooks:
            hook.remove()
        values, mixed = (seen[name].numpy().reshape(*x.shape[:2], -1, 8).swapaxes(1, 2) for name in ('values', 'mixed'))
        values = values.repeat(weights.shape[1] // values.shape[1], axis=1)
        return Weights(weights.numpy(), values, mixed, least=0.0 if self.made[0] == 'gpt_oss' else 1.0)


def _flattened(segments: Array) -> dict[str, Any]:
    """Arguments of DataCollatorWithFlattening with `return_flash_attn_kwargs` and `return_seq_idx`."""
    lengths = [places.stop - places.start for _, places in spans(segments)]
    ends = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)
    return {
        'position_ids': torch.cat([torch.arange(length) for length in lengths])[None],
        'seq_idx': torch.repeat_interleave(torch.arange(len(lengths), dtype=torch.int32), torch.tensor(lengths))[None],
        'cu_seq_lens_q': ends,
        'cu_seq_lens_k': ends,
        'max_length_q': max(lengths),
        'max_length_k': max(lengths),
    }


# Families without attention.
RECURRENT = {'mamba', 'mamba2', 'falcon_mamba'}

# Encoders whose positions are relative.
RELATIVE = {'esm', 'modernbert', 'roformer'}

# Families whose heads are v_proj and o_proj alone, with nothing between.
GROUPED = {
    'arcee',
    'cohere',
    'cohere2',
    'ernie4_5',
    'exaone4',
    'gemma',
    'gemma2',
    'gemma3_text',
    'glm',
    'glm4',
    'gpt_oss',
    'granite',
    'helium',
    'llama',
    'mistral',
    'nemotron',
    'olmo',
    'olmo2',
    'olmo3',
    'qwen2',
    'qwen3',
    'smollm3',
    'stablelm',
    'starcoder2',
}


def layers() -> dict[str, Callable[[], Layer]]:
    """Decoders and encoders by `model_type`."""
    decoders = {name: functools.partial(Transformers, name, options) for name, options in DECODERS.items()}
    encoders = {
        name: functools.partial(Transformers, name, options, causal=False) for name, options in ENCODERS.items()
    }
    return {**decoders, **encoders}
