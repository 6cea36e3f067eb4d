# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What attention goes by, once it is learned: the time where that tells, the words where only these do."""

from pathlib import Path

import numpy as np
import pytest

from saccade.inside.decomposing import Decomposition
from saccade.inside.decomposition import PARTS
from saccade.train.config import load_config
from saccade.train.loop import Options, train

FOLDER = Path(__file__).parents[2] / 'experiments/translation'
PERMUTED = "data.generator={'use': 'data.synthetic.one_to_one:Permuted', 'symbols': 20, 'shortest': 10, 'longest': 10}"
LEARNED = 0.95  # of the targets
MOST = 0.5  # of the scores: more than all other terms together


def learned(workdir, name, *overrides):
    sizes = (
        'eval_every=0',
        'checkpoint_every=0',
        'log_every=50',
        'data.validation=200',
        'data.train=16000',
    )
    config = load_config(str(FOLDER / f'{name}.py'), [f'--config.{each}' for each in (*sizes, *overrides)])
    final = train(config, str(workdir), Options(quiet=True))
    assert final['accuracy'] > LEARNED
    (record,) = Decomposition.of(str(workdir), 200).records
    return record


def test_a_share_that_rounds_to_zero_has_no_sign():
    found = Decomposition('a', [], {'segments': np.ones((2, 3))})
    sides = {side: dict.fromkeys(PARTS, -1e-9) for side in ('encoder', 'decoder')}
    vars(found)['records'] = [{'head': 'head 1', **sides, 'error': 0.0}]
    (table,) = found.report().tables
    assert table.rows == [('head 1', *6 * ['0.0%'])]


@pytest.mark.long
@pytest.mark.parametrize('name', ['one_to_one', 'attention_only'], ids=['recurrent', 'attention alone'])
def test_where_words_keep_their_places_attention_goes_by_the_time(name, tmp_path):
    record = learned(tmp_path, name)
    assert record['terms']['temporal x temporal'] > MOST
    assert record['alone']['temporal x temporal'] > LEARNED


@pytest.mark.long
@pytest.mark.parametrize('name', ['one_to_one', 'attention_only'], ids=['recurrent', 'attention alone'])
def test_where_words_tell_the_next_attention_goes_by_the_words(name, tmp_path):
    record = learned(tmp_path, name, PERMUTED)
    assert record['terms']['input x input'] > MOST
    assert record['alone']['input x input'] > record['alone']['temporal x temporal'] + 0.3
