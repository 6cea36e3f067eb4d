# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors from the command line, of an encoder and of a decoder."""

import json

import numpy as np
import pytest

ONE, OTHER = 'the model reads a token', 'another token after every word of this small text'
NEAR = 1e-5


def cosine(a, b):
    return np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))


@pytest.mark.long
def test_an_encoder_gives_a_word_another_vector_in_each_context(runner, encoder, tmp_path):
    out = tmp_path / 'vectors.npy'
    texts = f'--text={ONE}', f'--text={OTHER}'
    done = runner.run(
        'embed',
        f'--workdir={encoder}',
        *texts,
        '--word=token',
        '--layer=-2',
        '--json',
        f'--out={out}',
        '--nearest=token',
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [text['tokens'] for text in found['texts']] == [['[CLS]', *text.split(), '[SEP]'] for text in (ONE, OTHER)]
    first, second = (each['vector'] for each in found['occurrences'])
    assert first == found['texts'][0]['vectors'][5]
    assert second == found['texts'][1]['vectors'][2]
    assert np.allclose(found['cosines'], [[1, cosine(first, second)], [cosine(first, second), 1]], atol=NEAR)
    assert cosine(first, second) < 0.999
    np.testing.assert_allclose(np.load(out), [first, second], rtol=NEAR)
    assert [path.name for path in tmp_path.iterdir()] == ['vectors.npy']
    assert len(found['nearest']) == 10
    np.testing.assert_allclose(found['texts'][0]['pooled'], np.mean(found['texts'][0]['vectors'], axis=0), atol=NEAR)


@pytest.mark.long
def test_a_directory_is_pooled_as_it_says_unless_flags_say_otherwise(runner, finished, tmp_path):
    folder = tmp_path / 'exported'
    assert runner.run('export', f'--workdir={finished}', f'--out={folder}').returncode == 0

    def vector(*flags):
        done = runner.run('embed', f'--init_from={folder}', f'--text={ONE}', '--json', *flags)
        assert done.returncode == 0, done.stderr
        (text,) = json.loads(done.stdout)['texts']
        return np.array(text['pooled']), np.array(text['vectors'])

    mean, tokens = vector()
    np.testing.assert_allclose(mean, tokens.mean(axis=0), atol=NEAR)
    modules = [{'type': f'sentence_transformers.models.{kind}'} for kind in ('Transformer', 'Pooling')]
    (folder / 'modules.json').write_text(json.dumps(modules))
    (folder / '1_Pooling').mkdir()
    (folder / '1_Pooling/config.json').write_text('{"pooling_mode": "cls"}')
    np.testing.assert_allclose(vector()[0], tokens[0], atol=NEAR)
    np.testing.assert_allclose(vector('--pool=mean')[0], mean, atol=NEAR)


@pytest.mark.long
def test_people_see_the_cosines_of_texts_longer_than_the_context_of_a_decoder(runner, finished):
    texts = f'--text={" ".join(5 * [OTHER])}', f'--text={ONE}', '--pool=maximum', '--overlap=4'
    done = runner.run('embed', f'--workdir={finished}', *texts)
    assert done.returncode == 0, done.stderr
    title, *drawn = done.stdout.splitlines()
    assert title == 'Cosines of the texts'
    (row,) = [line for line in drawn if ONE in line]
    assert row.split()[-2] == '1.000'
    coarse = runner.run('embed', f'--workdir={finished}', *texts, '--dtype=bfloat16')
    assert coarse.stdout.splitlines()[0] == title, coarse.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ((f'--text={ONE}', '--layer=9'), 'there is no layer 9: the model has 2 (1 to 2)'),
        ((f'--text={ONE}', '--word=dog'), "there is no word 'dog' in the text 'the model"),
        (('--word=token',), 'give --text'),
    ],
)
def test_what_is_not_there_is_one_line(runner, encoder, arguments, words):
    done = runner.run('embed', f'--workdir={encoder}', *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count('\n') == 1
