# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Suggestions for an unknown name: our name for another library's, or the closest spelling."""

import ast
import difflib
import functools
from collections.abc import Iterable, Iterator

from saccade.parts import parts, sources

_MOST, _FEW = 40, 8  # names that a message lists: at most, and of more
_CLOSE = 0.8  # similarity of a spelling, from 0 to 1
_ALSO_CALLED = 'Also called: '

# Our name of a field -> what other libraries call it. Fields are of many parts, so no file of a part can say it.
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
    'dtype': 'precision mixed_precision compute_dtype torch_dtype amp',
    'logging': 'wandb report_to logger loggers tracker trackers',
    'cross': 'cross_attention cross_attn encoder_attn',
}
_OURS = {other: ours for ours, others in ELSEWHERE.items() for other in others.split()}


def ours(name: str) -> str:
    """Return our name for a field that another library calls `name`; `name` itself if there is none."""
    return _OURS.get(name, name)


def part_called(use: str) -> str | None:
    """Return the part of ours that a name, as 'attention.gqa:GQA', is likely to mean.

    A part's docstring says how others call it, as in 'Also called: GQA, grouped query.'
    """
    module, _, name = use.partition(':')
    if name in parts().get(module, ()):
        return None
    words = {_letters(name), _letters(module.rpartition('.')[2])} - {''}
    return next((part for part, (own, others) in _called().items() if own == _letters(name) or words & {*others}), None)


def parts_called(word: str) -> list[str]:
    """Return the parts of ours that a single word, as 'retention' or 'rms', is likely to mean.

    The word is the name of a class or another name of it, or else the name of its file or a similar spelling.
    """
    word = _letters(word.rpartition('.')[2])
    names = {part: {own, *others} for part, (own, others) in _called().items()}
    files = {part: {_letters(part.partition(':')[0].rpartition('.')[2])} for part in names}
    close = difflib.get_close_matches(word, set().union(*names.values()), n=1, cutoff=_CLOSE)
    guesses = (names, {word}), (files, {word}), (names, {*close})
    found = ([part for part, known in group.items() if known & words] for group, words in guesses)
    return next(filter(None, found), [])


@functools.cache
def _called() -> dict[str, tuple[str, list[str]]]:
    """The name of each part, and those that others have for it, by its import path; letters and digits only."""
    return {
        f'{module}:{name}': (_letters(name), [_letters(other) for other in others])
        for module in parts()
        for name, others in _also_called(sources()[f'saccade.{module}'], parts()[module])
    }


def _also_called(text: str, names: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts of a file, each with what its docstring says that others call it."""
    nodes = ast.parse(text).body if _ALSO_CALLED in text else ()
    docs = {node.name: ast.get_docstring(node) or '' for node in nodes if isinstance(node, ast.ClassDef)}
    for name in names:
        _, said, rest = docs.get(name, '').partition(_ALSO_CALLED)
        yield name, rest.partition('.\n')[0].rstrip('.').split(',') if said else []


def _letters(name: str) -> str:
    return ''.join(filter(str.isalnum, name.lower()))


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
