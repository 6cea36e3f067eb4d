# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs opened in Python by `saccade.load`: they do what the launchers do."""

import json
from pathlib import Path

import numpy as np
import pytest

import saccade
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


def test_it_embeds_a_text(encoder):
    model = saccade.load(str(encoder))
    found = model.embed('the model reads')
    assert found.vectors.shape == (len(found.tokens), 16)
    assert not np.array_equal(found.vectors, model.embed('the model reads', layer=0).vectors)
    with pytest.raises(UserError, match='is not a LanguageModel'):
        model.generate('the')


def test_it_predicts_of_a_text(runner, tmp_path):
    config, run = ROOT / 'experiments/finetune/sort.py', tmp_path / 'run'
    small = ('--config.data.train=50', '--config.data.validation=20', '--config.model.width=16', '--config.steps=2')
    done = runner.run('train', f'--config={config}', f'--workdir={run}', '--config.model.layers=1', *small)
    assert done.returncode == 0, done.stderr
    text = '3 1 4 1 5 9 2 6 5 35'
    said = runner.run('predict', f'--workdir={run}', f'--text={text}', '--json')
    output = saccade.load(str(run)).predict(text)
    assert json.loads(said.stdout).items() >= json.loads(json.dumps(output.record())).items()
    with pytest.raises(UserError, match='this run reads --text'):
        saccade.load(str(run)).predict(text, pair='2')


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UserError, match='there is no such folder'):
        saccade.load(str(tmp_path / 'none'))
