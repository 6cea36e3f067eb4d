# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random tiny folders as transformers publishes them, with a tokenizer of each of its classes."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tokenizers
from theirs import torch, transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from saccade.data.tokenizer.unigram import fitted

TEXTS = [
    'The cat sat on the mat, and the dog ran after the cat; both were tired.',
    'A tokenizer cuts a text into pieces, and the pieces are numbered from 0 to 299.',
    'Größe und naïve Café: l\u2019été, señor! 東京都 はとても 大きい。 मैं ठीक हूँ। สวัสดี',
] * 3
CONTEXT = 48


def byte_pairs(*first: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The vocabulary and the merges of byte-level byte-pair encoding, after some tokens."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(vocab_size=340, special_tokens=list(first), initial_alphabet=alphabet, show_progress=False),
    )
    return _model(backend)


def gpt2() -> Any:
    vocabulary, merges = byte_pairs('<|endoftext|>')
    return transformers.GPT2Tokenizer(vocab=vocabulary, merges=merges)


def opt() -> Any:
    vocabulary, merges = byte_pairs('<s>', '<pad>', '</s>', '<unk>')
    roles = {'bos_token': '</s>', 'eos_token': '</s>', 'unk_token': '</s>', 'pad_token': '<pad>'}
    return transformers.GPT2Tokenizer(vocab=vocabulary, merges=merges, add_bos_token=True, **roles)


def qwen2() -> Any:
    vocabulary, merges = byte_pairs('<|endoftext|>', '<|im_start|>', '<|im_end|>')
    return transformers.Qwen2Tokenizer(vocab=vocabulary, merges=merges)


def roberta() -> Any:
    vocabulary, merges = byte_pairs('<s>', '<pad>', '</s>', '<unk>', '<mask>')
    mask = transformers.AddedToken('<mask>', lstrip=True, special=True)
    return transformers.RobertaTokenizer(vocab=vocabulary, merges=merges, mask_token=mask)


