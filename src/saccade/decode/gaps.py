# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gap filling, for gaps of any length, with a sequence-to-sequence model trained by denoising.

Each gap becomes a sentinel of the source, and the decoder's output after that sentinel replaces it: Raffel et al. 2020,
"T5", figure 2, https://arxiv.org/abs/1910.10683.
"""

from dataclasses import dataclass

from saccade.data.rows.pair_frame import PairFrame
from saccade.data.text.marked import sentinels_of
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.greedy import Greedy
from saccade.decode.translator import Translator
from saccade.types import Params, PRNGKey, Seq2Seq, UserError

__all__ = ['GapsFilled']

GAP = '[MASK]'


@dataclass(frozen=True)
class Gapless:
    """Text with filled gaps. Attributes: text, without gaps; spans, the filling of each gap."""

    text: str
    spans: list[str]


@dataclass(frozen=True, eq=False)
class GapFiller:
    """Gap filling with a model trained with sentinels.

    Attributes: translator, of that model.
    """

    translator: Translator

    @classmethod
    def of(
        cls, model: Seq2Seq, params: Params, tokenizer: Tokenizer, start: str | None, mode: str | None
    ) -> 'GapFiller':
        """Return a gap filler that decodes greedily.

        Args:
            start: special token at the start of a target; None for the end token.
            mode: special token of a mode before the text; None for none.
        """
        frame = PairFrame.of(tokenizer, model.source_context_length, model.context_length, start)
        return cls(Translator(model, params, tokenizer, frame, Greedy(), rows=1).in_mode(mode))

    def fill(self, text: str) -> Gapless:
        """Fill the gaps of a text, each marked by [MASK].

        Raises:
            UserError: the text has no gap, has more gaps than there are sentinels, or is too long.
        """
        tokenizer, parts = self.translator.tokenizer, text.split(GAP)
        if len(parts) == 1:
            raise UserError(f'the text has no {GAP}, so there is nothing to fill in')
        sentinels = sentinels_of(tokenizer, len(parts) - 1).tolist()
        ids = tokenizer.encode(parts[0])
        for sentinel, part in zip(sentinels, parts[1:], strict=True):
            ids += [sentinel, *tokenizer.encode(part)]
        room = self.translator.frame.room[0]
        if len(ids) > room:
            raise UserError(f'the text has {len(ids)} tokens, and the model reads {room} at most')
        (written,) = self.translator.write([ids])
        spans = _between(written, sentinels, set(tokenizer.specials.values()))
        filled = [token for part in ids for token in spans.get(part, [part])]
        return Gapless(tokenizer.decode(filled), [tokenizer.decode(spans[sentinel]) for sentinel in sentinels])


def _between(written: list[int], sentinels: list[int], specials: set[int]) -> dict[int, list[int]]:
    """Return the tokens generated after the first of each sentinel, up to the next special token."""
    spans: dict[int, list[int]] = {}
    current: list[int] = []
    for token in written:
        if token in specials:
            current = []
            if token in sentinels:
                spans.setdefault(token, current)
        else:
            current.append(token)
    return {sentinel: spans.get(sentinel, []) for sentinel in sentinels}


@dataclass(frozen=True)
class GapsFilled:
    """Gap-filling sample, which a run of a denoising model logs at each evaluation.

    Attributes:
        text: text with gaps.
        mode: special token of a mode before the text; None for none.
        start: special token at the start of a target, as in the data.
    """

    text: str
    mode: str | None = None
    start: str | None = None

    def __call__(self, model: Seq2Seq, params: Params, tokenizer: Tokenizer, key: PRNGKey) -> str:
        """Return the text with the fillings in brackets; or the reason for none, which does not end the run."""
        try:
            found = GapFiller.of(model, params, tokenizer, self.start, self.mode).fill(self.text)
        except UserError as error:
            return f'no sample: {error}'
        first, *rest = self.text.split(GAP)
        return first + ''.join(f'[{span}]{part}' for span, part in zip(found.spans, rest, strict=True))
