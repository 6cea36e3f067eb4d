# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes, hyper-parameters and batches of the benchmarks, the same for every library. Imports none of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

PEERS = {'eager': 'torch eager', 'compiled': 'torch.compile'}  # of training, by the name of a flag
SEARCHED = (250, 500, 1000, 10_000)  # texts that are searched
CROSSED = 1000  # most texts of which a cross-encoder reads all pairs

LEARNING_RATE = 3e-4
BETAS = (0.9, 0.95)
WEIGHT_DECAY = 0.1
CLIP_NORM = 1.0


@dataclass(frozen=True)
class Size:
    """GPT-2 without biases, and the batch it is trained on.

    Attributes:
        context_length: tokens the model sees; batch: rows a step.
        chunks: our setting: parts that the queries are taken in.
        runs: our setting: each way of running the layers is a variant.
    """

    layers: int
    heads: int
    width: int
    context_length: int
    batch: int
    vocabulary: int
    chunks: int = 1
    runs: tuple[str, ...] = ('unrolled',)

    @property
    def tokens(self) -> int:
        """Tokens a training step."""
        return self.batch * self.context_length

    def tuned(self, chunks: int | None, runs: Sequence[str] | None) -> 'Size':
        """The same model in other settings of ours; None leaves what is there."""
        return replace(self, chunks=chunks or self.chunks, runs=tuple(runs or self.runs))


SIZES: Mapping[str, Size] = {
    'A': Size(layers=6, heads=6, width=384, context_length=256, batch=8, vocabulary=65, chunks=4),
    'B': Size(layers=4, heads=8, width=512, context_length=128, batch=16, vocabulary=8192),
    'deep': Size(
        layers=24, heads=4, width=128, context_length=64, batch=8, vocabulary=65, runs=('unrolled', 'scanned')
    ),
    # To see that everything works; its times mean nothing.
    'tiny': Size(
        layers=2, heads=2, width=16, context_length=8, batch=2, vocabulary=11, chunks=2, runs=('unrolled', 'scanned')
    ),
}


# A BERT, and the batch it is trained on.
MASKED_SIZES: Mapping[str, Size] = {
    'standard': Size(layers=4, heads=8, width=512, context_length=128, batch=16, vocabulary=30522),
    'tiny': Size(layers=2, heads=2, width=16, context_length=16, batch=2, vocabulary=31, runs=('unrolled', 'scanned')),
}


@dataclass(frozen=True, kw_only=True)
class PairSize(Size):
    """Encoder-decoder, each side of so many layers, and batches of which both sides have the context's length.

    Attributes:
        family: a model_type of `transformers`, 'marian' or 't5'.
    """

    family: str


MASK_SHARE, MASK = 0.15, 4  # of the tokens; the id


@dataclass(frozen=True)
class DecodingSize:
    """GPT-2 as `transformers` has it, and the prompts and new tokens to decode.

    Attributes:
        prompt: tokens given; new: tokens to make.
        batches: rows at a time, each measured on its own.
    """

    layers: int = 6
    heads: int = 6
    width: int = 384
    vocabulary: int = 8192
    prompt: int = 64
    new: int = 128
    batches: tuple[int, ...] = (1, 16)
    family: str = 'gpt2'


DECODING_SIZES: Mapping[str, DecodingSize] = {
    'standard': DecodingSize(),
    'tiny': DecodingSize(layers=2, heads=2, width=16, vocabulary=31, prompt=5, new=6, batches=(1, 3)),
}


@dataclass(frozen=True)
class Both:
    """Sizes of a sequence-to-sequence benchmark.

    Attributes: the size for training; and that for decoding, whose prompts are sources.
    """

    training: PairSize
    decoding: DecodingSize

    @classmethod
    def of(
        cls, family: str, batch: int, batches: tuple[int, ...], context_length: int, new: int, **sizes: int
    ) -> 'Both':
        """Return one model's sizes for training and for decoding; `sizes` are layers, heads, width and vocabulary."""
        return cls(
            PairSize(family=family, batch=batch, context_length=context_length, **sizes),
            DecodingSize(family=family, batches=batches, prompt=context_length, new=new, **sizes),
        )


