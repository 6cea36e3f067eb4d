# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers, text to token ids and back: bytes, characters, words, subwords, or any Hugging Face tokenizer.json.

All are `tokenizers.Tokenizer`s underneath. A config names a trainer, one of the files beside this one, such as
`data.tokenizer.bpe:BPE`; what it makes is saved with the run as a standard `tokenizer.json`.
"""

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, SupportsInt

import tokenizers
from tokenizers import models

from saccade.data.tokenizer.foreign import MOST, one_line, opening, require_bounded
from saccade.data.whole_file import write_whole
from saccade.paths import TOKENIZER_BYTES, read_text
from saccade.types import UserError

FILE, CONFIG = 'tokenizer.json', 'tokenizer_config.json'
END = '<|end|>'
UNKNOWN = '[UNK]'
# Devlin et al. 2019, "BERT", https://arxiv.org/abs/1810.04805, in the order that the published vocabularies have.
BERT = ('[PAD]', UNKNOWN, '[CLS]', '[SEP]', '[MASK]')
# Where no configuration names the end of text, it is the first of these that is a special token. Phi-3 has both the
# first and END, and there END ends a turn of a chat. BERT ends a text with the last.
ENDS = ('<|endoftext|>', '<|end_of_text|>', '</s>', '<eos>', END, '[SEP]')


_FEW = 1 << 16  # tokens of a batch that any text may have
_PROBES = ('a', 'The quick brown fox, 13 times.\n', 'Ça déjà', 'Δx ≈ 文字')


class Around(NamedTuple):
    """Special tokens that a tokenizer puts around a text, by id. Attributes: before and after the text."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


NOTHING = Around()


