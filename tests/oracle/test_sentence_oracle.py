# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of texts by folders of sentence-transformers, as the library computes them; and by exported runs."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import published
import pytest
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from theirs import sentence_transformers, transformers

from saccade.decode.embed import Embedder
from saccade.decode.search import SearchCorpus
from saccade.hub.sentence import POOLS, SentenceSettings
from saccade.loaded import load
from saccade.train.searching import SearchOptions, open_search
from saccade.train.trained import open_trained
from saccade.types import UserError

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-4
LEAST_DIFFERENCE = 1e-2  # of vectors by different poolings, or of a text and the same cut
LONG = 'The dog ran after the cat; both were tired.'
TEXTS = ['The cat sat on the mat', 'a dog', LONG]
LENGTH = 8  # tokens; LONG has more, and the others fewer
CASES = [
    *(('bert', mode) for mode in (None, *POOLS)), ('roberta', None), ('albert', 'mean'), ('distilbert', 'cls'),
    ('qwen2', 'lasttoken'), ('qwen2', 'mean'),
]  # fmt: skip


def sentence_folder(folder: Path, family: str, mode: str | None, length: int | None = None) -> Path:
    """A folder whose model has the pooler of its class, and modules of sentence-transformers unless `mode` is None."""
    tokenizer = published.TOKENIZERS['bert' if family == 'distilbert' else family]()
    made = published.model_of(family, tokenizer, 3)
    if family != 'qwen2':
        base = transformers.AutoModel.from_config(made.config)
        base.load_state_dict(made.base_model.state_dict(), strict=False)
        made = base
    made.save_pretrained(folder)
    tokenizer.padding_side = 'right'
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    tokenizer.save_pretrained(folder)
    if mode:
        read = Transformer(str(folder), max_seq_length=length)
        model = sentence_transformers.SentenceTransformer(
            modules=[read, Pooling(read.get_embedding_dimension(), mode), Normalize()], device='cpu'
        )
        model.save(str(folder))
    return folder


def their_vectors(folder: Path) -> np.ndarray:
    return sentence_transformers.SentenceTransformer(str(folder), device='cpu').encode(TEXTS, normalize_embeddings=True)


def our_vectors(folder: Path, index: Path) -> np.ndarray:
    """The vectors of a search, which are those of its index."""
    corpus = index.with_suffix('.txt')
    corpus.write_text('\n'.join(TEXTS))
    options = SearchOptions(None, str(folder), 'latest', '', str(index), 2, 'float32')
    encoder, found = open_search(options, SearchCorpus.read(corpus))
    np.testing.assert_allclose(found.vectors, encoder.encode(TEXTS), atol=TOLERANCE)
    return np.asarray(found.vectors)


def opened(folder: Path) -> tuple[Any, Any, Any]:
    trained = open_trained(init_from=str(folder))
    return trained.model, trained.params, trained.tokenizer


def embedded(folder: Path, pool) -> np.ndarray:
    embedder, usual = Embedder(*opened(folder), None), SentenceSettings.of_folder(folder).pool
    vectors = np.stack([embedder.embed(text).pooled(pool or usual) for text in TEXTS])
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_an_index_by_another_pooling_is_rebuilt(tmp_path, caplog):
    folder = sentence_folder(tmp_path / 'model', 'bert', 'mean')
    before = our_vectors(folder, tmp_path / 'index')
    (folder / '1_Pooling/config.json').write_text('{"pooling_mode": "cls"}')
    after = our_vectors(folder, tmp_path / 'index')
    assert 'is of another model' in caplog.text
    assert np.abs(before - after).max() > LEAST_DIFFERENCE


@pytest.mark.parametrize(('family', 'mode'), CASES)
def test_the_vectors_of_texts(family, mode, tmp_path):
    folder = sentence_folder(tmp_path / 'model', family, mode)
    wanted = their_vectors(folder)
    np.testing.assert_allclose(our_vectors(folder, tmp_path / 'index'), wanted, atol=TOLERANCE)
    np.testing.assert_allclose(embedded(folder, None), wanted, atol=TOLERANCE)
    states = load(str(folder)).embed(LONG).vectors
    np.testing.assert_allclose(states, Embedder(*opened(folder), None).embed(LONG).vectors, atol=TOLERANCE)
    for name, pool in POOLS.items():
        if name != (mode or 'mean'):
            assert np.abs(embedded(folder, pool) - wanted).max() > LEAST_DIFFERENCE, name


