# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Encoders from folders: BERT against its equations in NumPy, the heads of each architecture, and what is refused."""

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from saccade.build import build
from saccade.hub.load import Pretrained, load, spec_of
from saccade.train.trained import open_trained
from saccade.types import LayerContext, UserError

TOLERANCE = 1e-4
TOKENS = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 0, 0]])
SEGMENTS = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
TYPES = np.array([[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]])
BASE = {
    'vocab_size': 11, 'max_position_embeddings': 7, 'hidden_size': 12, 'num_hidden_layers': 3,
    'num_attention_heads': 3, 'intermediate_size': 20, 'hidden_act': 'relu', 'hidden_dropout_prob': 0.125,
    'attention_probs_dropout_prob': 0.25, 'type_vocab_size': 2,
}  # fmt: skip
CONFIGS = {
    'bert': BASE,
    'roberta': BASE | {'type_vocab_size': 1, 'pad_token_id': 1},
    'xlm-roberta': BASE | {'type_vocab_size': 1, 'pad_token_id': 1},
    'albert': BASE | {'embedding_size': 5, 'classifier_dropout_prob': 0.375},
    'distilbert': {
        'vocab_size': 11, 'max_position_embeddings': 7, 'dim': 12, 'n_layers': 3, 'n_heads': 3, 'hidden_dim': 20,
        'activation': 'relu', 'dropout': 0.125, 'attention_dropout': 0.25, 'qa_dropout': 0.5,
        'seq_classif_dropout': 0.375,
    },
    'electra': BASE | {'embedding_size': 5},
}  # fmt: skip
MODERN = {key: value for key, value in BASE.items() if not key.endswith(('_act', '_prob', 'type_vocab_size'))}


def outputs(pretrained: Pretrained) -> dict[str, np.ndarray]:
    model = build(pretrained.spec)()
    positions = jnp.broadcast_to(jnp.arange(TOKENS.shape[1]), TOKENS.shape)
    context = LayerContext(positions, jnp.asarray(SEGMENTS), types=jnp.asarray(TYPES))
    variables = {'params': jax.tree.map(jnp.asarray, pretrained.params)}
    found = model.apply(variables, jnp.asarray(TOKENS), context, False)
    return {name: np.asarray(array) for name, array in found.items()}


def config_alone(folder, family, **settings):
    """A folder without tensors."""
    (folder / 'config.json').write_text(json.dumps({'model_type': family} | CONFIGS.get(family, MODERN) | settings))
    return folder


def bert_row(w: dict[str, np.ndarray], config: dict, tokens: np.ndarray, types: np.ndarray) -> dict[str, np.ndarray]:
    def norm(x: np.ndarray, name: str) -> np.ndarray:
        spread = np.sqrt(x.var(-1, keepdims=True) + config['layer_norm_eps'])
        return (x - x.mean(-1, keepdims=True)) / spread * w[f'{name}.weight'] + w[f'{name}.bias']

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f'{name}.weight'].T + w[f'{name}.bias']

    def gelu(x: np.ndarray) -> np.ndarray:
        return 0.5 * x * (1 + erf(x / np.sqrt(2)))

    def attend(x: np.ndarray, stem: str) -> np.ndarray:
        N = config['num_attention_heads']
        q, k, v = (np.split(linear(x, f'{stem}.self.{name}'), N, -1) for name in ('query', 'key', 'value'))
        scores = [np.exp(q[n] @ k[n].T / np.sqrt(q[n].shape[-1])) for n in range(N)]
        return np.concatenate([scores[n] / scores[n].sum(-1, keepdims=True) @ v[n] for n in range(N)], -1)

    names = ('word', 'position', 'token_type')
    numbers = (tokens, np.arange(len(tokens)), types)
    tables = zip(names, numbers, strict=True)
    x = norm(sum(w[f'embeddings.{name}_embeddings.weight'][at] for name, at in tables), 'embeddings.LayerNorm')
    for stem in (f'encoder.layer.{layer}' for layer in range(config['num_hidden_layers'])):
        mixed = linear(attend(x, f'{stem}.attention'), f'{stem}.attention.output.dense')
        x = norm(x + mixed, f'{stem}.attention.output.LayerNorm')
        h = linear(gelu(linear(x, f'{stem}.intermediate.dense')), f'{stem}.output.dense')
        x = norm(x + h, f'{stem}.output.LayerNorm')
    hidden = norm(gelu(linear(x, 'cls.predictions.transform.dense')), 'cls.predictions.transform.LayerNorm')
    pooled = np.tanh(linear(x[0], 'pooler.dense'))
    return {
        'masked': hidden @ w['embeddings.word_embeddings.weight'].T + w['cls.predictions.bias'],
        'pooled': linear(pooled, 'cls.seq_relationship'),
    }


