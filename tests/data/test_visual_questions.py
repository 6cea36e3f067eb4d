# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Questions about images: the pixels have the answer, question and text alone do not, and files that are wrong."""

import json
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from saccade.data.image.processor import ImageProcessor
from saccade.data.image.question_files import ImageQuestionFiles
from saccade.data.image.tokenizer import TokenizerAndImages
from saccade.data.synthetic.drawing import SHAPES, shape_mask
from saccade.data.synthetic.visual_questions import COLOURS, VisualQuestions, outermost
from saccade.data.tokenizer.word_piece import WordPiece
from saccade.decode.predict import PlacedRecords
from saccade.task.span_qa import most_frequent
from saccade.types import Data, Part, UserError

CELL, GRID, SHAPE = 8, 3, 6
TOKENIZER = Part(WordPiece, (('vocabulary', 128),))
TEXT = dict(tokenizer=TOKENIZER, context_length=36, stride=8, longest_question=16)
FURTHEST = {'top': min, 'bottom': max, 'left': min, 'right': max}


def images(side, **more):
    return Part(ImageProcessor, tuple(sorted({'size': (side, side), **more}.items())))


DRAWN = VisualQuestions(**TEXT, images=images(24), train=400, validation=600)


@pytest.fixture(scope='module')
def prepared(tmp_path_factory):
    return DRAWN.prepare(tmp_path_factory.mktemp('cache'))


def seen(pixels):
    """The name and the colour of the shape in each cell of an image, found by comparing pixels."""
    names = {tuple(rgb): name for name, rgb in COLOURS.items()}
    outlines = {shape: shape_mask(shape, SHAPE) for shape in SHAPES}
    found = {}
    for row in range(GRID):
        for column in range(GRID):
            cell = pixels[CELL * row : CELL * (row + 1), CELL * column : CELL * (column + 1)]
            inked = (cell != 255).any(axis=-1)
            if inked.any():
                (rgb,) = {tuple(map(int, pixel)) for pixel in cell[inked]}
                begins = [np.flatnonzero(inked.any(axis=axis))[0] for axis in (1, 0)]
                (shape,) = (
                    shape
                    for shape, outline in outlines.items()
                    if inked.sum() == outline.sum()
                    and (inked[begins[0] :, begins[1] :][tuple(map(slice, outline.shape))] == outline).all()
                )
                found[row, column] = shape, names[rgb]
    return found


def test_shapes_are_told_apart_by_their_outlines():
    assert len({shape_mask(shape, SHAPE).tobytes() for shape in SHAPES}) == len(SHAPES)
    assert shape_mask('square', SHAPE).all()
    assert shape_mask('circle', 6)[[0, 0, 5, 5], [0, 5, 0, 5]].sum() == 0
    np.testing.assert_array_equal(shape_mask('cross', 6), shape_mask('cross', 6).T)


@pytest.mark.long
def test_the_pixels_have_the_answer_that_the_question_asks_for(prepared):
    for split in prepared.splits.values():
        for number in range(200):
            question = split.questions[number]
            things = seen(np.asarray(split.rows.images[number]))
            assert sorted(Counter(shape for shape, _ in things.values()).values()) == [2, 2]
            assert len({colour for _, colour in things.values()}) == 4
            *_, asked, _, _, side = question.question.removesuffix('?').split()
            axis = int(side in ('left', 'right'))
            cells = [cell for cell, (shape, _) in things.items() if shape == asked]
            assert len({cell[axis] for cell in cells}) == 2
            assert things[FURTHEST[side](cells, key=lambda cell: cell[axis])][1] == question.answers[0].text


def test_the_text_lists_every_colour_and_has_the_answer_once_as_an_item(prepared):
    for question in prepared.splits['validation'].questions:
        assert sorted(question.context.split(', ')) == sorted(COLOURS)
        ((answer, start),) = question.answers
        assert question.context[:start].count(', ') == question.context.split(', ').index(answer)


