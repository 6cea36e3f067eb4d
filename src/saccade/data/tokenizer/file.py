# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizer from a file: Hugging Face's tokenizer.json, BERT's vocab.txt, or GPT-2's vocab.json with its merges.txt.

The settings next to the file are applied; see `data.tokenizer.settings`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors

from saccade.data.corpus.files import decoded
from saccade.data.tokenizer.foreign import opening, require_bounded
from saccade.data.tokenizer.settings import TokenizerSettings, text_of
from saccade.data.tokenizer.tokenizer import BERT, CONFIG, FILE, UNKNOWN, Tokenizer, backend_of, read_config
from saccade.data.tokenizer.word_piece import word_piece_backend
from saccade.paths import TOKENIZER_BYTES, expanded, read_regular
from saccade.types import UserError

__all__ = ['TokenizerFile']

FILES = (FILE, 'vocab.txt', 'vocab.json')  # of a folder, the first that is there
_MERGES = 'merges.txt'
NEIGHBOURS = (CONFIG, 'special_tokens_map.json', 'added_tokens.json', 'generation_config.json', 'config.json', _MERGES)
_WORD_PIECES = ('BertTokenizer', 'DistilBertTokenizer', 'ElectraTokenizer')
_PAIRS = {'gpt2': 'GPT2Tokenizer', 'roberta': 'RobertaTokenizer'}  # by model_type
_DEFAULTS = {
    'GPT2Tokenizer': dict.fromkeys(('bos_token', 'eos_token', 'unk_token'), '<|endoftext|>'),
    'RobertaTokenizer': {
        'bos_token': '<s>', 'eos_token': '</s>', 'sep_token': '</s>', 'cls_token': '<s>', 'unk_token': '<unk>',
        'pad_token': '<pad>', 'mask_token': {'content': '<mask>', 'lstrip': True, 'special': True},
    },
}  # fmt: skip


@dataclass(frozen=True)
class TokenizerFile:
    """Tokenizer from a file.

    Attributes: path of the file; lowercase, True if a vocab.txt is for text without case and accents ("uncased"); None
        uses the tokenizer_config.json next to it, or True without one.
    """

    path: str
    lowercase: bool | None = None

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Return the tokenizer of the file; the texts are not used.

        Raises:
            UserError: the file does not exist, or is not a tokenizer.
        """
        return _opened(self._file, {} if self.lowercase is None else {'do_lower_case': self.lowercase})

    @property
    def vocabulary(self) -> int:
        """Number of tokens, including the special ones.

        Raises:
            UserError: the file does not exist, or is not a tokenizer.
        """
        return self.train(()).size

    @property
    def digest(self) -> str:
        """Hash of the file and of those next to it, which may change.

        Raises:
            UserError: the file does not exist.
        """
        neighbours = (self._file.with_name(name) for name in NEIGHBOURS)
        try:
            contents = [read_regular(file, TOKENIZER_BYTES) for file in (self._file, *filter(Path.is_file, neighbours))]
        except OSError as error:
            raise UserError(f'cannot read the tokenizer {self._file}: {error.strerror}') from error
        return hashlib.sha256(b''.join(contents)).hexdigest()

    @property
    def _file(self) -> Path:
        return expanded(self.path)


def open_tokenizer(path: Path | str) -> Tokenizer:
    """Read a tokenizer.json, a vocab.txt or a vocab.json, with the settings next to it.

    Raises:
        UserError: the file does not exist, or is not a tokenizer; it has no token for text; or a setting next to it is
            not supported.
    """
    tokenizer = _opened(Path(path), {})
    if not set(tokenizer.backend.get_vocab(with_added_tokens=True)) - {*tokenizer.specials, ''}:
        raise UserError(f'{path}: the tokenizer is empty: it has only special tokens, so every text would vanish')
    return tokenizer


def find_tokenizer(folder: Path | str) -> Path | None:
    """Return the path of the tokenizer's file in a folder; None if there is none."""
    folder = expanded(folder)
    # Marian's vocab.json has no merges: its pieces are in source.spm and target.spm.
    there = (name for name in FILES if name != 'vocab.json' or (folder / _MERGES).is_file())
    return next((folder / name for name in there if (folder / name).is_file()), None)