@pytest.mark.long
@pytest.mark.parametrize('prefix', ['', 'bert.'])
def test_bert_is_its_equations_with_and_without_the_prefix(bert, prefix):
    found = outputs(load(bert.write(prefix)))
    weights = {name: array.astype(np.float64) for name, array in bert.tensors.items()}
    for row, length in enumerate(SEGMENTS.sum(axis=1)):
        expected = bert_row(weights, bert.config, TOKENS[row, :length], TYPES[row, :length])
        np.testing.assert_allclose(found['masked'][row, :length], expected['masked'], atol=TOLERANCE)
        np.testing.assert_allclose(found['pooled'][row], expected['pooled'], atol=TOLERANCE)


@pytest.mark.long
def test_the_published_bert_has_older_names_a_copy_a_buffer_and_a_head_too_many(bert):
    expected = load(bert.write()).params
    for name in [name for name in bert.tensors if 'LayerNorm' in name]:
        older = name.replace('.weight', '.gamma').replace('.bias', '.beta')
        bert.tensors[older] = bert.tensors.pop(name)
    bert.tensors['cls.predictions.decoder.weight'] = bert.tensors['embeddings.word_embeddings.weight'].copy()
    bert.tensors['cls.predictions.decoder.bias'] = bert.tensors['cls.predictions.bias'].copy()
    bert.tensors['embeddings.position_ids'] = np.arange(7)[None]
    bert.config['architectures'] = ['BertForMaskedLM']
    found = load(bert.write('bert.')).params
    assert expected.keys() - found.keys() == {'pooled_head'}
    jax.tree.map(np.testing.assert_array_equal, found, {name: expected[name] for name in found})


def test_a_classifier_is_made_of_other_tensors_than_the_pretrained_head(bert):
    bert.tensors |= {'classifier.weight': np.ones((3, 12), np.float32), 'classifier.bias': np.ones(3, np.float32)}
    bert.config |= {'architectures': ['BertForSequenceClassification'], 'id2label': {'0': 'a', '1': 'b', '2': 'c'}}
    params = load(bert.write('bert.')).params
    np.testing.assert_array_equal(params['pooled_head']['output'], np.ones((12, 3)))
    np.testing.assert_array_equal(params['pooled_head']['hidden'], bert.tensors['pooler.dense.weight'].T)
    bert.config['architectures'] = ['BertForTokenClassification']
    params = load(bert.write('bert.')).params
    assert params['tokens_head'].keys() == {'output', 'output_bias'}
    assert 'pooled_head' not in params


def test_the_copy_of_what_is_left_behind_is_left_behind(bert):
    bert.tensors['cls.predictions.decoder.bias'] = bert.tensors.pop('cls.predictions.bias')
    bert.config['architectures'] = ['BertForNextSentencePrediction']
    assert 'masked_head' not in load(bert.write('bert.')).params


def test_a_folder_that_names_no_architecture_is_the_bare_model(bert):
    del bert.config['architectures']
    head = load(bert.write()).params['pooled_head']
    np.testing.assert_array_equal(head['hidden'], bert.tensors['pooler.dense.weight'].T)
    assert head.keys() == {'hidden', 'hidden_bias'}


