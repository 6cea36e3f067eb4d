# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text from text: what a run shows, what a launcher prints, and conversations."""

from dataclasses import dataclass, field

import jax
import pytest
import tokenizers

from saccade.build import build
from saccade.data.tokenizer.character import Character
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.word import Word
from saccade.decode.beam import Beam, generate_beams
from saccade.decode.chat import chat
from saccade.decode.generate import generate
from saccade.decode.sample import USUAL_TOKENS, Continuation, Sample, Writer
from saccade.decode.sampling import Sampler
from saccade.types import UserError

KEY = jax.random.key(0)


@dataclass(frozen=True, eq=False)
class Recording(Writer):
    """A writer that notes what it is given and always answers 'ok'."""

    given: list[str] = field(default_factory=list)

    def extend(self, prompts, key, max_tokens):
        (prompt,) = prompts
        self.given.append(self.tokenizer.decode(prompt))
        return [self.tokenizer.encode('ok')]


@pytest.fixture
def writer(rotary, tokenizer):
    return Writer(*rotary, tokenizer, Sampler(0.0))


@pytest.fixture
def recording(rotary, tokenizer):
    return Recording(*rotary, tokenizer, Sampler(0.0))


@pytest.mark.long
def test_a_writer_continues_the_tokens_of_the_text(writer, rotary, tokenizer):
    samples = writer.write('def ', KEY, 6, 2)
    ids = tokenizer.encode('def ')
    rows = generate(*rotary, [ids, ids], Sampler(0.0), 6, KEY, tokenizer.end)
    assert samples == [Continuation(tokenizer.decode(row), row) for row in rows]


@pytest.mark.long
def test_a_prompt_of_which_the_tokenizer_makes_nothing_is_refused(rotary):
    silent = tokenizers.Tokenizer(tokenizers.models.BPE({'a': 0}, []))
    writer = Writer(*rotary, Tokenizer(silent), Sampler(0.0))
    with pytest.raises(UserError, match=r"^the prompt 'def ' has no token$"):
        writer.write('def ', KEY, 6)


@pytest.mark.long
def test_a_writer_searches_for_the_likeliest_texts(writer, rotary, tokenizer):
    beam = Beam(beams=3, alpha=0.6)
    (found,) = generate_beams(*rotary, [tokenizer.encode('def ')], beam, 6, tokenizer.end)
    assert [(each.tokens, each.score) for each in writer.search('def ', beam, 6, 3)] == found
    (best,) = writer.search('def ', beam, 6)
    assert best.text == tokenizer.decode(found[0][0])


def test_text_is_joined_as_the_tokenizer_joins_words(rotary):
    words = Word(20).train(['the quick brown fox'])
    writer = Writer(*rotary, words, Sampler(0.0))
    assert writer.text(words.encode('the quick'), words.encode('brown fox')) == ' brown fox'
    assert writer.text([], words.encode('brown fox')) == 'brown fox'


@pytest.mark.long
def test_without_a_number_it_writes_as_much_as_the_context_has_room_for(writer):
    (short,) = writer.write('a' * 190, KEY)
    assert 0 < len(short.tokens) <= 10
    assert writer.room('a' * 190, USUAL_TOKENS) == 10
    assert writer.room('', USUAL_TOKENS) == 199
    with pytest.raises(UserError, match='set max_tokens to 10'):
        writer.write('a' * 190, KEY, 11)


@pytest.mark.long
def test_a_sample_is_the_prompt_and_its_continuation(writer, rotary, tokenizer):
    text = Sample('def ', 6, 0.0)(*rotary, tokenizer, KEY)
    assert text == 'def ' + writer.write('def ', KEY, 6)[0].text
    assert Sample('', 6, 0.0)(*rotary, tokenizer, KEY) == writer.write('', KEY, 6)[0].text


@pytest.mark.long
def test_a_sample_takes_the_room_there_is(rotary, tokenizer):
    assert Sample('a' * 195, 60)(*rotary, tokenizer, KEY).startswith('a' * 195)


def test_a_sample_is_built_from_a_config_and_checked():
    spec = {'use': 'decode.sample:Sample', 'prompt': 'def ', 'tokens': 60, 'temperature': 0.8, 'top_k': 5}
    assert build(spec)() == Sample('def ', 60, 0.8, 5)
    with pytest.raises(UserError, match='top_p'):
        Sample(top_p=2.0)
    with pytest.raises(UserError, match='tokens: must be at least 1, not 0'):
        Sample(tokens=0)


@pytest.mark.long
def test_an_encoder_is_no_writer_and_says_what_it_can_do(encoder, words):
    with pytest.raises(UserError, match=r'cannot generate from left to right; launch/fill_mask.py --turns=4'):
        Writer(*encoder, words, Sampler(0.0))


def test_a_prompt_that_cannot_be_encoded_is_one_clear_line(rotary):
    writer = Writer(*rotary, Character().train(['abc']), Sampler(0.0))
    with pytest.raises(UserError, match=r"cannot encode 'é' \(U\+00E9\)"):
        writer.write('abé', KEY, 4)


def test_a_conversation_grows_by_each_line_and_each_answer(recording):
    assert list(chat(recording, ['one', 'two'], KEY, 5, 'Say: ')) == ['ok', 'ok']
    assert recording.given == ['Say: \none', 'Say: \noneok\ntwo']


def test_a_conversation_forgets_its_oldest_tokens_and_says_so(recording):
    said = list(chat(recording, ['a' * 100, 'b' * 120], KEY, 50))
    assert said == [
        'ok',
        '[the oldest 73 tokens are forgotten: the context is 200 tokens, an answer 50]',
        'ok',
    ]
    assert recording.given[1] == 'a' * 27 + 'ok\n' + 'b' * 120


def test_a_conversation_survives_a_line_that_cannot_be_encoded(rotary):
    recording = Recording(*rotary, Character().train(['abcok']), Sampler(0.0))
    said = list(chat(recording, ['abé', 'abc'], KEY, 5))
    assert said[0].startswith("[the tokenizer cannot encode 'é'")
    assert (said[1:], recording.given) == (['ok'], ['abc'])


@pytest.mark.long
def test_answers_of_a_real_model_fit_the_context(writer):
    said = list(chat(writer, ['a' * 150, 'b' * 150], KEY))
    assert len([text for text in said if not text.startswith('[the oldest')]) == 2
    with pytest.raises(UserError, match='max_tokens of 200 leaves no room for a transcript in the context of 200'):
        list(chat(writer, ['a'], KEY, 200))
