# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What every dataset must do, wherever it comes from: each class of the data room, as the experiments configure it."""

import dataclasses
import importlib
import inspect
import itertools
import json
import pkgutil
from pathlib import Path

import numpy as np
import pytest
import scipy.io.wavfile
from PIL import Image
from whole_rows import assert_whole, rows_of

import saccade.data
from saccade.build import build, plain
from saccade.data.pipeline import eval_batches, train_batches
from saccade.data.tokenized_base import TokenizedBase
from saccade.data.tokenizer.tokenizer import BERT
from saccade.train.config_file import run_file
from saccade.types import Data

ROOT = Path(__file__).parents[2]
WORDS = [f'w{number}' for number in range(40)]
LENGTHS = (1, 2, 5, 9, 14, 19, 20, 21, 22, 23, 30, 70)  # words of a text: of rows of 24 tokens, less and more
SMALL = {
    'name': None,
    'divide': '',
    'context_length': 24,
    'source_context_length': 20,
    'stride': 8,
    'longest_question': 8,
    'length': 4,
    'highest': 9,
    'notes': 3,
    'fewest': 8,
    'most': 8,
    'train': 60,
    'classes': 3,
    'noise': 8,
    'text': 'text',
    'label': 'label',
    'value': 'value',
    'tokens': 'tokens',
    'tags': 'tags',
    'source': 'source',
    'target': 'target',
    'negative': None,
    'source_tokenizer': None,
}


PAIRS = {'use': 'data.synthetic.sequences:Copy', 'symbols': 9, 'shortest': 1, 'longest': 30}


def datasets():
    """Every dataset of the data room, but for the classes that are only built on."""
    for module in pkgutil.walk_packages(saccade.data.__path__, 'saccade.data.'):
        found = vars(importlib.import_module(module.name)).values()
        classes = (each for each in found if inspect.isclass(each) and each.__module__ == module.name)
        yield from (each for each in classes if hasattr(each, 'prepare') and not inspect.isabstract(each))


def fields(spec):
    return {field.name for field in dataclasses.fields(build(spec).target)}


def small(spec):
    """The data of an experiment, of few words and in short rows."""
    known = fields(spec)
    specials = [f'<extra_id_{number}>' for number in range(spec.get('sentinels', 0))]
    specials += [name for name in (*spec.get('modes', ()), spec.get('mode'), spec.get('start')) if name is not None]
    given = {
        **SMALL,
        'tokenizer': {
            'use': 'data.tokenizer.word:Word',
            'vocabulary': 300,
            'specials': [*dict.fromkeys([*BERT, *specials])],
        },
        'validation': 20 if 'train' in known else 0.3,
        **({'context_length': 32} if 'fewest' in known else {}),  # no regular graph is smaller
        **({'generator': PAIRS} if 'held_out' in known else _of_drawn(spec)),
        'overlap': 4 if spec.get('overlap') else 0,
        'pair': 'target' if spec.get('pair') else None,
        'buckets': [8, 16] if spec.get('buckets') else [],
        **{name: {**spec[name], 'size': [8, 8]} for name in _of_pixels(spec)},
    }
    return {**spec, **{name: value for name, value in given.items() if name in known}}


def _of_drawn(spec):
    """The length of rows into which an example of the generator fits; none for data that is not drawn."""
    shortest = getattr(build(spec['generator'])(), 'shortest', None) if 'generator' in spec else None
    return {'context_length': max(SMALL['context_length'], shortest)} if shortest else {}


def _of_pixels(spec):
    """The fields with a processor of images of any size; those that are drawn have one."""
    named = ['images'] * ('caption' in spec) + ['processor']
    return [name for name in named if 'size' in spec.get(name, {})]


def shipped():
    """The data of every experiment, small, each only once: by the name of the first that has it."""
    found = {}
    for file in sorted((ROOT / 'experiments').glob('*/*.py')):
        if 'def get_config(' in file.read_text():
            spec = small(plain(run_file('config', str(file), 'get_config')[0].data))
            found.setdefault(json.dumps(spec, sort_keys=True), f'{file.parent.name}/{file.stem}')
    return {name: json.loads(spec) for spec, name in found.items()}


SHIPPED = shipped()
INPUTS = ('tokens', 'frames', 'images')
OF_EACH_CLASS = {build(spec).target: spec for spec in SHIPPED.values()}
OF_TEXT = [dataset for dataset in OF_EACH_CLASS if issubclass(dataset, TokenizedBase)]