def test_the_positions_of_roberta_begin_behind_those_of_padding(bert):
    bert.config |= {'model_type': 'roberta', 'architectures': ['RobertaModel'], 'pad_token_id': 1}
    bert.tensors = {name: array for name, array in bert.tensors.items() if not name.startswith('cls.')}
    loaded = load(bert.write('roberta.'))
    expected = bert.tensors['embeddings.position_embeddings.weight'][2:]
    np.testing.assert_array_equal(loaded.params['position']['positions'], expected)
    assert (loaded.spec['context_length'], loaded.spec['position']['length']) == (5, 5)


@pytest.mark.long
def test_a_model_of_one_type_of_tokens_gives_it_to_the_second_text_too(bert):
    bert.config['type_vocab_size'] = 1
    bert.tensors['embeddings.token_type_embeddings.weight'] = np.ones((1, 12), np.float32)
    assert np.isfinite(outputs(load(bert.write()))['masked']).all()


@pytest.mark.parametrize(
    ('family', 'architecture', 'heads'),
    [
        ('bert', 'BertModel', {'pooled': None}),
        ('bert', 'BertForMaskedLM', {'masked': None}),
        ('bert', 'BertForPreTraining', {'masked': None, 'pooled': 2}),
        ('bert', 'BertForNextSentencePrediction', {'pooled': 2}),
        ('roberta', 'RobertaModel', {'pooled': None}),
        ('roberta', 'RobertaForMaskedLM', {'masked': None}),
        ('albert', 'AlbertModel', {'pooled': None}),
        ('albert', 'AlbertForPreTraining', {'masked': None, 'pooled': 4}),
        ('distilbert', 'DistilBertModel', {}),
        ('distilbert', 'DistilBertForMaskedLM', {'masked': None}),
        ('electra', 'ElectraModel', {}),
        ('electra', 'ElectraForMaskedLM', {'masked': None}),
        ('electra', 'ElectraForPreTraining', {'tokens': 1}),
        *(
            (family.lower(), f'{family}{suffix}', heads)
            for family in ('Bert', 'Roberta', 'Albert', 'DistilBert', 'Electra')
            for suffix, heads in (
                ('ForSequenceClassification', {'pooled': 4}),
                ('ForTokenClassification', {'tokens': 4}),
                ('ForQuestionAnswering', {'tokens': 2}),
            )
        ),
    ],
)
def test_config_json_alone_gives_the_spec_with_its_heads(tmp_path, family, architecture, heads):
    labels = {str(number): f'label {number}' for number in range(4)}
    spec = spec_of(config_alone(tmp_path, family, architectures=[architecture], id2label=labels))
    assert {name: head.get('classes') for name, head in spec['heads'].items()} == heads
    build(spec, 'model')()


@pytest.mark.parametrize(('settings', 'classes'), [({}, 2), ({'num_labels': 3}, 3), ({'id2label': {'0': 'x'}}, 1)])
def test_the_number_of_classes(tmp_path, settings, classes):
    folder = config_alone(tmp_path, 'bert', architectures=['BertForTokenClassification'], **settings)
    assert spec_of(folder)['heads']['tokens']['classes'] == classes


@pytest.mark.parametrize('family', CONFIGS)
def test_dropout_goes_where_each_family_has_it(tmp_path, family):
    spec = spec_of(config_alone(tmp_path, family))
    mixer, feedforward = spec['block']['mixer'], spec['block']['feedforward']
    assert [part['dropout'] for part in (spec, mixer, feedforward, mixer['kernel'])] == [0.125, 0.125, 0.125, 0.25]


