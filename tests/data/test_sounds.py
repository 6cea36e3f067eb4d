# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sounds: log-mel frames by loops, WAV files of every kind, folders, drawn chirps, and what is refused."""

import json
import struct

import numpy as np
import pytest
import scipy.io.wavfile

from saccade.data.audio.folder import SoundFolder
from saccade.data.audio.log_mel import LogMel, mel_bands
from saccade.data.audio.rows import SoundFiles
from saccade.data.synthetic.chirps import NAMES, Chirps
from saccade.types import Data, Part, UserError

RATE = 8000
SETTINGS = dict(rate=RATE, window=64, hop=24, mels=6)
DRAW = np.random.default_rng(0)


def sound(samples=200):
    return DRAW.uniform(-1, 1, samples).astype(np.float32)


def test_frames_are_the_logarithm_of_the_power_in_bands_of_mels():
    x, made = sound().astype(np.float64), LogMel(**SETTINGS, low=100.0, high=3500.0)
    mels = np.linspace(2595 * np.log10(1 + 100 / 700), 2595 * np.log10(1 + 3500 / 700), 8)
    edges = 700 * (10 ** (mels / 2595) - 1)
    frames = []
    for start in range(0, len(x) - 64 + 1, 24):
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(64) / 64)
        bins = [sum(window * x[start : start + 64] * np.exp(-2j * np.pi * k * np.arange(64) / 64)) for k in range(33)]
        power = []
        for band in range(6):
            below, peak, above = edges[band : band + 3]
            total = 0.0
            for k, each in enumerate(bins):
                hertz = k * RATE / 64
                rising, falling = (hertz - below) / (peak - below), (above - hertz) / (above - peak)
                total += max(0.0, min(rising, falling)) * abs(each) ** 2
            power.append(np.log(1e-6 + total))
        frames.append(power)
    np.testing.assert_allclose(made.power(x.astype(np.float32)), frames, rtol=1e-4, atol=1e-4)


def test_a_tone_is_loudest_in_the_band_of_its_pitch():
    made = LogMel(rate=RATE, window=256, hop=128, mels=20)
    pitches, times = (300, 800, 2000), np.arange(2000) / RATE
    tones = [np.sin(2 * np.pi * hertz * times).astype(np.float32) for hertz in pitches]
    loudest = [made.power(tone).mean(axis=0).argmax() for tone in tones]
    peaks = mel_bands(RATE, 256, 20, 0.0, RATE / 2).argmax(axis=-1) * RATE / 256
    assert sorted(loudest) == loudest
    for band, hertz in zip(loudest, pitches, strict=True):
        assert abs(peaks[band] / hertz - 1) < 0.2


def test_the_processor_standardizes_over_the_training_split_and_is_kept(tmp_path):
    sounds = [sound(300) for _ in range(9)]
    made = LogMel(**SETTINGS).of_split(sounds)
    frames = np.concatenate([made(each, 'a') for each in sounds])
    np.testing.assert_allclose(frames.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(frames.std(axis=0), 1.0, atol=1e-5)
    made.save(tmp_path)
    assert LogMel.load(tmp_path) == made
    assert LogMel.load(tmp_path).digest == made.digest
    assert LogMel.load(tmp_path / 'none') is None


@pytest.mark.parametrize(
    'content',
    [
        '[]', '{"rate": 0}', '{"mels": 5', '{"pitch": 3}', '{"window": 8, "mels": 80}', '{"window": 1000000000000000}',
        '{"mean": ["x"]}',
    ],
)  # fmt: skip
def test_a_damaged_processor_is_refused_by_its_name(tmp_path, content):
    (tmp_path / 'processor.json').write_text(content)
    with pytest.raises(UserError, match=r'processor\.json'):
        LogMel.load(tmp_path)


@pytest.mark.parametrize('kind', [np.uint8, np.int16, np.int32, np.float32])
@pytest.mark.parametrize('channels', [1, 2])
def test_wav_files_of_every_kind_are_numbers_from_minus_1_to_1(tmp_path, kind, channels):
    wanted = np.stack([np.linspace(-1, 0.9, 50), np.linspace(0.5, -0.5, 50)][:channels], axis=-1)
    if kind is np.uint8:
        stored = np.round(wanted * 128 + 128).astype(kind)
    elif kind is np.float32:
        stored = wanted.astype(kind)
    else:
        stored = np.round(wanted * np.iinfo(kind).max).astype(kind)
    scipy.io.wavfile.write(tmp_path / 'a.wav', RATE, stored[:, 0] if channels == 1 else stored)
    np.testing.assert_allclose(SoundFiles([tmp_path / 'a.wav'], RATE)[0], wanted.mean(axis=-1), atol=1 / 128)


def wrong(folder, name):
    path = folder / f'{name}.wav'
    if name == 'other':
        scipy.io.wavfile.write(path, 22_050, (sound() * 30_000).astype(np.int16))
    if name == 'no_sound':
        path.write_bytes(b'no sound at all')
    if name == 'cut':
        scipy.io.wavfile.write(path, RATE, (sound() * 30_000).astype(np.int16))
        path.write_bytes(path.read_bytes()[:-100])
    return path


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('missing', 'there is no such file'),
        ('no_sound', 'cannot be read as a WAV file'),
        ('cut', 'cannot be read as a WAV file: it is cut short'),
        ('other', r'has 22050 samples a second, where data\.processor\.rate is 8000'),
    ],
)
def test_what_is_no_sound_is_refused_by_its_name(tmp_path, name, words):
    path = wrong(tmp_path, name)
    with pytest.raises(UserError, match=f'{name}.wav: {words}'):
        SoundFiles([path], RATE)[0]


