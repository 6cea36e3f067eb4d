# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Fill-mask: predict the [MASK]s of a text, independently as in training, or over several turns (mask-predict).

Mask-predict fills all masks, masks the least certain again, fewer at each turn, and predicts them again: Ghazvininejad
et al. 2019, "Mask-Predict", section 3, https://arxiv.org/abs/1904.09324. Of N masks, N (turns - t) / turns are masked
again after turn t.
"""

import re
import reprlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saccade.data.rows.frame import MASK, Frame
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import Count, EncoderModel, LayerContext, Model, Params, PRNGKey, UserError

__all__ = ['Filled']


@dataclass(frozen=True)
class Filling:
    """Candidates for one [MASK]. Attributes: the most probable tokens, and their probabilities."""

    tokens: list[str]
    probabilities: list[float]

    def pairs(self) -> Iterable[tuple[str, float]]:
        """Return each token with its probability."""
        return zip(self.tokens, self.probabilities, strict=True)


@dataclass(frozen=True, eq=False)
class Filler:
    """Fill-mask with a masked language model.

    Raises:
        UserError: the model has no head for masked tokens, or its tokenizer has no [MASK].
    """

    model: EncoderModel
    params: Params
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        if 'masked' not in dict(getattr(self.model, 'heads', ())):
            raise UserError("this model has no head 'masked': only a model trained on masked tokens can fill them in")
        self.tokenizer.special(*MASK, role='mask_token')

    def fill(self, text: str, top: int = 5) -> list[Filling]:
        """Return candidates for each [MASK] of a text, the most probable first.

        Raises:
            UserError: the text has no [MASK], or does not fit the context.
        """
        row, at = self.framed(text)
        fillings = []
        for probabilities in self._probabilities(row)[at]:
            best = np.argsort(-probabilities, kind='stable')[:top]
            fillings.append(Filling([self.tokenizer.spelled(number) for number in best], probabilities[best].tolist()))
        return fillings

    def filled(self, text: str, turns: int = 1) -> str:
        """Return the text with each [MASK] filled in, over `turns` turns.

        Raises:
            UserError: as for `fill`.
        """
        row, at = self.framed(text)
        return self._shown(row, self.predict(row, at, turns))

    def turns(self, text: str, turns: int) -> Iterator[str]:
        """Yield the text after each turn, with the tokens that are masked again."""
        row, at = self.framed(text)
        for tokens in self._turns(row, at, turns):
            yield self._shown(row, tokens)

    def predict(self, row: dict[str, np.ndarray], at: np.ndarray, turns: int) -> np.ndarray:
        """Return the tokens of a row after the tokens at the indices `at` are predicted over `turns` turns."""
        *_, last = self._turns(row, at, turns)
        return last

    def _turns(self, row: dict[str, np.ndarray], at: np.ndarray, turns: int) -> Iterator[np.ndarray]:
        tokens, certain, unsure = row['tokens'].copy(), np.zeros(len(at)), np.arange(len(at))
        for turn in range(1, turns + 1):
            tokens[at[unsure]] = self.mask
            probabilities = self._probabilities({**row, 'tokens': tokens})[at[unsure]]
            tokens[at[unsure]], certain[unsure] = probabilities.argmax(axis=-1), probabilities.max(axis=-1)
            unsure = np.argsort(certain, kind='stable')[: len(at) * (turns - turn) // turns]
            yield np.where(np.isin(np.arange(len(tokens)), at[unsure]), self.mask, tokens)

    @property
    def mask(self) -> int:
        """The id of [MASK]."""
        return self.tokenizer.special(*MASK, role='mask_token')

    @property
    def _frame(self) -> Frame:
        return Frame.of(self.tokenizer, self.model.context_length)

    def framed(self, text: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the row of a text, and the indices of its masks.

        Raises:
            UserError: as for `fill`.
        """
        frame = self._frame
        ids = list(self.encoded(text))
        if self.mask not in ids:
            raise UserError(f'the text has no {self._name}, so there is nothing to fill in: {reprlib.repr(text)}')
        if len(ids) > frame.room():
            raise UserError(f'the text has {len(ids)} tokens, and the context has room for {frame.room()}')
        row = frame.row(ids)
        return row, np.flatnonzero(row['tokens'] == self.mask)

    def encoded(self, text: str) -> Iterable[int]:
        """Return the ids of a text. It is split at masks first, since the tokenizer reads a mask's spelling as text."""
        # RoBERTa's mask includes the space before it.
        takes_space = self.tokenizer.backend.get_added_tokens_decoder()[self.mask].lstrip
        gap = (r'\s*' if takes_space else '') + re.escape(self._name)
        for number, part in enumerate(re.split(gap, text)):
            yield from [self.mask] * (number > 0)
            yield from self.tokenizer.encode(part)

    @property
    def _name(self) -> str:
        return self.tokenizer.token(self.mask)

    def _probabilities(self, row: dict[str, np.ndarray]) -> Float[np.ndarray, 'T V']:
        """Return the probability of each token at each position; special tokens have 0."""
        inputs = {name: jnp.array(each)[None] for name, each in row.items()}
        logits = np.array(_logits(self.model, self.params, inputs), np.float32)
        logits[:, list(self.tokenizer.specials.values())] = -np.inf
        logits[:, self.tokenizer.size :] = -np.inf
        return np.asarray(jax.nn.softmax(logits, axis=-1))

    def _shown(self, row: dict[str, np.ndarray], tokens: np.ndarray) -> str:
        """Return the text of a row with these tokens; masks and unknown words are visible."""
        specials = self.tokenizer.specials.values()
        frame = self._frame
        (begin,) = frame.starts([])
        length = np.count_nonzero(row['segments']) - (frame.context_length - frame.room())
        inner = tokens[begin : begin + length].tolist()
        parts = [
            ' '.join(map(self.tokenizer.token, some)) if special else self.tokenizer.decode(some).strip()
            for special, some in groupby(inner, lambda token: token in specials)
        ]
        return ' '.join(parts)


@partial(jax.jit, static_argnums=0)
def _logits(model: EncoderModel, params: Params, row: dict[str, Array]) -> Float[Array, 'T V']:
    context = LayerContext(row['positions'], row['segments'], types=row['types'])
    return model.apply({'params': params}, row['tokens'], context, False)['masked'][0]


@dataclass(frozen=True)
class Filled:
    """Fill-mask sample, which a run of a masked language model logs at each evaluation.

    Attributes:
        text: text with [MASK]s.
        top: number of candidates shown per mask.
    """

    text: str
    top: Count = 3

    def require(self, model: Model, tokenizer: Tokenizer) -> None:
        """Check that the model can fill in the text.

        Raises:
            UserError: the model or the tokenizer is not one of masked tokens, or as for `Filler.fill`.
        """
        Filler(model, {}, tokenizer).framed(self.text)

    def __call__(self, model: EncoderModel, params: Params, tokenizer: Tokenizer, key: PRNGKey) -> str:
        """Return the text filled in, followed by the candidates."""
        filler = Filler(model, params, tokenizer)
        fillings = filler.fill(self.text, self.top)
        choices = [', '.join(f'{token} {share:.2f}' for token, share in each.pairs()) for each in fillings]
        return f'{filler.filled(self.text)}  ({"; ".join(choices)})'
