# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chat: each line of the user is appended to a transcript, which the model continues.

A model of a folder with a chat template reads the conversation as that template writes it; any other model reads the
lines and its answers as they are. The model sees the newest part of the transcript that leaves room for an answer.
"""

import contextlib
import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import Protocol

import jax

from saccade.data.corpus.files import lines_of
from saccade.decode.chat_template import ChatTemplate, Message
from saccade.decode.sample import USUAL_TOKENS, Writer
from saccade.types import PRNGKey, UserError


class Transcript(Protocol):
    """Conversation up to the next answer."""

    def ask(self, line: str, room: int) -> str:
        """Append a line of the user, and drop the oldest part beyond `room` tokens.

        Returns:
            Description of the part that was dropped; '' for none.

        Raises:
            UserError: the line cannot be encoded, or does not fit; the transcript is unchanged.
        """
        ...

    def prompt(self) -> list[int]:
        """Return the tokens that the model continues."""
        ...

    def answer(self, new: list[int]) -> str:
        """Append an answer; return its text."""
        ...


def chat(
    writer: Writer, lines: Iterable[str], key: PRNGKey, max_tokens: int | None = None, opening: str = ''
) -> Iterator[str]:
    """Yield the texts to show after each line: notices, then the answer.

    Args:
        lines: lines of the user; each but the first begins a new line of the transcript.
        max_tokens: maximum length of an answer; None for USUAL_TOKENS, or half the context if that is less.
        opening: start of the transcript; with a chat template, the message of the system.

    Raises:
        UserError: `max_tokens` leaves no room for a transcript, the opening cannot be encoded, or the chat template
            cannot be rendered.
    """
    context_length = writer.model.context_length
    max_tokens = min(USUAL_TOKENS, max(1, context_length // 2)) if max_tokens is None else max_tokens
    if max_tokens >= context_length:
        raise UserError(
            f'max_tokens of {max_tokens} leaves no room for a transcript in the context of {context_length} tokens'
        )
    transcript = _Messages(writer, opening) if writer.generation.chat_template else _Lines(writer, opening)
    for turn, line in enumerate(lines):
        try:
            forgotten = transcript.ask(line, context_length - max_tokens)
        except UserError as error:
            yield f'[{error}]'
            continue
        if forgotten:
            yield f'[{forgotten}: the context is {context_length} tokens, an answer {max_tokens}]'
        (new,) = writer.extend([transcript.prompt()], jax.random.fold_in(key, turn), max_tokens)
        yield transcript.answer(new)


class _Lines:
    """Transcript of lines and answers, one after another."""

    def __init__(self, writer: Writer, opening: str) -> None:
        self.writer, self.tokens = writer, writer.tokenizer.encode(opening)

    def ask(self, line: str, room: int) -> str:
        """Append a line, from the second on after a line break; drop the oldest tokens."""
        self.tokens = self.tokens + self.writer.tokenizer.encode(f'\n{line}' if self.tokens else line)
        cut = max(0, len(self.prompt()) - room)
        self.tokens = self.tokens[cut:]
        return f'the oldest {cut} tokens are forgotten' if cut else ''

    def prompt(self) -> list[int]:
        """Return the tokens, after the special tokens that begin a text."""
        return [*self.writer.generation.prompt.before, *self.tokens]

    def answer(self, new: list[int]) -> str:
        """Append the tokens of an answer, and return their text."""
        before, self.tokens = self.tokens, self.tokens + new
        return self.writer.text(before, new)


class _Messages:
    """Transcript of messages, written by the chat template of a folder."""

    def __init__(self, writer: Writer, opening: str) -> None:
        self.writer, self.template = writer, ChatTemplate(writer.generation.chat_template, writer.tokenizer.roles)
        self.system: list[Message] = [{'role': 'system', 'content': opening}] if opening else []
        self.messages: list[Message] = []
        self.template.render([*self.system, {'role': 'user', 'content': 'Hello'}])  # raises before a line is typed

    def ask(self, line: str, room: int) -> str:
        """Append a message; drop the oldest messages of the user with their answers."""
        spelled = [token for token in self.writer.tokenizer.control_tokens if token in line]
        if spelled:
            raise UserError(f'the line spells the special token {spelled[0]!r}, which only the chat template may write')
        before, self.messages = self.messages, [*self.messages, {'role': 'user', 'content': line}]
        try:
            while (size := len(self.prompt())) > room and len(self.messages) > 1:
                self.messages = self.messages[2:]
            if size > room:
                raise UserError(f'the line has {size} tokens as the template writes it; only {room} fit')
        except UserError:
            self.messages = before
            raise
        cut = len(before) + 1 - len(self.messages)
        return f'the oldest {cut} messages are forgotten' if cut else ''

    def prompt(self) -> list[int]:
        """Return the tokens of the conversation."""
        return self.writer.tokenizer.encode_marked(self.template.render([*self.system, *self.messages]))

    def answer(self, new: list[int]) -> str:
        """Append an answer as a message."""
        text = self.writer.text(self.prompt(), new)
        self.messages = [*self.messages, {'role': 'assistant', 'content': text}]
        return text


def typed_lines() -> Iterator[str]:
    """Yield lines of the standard input, until an empty line or its end."""
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        lines = iter(lambda: input('> '), '') if sys.stdin.isatty() else lines_of(sys.stdin.buffer, 'standard input')
        yield from itertools.takewhile(bool, lines)