def wav(samples=b'', fmt=None, size=None, whole=None, before=b'', after=b'', name=b'RIFF', order='<'):
    """The bytes of a WAV file of 16 bits, one channel and 8000 samples a second, or of what is given instead."""
    fmt = struct.pack(f'{order}HHIIHH', 1, 1, RATE, 2 * RATE, 2, 16) if fmt is None else fmt
    size = len(samples) if size is None else size
    found = b'WAVE' + before + b'fmt ' + struct.pack(f'{order}I', len(fmt)) + fmt
    found += b'data' + struct.pack(f'{order}I', size) + samples + after
    return name + struct.pack(f'{order}I', len(found) if whole is None else whole) + found


def extensible(channels=1, bits=16, tag=1):
    frame = channels * bits // 8
    return struct.pack('<HHIIHHHHI', 0xFFFE, channels, RATE, RATE * frame, frame, bits, 22, bits, 0) + struct.pack(
        '<H14s', tag, bytes.fromhex('000000001000800000aa00389b71')
    )


STORED = [-32768, -16384, 0, 16384, 32767]
SAMPLES = struct.pack('<5h', *STORED)
TAGS = b'LIST' + struct.pack('<I', 5) + b'INFOx\0'  # of an odd size, so a byte follows
WAVES = {
    'plain': wav(SAMPLES),
    'recorder that died': wav(SAMPLES, size=0, whole=0),
    'recorder that died after its header': wav(SAMPLES, size=0, whole=36),
    'recorder that died within a sample': wav(SAMPLES + b'\7', size=0, whole=0),
    'pipe of ffmpeg': wav(SAMPLES, size=0xFFFFFFFF, whole=0xFFFFFFFF),
    'pipe of sox': wav(SAMPLES, size=0x7FFFF000, whole=0x7FFFF024),
    'pipe of arecord': wav(SAMPLES, size=0x7FFFFFFF, whole=0x80000023),
    'pipe without sizes': wav(SAMPLES, size=0, whole=0xFFFFFFFF),
    'tags before': wav(SAMPLES, before=TAGS),
    'tags after': wav(SAMPLES, after=TAGS),
    'wrong size of the whole': wav(SAMPLES, whole=10**6),
    'garbage after': wav(SAMPLES, after=b'\xff' * 9),
    'long format': wav(SAMPLES, fmt=struct.pack('<HHIIHHH', 1, 1, RATE, 2 * RATE, 2, 16, 0)),
    'extensible': wav(SAMPLES, fmt=extensible()),
    'large order': wav(struct.pack('>5h', *STORED), name=b'RIFX', order='>'),
    '64 bits': wav(
        SAMPLES, size=0xFFFFFFFF, whole=0xFFFFFFFF, name=b'RF64', after=TAGS,
        before=b'ds64' + struct.pack('<IQQQI', 28, 90, 10, 5, 0),
    ),
    '24 bits': wav(
        b''.join(struct.pack('<i', value << 8)[:3] for value in STORED),
        fmt=struct.pack('<HHIIHH', 1, 1, RATE, 3 * RATE, 3, 24),
    ),
    '32 bits': wav(
        struct.pack('<5i', *(value << 16 for value in STORED)), fmt=struct.pack('<HHIIHH', 1, 1, RATE, 4 * RATE, 4, 32)
    ),
    'float': wav(
        struct.pack('<5f', *(value / 32768 for value in STORED)),
        fmt=struct.pack('<HHIIHH', 3, 1, RATE, 4 * RATE, 4, 32),
    ),
    'double': wav(struct.pack('<5d', *(value / 32768 for value in STORED)), fmt=extensible(bits=64, tag=3)),
    'two channels': wav(
        b''.join(struct.pack('<hh', value, value) for value in STORED), fmt=extensible(channels=2)
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', WAVES)
def test_a_header_of_any_kind_gives_the_samples(tmp_path, name):
    (tmp_path / 'a.wav').write_bytes(WAVES[name])
    wanted = np.array(STORED) / 32768
    if name == '24 bits':
        wanted = np.array([value * 256 / 2**23 for value in STORED])
    found = SoundFiles([tmp_path / 'a.wav'], RATE)[0]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=1e-7)


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'', 'it begins with'),
        (b'RIFF', 'it begins with'),
        (b'ID3\4' + wav(SAMPLES), "it begins with b'ID3"),
        (wav(SAMPLES)[:20], 'its header is cut short'),
        (wav(SAMPLES)[:36], 'it has no chunk of samples'),
        (wav(SAMPLES)[:50], 'it announces 10 bytes of samples but has 6'),
        (wav(SAMPLES, size=9), '9 bytes of samples are not a multiple of 2 bytes'),
        (wav(SAMPLES, fmt=b''), 'its header is cut short'),
        (wav(SAMPLES, fmt=struct.pack('<HHIIHH', 1, 0, RATE, 2 * RATE, 2, 16)), 'it has 0 channels'),
        (wav(SAMPLES, fmt=struct.pack('<HHIIHH', 1, 1, 0, 0, 2, 16)), '0 samples per second'),
        (wav(SAMPLES, fmt=struct.pack('<HHIIHH', 1, 1, RATE, 0, 0, 16)), '0 bytes for each'),
        (wav(SAMPLES, fmt=struct.pack('<HHIIHH', 1, 2, RATE, 0, 3, 16)), 'it has 2 channels'),
        (wav(SAMPLES, fmt=struct.pack('<HHIIHH', 1, 1, RATE, 0, 2, 24)), 'a sample has 24 bits in 2 bytes'),
        (wav(SAMPLES, fmt=struct.pack('<HHIIHH', 3, 1, RATE, 0, 2, 16)), 'a sample has 16 bits in 2 bytes'),
        (wav(SAMPLES, fmt=struct.pack('<HHIIHH', 6, 1, RATE, 0, 1, 8)), 'its samples are A-law; save them as PCM'),
        (wav(SAMPLES, fmt=extensible(tag=0x55)), 'its samples are MP3'),
        (wav(SAMPLES, before=b'data' + struct.pack('<I', 0)), 'its samples come before the chunk'),
        (wav(SAMPLES, before=b'LIST' + struct.pack('<I', 10**6)), 'it has no chunk of samples'),
        *[
            (
                wav(struct.pack('<2f', 0.5, value), fmt=struct.pack('<HHIIHH', 3, 1, RATE, 4 * RATE, 4, 32)),
                'its samples reach (nan|inf|32767), but floating-point samples are from -1 to 1',
            )
            for value in (float('nan'), float('inf'), 32767.0)
        ],
    ],
)
def test_a_header_that_cannot_be_read_is_refused_in_one_line(tmp_path, content, words):
    (tmp_path / 'a.wav').write_bytes(content)
    with pytest.raises(UserError, match=rf'a\.wav: cannot be read as a WAV file: .*({words})') as found:
        SoundFiles([tmp_path / 'a.wav'], RATE)[0]
    assert '\n' not in str(found.value)


