# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of metrics: what a run collects and writes, and the metric by which its checkpoints are ranked."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

from saccade.task.causal_lm import CausalLM
from saccade.train.config import load_config
from saccade.train.declared import declared, ranking
from saccade.train.experiment import Experiment
from saccade.train.log.declarations import Declarations, read_declarations
from saccade.train.setup import require_ranking
from saccade.types import Metric, Part, UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'


def experiment(path, *overrides):
    return Experiment.of(load_config(str(EXPERIMENTS / path), [f'--config.{each}' for each in overrides]))


@dataclass(frozen=True)
class Witty(CausalLM):
    """A task of one's own, with a metric of its own and one that it does not declare."""

    reports: ClassVar[tuple[Metric, ...]] = (*CausalLM.reports, Metric('wit', 'highest', 0.0, 10.0))

    def totals(self, forward, batch):
        found = super().totals(forward, batch)
        return found | {'wit': found['accuracy'], 'charm': found['accuracy']}


@dataclass(frozen=True)
class Plain:
    """A task from outside that declares nothing."""

    def init(self, model, key, batch):
        return CausalLM().init(model, key, batch)

    def inputs(self, model, key, batch):
        return CausalLM().inputs(model, key, batch)

    def loss(self, model, params, batch, key, train):
        return CausalLM().loss(model, params, batch, key, train)


def test_what_training_the_task_the_data_and_the_parts_declare_is_collected():
    found = declared(experiment('causal_lm/mixtral_tiny.py'))
    assert found.best_by == 'loss'
    assert found.metrics['loss'] == Metric('loss', 'lowest', 0.0, unit='nats')
    # Logged where parts add losses to the task's own.
    assert found.metrics['cross_entropy'] == Metric('cross_entropy', 'lowest', 0.0, unit='nats')
    assert found.metrics['accuracy'] == Metric('accuracy', 'highest', 0.0, 1.0)
    assert found.metrics['overflow'].best == 'lowest'
    assert found.metrics['bits_per_byte'].unit == 'bits'
    assert found.metrics['tokens_per_second'].best == 'highest'
    assert found.metrics['gradient_norm'].best is None
    assert 'overflow' not in declared(experiment('causal_lm/quickstart.py')).metrics


def test_declarations_read_back_as_they_were_written(tmp_path):
    written = declared(experiment('pairs/clip.py'))
    written.write(tmp_path / 'declared_metrics.json')
    assert read_declarations(tmp_path / 'declared_metrics.json') == written
    assert read_declarations(tmp_path / 'none.json') == Declarations()


@pytest.mark.parametrize(
    ('path', 'name'),
    [
        ('pairs/clip.py', 'image_to_text_mrr'),
        ('pairs/siglip.py', 'image_to_text_mrr'),
        ('pairs/sentence_bert.py', 'mrr'),
    ],
)
def test_dual_encoders_are_ranked_by_retrieval_over_the_whole_split(path, name):
    run = experiment(path)
    assert ranking(run) == Metric(name, 'highest', 0.0, 1.0, among='split')
    assert declared(run).metrics['loss'].among == 'batch'
    require_ranking(run)
    with pytest.raises(UserError) as refused:
        ranking(experiment(path, 'eval_batches=2'))
    assert str(refused.value) == (
        f"config.keep_best_by: '{name}' depends on all rows of the split, but config.eval_batches evaluates only a "
        'part during training: set eval_batches=0, or keep_best_by=loss'
    )
    assert ranking(experiment(path, 'eval_batches=2', 'keep_best_by=loss')).name == 'loss'
    assert ranking(experiment(path, 'eval_batches=2', 'keep_best=0')).name == name


@pytest.mark.long
def test_checkpoints_are_ranked_by_the_metric_that_is_named():
    assert ranking(experiment('causal_lm/quickstart.py')).name == 'loss'
    named = experiment('causal_lm/quickstart.py', 'keep_best_by=accuracy')
    assert ranking(named).best == 'highest'
    require_ranking(named)
    require_ranking(experiment('causal_lm/quickstart.py', 'keep_best_by=bits_per_byte'))


def test_a_metric_of_ones_own_ranks_where_it_is_declared():
    task = f"task={{'use': '{__name__}:Witty'}}"
    named = experiment('causal_lm/quickstart.py', task, 'keep_best_by=wit')
    assert ranking(named) == Metric('wit', 'highest', 0.0, 10.0)
    require_ranking(named)
    with pytest.raises(UserError, match="'charm': no part of the config declares this metric"):
        ranking(experiment('causal_lm/quickstart.py', task, 'keep_best_by=charm'))


def test_a_task_that_declares_nothing_is_ranked_by_the_loss_that_training_minimises():
    run = experiment('causal_lm/quickstart.py', f"task={{'use': '{__name__}:Plain'}}")
    assert ranking(run) == Metric('loss', 'lowest')
    require_ranking(run)


def test_a_task_that_evaluates_predictions_makes_them():
    class Half(CausalLM):
        def evaluate(self, predictions, split):
            return {}

    changed = replace(experiment('causal_lm/quickstart.py'), task=Part(Half))
    with pytest.raises(UserError, match='Half has evaluate, which needs predict as well'):
        declared(changed)
