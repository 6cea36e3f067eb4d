# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Images: their processor, folders of them, digits; and images that are not as they must be."""

import json

import numpy as np
import pytest
from PIL import Image

from saccade.data.corpus.dataset import Picked
from saccade.data.corpus.records import RecordSource
from saccade.data.image.digits import Digits, last_fifth, stratified_fifth
from saccade.data.image.folder import ImageFolder, _labels, images_by_class
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.rows import ImageArrays, ImageFiles, ImageRecords, ImageSource
from saccade.data.pipeline import eval_batches
from saccade.types import IGNORED, Data, Part, Processor, UserError

DRAW = np.random.default_rng(0)
PLAIN = ImageProcessor(size=(4, 6), mean=(0.1, 0.2, 0.3), deviation=(0.5, 0.25, 1.0))


def of_images(**changes):
    return Part(ImageProcessor, tuple(sorted((dict(size=(4, 6)) | changes).items())))


def coloured(rows=4, columns=6):
    return Image.fromarray(DRAW.integers(0, 256, (rows, columns, 3), dtype=np.uint8))


@pytest.fixture
def folder(tmp_path):
    """Ten images of each of two classes; what is no image is among them."""
    for name in ('cat', 'dog'):
        (tmp_path / name).mkdir()
        for number in range(10):
            coloured().save(tmp_path / name / f'{number}.png')
        (tmp_path / name / 'notes.txt').write_text('no image')
    return tmp_path


def test_pixels_are_taken_from_0_to_1_less_the_mean_over_the_deviation():
    image = coloured()
    assert isinstance(PLAIN, Processor)
    wanted = (np.asarray(image) / 255 - [0.1, 0.2, 0.3]) / [0.5, 0.25, 1.0]
    np.testing.assert_allclose(PLAIN(image, 'a.png'), wanted, atol=1e-6)


def test_the_shortest_edge_is_scaled_and_the_centre_is_cut_out():
    image = coloured(20, 50)
    found = ImageProcessor(size=(8, 8), resize=10, resampling='bicubic', mean=(0.0,), deviation=(1.0,))(image, '')
    scaled = np.asarray(image.resize((25, 10), Image.Resampling.BICUBIC)) / 255
    np.testing.assert_allclose(found, scaled[1:9, 8:16], atol=1e-6)
    small = ImageProcessor(size=(8, 8), resize=4, mean=(0.0,), deviation=(1.0,))(image, '')
    assert not small[:2].any()
    assert small[2:6].all(axis=(1, 2)).any()
    squashed = ImageProcessor(size=(8, 8), resize=(8, 8), mean=(0.0,), deviation=(1.0,))(image, '')
    np.testing.assert_allclose(squashed, np.asarray(image.resize((8, 8), Image.Resampling.BILINEAR)) / 255, atol=1e-6)


def test_images_of_another_kind_are_refused_or_converted():
    grey = Image.fromarray(np.full((4, 6), 100, np.uint8))
    clear = Image.fromarray(np.full((4, 6, 4), (50, 50, 50, 0), np.uint8))
    deep = Image.fromarray(np.full((4, 6), 65535, np.uint16))
    for image, mode in ((grey, 'L'), (clear, 'RGBA'), (deep, 'I;16')):
        with pytest.raises(UserError, match=rf"^a\.png: is of Pillow's mode {mode}, where RGB is expected; set"):
            PLAIN(image, 'a.png')
    converting = ImageProcessor(size=(4, 6), mean=(0.0,), deviation=(1.0,), convert=True)
    values = [converting(image, 'a.png') * 255 for image in (grey, clear, deep)]
    for value, wanted in zip(values, (100, 255, 255), strict=True):
        np.testing.assert_allclose(value, np.full((4, 6, 3), wanted), atol=1e-3)
    greying = ImageProcessor(size=(4, 6), channels=1, convert=True)
    assert greying(coloured(), 'a.png').shape == (4, 6, 1)
    palette = coloured().quantize(8)
    np.testing.assert_allclose(PLAIN(palette, ''), PLAIN(palette.convert('RGB'), ''))


