# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Of models that were trained together, one may be used alone; what a task adds to the parameters is kept too."""

import json
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.data.tokenizer.byte import Byte
from saccade.task.causal_lm import CausalLM
from saccade.train.checkpoint import Checkpoints
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept, param_shapes
from saccade.train.setup import make_learner
from saccade.train.trained import Trained, averaged, open_run, open_trained
from saccade.types import LayerContext, Part, UserError

ELECTRA = str(Path(__file__).parents[2] / 'experiments/masked_lm/electra_small.py')


@pytest.fixture(scope='module')
def electra():
    config = load_config(ELECTRA, ["--config.data.tokenizer={'use': 'data.tokenizer.byte:Byte'}"])
    experiment = Experiment.of(config)
    return Trained(experiment.model(), param_shapes(experiment), Byte().train([]), config, 7)


@pytest.mark.parametrize('name', ['generator', 'discriminator'])
def test_one_of_two_has_all_the_parameters_that_it_needs(electra, name):
    one = electra.only(name)
    tokens = jnp.zeros((1, 4), jnp.int32)
    alone = jax.eval_shape(lambda: one.model.init(jax.random.key(0), tokens, LayerContext(tokens), False))['params']
    assert jax.tree.map(lambda leaf: leaf.shape, one.params) == jax.tree.map(lambda leaf: leaf.shape, alone)
    assert (one.config['model'], one.step) == (electra.config['model'][name], 7)


def test_which_of_two_must_be_said_and_of_one_need_not(electra):
    for part in ('', 'teacher'):
        with pytest.raises(UserError, match=f"--part='{part}': the known parts are generator, discriminator"):
            electra.only(part)
    one = electra.only('generator')
    assert one.only('') is one
    with pytest.raises(UserError, match="--part='generator': the known parts are none"):
        one.only('generator')


def test_the_average_is_the_mean_of_the_last_checkpoints(tmp_path):
    values = {step: np.float32([step, step**2]) for step in (2, 4, 8)}
    like = {'w': jax.ShapeDtypeStruct((2,), np.float32)}
    with Checkpoints(tmp_path, keep_last=3) as checkpoints:
        with pytest.raises(UserError, match='no usable checkpoint'):
            averaged(checkpoints, like, 2)
        for step, value in values.items():
            checkpoints.save(step, {'params': {'w': value}, 'ema': {'w': 100 * value}})
        checkpoints.wait()
        for count, used in ((2, (4, 8)), (3, (2, 4, 8)), (20, (2, 4, 8))):
            found = averaged(checkpoints, like, count)
            assert found.step == 8
            np.testing.assert_allclose(found.state['w'], np.mean([values[step] for step in used], axis=0), rtol=1e-6)


class Adds(CausalLM):
    def init(self, model, key, batch):
        return {**super().init(model, key, batch), 'sharpness': jnp.ones((3,))}


class Moves(CausalLM):
    def init(self, model, key, batch):
        return {'model': super().init(model, key, batch)}


class Forgets(CausalLM):
    def init(self, model, key, batch):
        return {'sharpness': jnp.ones((3,))}


def quickstart(task: type) -> Experiment:
    return replace(Experiment.of(load_config('causal_lm/quickstart')), task=Part(task))


@pytest.mark.long
def test_weights_of_a_task_are_among_the_parameters_of_the_run():
    plain, found = (kept(quickstart(task)) for task in (CausalLM, Adds))
    assert found[0] == {**plain[0], 'sharpness': jax.ShapeDtypeStruct((3,), jnp.float32)}
    assert found[1] == plain[1]  # the axes are the model's
    assert param_shapes(quickstart(Adds)) == found[0]
    learner = make_learner(quickstart(Adds))
    batch = quickstart(Adds).data().batch_like(2)
    state = jax.eval_shape(learner.init, jax.random.key_data(jax.random.key(0)), batch)
    assert jax.tree.map(lambda leaf: leaf.shape, state.params) == jax.tree.map(lambda leaf: leaf.shape, found[0])


@pytest.mark.parametrize('task', [Moves, Forgets])
def test_a_task_that_does_not_keep_the_models_parameters_is_refused(task):
    with pytest.raises(UserError, match=rf"^config\.task: .*{task.__name__}\.init must keep .* and has no 'embedding'"):
        kept(quickstart(task))


def test_a_hugging_face_directory_has_no_checkpoints_to_choose_from(tmp_path):
    (tmp_path / 'config.json').write_text('{"model_type": "gpt2"}')
    for which in ('best', 'average'):
        words = f'^--checkpoint={which} has no effect: {tmp_path} is a Hugging Face directory, with one model$'
        with pytest.raises(UserError, match=words):
            open_trained(init_from=str(tmp_path), which=which)


@pytest.mark.parametrize(
    ('data', 'words'),
    [
        (
            {'use': 'data.text:TextData', 'context': 8},
            r"config\.json: data\.use: 'data\.text:TextData' is no part of Saccade",
        ),
        ({'use': 'data.text.stream:TextData', 'context': 8}, r"data\.context: .* has no field 'context'; did you mean"),
    ],
)
def test_a_run_with_the_names_of_a_development_version_is_refused_in_one_line(tmp_path, data, words):
    config = load_config(ELECTRA)
    (tmp_path / 'config.json').write_text(json.dumps({**config, 'data': data}, default=list))
    with pytest.raises(UserError, match=words) as refused:
        open_run(str(tmp_path))
    assert '\n' not in str(refused.value)