@pytest.mark.parametrize(
    ('family', 'architecture', 'settings', 'rate'),
    [
        ('bert', 'BertForSequenceClassification', {}, 0.125),
        ('bert', 'BertForSequenceClassification', {'classifier_dropout': 0.75}, 0.75),
        ('bert', 'BertForQuestionAnswering', {'classifier_dropout': 0.75}, 0.0),
        ('albert', 'AlbertForTokenClassification', {}, 0.375),
        ('distilbert', 'DistilBertForSequenceClassification', {}, 0.375),
        ('distilbert', 'DistilBertForTokenClassification', {}, 0.125),
        ('distilbert', 'DistilBertForQuestionAnswering', {}, 0.5),
    ],
)
def test_the_dropout_of_a_classifier(tmp_path, family, architecture, settings, rate):
    (head,) = spec_of(config_alone(tmp_path, family, architectures=[architecture], **settings))['heads'].values()
    assert head['dropout'] == rate


def test_albert_goes_through_one_layer_and_electra_widens_what_is_narrow(tmp_path):
    spec = spec_of(config_alone(tmp_path, 'albert'))
    assert (spec['layers'], spec['passes'], spec['embedding_width']) == (1, 3, 5)
    widths = (spec_of(config_alone(tmp_path, 'electra', embedding_size=width))['embedding_width'] for width in (5, 12))
    assert [*widths] == [5, None]


def test_the_norms_of_distilbert_have_one_epsilon_whatever_the_folder_says(tmp_path):
    spec = spec_of(config_alone(tmp_path, 'distilbert', architectures=['DistilBertForMaskedLM'], layer_norm_eps=1e-2))
    norms = spec['embedding_norm'], spec['block']['norm'], spec['heads']['masked']['norm']
    assert {norm['epsilon'] for norm in norms} == {1e-12}


def test_a_size_by_its_second_name(tmp_path):
    assert spec_of(config_alone(tmp_path, 'distilbert', dim=None, hidden_size=24))['width'] == 24


@pytest.mark.parametrize(
    ('family', 'settings', 'words'),
    [
        ('bert', {'architectures': ['BertForMultipleChoice']}, "architecture 'BertForMultipleChoice' cannot be loaded"),
        ('bert', {'architectures': 'BertModel'}, "architectures must be a list, not 'BertModel'"),
        ('bert', {'architectures': [{}]}, "architecture '{}' cannot be loaded; there are BertModel, BertForPre"),
        ('bert', {'hidden_size': None}, 'hidden_size is missing'),
        ('bert', {'is_decoder': True}, 'is_decoder is True, which cannot be represented'),
        ('bert', {'add_cross_attention': True}, 'add_cross_attention is True'),
        (
            'bert',
            {'position_embedding_type': 'relative_key'},
            "position_embedding_type is 'relative_key', which cannot",
        ),
        ('bert', {'hidden_act': 'gelu_10'}, "unknown activation 'gelu_10'"),
        (
            'bert',
            {'architectures': ['BertForMaskedLM'], 'tie_word_embeddings': False},
            'tie_word_embeddings is False, which cannot be represented; only True can',
        ),
        ('roberta', {'pad_token_id': 0}, 'pad_token_id is 0, which cannot be represented; only 1 can'),
        (
            'roberta',
            {'max_position_embeddings': 2},
            'max_position_embeddings must be a whole number, from 3 to 100,000,000, not 2',
        ),
        ('albert', {'num_hidden_groups': 2}, 'num_hidden_groups is 2, which cannot be represented; only 1 can'),
        ('albert', {'inner_group_num': 2}, 'inner_group_num is 2, which cannot be represented; only 1 can'),
        ('distilbert', {'n_layers': 0}, 'n_layers must be a whole number, from 1 to 100,000,000, not 0'),
        ('electra', {'embedding_size': None}, 'embedding_size is missing'),
        (
            'modernbert',
            {'architectures': ['ModernBertForSequenceClassification'], 'classifier_pooling': 'maximum'},
            "classifier_pooling is 'maximum', which cannot be represented; only 'cls', 'mean' can",
        ),
        ('distilbert', {'hidden_size': 24}, 'hidden_size is 24, but dim, which is the same setting, is 12'),
        (
            'bert',
            {'per_layer_config': {'0': {'intermediate_size': 8}}},
            "per_layer_config is {'0': {'intermediate_size",
        ),
    ],
)
def test_settings_that_cannot_be_represented(tmp_path, family, settings, words):
    folder = config_alone(tmp_path, family, **settings)
    with pytest.raises(UserError, match=re.escape(words)) as caught:
        spec_of(folder)
    assert str(caught.value).startswith(f'{tmp_path}: ')
    assert '\n' not in str(caught.value)


