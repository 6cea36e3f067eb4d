# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chat: each line of the user is appended to a transcript, which the model continues.

The model sees the newest tokens of the transcript that leave room for an answer in the context.
"""

import contextlib
import itertools
import sys
from collections.abc import Iterable, Iterator

import jax

from saccade.data.corpus.files import lines_of
from saccade.decode.sample import USUAL_TOKENS, Writer
from saccade.types import PRNGKey, UserError


def chat(
    writer: Writer, lines: Iterable[str], key: PRNGKey, max_tokens: int | None = None, opening: str = ''
) -> Iterator[str]:
    """Yield the texts to show after each line: notices, then the answer.

    Args:
        lines: lines of the user; each but the first begins a new line of the transcript.
        max_tokens: maximum length of an answer; None for USUAL_TOKENS, or half the context if that is less.
        opening: start of the transcript.

    Raises:
        UserError: `max_tokens` leaves no room for a transcript, the opening cannot be encoded, or the model comes from
            a folder with a chat template.
    """
    if writer.generation.chat_template:
        raise UserError(
            'this folder has a chat template, which is not supported: its model expects the turns of a chat between '
            'special tokens. Continue a text with --prompt instead'
        )
    context_length = writer.model.context_length
    max_tokens = min(USUAL_TOKENS, max(1, context_length // 2)) if max_tokens is None else max_tokens
    if max_tokens >= context_length:
        raise UserError(
            f'max_tokens of {max_tokens} leaves no room for a transcript in the context of {context_length} tokens'
        )
    transcript = writer.tokenizer.encode(opening)
    for turn, line in enumerate(lines):
        try:
            transcript += writer.tokenizer.encode(f'\n{line}' if transcript else line)
        except UserError as error:
            yield f'[{error}]'
            continue
        begin = writer.generation.prompt.before
        cut = max(0, len(begin) + len(transcript) - (context_length - max_tokens))
        if cut:
            room = f'the context is {context_length} tokens, an answer {max_tokens}'
            yield f'[the oldest {cut} tokens are forgotten: {room}]'
        transcript = transcript[cut:]
        (answer,) = writer.extend([[*begin, *transcript]], jax.random.fold_in(key, turn), max_tokens)
        yield writer.text(transcript, answer)
        transcript = transcript + answer


def typed_lines() -> Iterator[str]:
    """Yield lines of the standard input, until an empty line or its end."""
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        lines = iter(lambda: input('> '), '') if sys.stdin.isatty() else lines_of(sys.stdin.buffer, 'standard input')
        yield from itertools.takewhile(bool, lines)
