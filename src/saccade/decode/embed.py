# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Embeddings: vectors of tokens, words and texts from any layer of a trained model; nearest neighbours of a token.

A layer's output at a token depends on the context, so the vector of a word differs from text to text (Peters et al.
2018, "ELMo", section 5.3, https://arxiv.org/abs/1802.05365; Devlin et al. 2019, "BERT", section 5.3,
https://arxiv.org/abs/1810.04805, compares layers). A text longer than the context is read in overlapping chunks, and
each token's vector comes from the chunk in which it has most context.
"""

import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saccade.data.rows.chunk import Meeting, before, chunks, on_both_sides, shares
from saccade.data.rows.frame import Frame, Values
from saccade.data.split import Row
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.model.stack import STATES, layer_states
from saccade.types import LanguageModel, LayerContext, Model, Params, Part, UserError

Pool = Callable[[Float[Array, 'B T D']], Float[Array, 'B D']]
Place = tuple[int, int]  # character offsets in a text (start, stop)
Vector = Float[np.ndarray, 'D']

FINAL = 'final_norm'  # the Linen collection
_NOWHERE = (0, 0)  # offsets of a special token


@dataclass(frozen=True, eq=False)
class Occurrence:
    """Occurrence of a word in a text, with its vector.

    Attributes: place, character offsets of the word; tokens of the word; vector, the mean of their vectors.
    """

    place: Place
    tokens: list[str]
    vector: Vector


@dataclass(frozen=True, eq=False)
class Embedded:
    """Embedded text: a vector for each of its tokens.

    Attributes:
        tokens: spellings of the tokens in the vocabulary, including special tokens around the text.
        places: character offsets of each token; empty ranges for special tokens.
    """

    text: str
    tokens: list[str]
    places: list[Place]
    vectors: Float[np.ndarray, 'T D']

    def pooled(self, pool: Pool) -> Vector:
        """Return one vector pooled over all tokens, by a function as in `ops.pool`."""
        return np.asarray(pool(jnp.asarray(self.vectors)[None])[0])

    def occurrences(self, word: str) -> list[Occurrence]:
        """Return each occurrence of a word as a whole word, ignoring case.

        Raises:
            UserError: the word does not occur.
        """
        found = []
        for match in re.finditer(rf'(?<!\w){re.escape(word)}(?!\w)', self.text, re.IGNORECASE):
            start, stop = match.span()
            pieces = [at for at, (first, last) in enumerate(self.places) if first < stop and last > start]
            if pieces:  # otherwise the tokenizer dropped the word's characters
                tokens, vector = [self.tokens[at] for at in pieces], self.vectors[pieces].mean(axis=0)
                found.append(Occurrence((start, stop), tokens, vector))
        if not found:
            raise UserError(f'there is no word {word!r} in the text {reprlib.repr(self.text)}')
        return found


@dataclass(frozen=True)
class TextLayout:
    """Layout of a text's tokens in the rows of a model, as in training.

    Attributes:
        begins, ends: special tokens before and after a text.
        opens: number of special tokens before the text's tokens in each row.
        room: maximum number of the text's tokens in a row.
        row: builds a row from these tokens.
        meeting: rule for the boundary between the shares of two overlapping chunks.
    """

    begins: list[int]
    ends: list[int]
    opens: int
    room: int
    row: Callable[[Values], Row]
    meeting: Meeting

    @classmethod
    def of(cls, model: Model, tokenizer: Tokenizer) -> 'TextLayout':
        """Return the layout of a model: a language model's documents start with an end token, or with the special
        tokens of
        its Hugging Face folder; an encoder's rows have a frame.

        Raises:
            UserError: the model is an encoder, and its tokenizer lacks a special token of the frame.
        """
        if isinstance(model, LanguageModel):
            begins = [] if tokenizer.end is None else [tokenizer.end]
            begins, ends = map(list, tokenizer.around or (begins, []))
            return cls(begins, ends, 0, model.context_length, partial(_unframed, model.context_length), before)
        frame = Frame.of(tokenizer, model.context_length)
        return cls([], [], next(frame.starts([])), frame.room(), frame.row, on_both_sides)


@dataclass(frozen=True, eq=False)
class Embedder:
    """Vectors of tokens from one layer of a model.

    Attributes:
        layer: 0 for the token embeddings, l for the output of layer l, -1 for the last layer; None for the last layer
            after the final norm.
        overlap: number of tokens that neighbouring chunks of a long text share; None for half of a chunk.
    """

    model: Model
    params: Params
    tokenizer: Tokenizer
    layer: int | None = -1
    overlap: int | None = None

    def embed(self, text: str) -> Embedded:
        """Return a text with the vectors of its tokens.

        Raises:
            UserError: the layer does not exist, the text has no tokens, or the overlap is too large.
        """
        if not hasattr(self.model, 'layers'):
            raise UserError(
                f'{Part(type(self.model)).name} has no layers that read a text; only nearest neighbours of a token in '
                'its embedding are available'
            )
        ((ids, places),) = self.tokenizer.encode_places([text])
        if not ids:
            raise UserError(f'the text {text!r} has no token')
        layout = TextLayout.of(self.model, self.tokenizer)
        tokens, vectors = map(
            np.concatenate, zip(*self._read([*layout.begins, *ids, *layout.ends], layout), strict=True)
        )
        opened = len(layout.begins) + layout.opens
        closed = len(tokens) - opened - len(ids)
        everywhere = [*opened * [_NOWHERE], *places, *closed * [_NOWHERE]]
        return Embedded(text, [self.tokenizer.token(each) for each in tokens], everywhere, vectors)

    def nearest(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """Return the tokens whose embeddings, before any layer, have the largest cosine with the embedding of a token.

        Raises:
            UserError: the word is not a single token, or the model has no single embedding.
        """
        if 'embedding' not in self.params:
            raise UserError(
                f'{Part(type(self.model)).name} has no single embedding to find neighbours in; it has '
                f'{", ".join(self.params)}, each with separate parameters'
            )
        number = self.single(word)
        table = np.asarray(self.params['embedding'], np.float32)[: self.tokenizer.size]
        near = cosines(table, table[[number]])[:, 0]
        order = [at for at in np.argsort(-near, kind='stable') if at != number]
        return [(self.tokenizer.token(at), float(near[at])) for at in order[:count]]

    def _read(self, ids: Sequence[int], layout: TextLayout) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the tokens and vectors of each chunk, without tokens that belong to a neighbouring chunk's share."""
        spans = chunks(len(ids), layout.room, layout.room // 2 if self.overlap is None else self.overlap)
        for (start, stop), (first, last) in zip(spans, shares(spans, layout.meeting), strict=True):
            row = layout.row(ids[start:stop])
            used = int((row['segments'] > 0).sum())
            # Special tokens at the start of the first row and at the end of the last row belong to the text.
            begin = layout.opens + first - start if start else 0
            end = layout.opens + last - start if stop < len(ids) else used
            # Pad to a power of two, or to the context, so that few widths are compiled.
            width = min(self.model.context_length, 1 << (used - 1).bit_length())
            cut = {name: jnp.asarray(array[:width])[None] for name, array in row.items()}
            states = np.asarray(_states(self.model, self.layer, self.params, cut), np.float32)
            yield row['tokens'][begin:end], states[begin:end]

    def single(self, word: str) -> int:
        """Return the id of a token, given by its spelling in the vocabulary or by a text that encodes to it."""
        spelled = self.tokenizer.backend.token_to_id(word)
        if spelled is not None:
            return spelled
        ids = self.tokenizer.encode(word)
        if not {*self.tokenizer.specials.values(), *self.tokenizer.unknown}.isdisjoint(ids):
            raise UserError(f'{word!r} is not known to the tokenizer')
        if len(ids) != 1:
            pieces = ', '.join(map(self.tokenizer.token, ids)) or 'none'
            raise UserError(f'{word!r} is not one token but {len(ids)}, {pieces}: give a single token')
        return ids[0]


def cosines(x: Float[np.ndarray, 'A D'], y: Float[np.ndarray, 'B D']) -> Float[np.ndarray, 'A B']:
    """Return the cosine of each vector of x with each vector of y; 0 where one of them is 0."""
    one, other = (each / np.maximum(np.linalg.norm(each, axis=-1, keepdims=True), 1e-30) for each in (x, y))
    return np.einsum('AD,BD->AB', one, other)


def final_states(reported: Mapping[str, Any]) -> Float[Array, 'B T D']:
    """Return the hidden states after the final norm that a model reported in FINAL."""
    return reported[FINAL][FINAL].value


@partial(jax.jit, static_argnums=(0, 1))
def _states(model: Any, layer: int | None, params: Params, row: dict[str, Array]) -> Float[Array, 'T D']:
    context = LayerContext(row['positions'], row['segments'], types=row['types'])
    _, reported = model.apply({'params': params}, row['tokens'], context, False, mutable=(*STATES, FINAL))
    if layer is None:
        return final_states(reported)[0]
    states = layer_states(reported)
    if not -len(states) <= layer < len(states):
        raise UserError(
            f'there is no layer {layer}: the model has {len(states) - 1} (1 to {len(states) - 1}); '
            '0 is the token embedding, and -1 is the last layer'
        )
    return states[layer][0]


def _unframed(context_length: int, tokens: Values) -> Row:
    there = np.arange(context_length) < len(tokens)
    row = {
        'tokens': np.pad(np.asarray(tokens), (0, context_length - len(tokens))),
        'segments': there,
        'positions': np.where(there, np.arange(context_length), 0),
        'types': np.zeros(context_length),
    }
    return {name: array.astype(np.int32) for name, array in row.items()}
