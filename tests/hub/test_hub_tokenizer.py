# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A written tokenizer puts around a text what our rows have there."""

import numpy as np
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, processors

from saccade.data.rows.frame import Frame
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.hub.tokenizer import write_tokenizer
from saccade.model.encoder import Encoder
from saccade.types import Part

SPECIALS = ['<s>', '</s>', '<pad>']
POST_PROCESSORS = {
    'nothing': processors.TemplateProcessing('$A', '$A $B', []),
    'the start, as of Llama': processors.TemplateProcessing('<s> $A', '<s> $A $B', [('<s>', 0)]),
    'as our rows, with two between texts': processors.RobertaProcessing(('</s>', 1), ('<s>', 0)),
    'none': None,
}


@pytest.mark.parametrize('name', POST_PROCESSORS)
def test_a_classifier_reads_the_tokens_of_the_rows_it_was_trained_on(name, tmp_path):
    backend = tokenizers.Tokenizer(models.WordLevel({token: at for at, token in enumerate([*SPECIALS, 'a', 'b'])}, 'a'))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.add_special_tokens(SPECIALS)
    if POST_PROCESSORS[name] is not None:
        backend.post_processor = POST_PROCESSORS[name]
    tokenizer = Tokenizer(backend)
    write_tokenizer(tmp_path, tokenizer, Part(Encoder), {})
    written = tokenizers.Tokenizer.from_file(str(tmp_path / 'tokenizer.json'))
    frame = Frame.of(tokenizer, 8)
    text = np.array(tokenizer.encode('a b b'))
    assert written.encode('a b b').ids == frame.row(text)['tokens'][: len(text) + 2].tolist()
    between = 2 if 'two between' in name else 1
    assert len(written.encode('a', 'b').ids) == 2 + 2 + between
