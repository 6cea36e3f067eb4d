# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chat templates: the texts that published kinds make, conversations with them, and attacks in one line."""

import sys
from datetime import datetime

import jax
import pytest
from chats import ATTACKS, CHATML, CONVERSATIONS, LLAMA2, MISTRAL, SPECIALS, SYSTEM, TOKENS, USER

from saccade.data.tokenizer.byte import Byte
from saccade.decode.chat import chat
from saccade.decode.chat_template import ChatTemplate
from saccade.decode.generation import Generation
from saccade.decode.sample import Writer
from saccade.decode.sampling import Sampler
from saccade.types import UserError

KEY = jax.random.key(0)
LONG = CONVERSATIONS['a system and a second question']


def rendered(source, messages):
    return ChatTemplate(source, TOKENS).render(messages)


def test_chatml():
    assert rendered(CHATML, LONG) == (
        '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nIs 1 < 2 & "so" on? <|im_end|>\n'
        "<|im_start|>assistant\n Ja, größer.\n<|im_end|>\n<|im_start|>user\nWhat's\tnext?<|im_end|>\n"
        '<|im_start|>assistant\n'
    )


def test_llama2():
    assert rendered(LLAMA2, LONG) == (
        '<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nIs 1 < 2 & "so" on? [/INST] Ja, größer. </s>'
        "<s>[INST] What's\tnext? [/INST]"
    )


def test_mistral():
    assert rendered(MISTRAL, LONG) == (
        '<s>[INST]Is 1 < 2 & "so" on? [/INST]Ja, größer.</s>[INST]Be brief.\n\nWhat\'s\tnext?[/INST]'
    )


def test_functions_and_filters_of_transformers():
    assert rendered("{{ strftime_now('%Y') }}", [USER]) == datetime.now().strftime('%Y')
    assert rendered('{{ messages | tojson }}', [USER]) == ('[{"role": "user", "content": "Is 1 < 2 & \\"so\\" on? "}]')
    assert rendered("{{ 'ä<' | tojson(ensure_ascii=True, indent=1) }}{{ tools is none }}", [USER]) == '"\\u00e4<"True'


@pytest.mark.parametrize('name', ATTACKS)
def test_an_attack_is_one_error_without_a_trace(name):
    before = sys.gettrace()
    with pytest.raises(UserError, match='the chat template cannot be rendered: '):
        rendered(ATTACKS[name], [USER])
    assert sys.gettrace() is before


def test_the_words_of_a_template_are_in_the_error():
    with pytest.raises(UserError, match='cannot be rendered: Conversation roles must alternate'):
        rendered(LLAMA2, [USER, USER])


class Recording(Writer):
    """A writer that answers every prompt by the same text, and remembers the prompts."""

    def extend(self, prompts, key, max_tokens):
        self.given.append(self.tokenizer.backend.decode(prompts[0], skip_special_tokens=False))
        return [[*self.tokenizer.encode('ok'), self.tokenizer.special('<|im_end|>')]]

    @property
    def given(self):
        return self.__dict__.setdefault('_given', [])


@pytest.fixture
def recording(rotary):
    tokenizer = Byte(end='</s>', specials=SPECIALS[2:] + SPECIALS[:1]).train([])
    tokenizer.roles |= TOKENS
    return Recording(*rotary, tokenizer, Sampler(0.0), Generation(chat_template=CHATML))


def asked(*turns):
    return '<|im_start|>system\nS<|im_end|>\n' + ''.join(turns) + '<|im_start|>assistant\n'


def turn(text):
    return f'<|im_start|>user\n{text}<|im_end|>\n'


OK = '<|im_start|>assistant\nok<|im_end|>\n'


def test_a_conversation_is_written_by_the_template(recording):
    assert list(chat(recording, ['one', 'two'], KEY, 5, 'S')) == ['ok', 'ok']
    assert recording.given == [asked(turn('one')), asked(turn('one'), OK, turn('two'))]


def test_special_tokens_are_single_tokens(recording):
    ids = recording.tokenizer.encode_marked('a<|im_end|><s>')
    assert ids == [*recording.tokenizer.encode('a'), *map(recording.tokenizer.special, ('<|im_end|>', '<s>'))]
    assert recording.tokenizer.encode('<s>') != [recording.tokenizer.special('<s>')]


def test_the_oldest_messages_are_forgotten_whole(recording):
    said = list(chat(recording, ['a' * 60, 'b' * 60, 'c' * 60], KEY, 50, 'S'))
    forgotten = '[the oldest 2 messages are forgotten: the context is 200 tokens, an answer 50]'
    assert said == ['ok', forgotten, 'ok', forgotten, 'ok']
    assert recording.given[-1] == asked(turn('c' * 60))


def test_a_line_that_does_not_fit_or_spells_a_special_token_is_not_sent(recording):
    long, spelled, answer = chat(recording, ['a' * 200, 'Hello<|im_end|>', 'one'], KEY, 50, 'S')
    assert long.startswith('[the line has 2')
    assert long.endswith('tokens as the template writes it; only 150 fit]')
    assert spelled == "[the line spells the special token '<|im_end|>', which only the chat template may write]"
    assert (answer, recording.given) == ('ok', [asked(turn('one'))])


def test_a_template_that_fails_does_so_before_a_line_is_typed(rotary, recording):
    wrong = Writer(*rotary, recording.tokenizer, Sampler(0.0), Generation(chat_template='{{ messages[9].content.x }}'))

    def lines():
        raise AssertionError('a line was read')
        yield

    with pytest.raises(UserError, match='the chat template cannot be rendered'):
        next(chat(wrong, lines(), KEY))


def test_a_template_without_a_system_refuses_an_opening(rotary, recording):
    refusing = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}x"
    wrong = Writer(*rotary, recording.tokenizer, Sampler(0.0), Generation(chat_template=refusing))
    with pytest.raises(UserError, match='cannot be rendered: no system'):
        next(chat(wrong, ['a'], KEY, opening='S'))
    assert SYSTEM['role'] == 'system'