class Tokenizer:
    """Trained tokenizer.

    Attributes:
        source: tokenizer of the source texts of a sequence-to-sequence model: itself, or one with a vocabulary of its
            own, which is saved in the same folder.
        roles: special tokens by role, as {'eos_token': '</s>'}, in the keys of a tokenizer_config.json; empty for one
            that was trained here. `decoder_start_token` starts a target.
        file: file that it was read from, which errors name; None for one that was trained here.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        source: 'Tokenizer | None' = None,
        roles: Mapping[str, str] | None = None,
        file: Path | None = None,
    ):
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.source = self if source is None else source
        self.roles = dict(roles or {})
        self.file = file

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
        """The id of the special token between documents; None where there is none."""
        named = self.role('eos_token')
        return next((self.specials[name] for name in ENDS if name in self.specials), None) if named is None else named

    def role(self, role: str) -> int | None:
        """Return the id of the token with this role; None where no configuration names one."""
        return self.backend.token_to_id(self.roles[role]) if role in self.roles else None

    @cached_property
    def around(self) -> Around | None:
        """The special tokens that the post-processor puts around a text; None where there is no post-processor."""
        if self.backend.post_processor is None:
            return None
        # A post-processor holds the ids that it adds, so that any vocabulary shows them.
        probe = tokenizers.Tokenizer(models.WordLevel({'text': 0}, unk_token='text'))
        probe.post_processor = self.backend.post_processor
        with one_line(self._where):
            found = probe.encode('text')
        if 0 not in found.sequence_ids:
            raise UserError(f'{self._where}: its post-processor leaves the text out')
        at = found.sequence_ids.index(0)
        return Around(tuple(found.ids[:at]), tuple(found.ids[at + 1 :]))

    def framed(self, ids: Sequence[int]) -> list[int]:
        """Return the ids of a text with the special tokens that the post-processor puts around it, if any."""
        before, after = self.around or NOTHING
        return [*before, *ids, *after]

    @property
    def specials(self) -> dict[str, int]:
        """The ids of the special tokens, none of which a text is ever encoded to but the unknown one."""
        added = self.backend.get_added_tokens_decoder()
        return {token.content: number for number, token in added.items() if token.special}

    def special(self, *names: str, role: str = '') -> int:
        """Return the id of a special token: of the one with a role, else by the first of these names that there is.

        Raises:
            UserError: it has none of these names.
        """
        named = self.role(role)
        if named is not None:
            return named
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
        both = [self] if self.source is self else [self, self.source]
        written = [each.backend.to_str() + (_config(each.roles) if each.roles else '') for each in both]
        return hashlib.sha256(''.join(written).encode()).hexdigest()

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
        return [encoding.ids for encoding in self._encodings(texts, 'encode_batch_fast')]

    def words(self, texts: Sequence[str]) -> list[tuple[list[int], list[bool]]]:
        """Return the ids of each text, and which of them begin a word, as the tokenizer takes words.

        Raises:
            UserError: as for `encode`.
        """
        encodings = self._encodings(texts, 'encode_batch')
        return [(encoding.ids, _beginning(encoding.word_ids)) for encoding in encodings]

    def encode_places(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """As `encode_batch`; with the ids, the characters of the text that each stands for, from and to.

        Raises:
            UserError: as for `encode`.
        """
        return [(encoding.ids, encoding.offsets) for encoding in self._encodings(texts, 'encode_batch')]

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of ids. Special tokens, and ids beyond the vocabulary, are left out."""
        with one_line(self._where):
            return self.backend.decode([int(number) for number in ids], skip_special_tokens=True)

    def token(self, number: SupportsInt) -> str:
        """Return a token as the vocabulary spells it, ## and the like included."""
        return self.backend.id_to_token(int(number)) or ''

    def save(self, folder: Path | str) -> None:
        """Write tokenizer.json into a folder, and source_tokenizer.json where sources have a vocabulary of their own.

        Roles are written to tokenizer_config.json, where there are any.

        Raises:
            UserError: a file cannot be written.
        """
        file = Path(folder) / FILE
        if self.source is not self:
            self.source._write(_beside(file))
        self._write(file)

    def _write(self, file: Path) -> None:
        if self.roles:
            write_whole(config_of(file), _config(self.roles), 'the tokenizer')
        write_whole(file, self.backend.to_str(pretty=True), 'the tokenizer')

    @classmethod
    def load(cls, path: Path | str) -> 'Tokenizer':
        """Read a tokenizer.json that `save` wrote; `data.tokenizer.file:open_tokenizer` reads any other.

        Raises:
            UserError: there is no such file, or it is not a tokenizer.json.
        """
        path = Path(path)
        with opening(path):
            backend, beside = backend_of(path), _beside(path)
            source = cls.load(beside) if beside.is_file() else None
            return cls(backend, source, read_config(config_of(path)), path).probed()

    def probed(self) -> 'Tokenizer':
        """Return this tokenizer after each of its parts was used once: one that fails is to fail when it is opened.

        Raises:
            UserError: a part fails.
        """
        for text in _PROBES:
            with one_line(self._where), suppress(Exception):  # it need not know each character
                ids = self._of_text.encode(text, add_special_tokens=False).ids
                self.backend.decode_batch([ids, *([number] for number in ids)])
        self.around  # noqa: B018, it is made when it is first asked for
        return self

    def _encodings(self, texts: Sequence[str], method: str) -> list[tokenizers.Encoding]:
        with one_line(self._where):
            found = self._encoded(texts, method)
        tokens, size = sum(map(len, found)), sum(len(text.encode('utf-8', 'surrogatepass')) for text in texts)
        if tokens > max(_FEW, MOST * size):
            raise UserError(f'{self._where}: makes {tokens} tokens of {size} bytes; at most {MOST} a byte are possible')
        return found

    def _encoded(self, texts: Sequence[str], method: str) -> list[tokenizers.Encoding]:
        try:
            return getattr(self._of_text, method)(list(texts), add_special_tokens=False)
        except Exception as error:  # the library raises no narrower class
            characters = [character for text in texts for character in dict.fromkeys(text)]
            surrogates = (character for character in characters if '\ud800' <= character <= '\udfff')
            lacking = (each for each in characters if self._of_text.token_to_id(self._normal(each)) is None)
            culprit = next(surrogates, None) or next(lacking, None)
            if culprit is None:
                raise UserError(f'{self._where}: a text cannot be encoded: {error}') from error
            raise UserError(
                f'the tokenizer cannot encode {culprit!r} (U+{ord(culprit):04X}): '
                f'it is not among its {self.size} tokens'
            ) from error

    @cached_property
    def _of_text(self) -> tokenizers.Tokenizer:
        """The backend for encoding, in which no text spells a special token."""
        unknown = map(self.backend.id_to_token, self.unknown)
        spelled = {*self.specials, *unknown} & {*self.backend.get_vocab(with_added_tokens=False)}
        backend = _without(self.backend, spelled) if spelled else self.backend
        backend.encode_special_tokens = True
        return backend

    @property
    def _where(self) -> Path | str:
        return self.file or 'the tokenizer'

    def _normal(self, character: str) -> str:
        return self.backend.normalizer.normalize_str(character) if self.backend.normalizer else character