def llama(**settings: Any) -> Any:
    """With bytes for unknown characters, a space before each text, and <s> before that."""
    backend = tokenizers.Tokenizer(models.BPE(unk_token='<unk>', byte_fallback=True, fuse_unk=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace('▁', prepend_scheme='first', split=False)
    first = ['<unk>', '<s>', '</s>', *(f'<0x{byte:02X}>' for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=first, show_progress=False, limit_alphabet=50)
    backend.train_from_iterator(TEXTS, trainer)
    vocabulary, merges = _model(backend)
    return transformers.LlamaTokenizer(vocab=vocabulary, merges=merges, **{'add_bos_token': True, **settings})


def pieces(*first: str) -> list[tuple[str, float]]:
    """The pieces of a unigram language model with their scores, after some tokens."""
    # The library's own trainer gives others in each process.
    words = Counter('▁' + word for text in TEXTS for word in text.split())
    return [*((name, 0.0) for name in first), *sorted(fitted(words, 110).items(), key=lambda item: -item[1])]


def t5() -> Any:
    return transformers.T5Tokenizer(vocab=pieces('<pad>', '</s>', '<unk>'), extra_ids=4)


def marian() -> Any:
    """Marian's own class reads SentencePiece alone; this one has its tokens."""
    backend = tokenizers.Tokenizer(models.Unigram(pieces('</s>', '<unk>', '<pad>'), 1))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.post_processor = processors.TemplateProcessing('$A </s>', '$A </s> $B </s>', [('</s>', 0)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token='</s>', unk_token='<unk>', pad_token='<pad>'
    )


def albert() -> Any:
    return transformers.AlbertTokenizer(vocab=pieces('<pad>', '<unk>', '[CLS]', '[SEP]', '[MASK]'))


def bert(**settings: Any) -> Any:
    """With words, characters, and characters within words, of either case and with accents or without."""
    texts = [*TEXTS, *(text.lower() for text in TEXTS), *(unicodedata.normalize('NFD', text) for text in TEXTS)]
    words = Counter(word for text in texts for word in re.findall(r'\w+|[^\w\s]', text))
    characters = sorted(set().union(*words))
    special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
    tokens = dict.fromkeys([*special, *characters, *(f'##{each}' for each in characters), *sorted(words)])
    return transformers.BertTokenizer(vocab={token: number for number, token in enumerate(tokens)}, **settings)


TOKENIZERS: dict[str, Callable[[], Any]] = {
    'gpt2': gpt2, 'opt': opt, 'qwen2': qwen2, 'roberta': roberta, 'llama': llama, 't5': t5, 'marian': marian,
    'albert': albert, 'bert': bert,
    'cased bert': lambda: bert(do_lower_case=False, strip_accents=True, tokenize_chinese_chars=False),
}  # fmt: skip


def _model(backend: tokenizers.Tokenizer) -> tuple[dict[str, int], list[tuple[str, str]]]:
    model = json.loads(backend.to_str())['model']
    vocabulary = dict(sorted(model['vocab'].items(), key=lambda item: item[1]))
    return vocabulary, [tuple(merge) for merge in model.get('merges', [])]


WIDE = {
    'hidden_size': 32, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'intermediate_size': 48,
    'max_position_embeddings': CONTEXT,
}  # fmt: skip


def model_of(family: str, tokenizer: Any, seed: int) -> Any:
    """A model with the ids of a tokenizer and random weights."""
    ids = {'vocab_size': len(tokenizer), 'eos_token_id': tokenizer.eos_token_id, 'pad_token_id': tokenizer.pad_token_id}
    start = {'bos_token_id': None, 'decoder_start_token_id': tokenizer.pad_token_id}
    narrow = {'d_model': 32, 'num_layers': 2, 'num_heads': 4, 'd_kv': 8, 'd_ff': 48, 'n_positions': CONTEXT}
    towers = {f'{tower}_{name}': value for tower in ('encoder', 'decoder') for name, value in (
        ('layers', 2), ('attention_heads', 4), ('ffn_dim', 48))}  # fmt: skip
    made = {
        'gpt2': lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_positions=CONTEXT, n_embd=32, n_layer=2, n_head=4, **ids, bos_token_id=tokenizer.bos_token_id)),
        'qwen2': lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
            **WIDE, **ids, num_key_value_heads=2)),
        'llama': lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(
            **WIDE, **ids, bos_token_id=tokenizer.bos_token_id)),
        't5': lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(**narrow, **ids, **start)),
        'mt5': lambda: transformers.MT5ForConditionalGeneration(transformers.MT5Config(**narrow, **ids, **start)),
        'marian': lambda: transformers.MarianMTModel(transformers.MarianConfig(
            d_model=32, max_position_embeddings=CONTEXT, scale_embedding=True, **towers, **ids, **start,
            forced_eos_token_id=None)),
        'bert': lambda: transformers.BertForMaskedLM(transformers.BertConfig(**WIDE, **ids)),
        'distilbert': lambda: transformers.DistilBertForMaskedLM(transformers.DistilBertConfig(
            dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=CONTEXT, **ids)),
        'electra': lambda: transformers.ElectraForMaskedLM(transformers.ElectraConfig(
            **WIDE, **ids, embedding_size=16)),
        'albert': lambda: transformers.AlbertForMaskedLM(transformers.AlbertConfig(**WIDE, **ids, embedding_size=16)),
        'roberta': lambda: transformers.RobertaForMaskedLM(transformers.RobertaConfig(
            **WIDE | {'max_position_embeddings': CONTEXT + 2}, **ids, type_vocab_size=1)),
    }[family]()  # fmt: skip
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if 'embed_positions' not in name:
                # Scales of norms have either sign, and biases are small, or else a model repeats one token.
                norm = 'norm' in name.lower() or 'ln_' in name
                attends = any(part in name for part in ('attn.out_proj', 'v_proj', 'Attention.v', 'Attention.o'))
                scale = 0.05 if name.endswith('bias') else 1.0 if norm else 0.2 if attends else 0.5
                parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return made.eval()


def publish(folder: Path, family: str, tokenizer: Any, seed: int) -> Path:
    """Save a model and its tokenizer."""
    model_of(family, tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def change(file: Path, **settings: Any) -> None:
    """Change settings of a JSON file, which is made where it is missing; a setting of None is taken away."""
    found = json.loads(file.read_text()) if file.exists() else {}
    found = {name: value for name, value in (found | settings).items() if value is not None}
    file.write_text(json.dumps(found))
