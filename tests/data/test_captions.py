# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Images with captions: drawn shapes, tables of one's own, the frames of captions, and the processor of both."""

import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from saccade.data.caption.files import CaptionFiles
from saccade.data.caption.frame import CaptionFrame
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.tokenizer import open_tokenizer_and_images
from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.shapes import COLOURS, UNSEEN, Shapes, different, picture
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.word_piece import WordPiece
from saccade.types import IGNORED, Data, Part, UserError

WORDS = Part(WordPiece, (('vocabulary', 200),))
LENGTH = 14


def shapes(**changes):
    return Shapes(tokenizer=WORDS, context_length=LENGTH, **{'train': 50, 'validation': 20, 'unseen': 20, **changes})


def pairs(caption):
    return set(re.findall(rf'({"|".join(COLOURS)}) ({"|".join(UNSEEN)})', caption))


def test_held_out_pairs_of_colour_and_shape_are_never_in_training_and_always_in_unseen():
    never = {(colour, shape) for shape, colour in UNSEEN.items()}
    train = [picture(Draws(0, 0, row), unseen=False, full=False).caption for row in range(2000)]
    assert not any(pairs(caption) & never for caption in train)
    assert not any(pairs(each.caption) & never for each in different(0, 1, 100, unseen=False))
    assert all(pairs(each.caption) & never for each in different(0, 2, 100, unseen=True))
    assert {pair for caption in train for pair in pairs(caption)} == {(c, s) for c in COLOURS for s in UNSEEN} - never


def test_captions_of_evaluation_are_all_different_and_full():
    captions = [each.caption for each in different(0, 1, 200, unseen=False)]
    assert len({*captions}) == 200
    assert all(' at the ' in caption or len(pairs(caption)) + caption.count('a ') >= 2 for caption in captions)


def test_a_caption_says_what_is_drawn():
    for row in range(200):
        drawn = picture(Draws(1, 0, row), unseen=False, full=True)
        pixels = drawn.pixels()
        for shape in drawn.shapes:
            assert tuple(pixels[shape.centre]) == COLOURS[shape.colour]
            assert f'{shape.colour} {shape.shape}' in drawn.caption
        first, *rest = drawn.shapes
        for second in rest:
            down, right = np.subtract(second.centre, first.centre)
            said = {'above': down > 8, 'below': down < -8, 'left of': right > 8, 'right of': right < -8}
            assert [word for word, holds in said.items() if holds] == re.findall(
                'above|below|left of|right of', drawn.caption
            )


def test_rows_are_what_a_batch_is_said_to_hold(tmp_path):
    data = shapes()
    assert isinstance(data, Data)
    found = data.prepare(tmp_path)
    row, like = found.splits['unseen'].rows[3], data.batch_like(5)
    for each in (row, found.splits['unseen'].rows.padding()):
        assert {name: ((5, *array.shape), array.dtype) for name, array in each.items()} == {
            name: (of.shape, of.dtype) for name, of in like.items()
        }
    assert found.splits['unseen'].rows.padding()['example'] == -1
    again = data.prepare(tmp_path, open_tokenizer_and_images(kept(found.processor, tmp_path)))
    assert again.processor.digest == found.processor.digest
    np.testing.assert_array_equal(again.splits['unseen'].rows[3]['tokens'], row['tokens'])
    text = found.processor.decode(row['tokens'][row['segments'] == 1])
    assert text == found.splits['unseen'].rows.images.pictures[3].caption


def kept(processor, folder):
    (folder / 'kept').mkdir()
    processor.save(folder / 'kept')
    return folder / 'kept'


def test_a_shape_alone_has_a_class_and_two_have_none(tmp_path):
    split = shapes().prepare(tmp_path).splits['validation']
    for number, drawn in enumerate(split.rows.images.pictures):
        known = split.labels[number] != IGNORED
        assert known == (len(drawn.shapes) == 1)
        if known:
            assert split.names[split.labels[number]] == drawn.shapes[0].name


