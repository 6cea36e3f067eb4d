# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Image captioning: what a batch of images and captions becomes, and what the loss depends on."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sacrebleu

from saccade.decode.greedy import Greedy
from saccade.metric.exact import ExactMatch
from saccade.metric.rouge import ROUGE
from saccade.metric.translation import BLEU
from saccade.task.captioning import Captioning, as_pairs
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.types import Part

SMALL = ('model.decoder.width=16', 'model.decoder.layers=1', 'data.train=40', 'data.validation=6', 'data.unseen=6')


@pytest.fixture(scope='module')
def experiment():
    return Experiment.of(load_config('experiments/vision/captioning.py', [f'--config.{each}' for each in SMALL]))


@pytest.fixture(scope='module')
def prepared(experiment, tmp_path_factory):
    return experiment.data().prepare(tmp_path_factory.mktemp('cache'))


def rows_of(split, count):
    rows = [split.rows[row] for row in range(count)]
    return {name: jnp.stack([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.long
def test_an_image_is_a_source_of_one_place_and_its_caption_ends_with_the_end_token(prepared):
    split, tokenizer = prepared.splits['validation'], prepared.processor
    batch = as_pairs(rows_of(split, 4))
    assert batch['source'].shape == (4, 32, 32, 3)
    np.testing.assert_array_equal(batch['source_segments'], [[1]] * 4)
    np.testing.assert_array_equal(batch['end'], [tokenizer.special('[SEP]')] * 4)
    np.testing.assert_array_equal(batch['row'], range(4))
    said = np.asarray(batch['tokens'])[0, 1 : int(batch['segments'][0].sum()) - 1]
    assert split.text(said) == split.references[0]
    blank = {name: jnp.asarray(leaf)[None] for name, leaf in split.rows.padding().items()}
    assert as_pairs(blank)['source_segments'].tolist() == [[0]]


@pytest.mark.long
def test_the_loss_reads_the_image_and_predictions_are_compared_with_the_captions(experiment, prepared):
    task, model, split = experiment.task(), experiment.model(), prepared.splits['validation']
    batch = rows_of(split, 6)
    params = task.init(model, jax.random.key(0), batch)

    def loss(images):
        return task.loss(model, params, {**batch, 'images': images}, jax.random.key(1), False)['loss'].mean()

    by_pixels = jax.grad(loss)(batch['images'])
    assert (np.abs(by_pixels).max(axis=(1, 2, 3)) > 0).all()
    targets = int((np.asarray(batch['segments'])[:, 1:] != 0).sum())
    assert task.loss(model, params, batch, jax.random.key(1), False)['loss'].weight == targets
    found = task.evaluate(jax.device_get(task.predict(model, params, batch)), split)
    assert found.keys() == {'exact_match', 'bleu'}


def test_an_image_file_gets_the_text_of_its_tokens():
    split = SimpleNamespace(text=lambda ids: ' '.join(map(str, ids)))
    predictions = {
        'tokens': np.array([[4, 5, 0], [6, 7, 8], [9, 9, 9]]),
        'counts': [2, 3, 1],
        'row': np.array([0, 1, -1]),
    }
    found = [*Captioning(search=Part(Greedy), metrics=()).outputs(predictions, split)]
    assert [each.caption for each in found] == ['4 5', '6 7 8']
    assert found[0].lines({'image': 'a.png'}) == ['a.png  4 5']
    assert found[0].record() == {'caption': '4 5'}


def test_the_text_of_an_image_is_compared_with_all_its_captions_once():
    """Of three images in four rows the first has two captions, and its text is the second of these."""
    items = lambda rows: (['a' if row < 2 else f'b{row}' for row in rows], rows)  # noqa: E731
    split = SimpleNamespace(
        text=lambda ids: ' '.join(map(str, ids)),
        references=['1 1 1 1', '4 5 6 7', '8 8 8 8', '9 9 9 9'],
        rows=SimpleNamespace(items=items),
    )
    tokens = np.array([[4, 5, 6, 7], [4, 5, 6, 7], [8, 8, 8, 8], [3, 3, 3, 3], [1, 1, 1, 1]])
    predictions = {'tokens': tokens, 'counts': np.full(5, 4), 'row': np.array([0, 1, 2, 3, -1])}
    task = Captioning(search=Part(Greedy), metrics=(Part(ExactMatch), Part(ROUGE), Part(BLEU)))
    found = task.evaluate(predictions, split)
    assert found['exact_match'].value == found['rouge_l'].value == pytest.approx(2 / 3)
    wanted = sacrebleu.corpus_bleu(
        ['4 5 6 7', '8 8 8 8', '3 3 3 3'], [['1 1 1 1', '8 8 8 8', '9 9 9 9'], ['4 5 6 7', None, None]]
    )
    assert found['bleu'].value == pytest.approx(wanted.score)
