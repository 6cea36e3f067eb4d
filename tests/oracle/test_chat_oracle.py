# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chats of folders with a template: the texts and the tokens of transformers."""

import json

import pytest
from chats import CONVERSATIONS, SPECIALS, TEMPLATES, TOKENS
from theirs import transformers

from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.byte import Byte
from saccade.decode.chat_template import ChatTemplate
from saccade.hub.load import load

SMALL = {
    'hidden_size': 8, 'intermediate_size': 8, 'num_hidden_layers': 1, 'num_attention_heads': 1,
    'max_position_embeddings': 64,
}  # fmt: skip
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

TOKENIZERS = {
    'bytes': Byte(end='</s>', specials=(SPECIALS[0], *SPECIALS[2:])),
    'BPE': BPE(300, end='</s>', specials=(SPECIALS[0], *SPECIALS[2:])),
}


@pytest.mark.parametrize('where', ['chat_template.jinja', 'tokenizer_config.json', 'by name'])
@pytest.mark.parametrize('tokenizer', TOKENIZERS)
@pytest.mark.parametrize('name', TEMPLATES)
def test_texts_and_tokens_are_those_of_transformers(name, tokenizer, where, tmp_path):
    made = TOKENIZERS[tokenizer].train(['What is the next number of this? Be brief, please.'] * 9)
    config = transformers.LlamaConfig(vocab_size=made.size, **SMALL)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    made.save(tmp_path)
    settings = {'tokenizer_class': 'PreTrainedTokenizerFast', **TOKENS}
    if where == 'chat_template.jinja':
        (tmp_path / where).write_text(TEMPLATES[name])
    elif where == 'by name':
        templates = {'tool_use': 'not this one', 'default': TEMPLATES[name]}
        settings['chat_template'] = [{'name': key, 'template': text} for key, text in templates.items()]
    else:
        settings['chat_template'] = TEMPLATES[name]
    (tmp_path / 'tokenizer_config.json').write_text(json.dumps(settings))

    ours, theirs = load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    opened = ours.open_tokenizer()
    template = ChatTemplate(ours.chat_template, opened.roles)
    for messages in CONVERSATIONS.values():
        text = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert template.render(messages) == text
        ids = theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        assert opened.encode_marked(text) == ids
        assert len(ids) > 10