TURNS = {  # EXIF 2.32, tag 0x0112: the edge of the scene on which row 0 and column 0 of the stored pixels are
    1: lambda x: x,
    2: np.fliplr,  # row 0 at the top, column 0 on the right
    3: lambda x: x[::-1, ::-1],  # bottom, right
    4: np.flipud,  # bottom, left
    5: lambda x: x.swapaxes(0, 1),  # left, top
    6: lambda x: np.rot90(x, -1),  # right, top: turn it clockwise
    7: lambda x: x[::-1, ::-1].swapaxes(0, 1),  # right, bottom
    8: np.rot90,  # left, bottom
}


@pytest.mark.parametrize('ending', ['png', 'jpg', 'tiff', 'webp'])
@pytest.mark.parametrize('orientation', TURNS)
def test_an_image_stands_upright_as_its_orientation_says(tmp_path, orientation, ending):
    stored = np.zeros((32, 48, 3), np.uint8)
    stored[:16, :16] = 255, 0, 0
    stored[16:, 24:] = 0, 0, 255
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(stored).save(tmp_path / f'a.{ending}', exif=exif)
    found = np.asarray(ImageFiles([tmp_path / f'a.{ending}'])[0], int)
    wanted = TURNS[orientation](stored)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).mean() < 12  # JPEG and WebP lose a little


@pytest.mark.parametrize('ending', ['gif', 'png', 'webp', 'tiff'])
def test_several_images_in_a_file_are_refused_and_the_preview_of_a_camera_is_not(tmp_path, ending):
    first, second = coloured(), coloured()
    first.save(tmp_path / f'a.{ending}', save_all=True, append_images=[second])
    with pytest.raises(UserError, match=rf'a\.{ending}: has 2 images or pages; save one of them'):
        ImageFiles([tmp_path / f'a.{ending}'])[0]
    first.save(tmp_path / 'camera.jpg', 'MPO', save_all=True, append_images=[second.resize((3, 2))])
    assert ImageFiles([tmp_path / 'camera.jpg'])[0].size == first.size


def test_an_image_goes_by_a_few_formats_whatever_its_ending(tmp_path):
    for number, format in enumerate(('EPS', 'PPM', 'TGA', 'PDF')):
        coloured().save(tmp_path / f'{number}.png', format)
        with pytest.raises(
            UserError, match=rf'{number}\.png: is not an image in one of the formats PNG, JPEG, GIF, BMP'
        ):
            ImageFiles([tmp_path / f'{number}.png'])[0]
    coloured().save(tmp_path / 'b.png', 'BMP')
    assert ImageFiles([tmp_path / 'b.png'])[0].size == coloured().size


@pytest.mark.parametrize('limit', [12, 23])  # of 24 pixels: above twice the limit Pillow raises, below it warns
def test_too_many_pixels_are_one_line(tmp_path, monkeypatch, limit):
    coloured().save(tmp_path / 'a.png')
    monkeypatch.setattr(Image, 'MAX_IMAGE_PIXELS', limit - 1)
    with pytest.raises(UserError, match=r'a\.png: has too many pixels: Image size \(24 pixels\) exceeds limit'):
        ImageFiles([tmp_path / 'a.png'])[0]


def test_a_colour_that_is_transparent_is_laid_on_white(tmp_path):
    pixels = np.full((4, 6, 3), (10, 20, 30), np.uint8)
    pixels[0] = 200, 0, 0
    Image.fromarray(pixels).save(tmp_path / 'a.png', transparency=(10, 20, 30))
    (image,) = ImageFiles([tmp_path / 'a.png'])
    with pytest.raises(UserError, match=r"^a\.png: is of Pillow's mode RGB with transparency, where RGB is expected"):
        PLAIN(image, 'a.png')
    converting = ImageProcessor(size=(4, 6), mean=(0.0,), deviation=(1.0,), convert=True)
    wanted = np.full((4, 6, 3), 255)
    wanted[0] = 200, 0, 0
    np.testing.assert_allclose(converting(image, 'a.png') * 255, wanted, atol=1e-3)


