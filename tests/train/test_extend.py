# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""More steps for a run: by --extend, and not by a jump of the learning rate."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.extend import extended, extends, is_under_way, require_same_rates
from saccade.train.extension_schedule import rates_of
from saccade.train.schedule import Constant
from saccade.train.setup import learning_rate
from saccade.train.workdir import Workdir
from saccade.types import Part, UserError

QUICKSTART = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')


@pytest.fixture(scope='module')
def config():
    return load_config(QUICKSTART, ['--config.steps=40'])


def rates(config):
    experiment = Experiment.of(config)
    return rates_of(learning_rate(experiment), experiment.steps)


@pytest.mark.long
@pytest.mark.parametrize('way', ['constant', 'rewarmed'])
def test_an_extended_run_keeps_the_rates_of_the_steps_it_had(config, way):
    longer = extended(config, [f'{way}:20'])
    assert longer['steps'] == 60
    assert len(longer['extended']) == 1
    np.testing.assert_array_equal(rates(longer)[:40], rates(config))
    assert config.keys() == longer.keys() - {'extended'}


@pytest.mark.long
def test_a_run_is_extended_again_and_again(config):
    once = extended(config, ['rewarmed:20'])
    twice = extended(config, ['rewarmed:20', 'constant:10'])
    assert [each['after'] for each in twice['extended']] == [40, 60]
    assert extended(once, ['constant:10']) == twice
    np.testing.assert_array_equal(rates(twice)[:60], rates(once))


@pytest.mark.long
def test_only_the_run_that_is_there_is_extended(config):
    once, twice = extended(config, ['rewarmed:20']), extended(config, ['rewarmed:20', 'constant:10'])
    assert all(
        extends(there, asked) for there, asked in ((config, config), (config, once), (once, twice), (once, once))
    )
    assert not extends(once, config)  # it has had more steps already
    assert not extends(once, extended(config, ['constant:20']))
    assert not extends({**config, 'steps': 30}, once)


def test_an_extension_of_a_run_by_its_folder_is_under_way_until_it_is_evaluated(config, tmp_path):
    asked = ['rewarmed:20', 'constant:10']
    longer, workdir = extended(config, asked), Workdir(tmp_path)
    assert all(is_under_way(workdir, longer, last) for last in (asked, asked[1:]))
    assert not any(is_under_way(workdir, longer, other) for other in (['rewarmed:20'], ['constant:20'], asked[::-1]))
    assert not is_under_way(workdir, config, ['rewarmed:20'])
    workdir.metrics.write_text('{"step": 70, "split": "train"}\n')
    assert is_under_way(workdir, longer, asked)
    workdir.metrics.write_text('{"step": 70, "split": "validation"}\n')
    assert not is_under_way(workdir, longer, asked)


def test_rates_are_written_in_the_digits_of_float32_and_compared_in_them(config):
    config = {**config, 'schedule': {'use': 'train.schedule:Constant', 'peak': 0.001, 'warmup': 3}}
    once = extended(config, ['rewarmed:20'])
    (spec,) = once['extended']
    assert (spec['peak'], spec['floor']) == (0.001, 0.001)
    written = {**spec, 'peak': float(np.float32(0.001)), 'floor': float(np.float32(0.001))}
    assert extends({**once, 'extended': [written]}, once)
    assert not extends({**once, 'extended': [{**spec, 'peak': 0.0011}]}, once)


@pytest.mark.parametrize(
    'ask', ['constant', 'constant:', 'constant:0', 'constant:-3', 'constant:1.5', 'cosine:20', ':20']
)
def test_a_wrong_extension_is_refused_in_one_line(config, ask):
    with pytest.raises(
        UserError, match=f'^--extend={ask}: write constant:STEPS or rewarmed:STEPS, as in rewarmed:500$'
    ):
        extended(config, [ask])


def test_steps_alone_may_not_change_rates_that_were_used(config):
    experiment = Experiment.of(config)
    longer = replace(experiment, steps=80)
    with pytest.raises(UserError, match=r'80 instead of 40: .* keep --config.steps=40 and add --extend=rewarmed:40'):
        require_same_rates(longer, 40, done=40)
    require_same_rates(longer, 40, done=0)  # nothing was trained yet
    constant = replace(longer, schedule=Part(Constant, (('peak', 1e-3), ('warmup', 3))))
    require_same_rates(constant, 40, done=40)
    with pytest.raises(UserError, match='which is not a number of steps'):
        require_same_rates(longer, 'many', done=3)
