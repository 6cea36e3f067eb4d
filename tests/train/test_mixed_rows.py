# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parts that compute something over the rows that come together, and what is said of them at the start of a run."""

from pathlib import Path

import pytest

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.plan import row_lines

ROOT = Path(__file__).parents[2] / 'experiments'
BATCH_NORM = "{'use': 'norm.batch:BatchNorm'}"
STATISTICS = 'the statistics of its gradient come from'


def lines(file, accumulate=1, devices=1, *overrides):
    experiment = Experiment.of(load_config(str(ROOT / file), [f'--config.{override}' for override in overrides]))
    return row_lines({'config.model': experiment.model, 'config.task': experiment.task}, 16, accumulate, devices)


@pytest.mark.parametrize(
    ('accumulate', 'devices', 'rows', 'cause'),
    [
        (2, 1, 8, 'accumulate=2'),
        (1, 8, 2, "backend='pmap'"),
        (2, 4, 2, "accumulate=2, backend='pmap'"),
    ],
)
def test_a_norm_by_statistics_is_named_with_its_place_and_its_rows(accumulate, devices, rows, cause):
    (line,) = lines('causal_lm/quickstart.py', accumulate, devices, f'model.block.norm={BATCH_NORM}')
    assert line.startswith('rows        BatchNorm (config.model.block.norm): ')
    assert line.endswith(f'{STATISTICS} {rows} rows, not from the whole batch of 16 ({cause})')


def test_a_part_of_several_places_is_one_line():
    norms = f'model.block.norms={{"mixer": {BATCH_NORM}}}', f'model.norm={BATCH_NORM}'
    (line,) = lines('causal_lm/quickstart.py', 2, 1, *norms)
    assert '(config.model.block.norms.mixer, config.model.norm)' in line


def test_nothing_is_said_where_a_step_sees_the_whole_batch_or_no_part_mixes_rows():
    assert lines('causal_lm/mixtral_tiny.py') == lines('causal_lm/quickstart.py', 2, 8) == []
    assert len(lines('causal_lm/mixtral_tiny.py', 2)) == 1


def test_a_contrastive_task_gathers_the_rows_of_devices_but_not_those_of_microbatches():
    assert lines('pairs/sentence_bert.py', 1, 8) == []
    (line,) = lines('pairs/sentence_bert.py', 2, 8)
    assert 'MultipleNegatives (config.task): the texts to choose among come from 8 rows' in line