@pytest.mark.parametrize(
    ('image', 'message'),
    [
        (Image.fromarray(np.full((4, 6), 0.5, np.float32)), 'has floating-point pixels, whose range is unknown'),
        (
            Image.fromarray(np.full((4, 6), 70_000, np.int32)),
            'has pixels from 70000 to 70000; 16-bit pixels are 0 to',
        ),
        (Image.fromarray(np.full((4, 6), -1, np.int32)), 'has pixels from -1 to -1'),
        (Image.new('La', (6, 4)), 'cannot be converted: conversion from La to'),
    ],
)
def test_pixels_of_an_unknown_range_are_refused_and_not_converted(image, message):
    with pytest.raises(UserError, match=rf'^a: {message}'):
        ImageProcessor(size=(4, 6), convert=True)(image, 'a')


def test_files_that_hold_no_image_are_refused_by_name(tmp_path):
    coloured(40, 40).save(tmp_path / 'cut.png')
    (tmp_path / 'cut.png').write_bytes((tmp_path / 'cut.png').read_bytes()[:200])
    (tmp_path / 'text.png').write_text('hello')
    names = ['cut.png', 'text.png', 'missing.png']
    images = ImageFiles([tmp_path / name for name in names])
    assert isinstance(images, ImageSource)
    for index, (name, message) in enumerate(
        zip(
            names,
            ('may be cut short', 'is not an image in one of', 'there is no such file'),
            strict=True,
        )
    ):
        with pytest.raises(UserError, match=rf'{name}: .*{message}'):
            images[index]
    with pytest.raises(UserError, match=r'a\.png: has 5 rows and 6 columns of pixels, where 4 and 6 are expected'):
        PLAIN(coloured(5, 6), 'a.png')


def test_a_processor_is_kept_and_those_of_hugging_face_are_read(tmp_path):
    assert ImageProcessor.load(tmp_path) is None
    PLAIN.save(tmp_path)
    assert ImageProcessor.load(tmp_path) == PLAIN
    assert ImageProcessor.load(tmp_path).digest == PLAIN.digest
    (tmp_path / 'processor.json').unlink()
    theirs = dict(
        do_resize=True, size={'shortest_edge': 224}, resample=3, do_center_crop=True, image_mean=[0.48, 0.46, 0.41],
        crop_size={'height': 224, 'width': 224}, do_normalize=True, image_std=[0.27, 0.26, 0.28], do_rescale=True,
    )  # fmt: skip
    (tmp_path / 'preprocessor_config.json').write_text(json.dumps(theirs))
    assert ImageProcessor.load(tmp_path) == ImageProcessor(
        size=(224, 224), resize=224, resampling='bicubic', mean=(0.48, 0.46, 0.41), deviation=(0.27, 0.26, 0.28),
        convert=True,
    )  # fmt: skip
    for content in ('{', '{}', '[1]', '{"size": [4, 4], "colours": 3}', '{"size": 4}'):
        (tmp_path / 'processor.json').write_text(content)
        with pytest.raises(UserError, match=r'processor\.json'):
            ImageProcessor.load(tmp_path)


def test_a_folder_of_classes_is_cut_in_two_within_each_class(folder, tmp_path_factory):
    data = ImageFolder(path=str(folder), classes=2, processor=of_images(), validation=0.2)
    assert isinstance(data, Data)
    found = data.prepare(tmp_path_factory.mktemp('cache'))
    train, validation = found.splits['train'], found.splits['validation']
    assert (len(train.rows), len(validation.rows), train.names) == (16, 4, ('cat', 'dog'))
    assert np.bincount(validation.answers).tolist() == [2, 2]
    row = validation.rows[3]
    path = validation.rows.images.paths[3]
    assert (path.parent.name, row['label']) == ('dog', 1)
    np.testing.assert_allclose(row['images'], np.asarray(Image.open(path)) / 127.5 - 1, atol=1e-5)
    again = data.prepare(tmp_path_factory.mktemp('cache'))
    assert again.splits['validation'].rows.images.paths == validation.rows.images.paths
    (folder / 'cat' / 'new.png').write_bytes((folder / 'cat' / '0.png').read_bytes())
    assert data.prepare(tmp_path_factory.mktemp('cache')).source['digest'] != found.source['digest']