def test_an_empty_sound_is_empty_whatever_follows_it(tmp_path):
    for content in (wav(), wav(after=TAGS)):
        (tmp_path / 'a.wav').write_bytes(content)
        assert len(SoundFiles([tmp_path / 'a.wav'], RATE)[0]) == 0


def test_a_sound_shorter_than_a_window_is_refused():
    with pytest.raises(UserError, match=r'a\.wav: has 63 samples, fewer than a window of 64'):
        LogMel(**SETTINGS)(sound(63), 'a.wav')


@pytest.mark.parametrize(
    ('changes', 'words'),
    [({'high': 5000.0}, 'high: bands'), ({'low': 4000.0}, 'low, '), ({'mels': 40}, 'mels: band'), ({'hop': 0}, 'hop')],
)
def test_bands_that_cannot_be_are_refused(changes, words):
    with pytest.raises(UserError, match=words):
        LogMel(**{**SETTINGS, **changes})


@pytest.fixture
def folder(tmp_path):
    for name in ('cat', 'dog'):
        (tmp_path / 'sounds' / name).mkdir(parents=True)
        for number in range(5):
            stored = (sound(150 + 20 * number) * 30_000).astype(np.int16)
            scipy.io.wavfile.write(tmp_path / 'sounds' / name / f'{number}.wav', RATE, stored)
    return tmp_path / 'sounds'