def _opened(file: Path, given: Mapping[str, Any]) -> Tokenizer:
    """Return the tokenizer of a file; `given` settings override those next to it."""
    settings = TokenizerSettings.next_to(file)
    settings.config.update(given)
    with opening(file):
        if file.suffix == '.txt':
            backend = _word_pieces(file, settings)
        elif file.name == 'vocab.json':
            backend = _byte_pairs(file, settings)
        else:
            backend = backend_of(file)
        backend, source_file = settings.obeyed_by(backend), file.with_name(f'source_{file.name}')
        source = _opened(source_file, {}) if source_file.is_file() else None
        return Tokenizer(backend, source, settings.roles(backend), file).probed()


def _word_pieces(file: Path, settings: TokenizerSettings) -> tokenizers.Tokenizer:
    """Return the tokenizer of a vocab.txt, as in `BertTokenizer`."""
    settings.require('tokenizer_class', *_WORD_PIECES, *map('{}Fast'.format, _WORD_PIECES))
    settings.require('do_basic_tokenize', True)
    settings.require('never_split', [])
    tokens = _text(file).removesuffix('\n').split('\n')
    if UNKNOWN not in tokens:
        raise UserError(f'{file} is not the vocabulary of a BERT: it has no line {UNKNOWN}')
    numbers = {token: number for number, token in enumerate(tokens)}
    backend = word_piece_backend(numbers, lowercase=True)
    backend.add_special_tokens([name for name in BERT if name in numbers])
    return backend


def _text(file: Path) -> str:
    try:
        return decoded(read_regular(file, TOKENIZER_BYTES), file)
    except OSError as error:
        raise UserError(f'{file}: cannot be read ({error.strerror})') from error


def _byte_pairs(file: Path, settings: TokenizerSettings) -> tokenizers.Tokenizer:
    """Return the tokenizer of a vocab.json and a merges.txt, as in `GPT2Tokenizer` and `RobertaTokenizer`."""
    settings.config.setdefault('tokenizer_class', _PAIRS.get(settings.ids.get('model_type')))
    settings.require('tokenizer_class', *_DEFAULTS, *map('{}Fast'.format, _DEFAULTS))
    if settings.config['tokenizer_class'] is None:
        raise UserError(f'{settings.file}: tokenizer_class is missing, which defines the use of {file}')
    settings.config.update(_DEFAULTS[settings.config['tokenizer_class'].removesuffix('Fast')] | settings.config)
    merges, pairs = file.with_name(_MERGES), []
    for number, line in enumerate(_text(merges).removesuffix('\n').split('\n'), start=1):
        pair = line.split(' ')
        if len(pair) == 2 and not line.startswith('#version'):
            pairs.append(tuple(pair))
        elif line and not line.startswith('#version'):
            raise UserError(f'{merges}, line {number}: must be two pieces separated by a space, not {line!r}')
    try:
        backend = tokenizers.Tokenizer(models.BPE(read_config(file), pairs))
    except Exception as error:  # the library raises no narrower class
        raise UserError(f'{file} and {_MERGES} are not a vocabulary and its merges: {error}') from error
    require_bounded(backend, file)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    ends = [settings.config.get(role) for role in ('sep_token', 'cls_token')]
    if settings.config['tokenizer_class'].startswith('Roberta') and all(ends):
        sep, cls = ((text_of(token), backend.token_to_id(text_of(token))) for token in ends)
        backend.post_processor = processors.RobertaProcessing(sep, cls)
    elif not any(settings.value(flag) for flag in ('add_bos_token', 'add_eos_token')):  # else the settings add one
        backend.post_processor = processors.TemplateProcessing('$A', '$A $B', [])
    return backend