def test_what_systems_leave_behind_is_no_class_and_no_example(folder, tmp_path_factory, caplog):
    data = ImageFolder(path=str(folder), classes=2, processor=of_images(), validation=0.2)
    before = data.prepare(tmp_path_factory.mktemp('cache')).splits
    for name in ('.ipynb_checkpoints', '.git', '__MACOSX', 'empty'):
        (folder / name).mkdir()
        if name != 'empty':
            coloured().save(folder / name / '0.png')
    for name in ('._0.png', '.DS_Store', 'Thumbs.db', '.#1.png'):
        (folder / 'cat' / name).write_bytes(b'\0\5\x16\7')
    (folder / 'cat' / 'deeper' / 'still').mkdir(parents=True)
    coloured().save(folder / 'cat' / 'deeper' / '1.png')
    (folder / 'dog' / '3.png~').write_bytes(b'')
    caplog.clear()
    after = data.prepare(tmp_path_factory.mktemp('cache')).splits
    assert after['train'].names == ('cat', 'dog')
    for name, split in before.items():
        assert after[name].rows.images.paths == split.rows.images.paths
    assert 'skipped 8 hidden files or folders' in caplog.text
    assert 'skipped 3 files that are not images or not in the folder of a class' in caplog.text
    images, labels, names = images_by_class(folder)
    assert (len(images), len(labels), names) == (20, 20, ('cat', 'dog'))


def test_a_link_to_nothing_is_named(folder, tmp_path):
    (folder / 'cat' / 'gone.png').symlink_to(folder / 'nowhere')
    with pytest.raises(UserError, match=r'gone\.png: cannot be read \(No such file'):
        ImageFolder(path=str(folder), classes=2, processor=of_images()).prepare(tmp_path / 'cache')


def test_rows_have_the_declared_shapes_and_padding_counts_nothing(folder, tmp_path_factory):
    data = ImageFolder(path=str(folder), classes=2, processor=of_images())
    split = data.prepare(tmp_path_factory.mktemp('cache')).splits['train']
    (*_, last) = eval_batches(split, 9)
    like = data.batch_like(9)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == {
        name: (leaf.shape, leaf.dtype) for name, leaf in like.items()
    }
    assert (last['label'][7:] == IGNORED).all()
    assert not last['segments'][7:].any()


@pytest.mark.parametrize(
    ('there', 'counts'),
    [
        ('train val', {'train': 20, 'validation': 20}),
        ('Train Dev test', {'train': 20, 'validation': 20, 'test': 20}),
        ('train test', {'train': 16, 'validation': 4, 'test': 20}),
    ],
)
def test_folders_may_be_splits_and_training_images_are_held_out_without_one_for_validation(
    folder, tmp_path_factory, there, counts
):
    all_splits = tmp_path_factory.mktemp('splits')
    for name in there.split():
        (all_splits / name).mkdir()
        for label in ('cat', 'dog'):
            (all_splits / name / label).symlink_to(folder / label)
    found = ImageFolder(path=str(all_splits), classes=2, processor=of_images()).prepare(
        tmp_path_factory.mktemp('cache')
    )
    assert {name: len(split.rows) for name, split in found.splits.items()} == counts


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(path='/nowhere/at/all'), r'data\.path: /nowhere/at/all: there is no such folder'),
        (dict(classes=3), r'data\.classes: 3, but the training split has 2: cat, dog'),
        (dict(validation=0.01), r'data\.validation: 0\.01 of the 10 examples of a class leaves none on one side'),
        (dict(name='mnist'), 'either'),
        (dict(processor=of_images(size=(0, 4))), 'size 0 must be at least 1'),
        (dict(processor=of_images(channels=2)), 'channels must be 1 or 3, not 2'),
        (dict(processor=of_images(resampling='sharp')), "unknown resampling 'sharp'; known: nearest"),
        (dict(processor=of_images(mean=(0.1, 0.2))), 'mean .* one for each of 3 channels'),
    ],
)
def test_what_cannot_be_is_refused(changes, message, folder, tmp_path):
    with pytest.raises(UserError, match=message):
        ImageFolder(**dict(path=str(folder), classes=2, processor=of_images()) | changes).prepare(tmp_path / 'cache')