def test_question_and_text_do_not_tell_the_answer(prepared):
    """Neither the colour, nor its place in the list, nor a question says more than chance does."""
    questions = prepared.splits['validation'].questions
    expected = len(questions) / len(COLOURS)
    told = {
        'colour': Counter(question.answers[0].text for question in questions),
        'place': Counter(question.context.split(', ').index(question.answers[0].text) for question in questions),
    }
    for counts in told.values():
        assert len(counts) == len(COLOURS)
        assert sum((count - expected) ** 2 / expected for count in counts.values()) < 20.6  # p = 0.001 of chi^2, 5 d.f.
    asked = Counter(question.question for question in questions)
    assert len(asked) == 2 * 4 * len(SHAPES)


def test_the_most_frequent_answer_is_a_baseline_near_chance(prepared):
    found = most_frequent(prepared.splits['train'], prepared.splits['validation'], 0)
    assert found['exact_match'] == pytest.approx(1 / len(COLOURS), abs=0.05)


def test_rows_have_the_answer_between_start_and_stop_and_the_pixels_of_the_image(prepared):
    assert isinstance(DRAWN, Data)
    split = prepared.splits['validation']
    like = DRAWN.batch_like(2)
    for row in range(0, len(split.rows), 7):
        found = split.rows[row]
        assert {name: np.shape(array) for name, array in found.items()} == {
            name: leaf.shape[1:] for name, leaf in like.items()
        }
        assert split.text(row, int(found['start']), int(found['stop'])) == split.gold(int(found['example']))[0]
        assert (found['types'][found['start'] : found['stop'] + 1] == 1).all()
        pixels = np.asarray(split.rows.images[int(found['example'])], np.float32)
        np.testing.assert_allclose(found['images'], (pixels / 255 - 0.5) / 0.5, atol=1e-6)
    assert split.rows.padding()['example'] == -1
    assert not split.rows.padding()['images'].any()


@pytest.mark.long
def test_a_question_is_a_function_of_seed_split_and_number(prepared, tmp_path):
    fewer = VisualQuestions(**TEXT, images=images(24), train=400, validation=50).prepare(tmp_path)
    assert list(fewer.splits['validation'].questions) == prepared.splits['validation'].questions[:50]
    other = VisualQuestions(**TEXT, images=images(24), train=400, validation=50, seed=1).prepare(tmp_path)
    assert list(other.splits['validation'].questions) != list(fewer.splits['validation'].questions)
    pictures = [{split.rows.images[n].tobytes() for n in range(50)} for split in prepared.splits.values()]
    assert not pictures[0] & pictures[1]


def test_things_in_line_are_asked_for_along_the_other_axis_alone():
    assert outermost(['cross', 'square', 'cross', 'square'], [(0, 0), (0, 1), (0, 2), (2, 0)]) == [
        (0, 'on the left'),
        (1, 'at the top'),
        (1, 'on the right'),
        (2, 'on the right'),
        (3, 'at the bottom'),
        (3, 'on the left'),
    ]


def test_the_processor_is_kept_with_its_images_and_refuses_others(prepared, tmp_path):
    prepared.processor.save(tmp_path)
    opened = DRAWN.open_processor(tmp_path)
    assert (opened.digest, opened.images) == (prepared.processor.digest, prepared.processor.images)
    assert opened.encode('brick red') == prepared.processor.encode('brick red')
    darker = TokenizerAndImages(opened, images(24, mean=(0.0,))())
    assert darker.digest != opened.digest
    larger = VisualQuestions(**TEXT, images=images(30), cell=10)
    with pytest.raises(UserError, match=r'are \[30, 30, 3\], but the processor makes images of \[24, 24, 3\]'):
        larger.frame(opened)


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        (dict(grid=1), 'grid 1 must be at least 2'),
        (dict(cell=2), 'cell 2 more than 2 pixels'),
        (dict(cell=10), r'size \[30, 30\] with 3 channels, not \[24, 24, 3\]'),
    ],
)
def test_sizes_that_cannot_be_are_refused(given, message):
    with pytest.raises(UserError, match=message):
        VisualQuestions(**TEXT, images=images(24), **given)


def record(number=0, **changed):
    return dict(image=f'{number}.png', question='what is it?', context='a red hat', answer='red') | changed