_STANDARD = dict(layers=4, heads=8, width=512, vocabulary=8192, context_length=64, new=64, batch=16, batches=(1, 16))
_TINY = dict(layers=2, heads=2, width=16, vocabulary=31, context_length=8, new=6, batch=2, batches=(1, 3))
SEQ2SEQ_SIZES: Mapping[str, Both] = {
    'marian': Both.of('marian', **_STANDARD),
    't5': Both.of('t5', **_STANDARD),
    'tiny': Both.of('marian', **_TINY),
    'tiny_t5': Both.of('t5', **_TINY),
}
# What is written begins with START. Marian's row of padding has no gradient from the tokens: so none is trained on.
PADDING, START = 0, 1


def rows(size: Size, number: int) -> np.ndarray:
    """Batch `number` of random tokens, [B T+1]: one more than the model sees, so that every input has a target."""
    return np.random.default_rng(number).integers(size.vocabulary, size=(size.batch, size.context_length + 1))


def masked_rows(size: Size, number: int) -> dict[str, np.ndarray]:
    """Batch `number` of random tokens, and of them [B M] that are masked: all [MASK], which no speed depends on."""
    draw = np.random.default_rng(number)
    tokens = draw.integers(MASK + 1, size.vocabulary, size=(size.batch, size.context_length))
    count = max(1, round(MASK_SHARE * size.context_length))
    at = np.argsort(draw.random(tokens.shape), axis=-1)[:, :count]
    hidden = tokens.copy()
    np.put_along_axis(hidden, at, MASK, axis=-1)
    return {'tokens': tokens, 'hidden': hidden, 'at': at}


def bert_settings(size: Size) -> dict[str, int | float]:
    """The settings of a BERT of this size in a config.json, without dropout."""
    return {
        'vocab_size': size.vocabulary,
        'hidden_size': size.width,
        'num_hidden_layers': size.layers,
        'num_attention_heads': size.heads,
        'intermediate_size': 4 * size.width,
        'max_position_embeddings': size.context_length,
        'hidden_dropout_prob': 0.0,
        'attention_probs_dropout_prob': 0.0,
    }


def pair_rows(size: PairSize, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Batch `number` of random sources [B S], and of random tokens [B T+1], so that every input has a target."""
    draw = np.random.default_rng(number)
    source = draw.integers(START + 1, size.vocabulary, size=(size.batch, size.context_length))
    tokens = draw.integers(START + 1, size.vocabulary, size=(size.batch, size.context_length + 1))
    tokens[:, 0] = START
    return source, tokens


def seq2seq_settings(size: PairSize | DecodingSize) -> dict[str, Any]:
    """The settings of a Marian or a T5 of this size in a config.json, without dropout and without an end."""
    marks = {
        'pad_token_id': PADDING,
        'decoder_start_token_id': START,
        'eos_token_id': None,
        'forced_eos_token_id': None,
    }
    common = {'vocab_size': size.vocabulary, 'd_model': size.width, **marks}
    if size.family == 't5':
        shape = {'d_kv': size.width // size.heads, 'd_ff': 4 * size.width, 'num_heads': size.heads}
        return {**common, **shape, 'num_layers': size.layers, 'dropout_rate': 0.0}
    shape = {'layers': size.layers, 'attention_heads': size.heads, 'ffn_dim': 4 * size.width}
    towers = {f'{tower}_{name}': value for tower in ('encoder', 'decoder') for name, value in shape.items()}
    longest = {'max_position_embeddings': 512, 'scale_embedding': True, 'dropout': 0.0}
    return {**common, **towers, **longest, 'activation_function': 'relu'}


def prompts(size: DecodingSize, batch: int) -> list[list[int]]:
    """Random prompts."""
    return np.random.default_rng(batch).integers(size.vocabulary, size=(batch, size.prompt)).tolist()
