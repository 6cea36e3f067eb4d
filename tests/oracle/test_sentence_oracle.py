# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of texts by a folder in the layout of sentence-transformers: the last layer of transformers, pooled."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from saccade.decode.embed import Embedder
from saccade.decode.search import SearchCorpus
from saccade.train.searching import SearchOptions, open_search
from saccade.train.trained import open_trained

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')
with warnings.catch_warnings():
    # What these libraries warn of as they are imported is not ours to mend.
    warnings.simplefilter('ignore')
    transformers = pytest.importorskip('transformers', reason='the oracle extra is not installed: transformers')
    import published

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

TOLERANCE = 1e-4
LEAST_DIFFERENCE = 1e-2  # of vectors by different poolings
TEXTS = ['The cat sat on the mat', 'a dog', 'the dog ran after the cat; both were tired']
# By the definitions of sentence-transformers: of the last layer [B T D] and the attention mask [B T 1].
POOLS = {
    'mean_tokens': lambda x, mask: (x * mask).sum(1) / mask.sum(1),
    'cls_token': lambda x, mask: x[:, 0],
    'max_tokens': lambda x, mask: x.masked_fill(mask == 0, -1e9).max(1).values,
    'lasttoken': lambda x, mask: x[torch.arange(len(x)), mask[..., 0].sum(1).long() - 1],
}
CASES = [
    *(('bert', mode) for mode in (None, *POOLS)), ('roberta', None), ('albert', 'mean_tokens'),
    ('distilbert', 'cls_token'), ('qwen2', 'lasttoken'), ('qwen2', 'mean_tokens'),
]  # fmt: skip


def sentence_folder(folder: Path, family: str, mode: str | None) -> Path:
    """A folder whose model has the pooler of its class, and modules of sentence-transformers unless `mode` is None."""
    tokenizer = published.TOKENIZERS['bert' if family == 'distilbert' else family]()
    made = published.model_of(family, tokenizer, 3)
    if family != 'qwen2':
        base = transformers.AutoModel.from_config(made.config)
        base.load_state_dict(made.base_model.state_dict(), strict=False)
        made = base
    made.save_pretrained(folder)
    tokenizer.padding_side = 'right'
    tokenizer.save_pretrained(folder)
    if mode:
        kinds = 'Transformer', 'Pooling', 'Normalize'
        modules = [{'idx': at, 'type': f'sentence_transformers.models.{kind}'} for at, kind in enumerate(kinds)]
        (folder / 'modules.json').write_text(json.dumps(modules))
        (folder / '1_Pooling').mkdir()
        flags = {f'pooling_mode_{each}': each == mode for each in POOLS}
        (folder / '1_Pooling/config.json').write_text(json.dumps({'word_embedding_dimension': 32, **flags}))
    return folder


def test_an_index_by_another_pooling_is_rebuilt(tmp_path, caplog):
    folder = sentence_folder(tmp_path / 'model', 'bert', 'mean_tokens')
    (tmp_path / 'corpus.txt').write_text('\n'.join(TEXTS))
    options = SearchOptions(None, str(folder), 'latest', '', str(tmp_path / 'index'), 2, 'float32')
    _, before = open_search(options, SearchCorpus.read(tmp_path / 'corpus.txt'))
    (folder / '1_Pooling/config.json').write_text('{"pooling_mode": "cls"}')
    _, after = open_search(options, SearchCorpus.read(tmp_path / 'corpus.txt'))
    assert 'is of another model' in caplog.text
    assert np.abs(before.vectors - after.vectors).max() > LEAST_DIFFERENCE


@pytest.mark.parametrize(('family', 'mode'), CASES)
def test_the_vectors_of_texts(family, mode, tmp_path):
    folder = sentence_folder(tmp_path / 'model', family, mode)
    model, tokenizer = (each.from_pretrained(folder) for each in (transformers.AutoModel, transformers.AutoTokenizer))
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    read = tokenizer(TEXTS, padding=True, return_tensors='pt')
    with torch.no_grad():
        states = model(**read).last_hidden_state
    vectors = {name: pool(states, read['attention_mask'][..., None]) for name, pool in POOLS.items()}
    units = {name: (each / each.norm(dim=-1, keepdim=True)).numpy() for name, each in vectors.items()}
    wanted = units.pop(mode or 'mean_tokens')
    for name, other in units.items():
        assert np.abs(other - wanted).max() > LEAST_DIFFERENCE, name

    (tmp_path / 'corpus.txt').write_text('\n'.join(TEXTS))
    options = SearchOptions(None, str(folder), 'latest', '', str(tmp_path / 'index'), 2, 'float32')
    encoder, index = open_search(options, SearchCorpus.read(tmp_path / 'corpus.txt'))
    np.testing.assert_allclose(encoder.encode(TEXTS), wanted, atol=TOLERANCE)
    np.testing.assert_allclose(index.vectors, wanted, atol=TOLERANCE)
    trained = open_trained(init_from=str(folder))
    embedder = Embedder(trained.model, trained.params, trained.tokenizer, None)
    embedded = np.stack([embedder.embed(text).pooled(trained.pool) for text in TEXTS])
    np.testing.assert_allclose(embedded / np.linalg.norm(embedded, axis=-1, keepdims=True), wanted, atol=TOLERANCE)
