# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of generation, of a Hugging Face folder or of a run.

As in transformers, generation_config.json replaces the generation settings of config.json. Token rules are applied,
sampling settings and lengths are defaults that flags override, and other settings are ignored with a warning.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saccade.data.tokenizer.tokenizer import NOTHING, Around, Tokenizer
from saccade.decode.rules import FREE, TokenRules
from saccade.decode.sampling import Sampler
from saccade.types import UserError

TEMPERATURE = 0.8  # default where neither a flag nor a folder sets it

_LOG = logging.getLogger(__name__)
_HF_TOP_K = 50  # default in transformers, if a folder sets only `do_sample`
# Settings that are ignored, with a warning unless they have these values: neutral ones, or of `early_stopping` that of
# our search. The length penalty of transformers is |Y|^p, unlike that of `decode.beam`; 1 is the default there.
_IGNORED = {
    'num_beams': 1, 'num_beam_groups': 1, 'diversity_penalty': 0.0, 'repetition_penalty': 1.0,
    'encoder_repetition_penalty': 1.0, 'no_repeat_ngram_size': 0, 'encoder_no_repeat_ngram_size': 0, 'typical_p': 1.0,
    'epsilon_cutoff': 0.0, 'eta_cutoff': 0.0, 'top_h': None, 'penalty_alpha': None, 'guidance_scale': 1.0,
    'sequence_bias': None, 'stop_strings': None, 'exponential_decay_length_penalty': None, 'force_words_ids': None,
    'constraints': None, 'forced_decoder_ids': None, 'dola_layers': None, 'watermarking_config': None,
    'length_penalty': 1.0, 'early_stopping': True, 'num_return_sequences': 1, 'max_time': None,
    'renormalize_logits': False, 'token_healing': False,
}  # fmt: skip


@dataclass(frozen=True)
class Generation:
    """Settings of generation.

    Attributes:
        end: token that ends a text; None for none.
        start: token at the start of a target or in place of an empty prompt; None if unset.
        rules: constraints on the tokens.
        prompt: special tokens around a prompt.
        sampling: settings of a `Sampler` from a folder.
        max_new_tokens, max_length: from a folder: maximum number of new tokens, and of all tokens with the prompt.
        chat_template: of a folder, a Jinja program (`decode.chat_template`); '' for none.
        ignored: settings of a folder that are not applied.
    """

    end: int | None = None
    start: int | None = None
    rules: TokenRules = FREE
    prompt: Around = NOTHING
    sampling: Mapping[str, float] = field(default_factory=dict)
    max_new_tokens: int | None = None
    max_length: int | None = None
    chat_template: str = ''
    ignored: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_run(cls, tokenizer: Tokenizer) -> 'Generation':
        """Return the settings of a run: documents start and end as in its data, and a prompt has no end token."""
        before, _ = tokenizer.around or NOTHING
        return cls(tokenizer.end, tokenizer.end, prompt=Around(before, ()))

    @classmethod
    def of_folder(
        cls, settings: Mapping[str, Any], tokenizer: Tokenizer, vocabulary: int, chat_template: str
    ) -> 'Generation':
        """Return the settings of a Hugging Face folder.

        Args:
            settings: content of generation_config.json, or of config.json if there is none.
            vocabulary: number of tokens of the model. An end token beyond it never occurs.
            chat_template: the folder's; '' for none.

        Raises:
            UserError: a setting has another type than in transformers, or a forced or forbidden token is beyond the
                vocabulary.
        """
        ids = _Ids(settings, vocabulary)
        ends, starts = ids.known('eos_token_id'), (*ids.known('decoder_start_token_id'), *ids.known('bos_token_id'))
        rules = TokenRules(
            ends=ends[1:],
            bad_words=tuple(word for word in ids.words('bad_words_ids') if word not in [(end,) for end in ends]),
            min_length=ids.count('min_length') or 0,
            min_new_tokens=ids.count('min_new_tokens') or 0,
            first=next(iter(ids.several('forced_bos_token_id')), None),
            last=ids.several('forced_eos_token_id'),
            never=ids.several('suppress_tokens'),
            never_first=ids.several('begin_suppress_tokens'),
        )
        ignored = {
            name: settings[name]
            for name, neutral in _IGNORED.items()
            if settings.get(name) is not None and settings[name] != neutral
        }
        return cls(
            end=ends[0] if ends else None,
            start=next(iter(starts), None),
            rules=rules,
            prompt=tokenizer.around or NOTHING,
            sampling=_sampling(settings),
            max_new_tokens=ids.count('max_new_tokens') or None,
            max_length=ids.count('max_length') or None,
            chat_template=chat_template,
            ignored=ignored,
        )

    def sampler(self, **given: Any) -> Sampler:
        """Return a sampler; settings that are not given are the folder's, or the defaults.

        Raises:
            UserError: a setting is out of its range.
        """
        return Sampler(**{'temperature': TEMPERATURE, **self.sampling, **given})

    def most(self, prompt: int, room: int, usual: int) -> int:
        """Return the maximum number of new tokens after a prompt: the folder's, or `usual`; within the room.

        Raises:
            UserError: the prompt has all tokens that the folder allows.
        """
        told = self.max_new_tokens or (self.max_length and self.max_length - prompt)
        if told is not None and told < 1:
            raise UserError(
                f'a prompt of {prompt} tokens leaves none of max_length={self.max_length} of the directory; give the '
                'number of new tokens, --max_tokens'
            )
        return max(1, min(room, usual if told is None else told))

    def warn(self) -> None:
        """Log the settings of the folder that are ignored."""
        if self.ignored:
            told = ', '.join(f'{name}={value}' for name, value in self.ignored.items())
            _LOG.warning('generation_config.json or config.json sets %s, which is not supported and is ignored', told)


@dataclass(frozen=True)
class _Ids:
    """Reader of token ids in the settings of a folder."""

    settings: Mapping[str, Any]
    vocabulary: int

    def several(self, name: str, stop: int | None = None) -> tuple[int, ...]:
        """Return a setting that is one id or a list of ids."""
        value = self.settings.get(name)
        values = value if isinstance(value, list) else [] if value is None else [value]
        return tuple(self._id(name, each, self.vocabulary if stop is None else stop) for each in values)

    def known(self, name: str) -> tuple[int, ...]:
        """Return the same without ids beyond the vocabulary, which a default of a config class may be."""
        return tuple(number for number in self.several(name, 2**31) if number < self.vocabulary)

    def words(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return a setting that is a list of lists of ids."""
        value = self.settings.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(word, list) and word for word in value):
            raise UserError(f'{name} must be a list of lists of token ids, not {value!r}')
        return tuple(tuple(self._id(name, each, self.vocabulary) for each in word) for word in value)

    def count(self, name: str) -> int | None:
        """Return a setting that is a number of tokens."""
        value = self.settings.get(name)
        return value if value is None else self._id(name, value, 2**31)

    def _id(self, name: str, value: Any, stop: int) -> int:
        if type(value) is not int or not 0 <= value < stop:
            raise UserError(f'{name} must be a whole number from 0 to {stop - 1}, not {value!r}')
        return value


def _sampling(settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the settings of a sampler; empty if the folder sets none, since transformers then searches greedily."""
    if settings.get('do_sample') is False:
        return {'temperature': 0.0}
    found = {'temperature': 1.0, 'top_k': _HF_TOP_K} if settings.get('do_sample') else {}
    for name, kind in {'temperature': float, 'top_k': int, 'top_p': float, 'min_p': float}.items():
        value = settings.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, kind)):
            raise UserError(f'{name} must be a number, not {value!r}')
        found[name] = kind(value)
    return found
