# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Suggestions for an unknown name: our name for another library's, or the closest spelling."""

import difflib
from collections.abc import Iterable

from saccade.renamed import present

_MOST, _FEW = 40, 8  # longest list of names that a message prints whole, and the number it prints of a longer one

# Our name of a field -> what other libraries call it.
ELSEWHERE = {
    'key_value_heads': 'kv_heads n_kv_heads num_kv_heads num_key_value_heads n_query_groups num_query_groups',
    'heads': 'num_heads n_heads n_head num_attention_heads nhead attention_heads',
    'head_width': 'head_dim d_head dim_head head_size attention_head_size',
    'width': 'hidden_size d_model n_embd dim embed_dim hidden_dim model_dim embedding_dim emb_dim',
    'layers': 'n_layer n_layers num_layers num_hidden_layers depth num_blocks',
    'head_norm': 'qk_norm qk_layernorm use_qk_norm query_key_norm',
    'context_length': 'max_seq_len block_size seq_len seq_length n_positions n_ctx max_position_embeddings context '
    'max_length',
    'vocabulary': 'vocab_size n_vocab num_embeddings',
    'ratio': 'mlp_ratio ffn_ratio expansion',
    'activation': 'hidden_act act_fn activation_function act hidden_activation nonlinearity',
    'epsilon': 'eps layer_norm_eps rms_norm_eps norm_eps layer_norm_epsilon',
    'dropout': 'dropout_rate p_drop drop_rate attention_dropout hidden_dropout_prob resid_pdrop dropout_prob',
    'base': 'rope_theta theta rotary_base',
    'left': 'window window_size sliding_window attention_window left_window',
    'experts': 'num_experts n_experts num_local_experts',
    'active': 'top_k num_experts_per_tok experts_per_token',
    'tied': 'tie_word_embeddings tie_weights weight_tying',
    'peak': 'lr learning_rate max_lr peak_lr',
    'floor': 'min_lr end_lr final_lr',
    'warmup': 'warmup_steps num_warmup_steps warmup_iters',
    'weight_decay': 'wd decay l2',
    'clip_norm': 'grad_clip max_grad_norm gradient_clipping clip_grad clip',
    'accumulate': 'gradient_accumulation_steps grad_accum accumulation_steps accum_steps',
    'batch_size': 'batch bs train_batch_size per_device_train_batch_size',
    'steps': 'max_steps num_steps train_steps max_iters num_train_steps total_steps',
    'eval_every': 'eval_interval eval_steps eval_freq',
    'checkpoint_every': 'save_steps save_interval save_every',
    'log_every': 'log_interval logging_steps',
    'rank': 'lora_rank lora_r kv_lora_rank',
    'kernel': 'attention_impl attn_implementation attention_kernel backend_attention',
    'position': 'pos_emb positional_encoding position_embedding pos_encoding position_embedding_type',
    'feedforward': 'mlp ffn feed_forward',
    'mixer': 'attention attn self_attention self_attn',
    'cross': 'cross_attention cross_attn encoder_attn',
}
# A part of ours -> its names elsewhere, in lower case.
PARTS = {
    'attention.multi_head:MultiHead': 'gqa mqa mha grouped_query multi_query self_attention multiheadattention',
    'attention.latent:Latent': 'mla multi_head_latent latent_attention',
    'attention.plain:Plain': 'sdpa dot_product eager softmax_attention vanilla',
    'attention.blockwise:Blockwise': 'flash flash_attention flashattention memory_efficient',
    'attention.exclusive:Exclusive': 'xsa exclusive_self_attention',
    'attention.moba:MoBA': 'mixture_of_block_attention block_sparse',
    'attention.native_sparse:NativeSparse': 'nsa native_sparse_attention',
    'attention.lightning_indexer:LightningIndexer': 'dsa deepseek_sparse_attention indexer',
    'softmax.scalable:Scalable': 'ssmax scalable_softmax',
    'position.rotary:Rotary': 'rope rotaryembedding rotary_embedding',
    'position.sinusoid:Sinusoid': 'sinusoidal fourier',
    'norm.rms:RMSNorm': 'rmsnorm rms_norm',
    'norm.layer:LayerNorm': 'layernorm layer_norm',
    'feedforward.gated:Gated': 'swiglu geglu reglu glu',
    'feedforward.mixture:Mixture': 'moe mixture_of_experts switch',
    'block.manifold_hyper_connections:ManifoldHyperConnections': 'mhc manifold',
    'block.dense_former:DenseFormer': 'denseformer depth_weighted_average dwa',
    'block.attention_residuals:AttentionResiduals': 'attnres attn_res attention_residual',
    'ops.mask:Window': 'sliding_window local local_attention swa',
}
_OURS = {other: ours for ours, others in ELSEWHERE.items() for other in others.split()}


def ours(name: str) -> str:
    """Return our name for a field that another library calls `name`; `name` itself if there is none."""
    return _OURS.get(name, name)


def part_called(use: str) -> str | None:
    """Return our part for a name such as 'attention.gqa:GQA': its present name, or a part known under that name."""
    if present(use) != use:
        return present(use)
    module, _, name = use.lower().partition(':')
    words = {module.rpartition('.')[2], name}
    return next((part for part, others in PARTS.items() if words & set(others.split())), None)


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a suggestion for a message: the likely name, or else the list of all names; '' if there are none."""
    names = sorted(names)
    match = [ours(name)] if ours(name) in names else difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if match:
        return f"; did you mean '{match[0]}'?"
    return f'; it has {listed(names, name)}' if names else ''


def listed(names: Iterable[str], near: str = '') -> str:
    """Return names for a message, separated by commas; of a long list, the few closest to `near` in spelling."""
    names = list(names)
    if len(names) <= _MOST:
        return ', '.join(names)
    few = difflib.get_close_matches(near, names, n=_FEW, cutoff=0.0)
    return f'{", ".join(few)} and {len(names) - _FEW} more'
