# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chat templates: a conversation as the text that a chat model was trained on.

A template is a Jinja program of a Hugging Face folder. It is rendered in Jinja's sandbox, with the names that
transformers gives it: https://huggingface.co/docs/transformers/chat_templating. A template can neither reach the
internals of Python nor run or write without bound; a single operation, such as padding to a width, may need any memory.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from jinja2 import Template, TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from saccade.types import UserError

Message = Mapping[str, str]  # role and content

_MOST_TEXT = 1 << 24  # characters of a text that a template writes or makes
_MOST_STEPS = 1 << 22  # lines of Python that a rendering executes


@dataclass(frozen=True)
class ChatTemplate:
    """Chat template.

    Attributes:
        source: the Jinja program.
        tokens: special tokens by role, as {'eos_token': '</s>'}.
    """

    source: str
    tokens: Mapping[str, str]

    def render(self, messages: Sequence[Message]) -> str:
        """Return the text of a conversation up to the answer that the model is to write.

        Args:
            messages: as {'role': 'user', 'content': 'Hello'}; roles are 'system', 'user' and 'assistant'.

        Raises:
            UserError: the template is not valid, refuses the messages, attacks the sandbox, or writes or runs too long.
        """
        given = {'messages': messages, 'add_generation_prompt': True, 'tools': None, 'documents': None}
        parts: list[str] = []
        size = 0
        try:
            with _bounded(_MOST_STEPS):
                for part in self._program.generate(**self.tokens, **given):
                    size += len(part)
                    if size > _MOST_TEXT:
                        raise SecurityError(f'it writes more than {_MOST_TEXT:,} characters')
                    parts.append(part)
        except Exception as error:  # a template may do anything, and fail by any error of Python
            raise UserError(f'the chat template cannot be rendered: {str(error) or type(error).__name__}') from error
        return ''.join(parts)

    @cached_property
    def _program(self) -> Template:
        return _Sandbox().from_string(self.source)


class _Generation(Extension):
    """Block `generation`, which marks answers of the model for training; here it is its content."""

    tags = {'generation'}  # noqa: RUF012, a set in Jinja's class too

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the content of a block."""
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(('name:endgeneration',), drop_needle=True), lineno=line)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, with the filters and functions of chat templates, and no product beyond a size."""

    intercepted_binops = frozenset({'+', '*', '**'})

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, 'jinja2.ext.loopcontrols'])
        self.filters['tojson'] = _to_json
        self.globals |= {'raise_exception': _raise, 'strftime_now': lambda form: datetime.now().strftime(form)}

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return the result of an operator, unless it may be large."""
        sizes = [len(each) if hasattr(each, '__len__') else 0 for each in (left, right)]
        numbers = [each for each in (left, right) if isinstance(each, int)]
        large = sum(sizes) > _MOST_TEXT or (any(sizes) and numbers and max(sizes) * max(numbers) > _MOST_TEXT)
        if large or (operator == '**' and any(abs(number) > 1 << 10 for number in numbers)):
            raise SecurityError(f"an operator '{operator}' makes more than {_MOST_TEXT:,} characters")
        return super().call_binop(context, operator, left, right)


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """Return JSON; unlike in Jinja's own filter, no character is escaped for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: Any) -> None:
    raise TemplateError(str(message))


@contextmanager
def _bounded(most: int) -> Iterator[None]:
    """Context in which this thread executes at most this number of lines of Python."""
    left = most

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise SecurityError(f'it executes more than {most:,} lines')
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