@pytest.mark.parametrize(
    ('specials', 'expected'),
    [
        (('[CLS]', '[SEP]'), ['[CLS]', 'one', 'two', '[SEP]']),
        (('<|startoftext|>', '<|endoftext|>'), ['<|startoftext|>', 'one', 'two', '<|endoftext|>']),
        (('</s>',), ['one', 'two', 'three', '</s>']),
    ],
)
def test_a_caption_is_framed_as_its_tokenizer_has_it_and_cut_to_fit(specials, expected):
    import tokenizers

    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({'one': 0, 'two': 1, 'three': 2, 'four': 3}))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    backend.add_special_tokens(list(specials))
    tokenizer = Tokenizer(backend)
    row = CaptionFrame.of(tokenizer, 4).row(tokenizer.encode('one two three four'))
    assert [tokenizer.token(number) for number in row['tokens']] == expected
    assert row['segments'].tolist() == [1, 1, 1, 1]
    short = CaptionFrame.of(tokenizer, 9).row(tokenizer.encode('one'))
    assert short['segments'].sum() == 1 + len(specials)


@pytest.fixture
def table(tmp_path):
    (tmp_path / 'birds').mkdir()
    lines = ['image,caption']
    for number in range(12):
        Image.fromarray(np.full((8, 8, 3), 20 * number, np.uint8)).save(tmp_path / f'birds/{number}.png')
        lines.append(f'birds/{number}.png,bird number {number}')
    path = tmp_path / 'captions.csv'
    path.write_text('\n'.join(lines) + '\n')
    return path


def files(path, **changes):
    images = Part(ImageProcessor, (('size', (8, 8)),))
    return CaptionFiles(
        tokenizer=WORDS, context_length=LENGTH, images=images, path=str(path), validation=0.3, **changes
    )


def test_a_table_of_images_and_captions_is_read(table, tmp_path):
    splits = files(table).prepare(tmp_path / 'cache').splits
    assert sum(len(split.rows) for split in splits.values()) == 12
    split = splits['validation']
    row = split.rows[0]
    assert split.names[split.labels[0]].startswith('bird number')
    number = int(split.names[split.labels[0]].split()[-1])
    np.testing.assert_allclose(row['images'], (20 * number / 255 - 0.5) / 0.5, atol=1e-6)


def test_a_missing_image_is_named_with_its_line(table, tmp_path):
    (table.parent / 'birds/3.png').unlink()
    with pytest.raises(UserError, match=r'captions\.csv.*5.*there is no image .*birds/3\.png'):
        files(table).prepare(tmp_path / 'cache')


def test_a_missing_column_is_named(table, tmp_path):
    with pytest.raises(UserError, match='title'):
        files(table, caption='title').prepare(tmp_path / 'cache')


def own_captions(folder, rows):
    for name in {name for name, _ in rows}:
        Image.new('RGB', (4, 4)).save(folder / name)
    (folder / 'captions.csv').write_text('image,caption\n' + ''.join(f'{name},{caption}\n' for name, caption in rows))
    return CaptionFiles(
        path=str(folder / 'captions.csv'), images=Part(ImageProcessor, (('size', (4, 4)),)), tokenizer=WORDS,
        context_length=LENGTH, validation=0.3,
    )  # fmt: skip


def test_all_captions_of_an_image_are_in_one_split(tmp_path):
    data = own_captions(tmp_path, [(f'{number % 12}.png', f'caption {number}') for number in range(60)])
    splits = data.prepare(tmp_path / 'cache').splits
    places = {name: {*split.rows.items(range(len(split.rows)))[0]} for name, split in splits.items()}
    assert len(places['train']) + len(places['validation']) == 12
    assert len(splits['validation'].rows) == 5 * len(places['validation']) > 0


def test_an_empty_caption_is_refused_with_its_place(tmp_path):
    with pytest.raises(UserError, match=r'captions\.csv, line 3: the caption is empty'):
        own_captions(tmp_path, [('0.png', 'a'), ('1.png', ' '), ('2.png', 'b')]).prepare(tmp_path / 'cache')


def test_images_without_captions_are_rows_and_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    data = own_captions(tmp_path, [(f'{number}.png', f'caption {number}') for number in range(12)])
    prepared = data.prepare(tmp_path / 'cache')
    (tmp_path / 'new.csv').write_text('image\n3.png\n4.png\n')
    monkeypatch.chdir('/')
    split = data.unanswered(data.read(tmp_path / 'new.csv'), (), prepared.processor)
    assert [split.rows.images.place(row) for row in range(2)] == [str(tmp_path / name) for name in ('3.png', '4.png')]
    row = split.rows[1]
    assert row['images'].shape == (4, 4, 3)
    assert row['segments'].sum() == 2  # of the special tokens around a caption
    with pytest.raises(UserError, match=r'new\.csv: has no column'):
        replace(data, image='file').read(tmp_path / 'new.csv')
