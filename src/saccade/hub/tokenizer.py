# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers as transformers opens them: tokenizer.json with its special tokens, and tokenizer_config.json."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import processors

from saccade.data.caption.frame import CaptionFrame
from saccade.data.rows.frame import CLOSES, OPENS, Frame
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.tokenizer import CONFIG, FILE, UNKNOWN, Around, Piece, Tokenizer
from saccade.model.dual_encoder import DualEncoder
from saccade.model.encoder import Encoder
from saccade.model.encoder_decoder import EncoderDecoder
from saccade.model.reread import Reread
from saccade.types import Part, UserError

_PADS, _MASKS = ('[PAD]', '<pad>'), ('[MASK]', '<mask>')


def special_ids(tokenizer: Tokenizer, model: Part) -> dict[str, int | None]:
    """Return the settings of config.json for special tokens by dotted key; None for a token that there is not.

    Raises:
        UserError: sources and targets have vocabularies of their own, or there is no end token where one is needed.
    """
    if tokenizer.source is not tokenizer:
        raise UserError('the sources have a vocabulary of their own, which no exported tokenizer holds')
    start, end = tokenizer.role('bos_token'), tokenizer.end
    pad = _first(tokenizer, 'pad_token', _PADS)
    if model.target is DualEncoder:
        frame = CaptionFrame.of(tokenizer, 1)
        around = {'bos_token_id': next(iter(frame.opens), None), 'eos_token_id': frame.closes[0], 'pad_token_id': pad}
        return {f'text_config.{key}': value for key, value in around.items()}
    ids = {
        'bos_token_id': end if start is None else start,
        'eos_token_id': end,
        'pad_token_id': end if pad is None else pad,
    }
    if model.target is EncoderDecoder:
        frame = PairFrame.of(tokenizer, 1, 1)
        return ids | {'decoder_start_token_id': frame.start, 'forced_eos_token_id': None}
    if model.target is Reread:  # there its head reads the last of these tokens
        last = Frame.of(tokenizer, 1).single[-1].token
        if last is None:
            raise UserError('transformers reads this model at the end token, and the tokenizer puts none after a text')
        return ids | {'eos_token_id': last}
    return ids


def write_tokenizer(folder: Path, tokenizer: Tokenizer, model: Part, config: Mapping[str, Any]) -> None:
    """Write tokenizer.json and tokenizer_config.json.

    The special tokens that our data put around a text are added by the tokenizer itself there: as in the rows of an
    encoder and of a model that reads twice, around a caption, and around the source of an encoder-decoder.

    Args:
        config: config.json, which says how many types of tokens there are.
    """
    backend = tokenizers.Tokenizer.from_str(tokenizer.backend.to_str())
    rows = _rows(tokenizer, model)
    if rows and rows[0] != tokenizer.pieces(1):  # or else it also makes the rows of two texts
        backend.post_processor = _post_processor(tokenizer, *rows)
    backend.save(str(folder / FILE))
    inputs = ['input_ids', *(['token_type_ids'] if config.get('type_vocab_size', 0) > 1 else []), 'attention_mask']
    texts = config.get('text_config', config)
    length = texts.get('max_position_embeddings', texts.get('n_positions'))
    settings = {
        'tokenizer_class': 'PreTrainedTokenizerFast',
        'clean_up_tokenization_spaces': False,
        'model_input_names': inputs,
        **({'model_max_length': length} if length else {}),
        **_roles(tokenizer),
    }
    (folder / CONFIG).write_text(json.dumps(settings, indent=2, ensure_ascii=False) + '\n')


def _rows(tokenizer: Tokenizer, model: Part) -> tuple[tuple[Piece, ...], ...]:
    """Return the rows that our data make of one text and of two; none for a decoder, which begins with any text."""
    if model.target in (Encoder, Reread):
        frame = Frame.of(tokenizer, 1)
        return frame.single, frame.pair
    if model.target is DualEncoder:
        caption = CaptionFrame.of(tokenizer, 1)
        around = Around(caption.opens, caption.closes)
    elif model.target is EncoderDecoder:
        around = PairFrame.of(tokenizer, 1, 1).around
    else:
        return ()
    single = *map(Piece, around.before), Piece(None), *map(Piece, around.after)
    return single, (*single, *single)


def _post_processor(tokenizer: Tokenizer, single: Sequence[Piece], pair: Sequence[Piece]) -> Any:
    """Return the post-processor that makes these rows of one text and of two."""
    used = {piece.token for piece in single if piece.token is not None}
    names = {token: tokenizer.token(token) for token in used}

    def template(pieces: Sequence[Piece]) -> list[str]:
        texts = iter(('$A', '$B'))
        return [f'{next(texts) if token is None else names[token]}:{kind}' for token, kind in pieces]

    tokens = [(name, token) for token, name in names.items()]
    return processors.TemplateProcessing(single=template(single), pair=template(pair), special_tokens=tokens)


def _roles(tokenizer: Tokenizer) -> dict[str, str]:
    """Return special tokens by role: as in the folder of the tokenizer, else by their names."""
    names = {
        'pad_token': _PADS, 'mask_token': _MASKS, 'unk_token': (UNKNOWN, '<unk>'), 'cls_token': OPENS,
        'sep_token': CLOSES,
    }  # fmt: skip
    found = {role: _first(tokenizer, role, each) for role, each in names.items()}
    found |= {'bos_token': tokenizer.end, 'eos_token': tokenizer.end}
    found['pad_token'] = tokenizer.end if found['pad_token'] is None else found['pad_token']
    own = {role: tokenizer.token(number) for role, number in found.items() if number is not None}
    roles = {role: token for role, token in tokenizer.roles.items() if role in own}
    return own | roles


def _first(tokenizer: Tokenizer, role: str, names: tuple[str, ...]) -> int | None:
    named = tokenizer.role(role)
    specials = tokenizer.specials
    return next((specials[name] for name in names if name in specials), None) if named is None else named