@pytest.mark.parametrize('label', [-1, 2])
def test_a_class_of_a_dataset_that_there_is_not_is_refused_by_its_place(label):
    picked = Picked([{'label': 0}, {'label': label}], range(2), 'train')
    with pytest.raises(UserError, match=rf'^train\[1\]: has the class {label}, but classes are 0 to 1'):
        _labels(picked, 2)


def test_pixels_of_a_dataset_that_are_no_bytes_are_refused_by_their_place():
    picked = Picked([{'image': np.zeros((4, 6, 3), np.uint16)}], range(1), 'train')
    with pytest.raises(UserError, match=r'^train\[0\]: has pixels of uint16, but uint8 is expected'):
        ImageRecords(picked, 'image')[0]


def test_the_path_of_a_new_image_must_be_text():
    class Records(list):
        def place(self, index):
            return f'record {index}'

    with pytest.raises(UserError, match=r"^record 0: 'image' is not text, but 3"):
        ImageFolder(path='.', classes=2, processor=of_images()).unanswered(Records([{'image': 3}]), ('a', 'b'), PLAIN)


def test_new_images_become_rows(folder):
    data = ImageFolder(path=str(folder), classes=2, processor=of_images())
    (folder / 'list.csv').write_text(f'image\n{folder}/cat/1.png\n{folder}/dog/2.png\n')
    records = data.read(folder / 'list.csv')
    assert isinstance(records, RecordSource)
    split = data.unanswered(records, ('cat', 'dog'), PLAIN)
    np.testing.assert_allclose(split.rows[1]['images'], PLAIN(Image.open(folder / 'dog/2.png'), ''))
    assert (split.answers == IGNORED).all()


def test_a_processor_of_other_images_is_refused(folder):
    data = ImageFolder(path=str(folder), classes=2, processor=of_images(size=(8, 8)))
    with pytest.raises(UserError, match=r'^data\.processor: .* \[8, 8, 3\], .* of \[4, 6, 3\]'):
        data.require_model(Part(dict), PLAIN)


def test_arrays_of_one_channel_are_grey():
    images = ImageArrays(np.full((2, 4, 6, 1), 51, np.uint8), 'drawn')
    grey = ImageProcessor(size=(4, 6), channels=1, mean=(0.0,), deviation=(1.0,))
    np.testing.assert_allclose(grey(images[1], images.place(1)), np.full((4, 6, 1), 0.2), atol=1e-6)


def test_digits_are_cut_in_two(tmp_path):
    pytest.importorskip('sklearn', reason='the extra vision is not installed: scikit-learn')
    counts = {}
    for held_out in (stratified_fifth, last_fifth):
        grey = of_images(size=(8, 8), channels=1, mean=(0.0,), deviation=(1.0,))
        found = Digits(held_out=Part(held_out), processor=grey).prepare(tmp_path)
        train, validation = found.splits['train'], found.splits['validation']
        counts[held_out] = len(train.rows), len(validation.rows)
        assert train.names == tuple('0123456789')
        assert train.rows[0]['images'].shape == (8, 8, 1)
        assert 0.9 < train.rows[0]['images'].max() <= 1
        together = np.concatenate([split.rows.images.pixels for split in (train, validation)])
        assert len(together) == 1797
    assert counts == {stratified_fifth: (1438, 359), last_fifth: (1438, 359)}
    assert np.bincount(validation.answers).min() > 30
