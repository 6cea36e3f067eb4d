# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions of Hugging Face directories: those of the pipelines of transformers, by architecture."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import published
import pytest
from PIL import Image
from theirs import torch, transformers

from saccade.decode.inputs import placed_records
from saccade.loaded import load
from saccade.train.predictive_folder import INPUTS, predictive_of

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

TOLERANCE = 1e-4
NAMES = ['bad', 'fair', 'good']
TEXTS = ['the cat sat on the mat', 'a dog', 'the dog ran after the cat; both were tired.', 'the']
OTHERS = ['the dog ran', 'after the cat and the dog', 'a', 'both were tired.']
SIZES = {'hidden_size': 24, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'intermediate_size': 40}


def saved(folder: Path, auto: str, family: str, labels: list[str], **settings: Any) -> Path:
    """A model of a family with a head and large weights, so that predictions differ, and its tokenizer."""
    tokenizer = published.TOKENIZERS[family]()
    config = published.model_of(family, tokenizer, 0).config
    named = {'id2label': dict(enumerate(labels)), 'label2id': {name: number for number, name in enumerate(labels)}}
    for name, value in {**named, **settings}.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    model = getattr(transformers, auto).from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def ours(folder: Path, **given: list[str]) -> list[dict[str, Any]]:
    model = predictive_of(None, str(folder), INPUTS[: 1 + ('pair' in given)])
    return [output.record() for _, output in model.open('latest', 3).predict(placed_records(model.data, given, None))]


@pytest.mark.parametrize('pairs', [False, True])
@pytest.mark.parametrize('family', ['bert', 'roberta', 'gpt2', 'llama'])
def test_classes_are_those_of_the_pipeline(family, pairs, tmp_path):
    folder = saved(tmp_path, 'AutoModelForSequenceClassification', family, NAMES)
    pipe = transformers.pipeline('text-classification', str(folder), top_k=None)
    wanted = [
        {each['label']: each['score'] for each in pipe({'text': text} | ({'text_pair': other} if pairs else {}))}
        for text, other in zip(TEXTS, OTHERS, strict=True)
    ]
    found = ours(folder, text=TEXTS, **({'pair': OTHERS} if pairs else {}))
    assert np.std([each['good'] for each in wanted]) > 100 * TOLERANCE
    for one, other in zip(found, wanted, strict=True):
        assert one['probabilities'] == pytest.approx(other, abs=TOLERANCE)


@pytest.mark.parametrize('problem', [{'problem_type': 'regression'}, {}])
def test_one_class_is_a_number_as_in_the_pipeline(problem, tmp_path):
    folder = saved(tmp_path, 'AutoModelForSequenceClassification', 'bert', ['LABEL_0'], **problem)
    pipe = transformers.pipeline('text-classification', str(folder))  # a probability, unless it is a regression
    wanted = [each['score'] for each in pipe(TEXTS)]
    assert np.std(wanted) > 100 * TOLERANCE
    np.testing.assert_allclose([each['value'] for each in ours(folder, text=TEXTS)], wanted, atol=TOLERANCE)
    assert load(str(folder)).predict(TEXTS[0]).value == pytest.approx(wanted[0], abs=TOLERANCE)


def test_tags_are_those_of_the_pipeline(tmp_path):
    """A word has the tag of its first token."""
    folder = saved(tmp_path, 'AutoModelForTokenClassification', 'bert', ['B-X', 'I-X', 'O'])
    pipe = transformers.pipeline('token-classification', str(folder), ignore_labels=[])
    for text, found in zip(TEXTS, ours(folder, text=TEXTS), strict=True):
        starts = np.cumsum([0, *(len(word) + 1 for word in text.split())])
        tags = {each['start']: each['entity'] for each in pipe(text)}
        assert found['tags'] == [tags[start] for start in starts[:-1].tolist()]


def test_answers_are_the_most_probable_spans_of_the_context(tmp_path):
    """By their scores; transformers 5 has no pipeline of questions."""
    folder = saved(tmp_path, 'AutoModelForQuestionAnswering', 'bert', NAMES[:2])
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    question, found = 'who sat?', ours(folder, question=['who sat?'], context=TEXTS)
    for context, one in zip(TEXTS, found, strict=True):
        read = tokenizer(question, context, return_offsets_mapping=True, return_tensors='pt')
        places = read.pop('offset_mapping')[0].tolist()
        inside = [place for place, sequence in enumerate(read.sequence_ids()) if sequence == 1]
        with torch.no_grad():
            scores = model(**read)
        spans = [(start, stop) for start in inside for stop in inside if start <= stop < start + 30]
        best = max(spans, key=lambda span: float(scores.start_logits[0, span[0]] + scores.end_logits[0, span[1]]))
        assert one['answer'] == context[places[best[0]][0] : places[best[1]][1]]
    assert len({each['answer'] for each in found}) > 1


def test_images_have_the_classes_of_the_pipeline(tmp_path):
    torch.manual_seed(0)
    config = transformers.ViTConfig(image_size=12, patch_size=4, id2label=dict(enumerate(NAMES)), **SIZES)
    model = transformers.ViTForImageClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(tmp_path)
    transformers.ViTImageProcessor(size={'height': 12, 'width': 12}).save_pretrained(tmp_path)
    draw, files = np.random.default_rng(0), [str(tmp_path / f'{number}.png') for number in range(4)]
    for file in files:
        Image.fromarray(draw.integers(0, 256, (17, 23, 3), dtype=np.uint8)).save(file)
    pipe = transformers.pipeline('image-classification', str(tmp_path), top_k=None)
    wanted = [{each['label']: each['score'] for each in pipe(file)} for file in files]
    for one, other in zip(ours(tmp_path, image=files), wanted, strict=True):
        assert one['probabilities'] == pytest.approx(other, abs=10 * TOLERANCE)  # images are scaled in other numbers


def test_names_are_read_by_number(tmp_path):
    folder = saved(tmp_path, 'AutoModelForSequenceClassification', 'bert', NAMES)
    first = ours(folder, text=TEXTS)
    config = json.loads((folder / 'config.json').read_text())
    config['id2label'] = dict(reversed(config['id2label'].items()))
    (folder / 'config.json').write_text(json.dumps(config))
    assert ours(folder, text=TEXTS) == first
