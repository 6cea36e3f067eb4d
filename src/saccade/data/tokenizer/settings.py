# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Settings next to a tokenizer's file in a Hugging Face folder, and their application to the tokenizer.

tokenizer_config.json names the special tokens by role, lists added tokens, and sets normalisation. In older folders
special_tokens_map.json and added_tokens.json have the first two. If no file names the first or last token of a text, or
the first of a target, the ids of generation_config.json and config.json are used. As in transformers 5, special tokens
around a text come from the post-processor of a tokenizer.json, and only without one from `add_bos_token` and
`add_eos_token`. A key that is neither supported nor harmless is logged in a warning.
"""

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, processors

from saccade.data.tokenizer.foreign import parts_of
from saccade.data.tokenizer.tokenizer import config_of, read_config
from saccade.types import UserError

_LOG = logging.getLogger(__name__)
ROLES = ('bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token')
_START = 'decoder_start_token'
# Settings of components of a tokenizer.json, and their names in tokenizer_config.json.
_SET = {
    'BertNormalizer': {
        'lowercase': 'do_lower_case',
        'strip_accents': 'strip_accents',
        'handle_chinese_chars': 'tokenize_chinese_chars',
    },
    'ByteLevel': {'add_prefix_space': 'add_prefix_space'},
}
# Components of a tokenizer.json that contradict a setting with this value.
_AGAINST = {
    'Lowercase': ('do_lower_case', False),
    'StripAccents': ('keep_accents', True),
    'Prepend': ('add_prefix_space', False),
}
_LOWERED = ('Siglip2Tokenizer',)  # classes that lower-case texts, which their tokenizer.json does not say
_CLEAN = 'clean_up_tokenization_spaces'
_CLEAN_PAIRS = f'{_CLEAN}_for_bpe_even_though_it_will_corrupt_output'
# Spaces that `clean_up_tokenization_spaces` removes from a decoded text, in this order.
_CLEANED = (
    *((f' {mark}', mark) for mark in '.?!,'),
    (" ' ", "'"),
    *((f' {end}', end) for end in ("n't", "'m", "'s", "'ve", "'re")),
)
# Keys with a single supported value.
_REQUIRED = {'separate_vocabs': False, 'fix_mistral_regex': False, 'wordpieces_prefix': '##'}
_READ = (
    'tokenizer_class', 'added_tokens_decoder', 'additional_special_tokens', 'extra_special_tokens', 'chat_template',
    'sp_model_kwargs', 'do_basic_tokenize', 'never_split', _CLEAN, _CLEAN_PAIRS,
)  # fmt: skip
# Keys that do not affect ids or decoded text: files, padding and truncation (done by rows here), settings of Python
# classes whose effect tokenizer.json describes, and languages, which prompts name.
_HARMLESS = (
    'name_or_path', '_name_or_path', 'tokenizer_file', 'vocab_file', 'merges_file', 'spm_file', 'source_spm',
    'target_spm', 'vocab', 'merges', 'special_tokens_map_file', 'auto_map', 'use_fast', 'backend', 'is_local',
    'verbose', 'local_files_only', 'device_map', 'processor_class', 'transformers_version', 'init_inputs',
    'files_loaded', 'model_max_length', 'max_len', 'max_length', 'max_target_length', 'padding', 'padding_side',
    'truncation', 'truncation_side', 'truncation_strategy', 'stride', 'pad_to_multiple_of', 'pad_token_type_id',
    'model_input_names', 'model_specific_special_tokens', 'split_special_tokens', 'spaces_between_special_tokens',
    'clean_text', 'legacy', 'remove_space', 'trim_offsets', 'errors', 'extra_ids', 'source_lang', 'target_lang',
    'src_lang', 'tgt_lang', 'sep', 'return_token_type_ids', 'use_default_system_prompt', 'response_schema',
    'response_template',
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class TokenizerSettings:
    """Settings of a tokenizer in its folder.

    Attributes:
        file: tokenizer_config.json, which errors name.
        config: its content, and the special tokens of special_tokens_map.json in an older folder.
        added: tokens outside the vocabulary of the tokenizer's model, by id.
        ids: ids of generation_config.json and config.json.
    """

    file: Path
    config: dict[str, Any]
    added: dict[int, AddedToken]
    ids: dict[str, Any]

    @classmethod
    def next_to(cls, file: Path) -> 'TokenizerSettings':
        """Read the settings next to a tokenizer's file.

        Raises:
            UserError: a file is not a JSON object, or lists added tokens in another form than transformers.
        """
        path, folder = config_of(file), file.parent
        config, model = read_config(path), read_config(folder / 'config.json')
        if 'added_tokens_decoder' not in config:
            config |= read_config(folder / 'special_tokens_map.json')
        ids = model if 'model_type' in model else {}  # a run's folder has another config.json
        ids |= read_config(folder / 'generation_config.json')
        try:
            named = {text_of(token): _token(token) for _, token in _named(config)}
            listed = config.get('added_tokens_decoder')
            added = _older(folder, named) if listed is None else {int(at): _token(each) for at, each in listed.items()}
            return cls(path, config, added, ids)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise UserError(
                f'{path}: its added or special tokens are not in the form of transformers: {error}'
            ) from error

    def value(self, key: str, default: bool | None = None) -> bool | None:
        """Return a setting that is true, false or null.

        Raises:
            UserError: it has another value.
        """
        found = self.config.get(key, default)
        if found is not None and not isinstance(found, bool):
            raise UserError(f'{self.file}: {key} must be true or false, not {found!r}')
        return found

    def require(self, key: str, *values: Any) -> None:
        """Check that a setting is absent or has one of the supported values.

        Raises:
            UserError: it has another value.
        """
        found = self.config.get(key)
        if found is not None and found not in values:
            shown = ', '.join(map(json.dumps, values))
            raise UserError(f'{self.file}: {key} is {json.dumps(found)}, which is not supported; only {shown} is')

    def obeyed_by(self, backend: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
        """Return the tokenizer with these settings applied.

        Raises:
            UserError: a setting contradicts the tokenizer, or an added token has another id in it.
        """
        for key, value in _REQUIRED.items():
            self.require(key, value)
        self._require_no_sampling()
        self._warn()
        backend = self._with_parts(backend)
        self._clean(backend)
        self._add(backend)
        before, after = (self._flagged(backend, each) for each in ('bos_token', 'eos_token'))
        if backend.post_processor is None and (before or after):
            single, second = [*before, '$A', *after], [f'{each}:1' for each in (*before, '$B', *after)]
            ids = [(token, backend.token_to_id(token)) for token in (*before, *after)]
            backend.post_processor = processors.TemplateProcessing(
                single=single, pair=[*single, *second], special_tokens=ids
            )
        return backend

    def roles(self, backend: tokenizers.Tokenizer) -> dict[str, str]:
        """Return the special tokens by role, as far as they are in the tokenizer's vocabulary."""
        named = {role: text_of(self.config[role]) for role in (*ROLES, _START) if self.config.get(role)}
        for role in ('bos_token', 'eos_token', _START):
            number = self.ids.get(f'{role}_id')
            number = number[0] if isinstance(number, list) and number else number
            found = backend.id_to_token(number) if type(number) is int and 0 <= number < 2**31 else None
            if found is not None:
                named.setdefault(role, found)
        return {role: token for role, token in named.items() if backend.token_to_id(token) is not None}

    def _require_no_sampling(self) -> None:
        sentence_piece = self.config.get('sp_model_kwargs') or {}
        if isinstance(sentence_piece, dict) and sentence_piece.get('enable_sampling'):
            raise UserError(
                f'{self.file}: sp_model_kwargs.enable_sampling is not supported: tokenization is deterministic'
            )

    def _warn(self) -> None:
        """Log unknown keys, so that none is ignored silently."""
        obeyed = {key for keys in _SET.values() for key in keys.values()} | {key for key, _ in _AGAINST.values()}
        known = {*_READ, *_HARMLESS, *_REQUIRED, *obeyed}
        if unknown := [key for key in self.config if key not in known and not key.endswith('_token')]:
            _LOG.warning('%s: %s: unknown, and ignored', self.file, ', '.join(unknown))

    def _clean(self, backend: tokenizers.Tokenizer) -> None:
        """Remove spaces before punctuation in decoded texts; for byte pairs only if a second key is set."""
        pairs = isinstance(backend.model, models.BPE)
        if self.value(_CLEAN) and backend.decoder is not None and (not pairs or self.value(_CLEAN_PAIRS)):
            spaces = (decoders.Replace(before, after) for before, after in _CLEANED)
            backend.decoder = decoders.Sequence([backend.decoder, decoders.Fuse(), *spaces])

    def _with_parts(self, backend: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
        found = json.loads(backend.to_str())
        types = {part['type'] for part in parts_of(found['normalizer'])}
        if self.config.get('tokenizer_class') in _LOWERED:
            backend.normalizer = normalizers.Sequence(
                [normalizers.Lowercase(), *([backend.normalizer] if backend.normalizer else [])]
            )
            found = json.loads(backend.to_str())
        elif self.config.get('do_lower_case') is True and not types & {'Lowercase', 'BertNormalizer'}:
            _LOG.warning('%s: do_lower_case is true, but tokenizer.json keeps capitals, as in transformers', self.file)
        before = json.dumps(found)
        for part in (*parts_of(found['normalizer']), *parts_of(found['pre_tokenizer'])):
            for name, key in _SET.get(part['type'], {}).items():
                value = self.value(key)
                if key in self.config and (value is not None or name == 'strip_accents'):
                    part[name] = value
            key, value = _AGAINST.get(part['type'], ('', None))
            if part['type'] == 'Metaspace':
                key, value = 'add_prefix_space', part['prepend_scheme'] == 'never'
            if key in self.config and self.value(key) is value:
                raise UserError(
                    f'{self.file}: {key} is {json.dumps(value)}, and the {part["type"]} of tokenizer.json does the '
                    'opposite: change one of them'
                )
        return backend if json.dumps(found) == before else tokenizers.Tokenizer.from_str(json.dumps(found))

    def _add(self, backend: tokenizers.Tokenizer) -> None:
        """Add the listed and named tokens that are missing; named ones become special."""
        there = {number: repr(token) for number, token in backend.get_added_tokens_decoder().items()}
        backend.add_tokens([token for at, token in sorted(self.added.items()) if there.get(at) != repr(token)])
        for number, token in self.added.items():
            if backend.token_to_id(token.content) != number:
                raise UserError(
                    f'{self.file}: the added token {token.content!r} has the id {number}, and '
                    f'{backend.token_to_id(token.content)} in the tokenizer'
                )
        special = {token.content for token in backend.get_added_tokens_decoder().values() if token.special}
        for key, token in _named(self.config):
            # Padding is masked and needs no id: a new one may be beyond the vocabulary of the model.
            beyond = key == 'pad_token' and backend.token_to_id(text_of(token)) is None
            if text_of(token) not in special and not beyond:
                backend.add_special_tokens([_token(token)])

    def _flagged(self, backend: tokenizers.Tokenizer, role: str) -> tuple[str, ...]:
        """Return the token of a role if `add_bos_token` or `add_eos_token` is set."""
        token = self.roles(backend).get(role)
        return (token,) if token is not None and self.value(f'add_{role}') else ()


def _named(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (key, token) for the tokens named in a configuration: those with a role, then others."""
    keys = (*ROLES, *(key for key in config if key.endswith('_token') and key not in (*ROLES, _START)))
    yield from ((key, config[key]) for key in keys if config.get(key) and not isinstance(config[key], bool))
    key = 'extra_special_tokens' if config.get('extra_special_tokens') else 'additional_special_tokens'
    more = config.get(key) or []
    yield from ((key, token) for token in (more.values() if isinstance(more, dict) else more))


def _older(folder: Path, named: Collection[str]) -> dict[int, AddedToken]:
    """Return the tokens of added_tokens.json; those in `named` are special."""
    return {
        number: AddedToken(token, special=token in named, normalized=token not in named)
        for token, number in read_config(folder / 'added_tokens.json').items()
    }


def _token(token: str | Mapping[str, Any]) -> AddedToken:
    if isinstance(token, str):
        return AddedToken(token, special=True, normalized=False)
    return AddedToken(**{name: value for name, value in token.items() if name != '__type'})


def text_of(token: str | Mapping[str, Any]) -> str:
    """Return the text of a token, which a configuration stores as text or as an object."""
    return token if isinstance(token, str) else token['content']
