# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chat: each line that is said is added to the transcript, and the model continues it.

The model is given the newest tokens of the transcript, as many as leave room for an answer.
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
    """Yield what is to be shown after each line: the answer, and before it whatever there is to say about it.

    Args:
        lines: what is said; each but the first begins a new line of the transcript.
        max_tokens: tokens of an answer at most; None: USUAL_TOKENS, or half the context if that is less.
        opening: text that the transcript begins with.

    Raises:
        UserError: an answer would fill the whole context, the opening cannot be encoded, or the model is of a folder
            with a chat template.
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
    """Lines from the standard input, until an empty one or its end."""
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        lines = iter(lambda: input('> '), '') if sys.stdin.isatty() else lines_of(sys.stdin.buffer, 'standard input')
        yield from itertools.takewhile(bool, lines)
