# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Launchers that use a trained model report faults of what they are given before they read the model."""

import json

import pytest

from saccade.train.config import load_config

CLASSIFY, TRANSLATE, CLIP = 'finetune/classify', 'translation/multi30k', 'pairs/captions'
FIRST = {
    'no such file to predict for': (CLASSIFY, 'predict', ['--file=none.csv'], 'none.csv'),
    'no column to predict from': (CLASSIFY, 'predict', ['--file=wrong.csv'], "wrong.csv: has no column 'sentence'"),
    'other inputs than the data have': (CLASSIFY, 'predict', ['--question=who?'], 'this model reads --text'),
    'no such image': (CLIP, 'zero_shot', ['--image=none.png', '--classes=a,b'], 'none.png: there is no such file'),
    'no such folder of images': (CLIP, 'zero_shot', ['--folder=none'], 'none'),
    'no such data of the run': (CLIP, 'zero_shot', ['--split=validation'], 'gone'),
    'no such file to translate': (TRANSLATE, 'translate', ['--file=none.en'], 'none.en: cannot be read'),
    'no such data to decompose': (TRANSLATE, 'decompose', [], 'gone'),
    'no such corpus': (CLASSIFY, 'search', ['--corpus=none.txt', '--query=a'], 'none.txt: cannot be read'),
    'no such queries': (CLASSIFY, 'search', ['--corpus=wrong.csv', '--file=none.txt'], 'none.txt: cannot be read'),
}


@pytest.mark.long
@pytest.mark.parametrize('fault', FIRST)
def test_a_launcher_reports_what_it_is_given_before_it_reads_the_model(fault, runner, tmp_path):
    experiment, launcher, flags, message = FIRST[fault]
    (tmp_path / 'run/checkpoints').mkdir(parents=True)  # and none in it, as would be said if one were read
    config = load_config(experiment, ['--config.data.path=gone'])
    (tmp_path / 'run/config.json').write_text(json.dumps(config))
    (runner.folder / 'wrong.csv').write_text('text,label\na,0\n')
    done = runner.run(launcher, f'--workdir={tmp_path / "run"}', *flags)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert 'checkpoint' not in done.stderr
