# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Keys of a transformers config class: each is read by a family's functions, required, or harmless.

A key that the class does not have is ignored, as in transformers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saccade.hub.setting import Settings, read, require, shortened
from saccade.types import UserError

# Token ids: read with the tokenizer, together with generation_config.json.
START = 'decoder_start_token_id'
TOKENS = ('bos_token_id', 'eos_token_id', 'pad_token_id', START, 'forced_eos_token_id')

# Keys of `PreTrainedConfig`, hence of every class.
_REQUIRED = {'is_encoder_decoder': False, 'per_layer_config': None, 'quantization_config': None}
_HARMLESS = (
    '_name_or_path', 'architectures', 'chunk_size_feed_forward', 'dtype', 'id2label', 'label2id', 'model_type',
    'output_attentions', 'output_hidden_states', 'problem_type', 'return_dict', 'torch_dtype', 'transformers_version',
    # In many classes.
    'init_std', 'initializer_factor', 'initializer_range', 'use_cache',
)  # fmt: skip

# Keys that every decoder of transformers obeys, though no class declares them.
CAUSAL = {'is_causal': True, 'sliding_window': None, 'attention_chunk_size': None}


@dataclass(frozen=True)
class Keys:
    """Keys of one config class, except those that a family's functions read.

    Attributes:
        required: key -> its only supported value. Another value raises an error.
        harmless: keys that do not change the outputs of a trained model.
        aliases: second name of a key -> the key.
        defaults: key -> default of the class, for keys that folders leave out.
        nullable: keys whose null is a value of its own, and not the default.
        fixed: key -> the value that transformers uses, whatever the folder has.
        inner: key of an object -> keys of the object.
        own: keys of every class, as `is_encoder_decoder`, that the family's functions read themselves.
        replaces: key, dotted if it is within an object -> key in whose place it is taken, where there are both.
    """

    required: Mapping[str, Any] = field(default_factory=dict)
    harmless: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    nullable: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    inner: Mapping[str, 'Keys'] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    replaces: Mapping[str, str] = field(default_factory=dict)

    @property
    def declared(self) -> frozenset[str]:
        """Keys that a family's functions need not read."""
        usual = {*_REQUIRED, *_HARMLESS, *TOKENS} - {*self.own}
        return frozenset({*usual, *self.required, *self.harmless, *self.aliases, *self.inner})

    def settings(self, values: Mapping[str, Any], at: str = '') -> Settings:
        """Return a folder's settings: keys by one name each, defaults filled in, nested objects converted.

        Args:
            at: path of the values in config.json, as in `Settings`.

        Raises:
            UserError: a required key has another value, or a key and its alias have different values.
        """
        found = {key: value for key, value in values.items() if value is not None or key in self.nullable}
        for alias, key in self.aliases.items():
            if alias in found and found.setdefault(key, found[alias]) != found[alias]:
                raise UserError(
                    f'config.json: {at}{alias} is {shortened(found[alias])}, but {at}{key}, which is the same setting, '
                    f'is {shortened(found[key])}'
                )
        for key, keys in self.inner.items():
            if isinstance(found.get(key), Mapping):
                found[key] = keys.settings(found[key], f'{at}{key}.')
        found |= {key: _inside(found, other) for other, key in self.replaces.items() if _inside(found, other)}
        found = {**self.defaults, **found, **self.fixed}
        for key, value in {**_REQUIRED, **self.required}.items():
            if key not in self.own:
                require(Settings(found, at), key, value)
        return Settings(found, at)


def _inside(values: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key, None where it or an object on the way is absent."""
    *outer, last = key.split('.')
    for name in outer:
        values = read(values, name, dict, {})
    return values.get(last)
