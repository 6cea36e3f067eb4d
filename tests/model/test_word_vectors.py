# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors that skip-grams learn: words of the same contexts are near each other, and other models start from them."""

from pathlib import Path

import numpy as np
import pytest

from saccade.data.tokenizer.tokenizer import BERT
from saccade.decode.embed import Embedder
from saccade.train.config import load_config
from saccade.train.loop import Options, train
from saccade.train.trained import open_run
from saccade.types import UserError

FOLDER = Path(__file__).parents[2] / 'experiments'
TOPICS, AROUND, SENTENCES = 6, 3, 4000
SMALL = (
    'data.context_length=32', 'model.vocabulary=64', 'model.width=16', 'batch_size=16',
    'steps=300', 'eval_every=0', 'checkpoint_every=0', 'log_every=100', 'task.window=2', 'task.subsample=0.0',
    'schedule.peak=0.02',
)  # fmt: skip
TOKENIZER = {'use': 'data.tokenizer.word:Word', 'vocabulary': 64, 'specials': list(BERT)}
TABLE = "adapt={'use': 'train.init.partial:only', 'match': '^embedding$'}"
FROZEN = "optimizer.rates={'use': 'train.rates:Frozen', 'match': '^embedding$'}"
STARTED = {
    'causal_lm/quickstart.py': ('model.width=16', 'model.vocabulary=64', 'model.layers=1', 'model.block.mixer.heads=2',
                                'model.context_length=32', 'sample=None', 'baseline=None'),
    'finetune/classify.py': ('inherit=', 'model.width=16', 'model.vocabulary=64', 'model.layers=1',
                             'model.block.mixer.heads=2', 'model.context_length=32', 'data.text=text',
                             'data.label=label'),
}  # fmt: skip


def fields(*given):
    return [f'--config.{each}' for each in given]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A text in which each topic has two words that stand between the same others."""
    folder = tmp_path_factory.mktemp('words')
    random = np.random.default_rng(0)
    sentences = []
    for topic, which in zip(random.integers(0, TOPICS, SENTENCES), random.integers(0, 2, SENTENCES), strict=True):
        before, after = random.integers(0, AROUND, 2)
        sentences.append(f'before{topic}{before} {"one" if which else "other"}{topic} after{topic}{after}')
    paragraphs = [' '.join(sentences[at : at + 20]) for at in range(0, SENTENCES, 20)]
    (folder / 'text.txt').write_text('\n\n'.join(paragraphs))
    lines = [f'{text}\t{number % 2}' for number, text in enumerate(paragraphs)]
    (folder / 'labelled.tsv').write_text('\n'.join(['text\tlabel', *lines]))
    return folder


@pytest.fixture(scope='module')
def words(folder):
    """The folder of a run of skip-grams."""
    given = fields(f'data.tokenizer={TOKENIZER}', f'data.path={folder}/text.txt', *SMALL)
    config = load_config(str(FOLDER / 'embedding/skip_gram.py'), given)
    final = train(config, str(folder / 'run'), Options(quiet=True))
    assert final['loss'] < 3.5  # from 6 log 2
    return folder / 'run'


@pytest.mark.long
def test_words_of_the_same_contexts_are_nearest_to_each_other(words):
    run = open_run(str(words))
    embedder = Embedder(run.model, run.params, run.processor)
    for topic in range(TOPICS):
        for word, other in ((f'one{topic}', f'other{topic}'), (f'other{topic}', f'one{topic}')):
            (nearest, cosine), (_, next_one) = embedder.nearest(word, 2)
            assert nearest == other
            assert cosine > next_one + 0.05


@pytest.mark.long
def test_a_text_has_no_vectors_where_there_are_no_layers(words):
    run = open_run(str(words))
    with pytest.raises(UserError, match='WordVectors has no layers'):
        Embedder(run.model, run.params, run.processor).embed('one0')


@pytest.mark.long
@pytest.mark.parametrize('name', STARTED)
def test_another_model_starts_from_the_vectors_bit_for_bit(name, words, folder, tmp_path):
    path = folder / ('labelled.tsv' if 'classify' in name else 'text.txt')
    given = (f'init_from={words}', TABLE, FROZEN, f'data.path={path}', 'steps=2', 'schedule.warmup=1', 'batch_size=4')
    config = load_config(str(FOLDER / name), fields(*given, *STARTED[name], 'eval_every=0', 'checkpoint_every=0'))
    train(config, str(tmp_path / 'run'), Options(quiet=True))
    started, vectors = open_run(str(tmp_path / 'run')), open_run(str(words))
    np.testing.assert_array_equal(started.params['embedding'], vectors.params['embedding'])
    assert started.processor.digest == vectors.processor.digest
    assert float(np.std(vectors.params['embedding'])) > 0.1  # learned: they start with 0.02