def log_mel(**settings):
    return Part(LogMel, tuple(sorted(settings.items())))


def of_folder(folder, validation=0.2, **changes):
    processor = log_mel(**{**SETTINGS, **changes})
    return SoundFolder(path=str(folder), classes=2, context_length=5, processor=processor, validation=validation)


def test_a_folder_by_class_is_read(folder, tmp_path):
    data = of_folder(folder)
    assert isinstance(data, Data)
    found = data.prepare(tmp_path / 'cache')
    assert {name: len(split.rows) for name, split in found.splits.items()} == {'train': 8, 'validation': 2}
    split = found.splits['train']
    assert split.names == ('cat', 'dog')
    for number in range(len(split.rows)):
        row, sound = split.rows[number], split.rows.sounds[number]
        assert split.rows.sounds.paths[number].parent.name == split.names[row['label']]
        count = min(1 + (len(sound) - 64) // 24, 5)
        assert row['segments'].sum() == count
        np.testing.assert_array_equal(row['frames'][:count], found.processor(sound, '')[:count])
        assert not row['frames'][count:].any()


def test_an_empty_folder_and_too_many_classes_are_refused(folder, tmp_path):
    (tmp_path / 'empty').mkdir()
    with pytest.raises(UserError, match='empty: has no folder with WAV files'):
        of_folder(tmp_path / 'empty').prepare(tmp_path / 'cache')
    with pytest.raises(UserError, match='no such folder'):
        of_folder(tmp_path / 'none').prepare(tmp_path / 'cache')
    (folder / 'bird').mkdir()
    (folder / 'bird' / 'a.wav').write_bytes(b'')
    (folder / 'bird' / 'b.wav').write_bytes(b'')
    with pytest.raises(UserError, match='classes'):
        of_folder(folder, validation=0.4).prepare(tmp_path / 'cache')


def test_frames_of_another_processor_are_refused(folder, tmp_path):
    made = of_folder(folder).prepare(tmp_path / 'cache').processor
    with pytest.raises(UserError, match=r'data\.processor\.hop: 12, but the processor has 24'):
        of_folder(folder, hop=12).prepare(tmp_path / 'cache', made)


def chirps(**changes):
    processor = log_mel(rate=8000, window=240, hop=120, mels=32)
    return Chirps(context_length=48, processor=processor, **{'train': 40, 'validation': 40, **changes})


def test_chirps_go_where_their_class_says(tmp_path):
    split = chirps().prepare(tmp_path).splits['validation']
    assert {*split.answers} == {0, 1, 2, 3}
    for number in range(len(split.rows)):
        name = NAMES[split.answers[number]]
        loudest = split.rows.processor.power(split.rows.sounds[number]).argmax(axis=-1)
        halves = loudest[4:22], loudest[26:44]
        glide = halves[name.startswith('still')]
        assert (np.median(glide[:5]) < np.median(glide[-5:])) == ('up' in name)


def test_chirps_are_the_same_each_time_and_others_by_seed_and_split(tmp_path):
    sounds = chirps().prepare(tmp_path).splits['train'].rows.sounds
    np.testing.assert_array_equal(sounds[3], sounds[3])
    other = chirps(seed=1).prepare(tmp_path).splits['train'].rows.sounds
    validation = chirps().prepare(tmp_path).splits['validation'].rows.sounds
    assert len({json.dumps(each[3][:5].tolist()) for each in (sounds, other, validation)}) == 3
