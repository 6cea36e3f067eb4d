# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions of a Hugging Face directory: what its config.json decides before any weights are read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from saccade.data.encoder.classified import Classified
from saccade.data.encoder.valued import Valued
from saccade.decode.inputs import placed_records
from saccade.train.predictive_folder import INPUTS, predictive_of
from saccade.types import UserError

TEXTS, WORDS = 'BertForSequenceClassification', 'BertForTokenClassification'
SPANS = 'BertForQuestionAnswering'
VIT = {
    'model_type': 'vit', 'architectures': ['ViTForImageClassification'], 'image_size': 6, 'patch_size': 3,
    'hidden_size': 12, 'num_hidden_layers': 1, 'num_attention_heads': 3, 'intermediate_size': 20, 'num_channels': 3,
    'hidden_act': 'gelu', 'layer_norm_eps': 1e-5, 'qkv_bias': True,
    'hidden_dropout_prob': 0.0, 'attention_probs_dropout_prob': 0.0,
}  # fmt: skip
TOKENIZER = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'a', 'b', 'c', 'd', 'e', 'f']


@pytest.fixture
def classifier(bert):
    """A directory of a classifier of three classes, with its tokenizer."""
    bert.config |= {'architectures': [TEXTS], 'id2label': {'1': 'b', '0': 'a', '2': 'c'}}
    shape = {'classifier.weight': (3, 12), 'classifier.bias': (3,)}
    draw = np.random.default_rng(1)
    bert.tensors |= {name: draw.normal(size=size).astype(np.float32) for name, size in shape.items()}
    folder = bert.write('bert.')
    (folder / 'vocab.txt').write_text('\n'.join(TOKENIZER))
    return folder


def config_alone(folder: Path, config: dict[str, Any]) -> Path:
    """A directory without tensors."""
    folder.mkdir(exist_ok=True)
    (folder / 'config.json').write_text(json.dumps(config))
    return folder


def outputs(folder: Path, **given: list[str]) -> list[dict]:
    model = predictive_of(None, str(folder), INPUTS[: 1 + ('pair' in given)])
    return [output.record() for _, output in model.open('latest', 2).predict(placed_records(model.data, given, None))]


def test_a_class_has_the_name_of_its_number(classifier):
    (one,) = outputs(classifier, text=['a b'])
    assert list(one['probabilities']) == ['a', 'b', 'c']


def test_a_text_that_is_longer_than_the_model_is_read_in_chunks(classifier):
    long, *parts = outputs(classifier, text=['a b c d e f a b c d', 'a b c d e', 'f a b c d'])
    assert len({each['probability'] for each in parts}) == 2
    assert long['probabilities'].keys() == parts[0]['probabilities'].keys()


@pytest.mark.parametrize(
    ('settings', 'data'),
    [
        ({}, Classified),
        ({'problem_type': 'single_label_classification', 'num_labels': 4}, Classified),
        ({'id2label': {'0': 'LABEL_0'}}, Valued),
        ({'problem_type': 'regression'}, Valued),
    ],
)
def test_a_classifier_says_a_class_or_a_number(settings, data, bert, tmp_path):
    folder = config_alone(tmp_path, bert.config | {'architectures': [TEXTS]} | settings)
    assert type(predictive_of(None, str(folder), INPUTS[:1]).data) is data


@pytest.mark.parametrize(
    ('settings', 'columns', 'message'),
    [
        (
            {'architectures': ['BertForMaskedLM']},
            ('text',),
            'BertForMaskedLM predicts no class, number, tags or answer',
        ),
        (
            {'architectures': [TEXTS], 'problem_type': 'multi_label_classification'},
            ('text',),
            'problem_type multi_label_classification, several classes a text, is not supported',
        ),
        ({'architectures': [WORDS], 'id2label': {'0': 'O', '2': 'X'}}, ('text',), 'must name its 2 classes'),
        ({'architectures': [WORDS]}, ('a', 'b'), f'--columns=a,b: {WORDS} reads one text'),
        ({'architectures': [SPANS]}, ('a',), f'--columns=a: {SPANS} reads the fields question and context of a file'),
        ({'architectures': [TEXTS]}, ('a', 'b', 'c'), '--columns=a,b,c: a model reads one text, or two'),
    ],
)
def test_what_cannot_be_predicted_is_one_line(settings, columns, message, bert, tmp_path):
    folder = config_alone(tmp_path, bert.config | settings)
    with pytest.raises(UserError, match=message):
        predictive_of(None, str(folder), columns)


def test_what_is_missing_is_named(tmp_path, classifier):
    vision = config_alone(tmp_path / 'vision', VIT)
    with pytest.raises(UserError, match=r'no preprocessor_config\.json'):
        predictive_of(None, str(vision), INPUTS[:1])
    (classifier / 'vocab.txt').unlink()
    with pytest.raises(UserError, match=r'no tokenizer\.json, vocab\.txt'):
        outputs(classifier, text=['a'])


def test_images_of_another_size_than_the_model_reads_are_refused(tmp_path):
    vision = config_alone(tmp_path / 'vision', VIT)
    (vision / 'preprocessor_config.json').write_text(
        json.dumps({'image_processor_type': 'ViTImageProcessor', 'size': {'height': 3, 'width': 3}})
    )
    Image.new('RGB', (5, 5)).save(tmp_path / 'a.png')
    with pytest.raises(UserError, match=r'images are made 3 by 3, but the model reads 6 by 6'):
        outputs(vision, image=[str(tmp_path / 'a.png')])


def test_a_checkpoint_of_a_directory_is_refused(classifier):
    with pytest.raises(UserError, match=r'--checkpoint=best has no effect'):
        predictive_of(None, str(classifier), INPUTS[:1]).open('best', 1)


def test_one_model_is_asked_for(classifier):
    for given in ((None, None), (str(classifier), str(classifier))):
        with pytest.raises(UserError, match='give either --workdir'):
            predictive_of(*given, INPUTS[:1])
