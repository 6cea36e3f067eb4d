# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""config.json of models of images: settings of the pooler and of the two towers, and what is refused."""

import json
from typing import Any

import pytest
import tokenizers

from saccade.hub.load import spec_of, under_heads
from saccade.hub.setting import ACTIVATIONS
from saccade.types import UserError

VIT: dict[str, Any] = {
    'model_type': 'vit', 'hidden_size': 24, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'intermediate_size': 40,
    'image_size': 12, 'patch_size': 4, 'hidden_act': 'gelu', 'hidden_dropout_prob': 0.0,
    'attention_probs_dropout_prob': 0.0,
}  # fmt: skip
# As transformers 4 has written them: without the defaults of the two classes.
SIGLIP: dict[str, Any] = {
    'model_type': 'siglip',
    'text_config': {'model_type': 'siglip_text_model'},
    'vision_config': {},
}
CLIP: dict[str, Any] = {'model_type': 'clip', 'text_config': {}, 'vision_config': {'patch_size': 16}}


def spec(folder, config: dict[str, Any]) -> dict[str, Any]:
    (folder / 'config.json').write_text(json.dumps(config))
    return spec_of(folder)


@pytest.mark.parametrize('family', ['vit', 'deit'])
def test_the_activation_of_the_pooler(tmp_path, family):
    bare = spec(tmp_path, VIT | {'model_type': family})
    assert bare['heads']['pooled']['activation'] == ACTIVATIONS['tanh']
    other = spec(tmp_path, VIT | {'model_type': family, 'pooler_act': 'gelu'})
    assert other['heads']['pooled']['activation'] == ACTIVATIONS['gelu']


def test_siglip_and_clip_have_the_defaults_of_their_classes(tmp_path):
    found = spec(tmp_path, SIGLIP)
    image, text = found['image'], found['text']
    assert (image['width'], image['layers'], image['context_length']) == (768, 12, 14 * 14)
    assert (text['vocabulary'], text['context_length'], text['embed']['token']) == (32000, 64, 1)
    found = spec(tmp_path, CLIP)
    assert (found['image']['width'], found['image']['context_length']) == (768, 1 + 14 * 14)
    assert (found['text']['width'], found['text']['vocabulary'], found['text']['context_length']) == (512, 49408, 77)
    assert found['text']['block']['mixer']['heads'] == 8


@pytest.mark.long
def test_new_heads_of_images_are_put_on_the_tower_of_images_if_it_is_their_model(tmp_path):
    image = spec(tmp_path, SIGLIP)['image']
    read, part = under_heads(tmp_path, ('pooled',), 'ForImageClassification')
    assert (part, {**read, 'heads': {}}) == ('image', {**image, 'heads': {}})
    whole = spec(tmp_path, CLIP)  # whose classifier has no norm after the last layer
    assert under_heads(tmp_path, ('pooled',), 'ForImageClassification') == (whole, '')


def test_texts_of_siglip_are_padded_by_the_token_of_the_tokenizer(tmp_path):
    """As by its processor; SigLIP 2 names no token in config.json, and 1 is the default of the class."""
    (tmp_path / 'config.json').write_text(json.dumps(SIGLIP))
    assert spec_of(tmp_path)['text']['embed']['token'] == 1
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({'a': 0, 'b': 1, 'c': 2, '<pad>': 3}, 'a'))
    backend.save(str(tmp_path / 'tokenizer.json'))
    (tmp_path / 'tokenizer_config.json').write_text('{"pad_token": "<pad>"}')
    assert spec_of(tmp_path)['text']['embed']['token'] == 3


def test_the_padding_of_siglip_may_be_0(tmp_path):
    assert spec(tmp_path, SIGLIP | {'text_config': {'pad_token_id': 0}})['text']['embed']['token'] == 0


def test_the_older_settings_of_a_tower_of_clip_count(tmp_path):
    config = CLIP | {
        'text_config': {'hidden_size': 512, 'num_hidden_layers': 3},
        'text_config_dict': {'hidden_size': 768},
    }
    text = spec(tmp_path, config)['text']
    assert (text['width'], text['layers']) == (768, 12)
    assert spec(tmp_path, CLIP | {'text_config_dict': None})['text']['width'] == 512


@pytest.mark.parametrize(
    ('config', 'words'),
    [
        (VIT | {'pooler_output_size': 48}, 'pooler_output_size is 48, which cannot be represented; only 24 can'),
        (VIT | {'pooler_act': 'sine'}, "pooler_act: unknown activation 'sine'"),
        (VIT | {'image_size': [12, 8]}, r'image_size must be a whole number, from 1 to 100,000,000, not \[12, 8\]'),
        (SIGLIP | {'vision_config': {'vision_use_head': False}}, 'vision_config.vision_use_head is False'),
        (SIGLIP | {'text_config': {'pad_token_id': -1}}, 'text_config.pad_token_id must be .* from 0 to .*, not -1'),
        (SIGLIP | {'text_config': {'hidden_act': 'sine'}}, "text_config.hidden_act: unknown activation 'sine'"),
        (CLIP | {'text_config': {'is_causal': False}}, 'text_config.is_causal is False'),
        (CLIP | {'text_config': {'per_layer_config': {'0': {}}}}, 'text_config.per_layer_config is'),
        ({'model_type': 'clip', 'text_config': {}}, 'vision_config is missing'),
    ],
)
def test_what_cannot_be_represented_is_refused(tmp_path, config, words):
    with pytest.raises(UserError, match=f'config.json: {words}'):
        spec(tmp_path, config)