@pytest.fixture
def folder(tmp_path):
    """A folder with four images, and a function that writes records beside them."""
    folder = tmp_path / 'mine'
    folder.mkdir()
    for number in range(4):
        Image.new('RGB', (10 + number, 12), (60 * number, 0, 0)).save(folder / f'{number}.png')

    def write(*records, name='questions.jsonl'):
        (folder / name).write_text('\n'.join(map(json.dumps, records)))
        return folder / name

    return write


def of_files(path):
    text = TEXT | dict(tokenizer=Part(WordPiece, (('vocabulary', 60),)))
    return ImageQuestionFiles(**text, images=images(8, resize=8), path=str(path), validation=0.3)


def test_files_are_read_with_images_beside_them_and_split_by_image(folder, tmp_path):
    path = folder(*(record(number % 4, question=f'what is {number}?') for number in range(12)))
    data = of_files(path)
    splits = data.prepare(tmp_path / 'cache').splits
    shown = [{str(path) for path in split.rows.images.paths} for split in splits.values()]
    assert all(shown)
    assert not shown[0] & shown[1]
    assert len(shown[0] | shown[1]) == 4
    for split in splits.values():
        row = split.rows[0]
        assert row['images'].shape == (8, 8, 3)
        assert split.text(0, int(row['start']), int(row['stop'])) == 'red' == split.gold(0)[0]


def test_a_folder_has_a_file_for_each_split_and_an_empty_answer_is_none(folder, tmp_path):
    folder(record(0), record(1, answer=''), name='train.jsonl')
    path = folder(record(2), name='validation.jsonl')
    splits = of_files(path.parent).prepare(tmp_path / 'cache').splits
    assert [splits['train'].gold(number) for number in range(2)] == [['red'], []]
    assert [splits['train'].rows[row]['start'] > 0 for row in range(2)] == [True, False]


@pytest.mark.parametrize(
    ('wrong', 'message'),
    [
        (record(2, answer='blue'), "line 3: the answer 'blue' is not in the context"),
        (record(7), r'line 3: there is no image .*7\.png'),
        (record(2, image=5), "line 3: 'image' is not text, but 5"),
        (record(2, question=None), "line 3: 'question' is not text"),
        ({'image': '2.png', 'question': '?', 'context': 'a'}, "line 3: has no column 'answer'"),
    ],
)
def test_a_wrong_record_is_one_line_with_its_place(folder, tmp_path, wrong, message):
    with pytest.raises(UserError, match=message) as refused:
        of_files(folder(record(0), record(1), wrong)).prepare(tmp_path / 'cache')
    assert '\n' not in str(refused.value)


def test_one_image_alone_leaves_none_for_validation(folder, tmp_path):
    with pytest.raises(UserError, match='has one record by image; a validation split needs'):
        of_files(folder(record(0), record(0, question='and?'))).prepare(tmp_path / 'cache')


def test_an_image_that_cannot_be_read_is_said_when_it_is_asked_for(folder, tmp_path):
    path = folder(record(0), record(1))
    for number in range(2):
        (path.parent / f'{number}.png').write_bytes(b'none')
    splits = of_files(path).prepare(tmp_path / 'cache').splits
    with pytest.raises(UserError, match=r'\.png: is not an image in one of the formats'):
        splits['train'].rows[0]


def test_new_questions_have_no_answer_and_their_image(folder, tmp_path, prepared):
    path = folder(record(1))
    data = of_files(path)
    records = data.read(path)
    assert records[0]['image'] == str(path.parent / '1.png')
    processor = TokenizerAndImages(prepared.processor, images(8, resize=8)())
    split = data.unanswered(PlacedRecords([(records.place(0), records[0])]), (), processor)
    assert split.gold(0) == []
    assert split.rows[0]['images'].shape == (8, 8, 3)
    missing = PlacedRecords([('text 1', record(1, image=str(path.parent / 'none.png')))])
    with pytest.raises(UserError, match=r'none\.png: there is no such file'):
        _ = data.unanswered(missing, (), processor).rows[0]
