# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixed word/character tokenizer: a frequent word is one token, and any other word is spelled by its characters.

Wu et al., 2016, Google's Neural Machine Translation System, section 4.2, https://arxiv.org/abs/1609.08144: characters
are marked as the beginning, the middle or the end of a word, so that decoding joins them again. After Luong and
Manning, 2016, Achieving Open Vocabulary Neural Machine Translation with Hybrid Word-Character Models,
https://arxiv.org/abs/1604.00788; there, a second, character-level network reads and writes rare words, and the
word-level sequence has one token for each. Here both are in one sequence of one network.

U+2581 marks both ends of a word: ▁the▁ is a word, ▁c, c and c▁ are characters of one, and ▁c▁ is a word of one
character. The library's BPE finds whole words first, and has no merges other than a mark with a character.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from saccade.data.tokenizer.subword import Subword
from saccade.data.tokenizer.tokenizer import UNKNOWN, Tokenizer
from saccade.data.tokenizer.trainer import numbered

__all__ = ['MixedWord']

_MARK = '\u2581'
_ENDS_OF_WORDS = r'(?<!\S)(?=\S)|(?<=\S)(?!\S)'


@dataclass(frozen=True)
class MixedWord(Subword):
    """Mixed word/character tokenizer of words between white space. Decoding puts one space between words.

    The vocabulary has the characters first, then the most frequent words as far as there is room. If it has all words
    of the training text, no word is spelled there, and a model does not learn to spell. A character outside the
    alphabet is [UNK], and the rest of its word is preserved. U+2581 in a text is read as white space.
    """

    mark: ClassVar[str] = _MARK

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Collect the characters and the most frequent words of the texts.

        Raises:
            UserError: the texts have no words, or too many characters for the vocabulary.
        """
        words = self._counted(texts)
        characters = sorted(set().union(*words))
        firsts, lasts = ({word[at] for word in words if len(word) > 1} for at in (0, -1))
        # Without these pairs, a mark is a token of its own, so every word of known characters can be spelled.
        merges = [(_MARK, each) for each in sorted(firsts)] + [(each, _MARK) for each in sorted(lasts)]
        alone = [_marked(each) for each in characters if each in words]
        singles = [_MARK, *characters, *(one + two for one, two in merges), *alone]
        room = self._room(len(singles))
        frequent = sorted((word for word in words if len(word) > 1), key=lambda word: (-words[word], word))
        tokens = [*singles, *map(_marked, frequent)][:room]
        model = models.BPE(numbered(self.known, tokens), merges, unk_token=UNKNOWN, ignore_merges=True)
        backend = tokenizers.Tokenizer(model)
        cutter = self._cutter()
        marking = normalizers.Replace(tokenizers.Regex(_ENDS_OF_WORDS), _MARK)
        backend.normalizer = normalizers.Sequence([cutter.normalizer, marking])
        backend.pre_tokenizer = cutter.pre_tokenizer
        # A generated word may lack a mark, or have it twice.
        outer = decoders.Replace(tokenizers.Regex(rf'\A{_MARK}+|{_MARK}+\z'), '')
        between = decoders.Replace(tokenizers.Regex(f'{_MARK}+'), ' ')
        backend.decoder = decoders.Sequence([decoders.Fuse(), outer, between])
        return self.finished(backend)

    def _cutter(self) -> tokenizers.Tokenizer:
        backend = tokenizers.Tokenizer(models.BPE())
        backend.normalizer = normalizers.Replace(_MARK, ' ')
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        return backend

    def _ambiguous(self, name: str) -> bool:
        return _MARK in name  # every word has two


def _marked(word: str) -> str:
    return f'{_MARK}{word}{_MARK}'
