# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers, text to token ids and back: bytes, characters, words, subwords, or any Hugging Face tokenizer.json.

All wrap `tokenizers.Tokenizer`. A config names a trainer, from the files next to this one, such as
`data.tokenizer.bpe:BPE`; the trained tokenizer is saved with the run as a standard `tokenizer.json`.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, SupportsInt

import tokenizers
from tokenizers import models

from saccade.data.tokenizer.foreign import MOST, one_line, opening, require_bounded
from saccade.data.whole_file import write_whole
from saccade.paths import TOKENIZER_BYTES, read_text
from saccade.types import UserError

FILE, CONFIG, TEMPLATE = 'tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'
END = '<|end|>'
UNKNOWN = '[UNK]'
# Devlin et al. 2019, "BERT", https://arxiv.org/abs/1810.04805, in the order of the published vocabularies.
BERT = ('[PAD]', UNKNOWN, '[CLS]', '[SEP]', '[MASK]')
# If no configuration names the end-of-text token, it is the first of these that is a special token. Phi-3 has both the
# first and END, which ends a turn of a chat there. BERT ends a text with the last.
ENDS = ('<|endoftext|>', '<|end_of_text|>', '</s>', '<eos>', END, '[SEP]')


_FEW = 1 << 16  # number of tokens allowed for any batch of texts
_PROBES = ('a', 'The quick brown fox, 13 times.\n', 'Ça déjà', 'Δx ≈ 文字')