def backend_of(file: Path) -> tokenizers.Tokenizer:
    """Read a tokenizer.json.

    Raises:
        UserError: there is no such file, it is not a tokenizer.json, or it may expand a text without bound.
    """
    try:
        text = read_text(file, TOKENIZER_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f'cannot read the tokenizer {file}: {error}') from error
    try:
        backend = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises no narrower class
        raise UserError(f'{file} is not a tokenizer.json: {error}') from error
    require_bounded(backend, file)
    return backend


def read_config(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one where there is no file.

    Raises:
        UserError: the file cannot be read, or holds no JSON object.
    """
    try:
        found = json.loads(read_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f'{file} is not the configuration of a tokenizer: {error}') from error
    if not isinstance(found, dict):
        raise UserError(f'{file} is not the configuration of a tokenizer: it must hold a JSON object')
    return found


def config_of(file: Path) -> Path:
    """The path of the configuration next to a tokenizer's file."""
    return file.with_name(f'source_{CONFIG}' if file.name.startswith('source_') else CONFIG)


def _config(roles: Mapping[str, str]) -> str:
    return json.dumps(roles, indent=2, ensure_ascii=False) + '\n'


def _without(backend: tokenizers.Tokenizer, names: Collection[str]) -> tokenizers.Tokenizer:
    """Return the tokenizer with these tokens renamed, under their ids, to names that no text holds.

    `encode_special_tokens` keeps a special token from being split off a text, but not the model from finding it in its
    own vocabulary: Unigram takes '</s>' for a piece, and the word '[CLS]' is one of WordLevel's.
    """
    hidden = {name: f'\U0010ffff{secrets.token_hex(16)}' for name in names}
    found = json.loads(backend.to_str())
    model = found['model']
    if isinstance(model['vocab'], dict):
        model['vocab'] = {hidden.get(token, token): number for token, number in model['vocab'].items()}
    else:
        model['vocab'] = [[hidden.get(token, token), *scores] for token, *scores in model['vocab']]
    if 'merges' in model:
        prefix = model.get('continuing_subword_prefix') or ''
        pairs = (pair.split(' ') if isinstance(pair, str) else pair for pair in model['merges'])
        model['merges'] = [
            [one, two] for one, two in pairs if not {one, two, one + two.removeprefix(prefix)} & {*names}
        ]
    if isinstance(model.get('unk_token'), str):
        model['unk_token'] = hidden.get(model['unk_token'], model['unk_token'])
    for token in found['added_tokens']:
        token['content'] = hidden.get(token['content'], token['content'])
    return tokenizers.Tokenizer.from_str(json.dumps(found))


def _beside(path: Path) -> Path:
    """The path of the source tokenizer, where there are two."""
    return path.with_name(f'source_{path.name}')


def _beginning(words: Sequence[int | None]) -> list[bool]:
    return [at == 0 or word != words[at - 1] for at, word in enumerate(words)]
