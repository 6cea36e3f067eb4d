# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs opened in Python by `saccade.load`: they do what the launchers do."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from saccade.experiments.masked_lm import distil
from watched import assert_same, losses

import saccade
from saccade.train.config import load_config, resolved
from saccade.types import UserError

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.long


def test_it_generates_what_the_launcher_does(runner, finished):
    model = saccade.load(str(finished))
    said = runner.run('generate', f'--workdir={finished}', '--prompt=the model', '--max_tokens=6', '--seed=3', '--json')
    assert (
        model.generate('the model', max_tokens=6, seed=3) == 'the model' + json.loads(said.stdout)['samples'][0]['text']
    )
    assert model.tokenizer.decode(model.tokenizer.encode('the model')) == 'the model'
    assert model.config['model']['width'] == model.model.width == 32
    with pytest.raises(UserError, match=r'tags or answer; it is for launch/generate\.py$'):
        model.predict('the model')


def test_it_applies_the_model_to_its_inputs(finished):
    model = saccade.load(str(finished))
    ids = [model.tokenizer.encode('the model reads')]
    expected = model.model.apply({'params': model.params}, np.array(ids))
    assert expected.shape == (1, len(ids[0]), 300)
    np.testing.assert_array_equal(model(ids), expected)
    np.testing.assert_array_equal(model(tokens=ids), expected)
    np.testing.assert_allclose(jax.jit(model)(ids), expected, atol=1e-5)


def test_a_config_is_trained_as_by_the_launcher_and_resumes(finished, tmp_path):
    file = finished / 'config.json'
    final = saccade.train(str(file), str(tmp_path / 'file'))
    assert_same(losses(tmp_path / 'file'), losses(finished))
    config = json.loads(file.read_text())
    assert saccade.train(config | {'steps': 10, 'eval_every': 0}, str(tmp_path / 'tree'))['step'] == 10
    again = saccade.train(config, str(tmp_path / 'file'))  # which is finished
    assert (again['step'], again['loss']) == (20, final['loss'])


def test_a_config_in_python_inherits_a_model_and_is_left_as_it_was(encoder):
    config = distil.get_config()
    config.init_from = str(encoder)
    before = config.to_dict()
    assert resolved(config) == load_config(
        str(ROOT / 'experiments/masked_lm/distil.py'), [f'--config.init_from={encoder}']
    )
    assert config.to_dict() == before


def test_it_embeds_a_text(encoder):
    model = saccade.load(str(encoder))
    found = model.embed('the model reads')
    assert found.vectors.shape == (len(found.tokens), 16)
    assert not np.array_equal(found.vectors, model.embed('the model reads', layer=0).vectors)
    with pytest.raises(UserError, match='is not a LanguageModel'):
        model.generate('the')


def test_it_gives_one_vector_of_norm_1_for_each_text(encoder):
    model = saccade.load(str(encoder))
    texts = ['the model reads', 'a cat', 'the model reads']
    vectors = model.encode(texts)
    assert vectors.shape == (3, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1, rtol=1e-5)
    np.testing.assert_allclose(vectors[0], vectors[2], rtol=1e-5)
    tokens = model.embed('a cat').vectors
    mean = np.mean(tokens, axis=0)
    np.testing.assert_allclose(vectors[1], mean / np.linalg.norm(mean), atol=1e-5)
    with pytest.raises(UserError, match=r'does not compare images with texts|no images'):
        model.encode_images(['a.png'])
    with pytest.raises(UserError, match='texts: must be several'):
        model.encode('a cat')


LISTS = """
from saccade.loaded import Loaded
from saccade.types import UserError

loaded = Loaded('runs/a', 'latest', None)
for name in ('generate', 'translate', 'fill', 'embed', 'predict', 'token', 'attention', 'run_with_cache'):
    try:
        getattr(loaded, name)(['a text'])
    except UserError as error:
        print(name, str(error).partition(': ')[2])
"""


def test_a_list_in_place_of_a_text_is_refused_in_one_line():
    done = subprocess.run([sys.executable, '-c', LISTS], capture_output=True, text=True)  # no types are checked there
    lines = done.stdout.splitlines()
    assert len(lines) == 8, done.stderr
    assert {line.partition(' ')[2] for line in lines} == {
        'must be one str, not list; for several texts, call it for each'
    }


def test_it_predicts_of_a_text(runner, tmp_path):
    config, run = ROOT / 'experiments/finetune/sort.py', tmp_path / 'run'
    small = ('--config.data.train=50', '--config.data.validation=20', '--config.model.width=16', '--config.steps=2')
    done = runner.run('train', f'--config={config}', f'--workdir={run}', '--config.model.layers=1', *small)
    assert done.returncode == 0, done.stderr
    text = '3 1 4 1 5 9 2 6 5 35'
    said = runner.run('predict', f'--workdir={run}', f'--text={text}', '--json')
    output = saccade.load(str(run)).predict(text)
    assert json.loads(said.stdout).items() >= json.loads(json.dumps(output.record())).items()
    with pytest.raises(UserError, match='this model reads --text'):
        saccade.load(str(run)).predict(text, pair='2')


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UserError, match='there is no such folder'):
        saccade.load(str(tmp_path / 'none'))
