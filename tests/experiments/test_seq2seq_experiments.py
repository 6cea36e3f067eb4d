# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment that reads one text to write another builds, and what it trains on and with agree."""

from pathlib import Path

import jax
import pytest

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept, param_shapes

ROOT = Path(__file__).parents[2] / 'experiments/translation'
OURS = (
    'attention_only', 'copying', 'dates', 'dates_recurrent', 'generated', 'multi30k', 'multi30k_recurrent',
    'names', 'one_to_one', 'pointer', 'summarize', 'wmt17',
)  # fmt: skip
RECALL = "{'use': 'data.synthetic.sequences:Recall', 'keys': 16, 'values': 16, 'pairs': 6, 'asked': 2}"
ADDITION = "{'use': 'data.synthetic.sequences:Addition', 'digits': 3}"


def experiment(name, *overrides):
    return Experiment.of(load_config(str(ROOT / f'{name}.py'), [f'--config.{each}' for each in overrides]))


@pytest.mark.parametrize('name', OURS)
def test_it_builds_and_data_and_model_agree(name):
    made = experiment(name)
    model, data = made.model(), made.data()
    assert (model.context_length, model.source_context_length) == (data.context_length, data.source_context_length)
    made.optimizer()(made.schedule()(made.steps), *kept(made))


@pytest.mark.parametrize('name', OURS)
def test_another_length_is_that_of_model_and_data(name):
    made = experiment(name, 'data.source_context_length=77', 'data.context_length=33')
    assert (made.model().context_length, made.model().source_context_length) == (33, 77)


def test_the_one_of_multi30k_has_the_published_layers_and_fewer_parameters_in_all():
    body = sum(leaf.size for name, leaf in leaves('multi30k').items() if 'embedding' not in name)
    assert body == pytest.approx(2_598_912 - 10_000 * 128, rel=0.01)  # with the published vocabulary
    assert sum(leaf.size for leaf in leaves('multi30k').values()) < 2.6e6


def leaves(name):
    found = jax.tree_util.tree_leaves_with_path(param_shapes(experiment(name)))
    return {jax.tree_util.keystr(path): leaf for path, leaf in found}


@pytest.mark.parametrize('generator', [RECALL, ADDITION])
def test_generated_tasks_are_swapped_as_its_docstring_says(generator, tmp_path):
    made = experiment(
        'generated', f'data.generator={generator}', 'data.train=30', 'data.validation=5',
        "data.tokenizer={'use': 'data.tokenizer.character:Character'}",
        'data.source_context_length=80',
    )  # fmt: skip
    prepared = made.data().prepare(tmp_path)
    assert len(prepared.splits['train'].rows) == 30
    assert prepared.processor.size <= made.model().vocabulary
