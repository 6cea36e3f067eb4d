# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generation settings of a Hugging Face folder: which file says them, and how the launchers open them."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saccade
from saccade.data.tokenizer.tokenizer import Around
from saccade.data.tokenizer.word import Word
from saccade.decode.rules import TokenRules
from saccade.hub.load import load
from saccade.train.trained import open_trained
from saccade.types import UserError


@pytest.fixture
def words(llama):
    """A Llama folder with a tokenizer of words."""
    llama.write()
    Word(9, end='</s>', specials=('<s>', '<pad>')).train(['a b c d e']).save(llama.path)
    return llama.path


def write(path, **settings):
    path.write_text(json.dumps(settings))


@pytest.mark.long
def test_generation_config_replaces_config_json(llama):
    llama.config |= {'eos_token_id': 5, 'suppress_tokens': [3]}
    assert load(llama.write()).generation.items() >= {'bos_token_id': 1, 'eos_token_id': 5}.items()
    write(llama.path / 'generation_config.json', eos_token_id=[6, 7])
    assert load(llama.path).generation == {'eos_token_id': [6, 7]}


def test_what_config_json_does_not_mention_is_the_default_of_its_class(gpt2, llama):
    assert load(llama.write()).generation.items() >= {'bos_token_id': 1, 'eos_token_id': 2}.items()
    assert load(gpt2.write()).generation['eos_token_id'] == 50256


def test_a_folder_is_opened_with_its_settings(words):
    write(
        words / 'generation_config.json', eos_token_id=[0, 4], bad_words_ids=[[5, 6]], temperature=0.5, bos_token_id=1
    )
    generation = open_trained(init_from=str(words)).generation
    assert (generation.end, generation.start, generation.prompt) == (0, 1, Around())
    assert generation.rules == TokenRules(ends=(4,), bad_words=((5, 6),))
    assert generation.sampler().temperature == 0.5
    assert generation.chat_template == ''


def test_a_wrong_setting_is_named_with_its_folder(words):
    write(words / 'generation_config.json', suppress_tokens=[13])
    with pytest.raises(UserError, match=r'tiny-llama: .*: suppress_tokens must be a whole number from 0 to 12, not 13'):
        open_trained(init_from=str(words))


def test_settings_that_are_ignored_are_named(words, caplog):
    write(
        words / 'generation_config.json', length_penalty=2.0, early_stopping=False, num_beams=4, max_time=3, top_h=0.4
    )
    open_trained(init_from=str(words)).generation.warn()
    (record,) = caplog.records
    told = record.getMessage().partition(' sets ')[2].partition(', which')[0].split(', ')
    assert {*told} == {'length_penalty=2.0', 'early_stopping=False', 'num_beams=4', 'max_time=3', 'top_h=0.4'}
    caplog.clear()
    write(words / 'generation_config.json', length_penalty=1.0, early_stopping=True, num_beams=1, use_cache=True)
    open_trained(init_from=str(words)).generation.warn()
    assert not caplog.records


def test_a_chat_template_is_read_from_its_file_or_from_the_settings_of_the_tokenizer(words):
    assert open_trained(init_from=str(words)).generation.chat_template == ''
    write(words / 'tokenizer_config.json', chat_template='in the settings')
    assert open_trained(init_from=str(words)).generation.chat_template == 'in the settings'
    named = [{'name': 'rag', 'template': 'other'}, {'name': 'default', 'template': 'by name'}]
    write(words / 'tokenizer_config.json', chat_template=named)
    assert load(words).chat_template == 'by name'
    (words / 'chat_template.jinja').write_text('in the file\n')
    assert load(words).chat_template == 'in the file\n'


@pytest.mark.parametrize('found', [5, [{'name': 'rag', 'template': 'other'}], [7], {'default': 'x'}])
def test_a_chat_template_of_another_form_is_refused(words, found):
    write(words / 'tokenizer_config.json', chat_template=found)
    with pytest.raises(UserError, match=r'tokenizer_config\.json: chat_template must be a text'):
        load(words)


@pytest.mark.long
def test_a_folder_in_bfloat16_generates_and_embeds(words):
    found = {dtype: saccade.load(str(words), dtype=dtype) for dtype in ('float32', 'bfloat16')}
    rounded = jax.tree.map(lambda leaf: np.asarray(leaf, jnp.bfloat16), found['float32'].params)
    jax.tree.map(np.testing.assert_array_equal, found['bfloat16'].params, rounded)
    assert {leaf.dtype for leaf in jax.tree.leaves(found['bfloat16'].params)} == {jnp.dtype('bfloat16')}
    assert found['bfloat16'].generate('a b', max_tokens=3).startswith('a b')
    exact, coarse = (each.embed('a b c').vectors for each in found.values())
    assert coarse.dtype == np.float32
    assert 1e-6 < np.abs(coarse - exact).max() < 0.05 * np.abs(exact).max()
    with pytest.raises(UserError, match="dtype must be float32 or bfloat16, not 'float8'"):
        saccade.load(str(words), dtype='float8')
