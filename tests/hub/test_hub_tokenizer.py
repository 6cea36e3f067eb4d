# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A written tokenizer puts around a text what our rows have there."""

import json
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, processors

from saccade.data.caption.frame import CaptionFrame
from saccade.data.rows.frame import Frame
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.hub.tokenizer import special_ids, write_tokenizer
from saccade.model.decoder import Decoder
from saccade.model.dual_encoder import DualEncoder
from saccade.model.encoder import Encoder
from saccade.model.encoder_decoder import EncoderDecoder
from saccade.model.reread import Reread
from saccade.types import Part, UserError

SPECIALS = ['<s>', '</s>', '<pad>']
POST_PROCESSORS = {
    'nothing': processors.TemplateProcessing('$A', '$A $B', []),
    'the start, as of Llama': processors.TemplateProcessing('<s> $A', '<s> $A $B', [('<s>', 0)]),
    'as our rows, with two between texts': processors.RobertaProcessing(('</s>', 1), ('<s>', 0)),
    'none': None,
}


def tokenizer_with(name: str) -> Tokenizer:
    backend = tokenizers.Tokenizer(models.WordLevel({token: at for at, token in enumerate([*SPECIALS, 'a', 'b'])}, 'a'))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.add_special_tokens(SPECIALS)
    if POST_PROCESSORS[name] is not None:
        backend.post_processor = POST_PROCESSORS[name]
    return Tokenizer(backend)


def written(folder: Path, tokenizer: Tokenizer, model: type) -> tokenizers.Tokenizer:
    write_tokenizer(folder, tokenizer, Part(model), {})
    return tokenizers.Tokenizer.from_file(str(folder / 'tokenizer.json'))


@pytest.mark.parametrize('model', [Encoder, Reread])
@pytest.mark.parametrize('name', POST_PROCESSORS)
def test_a_classifier_reads_the_tokens_of_the_rows_it_was_trained_on(name, model, tmp_path):
    tokenizer = tokenizer_with(name)
    theirs, frame = written(tmp_path, tokenizer, model), Frame.of(tokenizer, 8)
    for texts in (['a b b'], ['a', 'b']):
        row, read = frame.row(*(np.array(tokenizer.encode(text)) for text in texts)), theirs.encode(*texts)
        used = row['segments'] > 0
        assert read.ids == row['tokens'][used].tolist()
        assert read.type_ids == row['types'][used].tolist()


ROWS = {
    'nothing': ([3, 4], [3, 4]),
    'the start, as of Llama': ([0, 3, 4], [0, 3, 4]),
    'as our rows, with two between texts': ([0, 3, 4, 1], [0, 3, 1, 1, 4, 1]),
    'none': ([0, 3, 4, 1], [0, 3, 1, 4, 1]),
}


@pytest.mark.parametrize('name', POST_PROCESSORS)
def test_a_row_has_what_the_post_processor_adds(name):
    tokenizer = tokenizer_with(name)
    frame, (single, pair) = Frame.of(tokenizer, 8), ROWS[name]
    for row, expected in ((frame.row([3, 4]), single), (frame.row([3], [4]), pair)):
        assert row['tokens'].tolist() == expected + [0] * (8 - len(expected))
        assert row['segments'].sum() == len(expected)
    assert (frame.room(), frame.room(2)) == (10 - len(single), 10 - len(pair))
    assert list(frame.starts([3], [4])) == [pair.index(3), pair.index(4)]
    assert np.flatnonzero(frame.scattered(0, [7], [7])).tolist() == [pair.index(3), pair.index(4)]


@pytest.mark.parametrize('name', POST_PROCESSORS)
def test_a_source_and_a_caption_have_the_tokens_of_their_rows(name, tmp_path):
    tokenizer, text = tokenizer_with(name), [3, 4]
    (tmp_path / 'pairs').mkdir()
    pairs, captions = written(tmp_path / 'pairs', tokenizer, EncoderDecoder), written(tmp_path, tokenizer, DualEncoder)
    assert pairs.encode('a b').ids == PairFrame.of(tokenizer, 8, 8).read(text)
    row = CaptionFrame.of(tokenizer, 8).row(text)
    assert captions.encode('a b').ids == row['tokens'][row['segments'] > 0].tolist()


def test_a_model_that_reads_twice_is_read_at_the_last_token():
    assert special_ids(tokenizer_with('none'), Part(Reread))['eos_token_id'] == 1
    with pytest.raises(UserError, match='puts none after a text'):
        special_ids(tokenizer_with('the start, as of Llama'), Part(Reread))


@pytest.mark.parametrize(('roles', 'start'), [({'bos_token': '<s>', 'eos_token': '</s>'}, 0), ({}, 1)])
def test_the_start_is_the_token_of_the_role_and_else_the_end(roles, start, tmp_path):
    tokenizer = Tokenizer(tokenizer_with('none').backend, roles=roles)
    ids = special_ids(tokenizer, Part(Decoder))
    assert (ids['bos_token_id'], ids['eos_token_id']) == (start, 1)
    write_tokenizer(tmp_path, tokenizer, Part(Decoder), {})
    assert json.loads((tmp_path / 'tokenizer_config.json').read_text())['bos_token'] == SPECIALS[start]


@pytest.mark.parametrize('pair', ['$A', '$B $A', '$A $A $B'])
def test_a_post_processor_that_does_not_keep_both_texts_is_refused(pair):
    tokenizer = tokenizer_with('nothing')
    found = json.loads(tokenizer.backend.to_str())
    found['post_processor']['pair'] = [{'Sequence': {'id': each[1], 'type_id': 0}} for each in pair.split()]
    with pytest.raises(UserError, match='post-processor drops, repeats or swaps texts'):
        Frame.of(Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(found))), 8)