def spoilt(folder, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)) as caught:
        load(folder.write(folder.config['model_type'] + '.'))
    assert '\n' not in str(caught.value)


def test_a_missing_tensor_of_a_layer_and_of_a_head(bert):
    kept = bert.tensors.pop('cls.seq_relationship.bias')
    spoilt(bert, "there is no tensor 'cls.seq_relationship.bias'")
    bert.tensors['cls.seq_relationship.bias'] = kept
    del bert.tensors['encoder.layer.1.attention.self.key.weight']
    spoilt(bert, "there is no tensor 'encoder.layer.1.attention.self.key.weight'")


def test_left_over_tensors_are_no_heads(bert):
    bert.tensors |= {'adapter.weight': np.ones(2, np.float32), 'cls.adapter.weight': np.ones(2, np.float32)}
    spoilt(bert, "has no place for tensor 'bert.adapter.weight' and 1 more")


def test_a_wrong_shape(bert):
    bert.config['max_position_embeddings'] = 8
    spoilt(bert, "position_embeddings.weight' has shape (7, 12), but config.json implies (8, 12)")


def test_the_shape_of_what_has_rows_before_ours(bert):
    bert.config |= {'model_type': 'roberta', 'architectures': ['RobertaModel'], 'max_position_embeddings': 8}
    spoilt(bert, "position_embeddings.weight' has shape (7, 12), but config.json implies (8, 12)")


def test_an_older_name_beside_the_name_of_today(bert):
    bert.tensors['embeddings.LayerNorm.gamma'] = np.ones(12, np.float32)
    spoilt(bert, 'have the same place')


def test_a_tied_bias_that_differs(bert):
    bert.tensors['cls.predictions.decoder.bias'] = bert.tensors['cls.predictions.bias'] + 1
    spoilt(bert, "tensor 'cls.predictions.decoder.bias' differs from 'cls.predictions.bias'")


@pytest.mark.parametrize(('settings', 'ids'), [({}, [5, 6]), ({'do_lower_case': False}, [2, 6])])
def test_a_vocabulary_is_a_tokenizer(bert, settings, ids):
    folder = bert.write('bert.')
    (folder / 'vocab.txt').write_text('\n'.join(['[PAD]', '[CLS]', '[UNK]', '[SEP]', '[MASK]', 'the', 'cat']))
    (folder / 'tokenizer_config.json').write_text(json.dumps(settings))
    assert load(folder).tokenizer == folder / 'vocab.txt'
    assert open_trained(init_from=str(folder)).processor.encode('The cat') == ids
    (folder / 'tokenizer.json').write_text('{}')
    assert load(folder).tokenizer == folder / 'tokenizer.json'


@pytest.mark.parametrize('text', ['{', '[]'])
def test_a_vocabulary_beside_a_damaged_configuration(bert, text):
    folder = bert.write('bert.')
    (folder / 'vocab.txt').write_text('[UNK]')
    (folder / 'tokenizer_config.json').write_text(text)
    with pytest.raises(UserError, match=r'tokenizer_config\.json is not the configuration of a tokenizer: [^\n]*$'):
        open_trained(init_from=str(folder))


def test_a_folder_without_a_tokenizer(bert):
    with pytest.raises(UserError, match=r'there is no tokenizer\.json, no vocab\.txt'):
        open_trained(init_from=str(bert.write()))