def texts(draw):
    return [' '.join(draw.choice(WORDS, length)) for length in LENGTHS]


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Documents, records with all columns that are asked for, questions, and images by class."""
    folder, draw = tmp_path_factory.mktemp('files'), np.random.default_rng(0)
    (folder / 'documents').mkdir()
    for number, text in enumerate([*(3 * texts(draw)), *('. '.join(draw.permutation(texts(draw))) for _ in range(9))]):
        (folder / 'documents' / f'{number}.txt').write_text(text)
    records, articles = [], []
    for number, (text, other) in enumerate(zip(3 * texts(draw), 3 * texts(draw)[::-1], strict=True)):
        words = text.split()
        columns = dict(text=text, label='abc'[number % 3], value=number / 2, source=text, target=other)
        tags = [*['B-X', *len(words) * ['I-X']][: len(words) - 1], 'O']
        records.append(columns | dict(tokens=words, tags=tags))
        answer = dict(text=words[-1], answer_start=text.rindex(words[-1]))
        asked = dict(id=str(number), question=other, answers=[answer])
        articles.append(dict(title=str(number), paragraphs=[dict(context=text, qas=[asked])]))
        (folder / 'images' / 'abc'[number % 3]).mkdir(parents=True, exist_ok=True)
        pixels = draw.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / 'images' / 'abc'[number % 3] / f'{number}.png')
    graphs = [dict(nodes=3 * ['C'] + n * ['C'], edges=[[0, n + 1]], label='abc'[n % 3]) for n in range(18)]
    (folder / 'graphs.jsonl').write_text('\n'.join(map(json.dumps, graphs)))
    paths = sorted((folder / 'images').glob('*/*.png'))
    captions = [dict(image=str(path), caption=' '.join(draw.choice(WORDS, 4))) for path in paths]
    (folder / 'captions.jsonl').write_text('\n'.join(map(json.dumps, captions)))
    seen = []
    for number, each in enumerate(records):
        image = f'images/{each["label"]}/{number}.png'
        seen.append(dict(image=image, question='w1 w2', context=each['text'], answer=each['tokens'][-1]))
    (folder / 'seen.jsonl').write_text('\n'.join(map(json.dumps, seen)))
    for number in range(12):
        (folder / 'sounds' / 'abc'[number % 3]).mkdir(parents=True, exist_ok=True)
        stored = draw.integers(-9999, 9999, 1000 + 400 * number, dtype=np.int16)
        scipy.io.wavfile.write(folder / 'sounds' / 'abc'[number % 3] / f'{number}.wav', 16_000, stored)
    (folder / 'records.jsonl').write_text('\n'.join(map(json.dumps, records)))
    (folder / 'questions.json').write_text(json.dumps(dict(data=articles)))
    return folder


@pytest.fixture
def prepared(files, tmp_path):
    def prepare(spec, folder=None):
        known = fields(spec)
        columns, questions = known & {'text', 'source', 'tags'}, 'longest_question' in known
        text = 'questions.json' if questions else 'records.jsonl' if columns else 'documents'
        kinds = {
            'node_features': 'graphs.jsonl',
            'caption': 'captions.jsonl',
            'images': 'seen.jsonl',
        }
        of_files = {'data.audio.log_mel:LogMel': 'sounds', 'data.image.processor:ImageProcessor': 'images'}
        other = of_files.get(spec.get('processor', {}).get('use'), text)
        path = files / next((kinds[field] for field in kinds if field in known), other)
        own = {'path': str(path)} if 'path' in known else {}
        if 'sources' in known:
            own['sources'] = [{**source, 'name': 'mine', 'path': str(path)} for source in spec['sources']]
        data = build(spec | own)()
        return data, data.prepare(tmp_path / 'cache', folder and data.open_processor(folder))

    return prepare


def some_batches(split):
    return itertools.chain(itertools.islice(train_batches(split, 4, 0, 0), 12), eval_batches(split, 7))


def test_every_dataset_is_that_of_an_experiment():
    """So that a new class is tested as it lands, or is missed here."""
    assert {*datasets()} == {*OF_EACH_CLASS}


@pytest.mark.long
@pytest.mark.parametrize('name', list(SHIPPED))
def test_within_a_segment_positions_rise_by_one_from_0_and_padding_is_at_the_end(name, prepared):
    data, found = prepared(SHIPPED[name])
    assert isinstance(data, Data)
    for split in found.splits.values():
        declared = {metric.name for metric in getattr(data, 'reports', ())}
        assert declared == split.derived({'loss': 1.0}).keys() == {metric.name for metric in split.reports}
    lengths, most = set(), 0
    for split in found.splits.values():
        for batch in some_batches(split):
            sides = [each.removesuffix('segments') for each in batch if each.endswith('segments')]
            assert '' in sides
            for side in sides:
                segments = batch[f'{side}segments']
                inputs = batch[side.removesuffix('_') or next(name for name in INPUTS if name in batch)]
                assert segments.shape == (inputs.shape[: segments.ndim] if inputs.ndim < 4 else (len(inputs), 1))
                segments, positions = (rows_of(batch[f'{side}{name}']) for name in ('segments', 'positions'))
                assert_whole(segments, positions)
                lengths |= {*np.count_nonzero(segments, axis=-1).tolist()}
                most = max(most, segments.max())
    assert 0 in lengths  # rows of padding
    assert len(lengths) > 1
    assert (most > 1) == (SHIPPED[name].get('pack') == {'use': 'data.rows.pack:Packed'})


@pytest.mark.parametrize('dataset', OF_TEXT, ids=lambda dataset: dataset.__name__)
def test_a_vocabulary_of_bert_is_a_tokenizer(dataset, prepared, tmp_path):
    vocabulary = [*BERT, *WORDS, *map(str, range(10)), '.']
    (tmp_path / 'vocab.txt').write_text('\n'.join(vocabulary))
    unmarked = {'sentinels': 0, 'modes': [], 'mode': None, 'start': None}
    spec = OF_EACH_CLASS[dataset]
    spec |= {name: value for name, value in unmarked.items() if name in spec}
    _, found = prepared(spec, tmp_path)
    assert found.processor.size == len(vocabulary)
