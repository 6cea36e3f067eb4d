# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizer from a file: Hugging Face's tokenizer.json, or BERT's vocab.txt of word pieces."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from saccade.data.tokenizer.tokenizer import BERT, FILE, UNKNOWN, Tokenizer
from saccade.data.tokenizer.word_piece import word_piece_backend
from saccade.types import UserError

FILES = (FILE, 'vocab.txt')  # of a folder, the first that is there


@dataclass(frozen=True)
class TokenizerFile:
    """Tokenizer that is read from a file.

    Attributes: path of the file; lowercase, whether a vocab.txt is of text without case and accents ("uncased").
    """

    path: str
    lowercase: bool = True

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Return the tokenizer of the file; the texts are not read.

        Raises:
            UserError: there is no such file, or it is neither of the two.
        """
        if self._file.suffix != '.txt':
            return Tokenizer.load(self._file)
        try:
            tokens = self._file.read_text(encoding='utf-8').splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f'cannot read the tokenizer {self._file}: {error}') from error
        if UNKNOWN not in tokens:
            raise UserError(f'{self._file} is not the vocabulary of a BERT: it has no line {UNKNOWN}')
        numbers = {token: number for number, token in enumerate(tokens)}
        backend = word_piece_backend(numbers, self.lowercase)
        backend.add_special_tokens([name for name in BERT if name in numbers])
        return Tokenizer(backend)

    @property
    def vocabulary(self) -> int:
        """Tokens, the special ones included.

        Raises:
            UserError: there is no such file, or it is neither of the two.
        """
        return self.train(()).size

    @property
    def digest(self) -> str:
        """Of what the file holds, for it may change.

        Raises:
            UserError: there is no such file.
        """
        try:
            return hashlib.sha256(self._file.read_bytes()).hexdigest()
        except OSError as error:
            raise UserError(f'cannot read the tokenizer {self._file}: {error.strerror}') from error

    @property
    def _file(self) -> Path:
        return Path(self.path).expanduser()


def open_tokenizer(path: Path | str) -> Tokenizer:
    """Read a tokenizer.json, or a vocab.txt with or without case, as the tokenizer_config.json beside it says.

    Raises:
        UserError: there is no such file, or it is neither of the two; it has no token that a text could be encoded
            to; or what stands beside it is no configuration.
    """
    if Path(path).suffix == '.txt':
        tokenizer = TokenizerFile(str(path), _lowercase(Path(path).with_name('tokenizer_config.json'))).train(())
    else:
        tokenizer = Tokenizer.load(path)
    if not set(tokenizer.backend.get_vocab(with_added_tokens=True)) - {*tokenizer.specials, ''}:
        raise UserError(f'{path}: the tokenizer is empty: it has special tokens alone, so every text would vanish')
    return tokenizer


def find_tokenizer(folder: Path | str) -> Path | None:
    """Return the path of the tokenizer.json of a folder, else of its vocab.txt; None where it has neither."""
    files = (Path(folder).expanduser() / name for name in FILES)
    return next(filter(Path.is_file, files), None)


def _lowercase(file: Path) -> bool:
    """Whether a tokenizer_config.json says that text is lower-cased; it is by default."""
    try:
        return json.loads(file.read_text(encoding='utf-8')).get('do_lower_case') is not False
    except FileNotFoundError:
        return True
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise UserError(f'{file} is not the configuration of a tokenizer: {error}') from error