def test_vectors_that_are_compared_by_dot_products_keep_their_norms(tmp_path):
    folder = sentence_folder(tmp_path / 'model', 'bert', 'cls')
    modules = json.loads((folder / 'modules.json').read_text())[:2]
    (folder / 'modules.json').write_text(json.dumps(modules))
    told = json.loads((folder / 'config_sentence_transformers.json').read_text())
    (folder / 'config_sentence_transformers.json').write_text(json.dumps(told | {'similarity_fn_name': 'dot'}))
    wanted = sentence_transformers.SentenceTransformer(str(folder), device='cpu').encode(TEXTS)
    assert np.linalg.norm(wanted, axis=-1).min() > 1 + LEAST_DIFFERENCE
    np.testing.assert_allclose(our_vectors(folder, tmp_path / 'index'), wanted, atol=TOLERANCE)
    (folder / 'config_sentence_transformers.json').write_text(json.dumps(told | {'similarity_fn_name': 'manhattan'}))
    with pytest.raises(UserError, match="similarity_fn_name is 'manhattan'; only cosine and dot are supported"):
        our_vectors(folder, tmp_path / 'index')


@pytest.mark.parametrize('file', ['sentence_bert_config.json', 'sentence_roberta_config.json', 'tokenizer_config.json'])
def test_texts_are_cut_at_the_length_of_the_folder(tmp_path, file):
    """The library writes the length to tokenizer_config.json; older releases wrote it to a file of their own."""
    whole = their_vectors(sentence_folder(tmp_path / 'whole', 'bert', 'mean'))
    folder = sentence_folder(tmp_path / 'model', 'bert', 'mean', LENGTH)
    wanted = their_vectors(folder)
    if file != 'tokenizer_config.json':
        (folder / 'sentence_bert_config.json').unlink()
        (folder / file).write_text(json.dumps({'max_seq_length': LENGTH, 'do_lower_case': False}))
        config = json.loads((folder / 'tokenizer_config.json').read_text())
        (folder / 'tokenizer_config.json').write_text(json.dumps(config | {'model_max_length': published.CONTEXT}))
    np.testing.assert_allclose(our_vectors(folder, tmp_path / 'index'), wanted, atol=TOLERANCE)
    changed = np.abs(wanted - whole).max(axis=-1)
    assert (changed[:2] < TOLERANCE).all()
    assert changed[2] > LEAST_DIFFERENCE


@pytest.mark.parametrize(
    ('family', 'mode', 'architecture'),
    [('bert', 'max', 'BertModel'), ('gpt2', 'mean', 'GPT2Model'), ('qwen2', 'lasttoken', 'Qwen2Model')],
)
def test_a_trained_sentence_encoder_is_exported_with_its_pooling(family, mode, architecture, tmp_path):
    base, run, out = (tmp_path / name for name in ('base', 'run', 'out'))
    tokenizer = published.TOKENIZERS[family]()
    published.model_of(family, tokenizer, 3).save_pretrained(base)
    tokenizer.save_pretrained(base)
    generator, words = random.Random(0), ['cat', 'dog', 'mat', 'tired', 'text', 'pieces', 'numbered', 'tokenizer']
    drawn = [generator.sample(words, 4) for _ in range(40)]
    rows = [{'first': ' '.join(each), 'second': ' '.join(reversed(each))} for each in drawn]
    (tmp_path / 'pairs.jsonl').write_text(''.join(json.dumps(row) + '\n' for row in rows))
    launch(
        'train', f'--config={ROOT}/experiments/pairs/sentence_bert.py', f'--workdir={run}',
        f'--config.init_from={base}', f'--config.data.path={tmp_path}/pairs.jsonl', '--config.data.text=first',
        '--config.data.pair=second', '--config.data.context_length=32', '--config.batch_size=4', '--config.steps=2',
        f"--config.model.heads.pooled.pool={{'use': 'ops.pool:{POOLS[mode].__name__}'}}",
    )  # fmt: skip
    assert f'{architecture} ({family})' in launch('export', f'--workdir={run}', f'--out={out}')
    (tmp_path / 'texts.txt').write_text('\n'.join(TEXTS))
    options = SearchOptions(str(run), None, 'latest', '', str(tmp_path / 'own'), 2, 'float32')
    _, own = open_search(options, SearchCorpus.read(tmp_path / 'texts.txt'))
    assert np.abs(own.vectors[0] - own.vectors[1]).max() > LEAST_DIFFERENCE
    np.testing.assert_allclose(their_vectors(out), own.vectors, atol=TOLERANCE)
    np.testing.assert_allclose(our_vectors(out, tmp_path / 'index'), own.vectors, atol=TOLERANCE)


def launch(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / f'launch/{name}.py'), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
