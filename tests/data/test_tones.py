# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Melodies of drawn tones, and the processor of their frames."""

import json

import numpy as np
import pytest

from saccade.data.frames.standardizer import Standardizer
from saccade.data.pipeline import eval_batches
from saccade.data.synthetic.tones import CONTOURS, Tones
from saccade.types import IGNORED, Part, Processor, UserError

TONES = Tones(context_length=28, train=300, validation=40)
RATE, BANDS = 8000, 64


@pytest.fixture(scope='module')
def prepared(tmp_path_factory):
    return TONES.prepare(tmp_path_factory.mktemp('cache'))


def test_rows_have_the_declared_shapes_and_padding_counts_nothing(prepared):
    (*_, last) = eval_batches(prepared.splits['validation'], 16)
    like = TONES.batch_like(16)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == {
        name: (leaf.shape, leaf.dtype) for name, leaf in like.items()
    }
    assert (last['label'][8:] == IGNORED).all()
    assert not last['segments'][8:].any()
    there = last['segments'][0] != 0
    assert (last['positions'][0][there] == np.arange(there.sum())).all()
    assert not last['frames'][0][~there].any()


def test_the_frames_of_the_training_split_are_standardized(prepared):
    frames = prepared.splits['train'].rows.frames
    np.testing.assert_allclose(frames.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(frames.std(axis=0), 1, atol=1e-4)


def test_the_loudest_band_follows_the_contour(tmp_path):
    found = Tones(context_length=28, bands=128, train=200, validation=1).prepare(tmp_path)
    split, scale = found.splits['train'], found.processor
    moves = {name: [] for name in CONTOURS}
    for row, label in enumerate(split.answers):
        frames = split.rows[row]['frames'] * scale.deviation + scale.mean
        loudest = frames[split.rows[row]['segments'] != 0].argmax(axis=-1)
        first, middle, last = (part.mean() for part in np.array_split(loudest, 3))
        moves[split.names[label]].append((middle - first, last - middle))
    for name, found in moves.items():
        assert (np.sign(np.mean(found, axis=0)) == CONTOURS[name]).all(), name


def test_all_contours_are_drawn_and_splits_differ(prepared):
    train, validation = prepared.splits['train'], prepared.splits['validation']
    assert train.names == tuple(CONTOURS)
    assert (np.bincount(train.answers, minlength=4) > 40).all()
    assert not np.array_equal(train.rows[0]['frames'], validation.rows[0]['frames'])


def test_a_kept_processor_is_used(prepared, tmp_path):
    kept = Standardizer((1.0,) * BANDS, (2.0,) * BANDS)
    assert isinstance(kept, Processor)
    kept.save(tmp_path)
    found = TONES.open_processor(tmp_path)
    assert (found, found.digest) == (kept, kept.digest)
    again = TONES.prepare(tmp_path / 'cache', found)
    assert again.processor == kept
    own = prepared.processor
    first, second = (each.splits['train'].rows[0]['frames'] for each in (prepared, again))
    there = first.any(axis=-1)
    np.testing.assert_allclose(
        (first * own.deviation + own.mean)[there], (second * kept.deviation + kept.mean)[there], atol=1e-3
    )


def test_no_processor_and_a_damaged_one(tmp_path):
    assert TONES.open_processor(tmp_path) is None
    for content in ('{', '{"mean": [1]}', '{"mean": [1], "deviation": [0]}', '{"mean": [], "deviation": []}', '[1]'):
        (tmp_path / 'processor.json').write_text(content)
        with pytest.raises(UserError, match=r'processor\.json'):
            TONES.open_processor(tmp_path)


def test_the_processor_of_other_bands_is_refused():
    with pytest.raises(UserError, match=r'data: the processor is for frames of 3 numbers, but the data have 64'):
        TONES.require_model(Part(dict), Standardizer((0.0,) * 3, (1.0,) * 3))


def test_a_processor_is_written_as_json(tmp_path):
    Standardizer((0.5,), (2.0,)).save(tmp_path)
    assert json.loads((tmp_path / 'processor.json').read_text()) == {'mean': [0.5], 'deviation': [2.0]}


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(notes=4), r'data\.notes: 4 must be an odd number'),
        (dict(bands=5), r'data\.bands: 5 must divide 128'),
        (dict(context_length=24), r'data\.context_length: 5 notes have up to 25 frames, not 24'),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        Tones(**dict(context_length=28) | changes)