class Around(NamedTuple):
    """Ids of special tokens that a tokenizer puts around a text. Attributes: before, after."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


NOTHING = Around()


class Piece(NamedTuple):
    """Place in a row. Attributes: token, id of a special token, None for all tokens of a text; kind, its token type."""

    token: int | None
    kind: int = 0


class Tokenizer:
    """Trained tokenizer.

    Attributes:
        source: tokenizer of the source texts of a sequence-to-sequence model: itself, or one with a separate
            vocabulary, saved in the same folder.
        roles: special tokens by role, as {'eos_token': '</s>'}, with the keys of a tokenizer_config.json; empty for a
            tokenizer trained here. `decoder_start_token` starts a target.
        file: file it was read from, for messages; None for a tokenizer trained here.
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
        """Vocabulary size: one more than the largest id."""
        return max(self.backend.get_vocab(with_added_tokens=True).values()) + 1

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Vocabulary size, and the size of the sources' separate vocabulary, None if it is shared."""
        return self.size, None if self.source is self else self.source.size

    @property
    def end(self) -> int | None:
        """Id of the special token between documents; None if there is none."""
        named = self.role('eos_token')
        return next((self.specials[name] for name in ENDS if name in self.specials), None) if named is None else named

    def role(self, role: str) -> int | None:
        """Return the id of the token with this role; None if no configuration names one."""
        return self.backend.token_to_id(self.roles[role]) if role in self.roles else None

    @cached_property
    def around(self) -> Around | None:
        """Special tokens that the post-processor puts around a text; None without a post-processor."""
        pieces = self.pieces(1)
        if pieces is None:
            return None
        ids = [piece.token for piece in pieces]
        at = ids.index(None)
        return Around(tuple(ids[:at]), tuple(ids[at + 1 :]))

    def pieces(self, texts: int) -> tuple[Piece, ...] | None:
        """Return the row that the post-processor makes of one text or of two; None without a post-processor.

        Raises:
            UserError: the row does not have each text once, in order.
        """
        if self.backend.post_processor is None:
            return None
        # A post-processor stores the ids that it adds, so they show with any vocabulary.
        probe = tokenizers.Tokenizer(models.WordLevel({'text': 0}, unk_token='text'))
        probe.post_processor = self.backend.post_processor
        with one_line(self._where):
            found = probe.encode(*texts * ['text'])
        order = [number for number in found.sequence_ids if number is not None]
        if order != list(range(texts)) or found.special_tokens_mask.count(0) != texts:
            raise UserError(f'{self._where}: its post-processor drops, repeats or swaps texts')
        places = zip(found.ids, found.type_ids, found.special_tokens_mask, strict=True)
        return tuple(Piece(token if special else None, kind) for token, kind, special in places)

    def framed(self, ids: Sequence[int]) -> list[int]:
        """Return the ids of a text with the post-processor's special tokens around it, if any."""
        before, after = self.around or NOTHING
        return [*before, *ids, *after]

    @property
    def specials(self) -> dict[str, int]:
        """Ids of the special tokens."""
        added = self.backend.get_added_tokens_decoder()
        return {token.content: number for number, token in added.items() if token.special}

    @property
    def control_tokens(self) -> dict[str, int]:
        """Ids of the special tokens of several characters; a text yields none of them but the unknown token.

        A special token of one character, such as the padding '!' of some CLIP folders, is also ordinary text.
        """
        return {name: number for name, number in self.specials.items() if len(name) > 1}

    def special(self, *names: str, role: str = '') -> int:
        """Return the id of a special token: the one with a role, or else the first existing one of these names.

        Raises:
            UserError: there is none of them.
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
        """Ids of unknown tokens."""
        ids = map(self.backend.token_to_id, (UNKNOWN, '<unk>'))
        return {number for number in ids if number is not None}

    @property
    def digest(self) -> str:
        """SHA-256 of everything that affects a text's ids, in hexadecimal."""
        both = [self] if self.source is self else [self, self.source]
        written = [each.backend.to_str() + (_config(each.roles) if each.roles else '') for each in both]
        return hashlib.sha256(''.join(written).encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens.

        Raises:
            UserError: a character is not in the alphabet, and the tokenizer has no unknown token.
        """
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode texts in parallel.

        Raises:
            UserError: as for `encode`.
        """
        return [encoding.ids for encoding in self._encodings(texts, 'encode_batch_fast')]

    def encode_marked(self, text: str) -> list[int]:
        """Return the ids of a text that spells its special tokens, as that of a chat template.

        Raises:
            UserError: the text cannot be encoded.
        """
        with one_line(self._where):
            return self._of_marked_text.encode(text, add_special_tokens=False).ids

    def words(self, texts: Sequence[str]) -> list[tuple[list[int], list[bool]]]:
        """Return the ids of each text, and flags of those that begin a word in the tokenizer's sense.

        Raises:
            UserError: as for `encode`.
        """
        encodings = self._encodings(texts, 'encode_batch')
        return [(encoding.ids, _beginning(encoding.word_ids)) for encoding in encodings]

    def encode_places(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Return the ids of each text, and the character offsets (start, stop) of each token.

        Raises:
            UserError: as for `encode`.
        """
        return [(encoding.ids, encoding.offsets) for encoding in self._encodings(texts, 'encode_batch')]

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of ids. Special tokens, and ids beyond the vocabulary, are omitted."""
        with one_line(self._where):
            return self.backend.decode([int(number) for number in ids], skip_special_tokens=True)

    def decode_replacing(self, ids: Sequence[int], words: Sequence[str]) -> str:
        """Return the text of ids; its unknown tokens are replaced by these words, in order."""
        omitted = {*self.specials.values()} - self.unknown
        with one_line(self._where):
            text = self.backend.decode([number for number in ids if number not in omitted], skip_special_tokens=False)
        pieces = re.split('|'.join(re.escape(self.token(number)) for number in self.unknown), text)
        return ''.join(chain.from_iterable(zip_longest(pieces, words, fillvalue='')))

    def token(self, number: SupportsInt) -> str:
        """Return a token in the vocabulary's spelling, including marks such as ##."""
        return self.backend.id_to_token(int(number)) or ''

    def spelled(self, number: SupportsInt) -> str:
        """Return the text of a token alone, or the token in the vocabulary's spelling if it has none."""
        return self.backend.decode([int(number)], skip_special_tokens=False) or self.token(number)

    def save(self, folder: Path | str) -> None:
        """Write tokenizer.json into a folder, and source_tokenizer.json if sources have a separate vocabulary.

        Roles, if any, are written to tokenizer_config.json.

        Raises:
            UserError: a file cannot be written.
        """
        file = Path(folder) / FILE
        if self.source is not self:
            self.source._write(_source_file(file))
        self._write(file)

    def _write(self, file: Path) -> None:
        if self.roles:
            write_whole(config_of(file), _config(self.roles), 'the tokenizer')
        write_whole(file, self.backend.to_str(pretty=True), 'the tokenizer')

    @classmethod
    def load(cls, path: Path | str) -> 'Tokenizer':
        """Read a tokenizer.json written by `save`; `data.tokenizer.file:open_tokenizer` reads any other.

        Raises:
            UserError: the file does not exist, or is not a tokenizer.json.
        """
        path = Path(path)
        with opening(path):
            backend, source_file = backend_of(path), _source_file(path)
            source = cls.load(source_file) if source_file.is_file() else None
            return cls(backend, source, read_config(config_of(path)), path).probed()

    def probed(self) -> 'Tokenizer':
        """Return this tokenizer after using each component once, so that a broken one fails when it is opened.

        Raises:
            UserError: a component fails.
        """
        for text in _PROBES:
            with one_line(self._where), suppress(Exception):  # unknown characters are allowed
                ids = self._of_text.encode(text, add_special_tokens=False).ids
                self.backend.decode_batch([ids, *([number] for number in ids)])
        self.around  # noqa: B018, computed at first access
        return self

    def _encodings(self, texts: Sequence[str], method: str) -> list[tokenizers.Encoding]:
        with one_line(self._where):
            found = self._encoded(texts, method)
        tokens, size = sum(map(len, found)), sum(len(text.encode('utf-8', 'surrogatepass')) for text in texts)
        if tokens > max(_FEW, MOST * size):
            raise UserError(f'{self._where}: makes {tokens} tokens of {size} bytes; at most {MOST} a byte are allowed')
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
        """Backend for encoding, with which no text is read as a special token."""
        unknown = map(self.backend.id_to_token, self.unknown)
        spelled = {*self.control_tokens, *unknown} & {*self.backend.get_vocab(with_added_tokens=False)}
        backend = _without(self.backend, spelled) if spelled else self.backend
        backend.encode_special_tokens = True
        return backend

    @cached_property
    def _of_marked_text(self) -> tokenizers.Tokenizer:
        """Backend for encoding, with which the spelling of a special token is the token."""
        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        backend.encode_special_tokens = False
        return backend

    @property
    def _where(self) -> Path | str:
        return self.file or 'the tokenizer'

    def _normal(self, character: str) -> str:
        return self.backend.normalizer.normalize_str(character) if self.backend.normalizer else character


def backend_of(file: Path) -> tokenizers.Tokenizer:
    """Read a tokenizer.json.

    Raises:
        UserError: the file does not exist, is not a tokenizer.json, or may expand a text without bound.
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
    """Return the object in a JSON file; an empty one if the file does not exist.

    Raises:
        UserError: the file cannot be read, or does not hold a JSON object.
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
    """Return the path of the configuration next to a tokenizer's file."""
    return file.with_name(f'source_{CONFIG}' if file.name.startswith('source_') else CONFIG)


def _config(roles: Mapping[str, str]) -> str:
    return json.dumps(roles, indent=2, ensure_ascii=False) + '\n'


def _without(backend: tokenizers.Tokenizer, names: Collection[str]) -> tokenizers.Tokenizer:
    """Return the tokenizer with these tokens renamed, with the same ids, to names that occur in no text.

    `encode_special_tokens` prevents a special token from being split off a text, but not from being found by the model
    in its own vocabulary: for Unigram '</s>' is a piece, and for WordLevel '[CLS]' is a word.
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


def _source_file(path: Path) -> Path:
    """Return the path of the source tokenizer, if there are two."""
    return path.with_name(f'source_{path.name}')


def _beginning(words: Sequence[int | None]) -> list[bool]:
    return [at == 0 or word != words[at - 1] for at, word in enumerate(words)]
