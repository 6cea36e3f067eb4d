# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Published models under new heads: rows and scores of texts and pairs equal transformers, after export.

Each folder holds a language model. The run that would fine-tune it is set up, its first weights are exported with the
new head, and transformers reads the same texts with the exported tokenizer, padded.
"""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import published
import pytest
from theirs import torch, transformers

from saccade.hub.export import Source, export
from saccade.task.base import context_of
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import Initial
from saccade.train.start import start_from

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-4
LEAST_SPREAD = 0.01  # standard deviation of the scores, compared with which the tolerance is small
TEXTS = ['the cat sat on the mat', 'a dog', 'naïve 東京都 and the pieces of a text', 'the']
OTHERS = ['the dog ran', 'after the cat and the dog', 'a', 'both were tired.']
LABELS = ['yes', 'no', 'no', 'yes']
LAST = ('pool.use=ops.pool:last', 'bias=False')
HIDDEN = ("activation={'use': 'jax.numpy:tanh'}",)
POOLED = {
    'gpt2': LAST, 'llama': LAST, 'qwen2': LAST, 't5': ('pool.use=ops.pool:last', *HIDDEN),
    'roberta': ('pool.use=ops.pool:first', *HIDDEN), 'bert': ('pool.use=ops.pool:first', *HIDDEN),
}  # fmt: skip


def first_weights(experiment: Experiment) -> Any:
    """The first weights of a run, with heads of some size."""
    initial = Initial.of(experiment)
    params = initial(jax.random.key(0), {})
    params = jax.tree.map(lambda leaf: leaf + 0.3 * jax.random.normal(jax.random.key(leaf.size), leaf.shape), params)
    return start_from((experiment.init_from, experiment.init_part), params, initial.axes, experiment.adapt).params


def scores(experiment: Experiment, params: Any, rows: Any) -> np.ndarray:
    """Of each row by our model, as the run reads it."""
    batch = {name: jnp.stack([rows[row][name] for row in range(len(rows))]) for name in rows[0]}
    (found,) = experiment.model().apply({'params': params}, batch['tokens'], context_of(batch), False).values()
    return np.asarray(found)


@pytest.mark.parametrize('texts', [1, 2])
@pytest.mark.parametrize('family', POOLED)
def test_a_classifier_reads_the_rows_of_transformers(family, texts, tmp_path):
    folder = published.publish(tmp_path / 'base', family, published.TOKENIZERS[family](), 0)
    (tmp_path / 'texts').mkdir()
    records = [
        {'a': a, 'b': b, 'label': 'no' if number else 'yes'}
        for number, (a, b) in enumerate(zip(TEXTS, OTHERS, strict=True))
    ]
    for name in ('train', 'dev'):
        (tmp_path / f'texts/{name}.jsonl').write_text(''.join(f'{json.dumps(each)}\n' for each in records))
    data = [f'path={tmp_path}/texts', 'text=a', 'context_length=48', *(['pair=b'] if texts == 2 else [])]
    fields = [f'init_from={folder}', *map('data.{}'.format, data), *map('model.heads.pooled.{}'.format, POOLED[family])]
    experiment = Experiment.of(
        load_config(str(ROOT / 'experiments/finetune/classify.py'), [f'--config.{field}' for field in fields])
    )
    tokenizer = experiment.data().open_processor(folder)
    params = first_weights(experiment)
    rows = experiment.data().prepare(tmp_path / 'cache', tokenizer).splits['validation'].rows
    export(Source(experiment.model, params, tokenizer, 'ForSequenceClassification'), tmp_path / 'out')

    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / 'out')
    read = theirs(*(TEXTS, OTHERS)[:texts], padding=True, return_tensors='pt')
    for row, ids, there in zip(rows, read['input_ids'].numpy(), read['attention_mask'].numpy(), strict=True):
        assert row['tokens'][row['segments'] > 0].tolist() == ids[there == 1].tolist()
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / 'out')
    with torch.no_grad():
        wanted = model(**read).logits.numpy()
    assert wanted.std(axis=0).min() > LEAST_SPREAD
    np.testing.assert_allclose(scores(experiment, params, rows), wanted, atol=TOLERANCE)


@pytest.mark.parametrize('family', ['t5', 'mt5'])
def test_a_tagger_is_the_encoder_alone(family, tmp_path):
    folder = published.publish(tmp_path / 'base', family, published.TOKENIZERS['t5'](), 0)
    (tmp_path / 'texts').mkdir()
    sentences = [''.join(f'{word} {"B-A" if word in OTHERS[0] else "O"}\n' for word in text.split()) for text in TEXTS]
    for name in ('train', 'dev'):
        (tmp_path / f'texts/{name}.conll').write_text('\n'.join(sentences))
    fields = [f'init_from={folder}', f'data.path={tmp_path}/texts', 'data.classes=2', 'data.context_length=48']
    experiment = Experiment.of(
        load_config(str(ROOT / 'experiments/finetune/tag.py'), [f'--config.{field}' for field in fields])
    )
    tokenizer = experiment.data().open_processor(folder)
    params = first_weights(experiment)
    rows = experiment.data().prepare(tmp_path / 'cache', tokenizer).splits['validation'].rows
    export(Source(experiment.model, params, tokenizer, experiment.task.target.architecture), tmp_path / 'out')

    model = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / 'out')
    assert type(model).__name__ == 'T5ForTokenClassification'  # mT5's has the same encoder
    base = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).get_encoder().state_dict()
    for name, tensor in model.transformer.encoder.state_dict().items():
        assert torch.equal(tensor, base[name])
    for row, ours in zip(rows, scores(experiment, params, rows), strict=True):
        there = row['segments'] > 0
        with torch.no_grad():
            wanted = model(torch.tensor(row['tokens'][there])[None]).logits[0].numpy()
        assert wanted.std(axis=0).min() > LEAST_SPREAD
        np.testing.assert_allclose(ours[there], wanted, atol=TOLERANCE)
