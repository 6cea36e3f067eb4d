# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers, text to token ids and back: bytes, characters, words, subwords, or any Hugging Face tokenizer.json.

All are `tokenizers.Tokenizer`s underneath. A config names a trainer, one of the files beside this one, such as
`data.tokenizer.bpe:BPE`; what it makes is saved with the run as a standard `tokenizer.json`.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, SupportsInt

import tokenizers

from saccade.data.whole_file import write_whole
from saccade.types import UserError

FILE = 'tokenizer.json'
END = '<|end|>'
UNKNOWN = '[UNK]'
# Devlin et al. 2019, "BERT", https://arxiv.org/abs/1810.04805, in the order that the published vocabularies have.
BERT = ('[PAD]', UNKNOWN, '[CLS]', '[SEP]', '[MASK]')
# The first that a tokenizer.json has as a special token is its end of text. Phi-3 has both the first and END, and
# there END ends a turn of a chat. BERT ends a text with the last.
ENDS = ('<|endoftext|>', '<|end_of_text|>', '</s>', '<eos>', END, '[SEP]')


class Tokenizer:
    """Trained tokenizer.

    Attributes:
        source: the tokenizer of texts that are read so that others are written: itself, or one of a vocabulary of
            their own, which is saved beside it.
    """

    def __init__(self, backend: tokenizers.Tokenizer, source: 'Tokenizer | None' = None):
        # A text that spells a special token out is still text.
        backend.encode_special_tokens = True
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.source = self if source is None else source

    @property
    def size(self) -> int:
        """The vocabulary size: one more than the largest id."""
        return max(self.backend.get_vocab(with_added_tokens=True).values()) + 1

    @property
    def sizes(self) -> tuple[int, int | None]:
        """The vocabulary size, and that of the sources' own vocabulary; None where both sides share one."""
        return self.size, None if self.source is self else self.source.size

    @property
    def end(self) -> int | None:
        """The id of the special token that stands between documents; None where there is none."""
        return next((self.specials[name] for name in ENDS if name in self.specials), None)

    @property
    def specials(self) -> dict[str, int]:
        """The ids of the special tokens, none of which a text is ever encoded to but the unknown one."""
        added = self.backend.get_added_tokens_decoder()
        return {token.content: number for number, token in added.items() if token.special}

    def special(self, *names: str) -> int:
        """Return the id of a special token, by the first of these names that there is.

        Raises:
            UserError: it has none of these names.
        """
        specials = self.specials
        found = [specials[name] for name in names if name in specials]
        if not found:
            names_there = [*specials]
            shown = names_there if len(specials) < 10 else [*names_there[:3], '...', *names_there[-5:]]
            there = ', '.join(shown) or 'no special tokens'
            raise UserError(f'the tokenizer has no special token {" or ".join(map(repr, names))}; it has {there}')
        return found[0]

    @property
    def unknown(self) -> set[int]:
        """The ids that stand for what is not in the vocabulary."""
        ids = map(self.backend.token_to_id, (UNKNOWN, '<unk>'))
        return {number for number in ids if number is not None}

    @property
    def digest(self) -> str:
        """The SHA-256 of everything that decides which ids a text gets, in hexadecimal."""
        both = [self.backend] if self.source is self else [self.backend, self.source.backend]
        return hashlib.sha256(''.join(backend.to_str() for backend in both).encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; no special token is added.

        Raises:
            UserError: a character is not in the alphabet, and the tokenizer has no token for the unknown.
        """
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode texts in parallel.

        Raises:
            UserError: as for `encode`.
        """
        return [encoding.ids for encoding in self._encodings(texts, self.backend.encode_batch_fast)]

    def words(self, texts: Sequence[str]) -> list[tuple[list[int], list[bool]]]:
        """Return the ids of each text, and which of them begin a word, as the tokenizer takes words.

        Raises:
            UserError: as for `encode`.
        """
        encodings = self._encodings(texts, self.backend.encode_batch)
        return [(encoding.ids, _beginning(encoding.word_ids)) for encoding in encodings]

    def encode_places(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """As `encode_batch`; with the ids, the characters of the text that each stands for, from and to.

        Raises:
            UserError: as for `encode`.
        """
        return [(encoding.ids, encoding.offsets) for encoding in self._encodings(texts, self.backend.encode_batch)]

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of ids. Special tokens, and ids beyond the vocabulary, are left out."""
        return self.backend.decode([int(number) for number in ids], skip_special_tokens=True)

    def token(self, number: SupportsInt) -> str:
        """Return a token as the vocabulary spells it, ## and the like included."""
        return self.backend.id_to_token(int(number)) or ''

    def save(self, folder: Path | str) -> None:
        """Write tokenizer.json into a folder, and source_tokenizer.json where sources have a vocabulary of their own.

        Raises:
            UserError: a file cannot be written.
        """
        file = Path(folder) / FILE
        if self.source is not self:
            write_whole(_beside(file), self.source.backend.to_str(pretty=True), 'the tokenizer')
        write_whole(file, self.backend.to_str(pretty=True), 'the tokenizer')

    @classmethod
    def load(cls, path: Path | str) -> 'Tokenizer':
        """Read a tokenizer.json, saved by us or by Hugging Face.

        Raises:
            UserError: there is no such file, or it is not a tokenizer.json.
        """
        try:
            text = Path(path).read_text(encoding='utf-8')
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f'cannot read the tokenizer {path}: {error}') from error
        beside = _beside(Path(path))
        source = cls.load(beside) if beside.is_file() else None
        try:
            return cls(tokenizers.Tokenizer.from_str(text), source)
        except Exception as error:  # the library raises no narrower class
            raise UserError(f'{path} is not a tokenizer.json: {error}') from error

    def _encodings(self, texts: Sequence[str], encode: Callable[..., Any]) -> list[tokenizers.Encoding]:
        try:
            return encode(list(texts), add_special_tokens=False)
        except Exception as error:  # the library raises no narrower class
            characters = [character for text in texts for character in dict.fromkeys(text)]
            surrogates = (character for character in characters if '\ud800' <= character <= '\udfff')
            lacking = (each for each in characters if self.backend.token_to_id(self._normal(each)) is None)
            culprit = next(surrogates, None) or next(lacking, None)
            if culprit is None:
                raise
            raise UserError(
                f'the tokenizer cannot encode {culprit!r} (U+{ord(culprit):04X}): '
                f'it is not among its {self.size} tokens'
            ) from error

    def _normal(self, character: str) -> str:
        return self.backend.normalizer.normalize_str(character) if self.backend.normalizer else character


def _beside(path: Path) -> Path:
    """The path of the source tokenizer, where there are two."""
    return path.with_name(f'source_{path.name}')


def _beginning(words: Sequence[int | None]) -> list[bool]:
    return [at == 0 or word != words[at - 1] for at, word in enumerate(words)]
