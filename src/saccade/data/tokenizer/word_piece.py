# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""WordPiece, as in BERT: greedy longest-match pieces of a word; pieces after the first are marked by ##.

Schuster and Nakajima, 2012, Japanese and Korean Voice Search; Wu et al., 2016, Google's Neural Machine Translation
System, section 4.1, https://arxiv.org/abs/1609.08144; Devlin et al., 2019, "BERT", https://arxiv.org/abs/1810.04805

BERT's training of pieces is unpublished. Here they are the most frequent byte-pair merges of the words' characters,
with a special character at the start of each word. A word with an unknown piece is [UNK] as a whole, as is a word of
more than 100 characters. White space is lost, and with `lowercase` also case and accents.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from saccade.data.tokenizer.subword import Subword
from saccade.data.tokenizer.tokenizer import BERT, UNKNOWN, Tokenizer
from saccade.data.tokenizer.trainer import numbered

__all__ = ['WordPiece']

# BERT's normalizer drops it from every text.
_BEGINNING = '\0'


@dataclass(frozen=True)
class WordPiece(Subword):
    """WordPiece tokenizer of words between white space and punctuation. The special tokens and their ids are BERT's.

    Attributes:
        lowercase: remove case and accents ("uncased").
    """

    lowercase: bool = True
    end: str | None = field(default=None, kw_only=True)
    specials: tuple[str, ...] = field(default=BERT, kw_only=True)

    mark: ClassVar[str] = '##'

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Learn the pieces from the texts.

        Raises:
            UserError: the texts have no words, or too many characters for the vocabulary.
        """
        words = self._counted(texts)
        # Each character as a piece, at the start of a word and as a continuation, if it occurs there.
        marked = {character for word in words for character in (_BEGINNING + word[0], *word[1:])}
        singles = [_piece(token) for token in sorted(marked)]
        room = self._room(len(singles))
        pieces = dict.fromkeys([*singles, *_merged(words, self.vocabulary)])
        return self.finished(word_piece_backend(numbered(self.known, [*pieces][:room]), self.lowercase))

    def _cutter(self) -> tokenizers.Tokenizer:
        return word_piece_backend({}, self.lowercase)


def word_piece_backend(vocabulary: Mapping[str, int], lowercase: bool) -> tokenizers.Tokenizer:
    """Return BERT's tokenizer for a vocabulary, without its special tokens."""
    backend = tokenizers.Tokenizer(models.WordPiece(dict(vocabulary), unk_token=UNKNOWN))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return backend


def _merged(words: Mapping[str, int], merges: int) -> list[str]:
    """Return the pieces of the most frequent merges, in their order.

    The library's WordPiece trainer also merges, but its result differs between processes.
    """
    characters = {_BEGINNING}.union(*words)
    marked = Counter({_BEGINNING + word: count for word, count in words.items()})
    backend = tokenizers.Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=len(characters) + merges, show_progress=False)
    backend.train_from_iterator(marked.elements(), trainer)
    ranks = backend.get_vocab()
    return [_piece(token) for token in sorted(ranks, key=ranks.__getitem__)[len(characters) :]]


def _piece(token: str) -> str:
    return token[1:] if token.startswith(_BEGINNING) else f'##{token}'
