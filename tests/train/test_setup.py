# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The cost of an experiment is that of the step that a run would compile, and is counted without one."""

import itertools
import pwd
from pathlib import Path

import jax
import numpy as np
import pytest

from saccade.data.pipeline import train_batches
from saccade.ops.flops import flops, model_flops
from saccade.train.backend import OnMesh
from saccade.train.config import load_config
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.mesh import make_mesh
from saccade.train.plan import RunPlan
from saccade.train.setup import (
    ExperimentCost,
    batches_like,
    learner_on,
    make_backend,
    make_learner,
    ranked_lines,
)
from saccade.types import UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'


def experiment(path='causal_lm/quickstart.py', **changes):
    overrides = [f'--config.{field.replace("__", ".")}={value}' for field, value in changes.items()]
    return Experiment.of(load_config(str(EXPERIMENTS / path), overrides))


@pytest.mark.long
@pytest.mark.parametrize(
    ('changes', 'again'),
    [
        ({'model__run': {'use': 'model.stack:Unrolled', 'remat': 'nothing_saveable'}}, True),
        ({'accumulate': 2, 'ema': 0.9, 'model__tied': False}, False),
    ],
)
def test_the_cost_is_the_plan_of_the_step_that_is_compiled(changes, again):
    run = experiment(model__layers=2, **changes)
    backend = make_backend(run)
    plan = RunPlan.of('', backend, run.model, run.batch_size * run.data().context_length)
    cost = ExperimentCost.of(run)
    assert (cost.parameters, cost.flops, cost.tokens) == (plan.total, plan.flops, plan.tokens)
    (line,) = (line for line in plan.lines() if line.startswith('a step '))
    said = f'; {plan.hardware_flops:.3g} with what is computed again' if again else ''
    assert line.endswith(f'{plan.flops:.3g} FLOPs in matrix products{said}')
    assert (plan.hardware_flops > plan.flops) == again


@pytest.mark.long
@pytest.mark.parametrize('backend', ['jit', 'pmap'])
def test_rematerialised_layers_need_less_memory(backend):
    def temp_bytes(**run):
        made = make_backend(experiment(backend=backend, model__run={'use': 'model.stack:Unrolled', **run}))
        return made.train_step.memory_analysis().temp_size_in_bytes

    assert temp_bytes(remat='nothing_saveable') < 0.6 * temp_bytes()


@pytest.mark.long
def test_runs_that_differ_in_rates_and_other_numbers_share_a_program():
    def program(**changes):
        run = experiment(model__layers=1, model__width=48, **changes)
        mesh = make_mesh({}, jax.devices()[:1])
        step = OnMesh(learner_on(mesh, run), batches_like(run), mesh)
        return step.train_step(step.batches[0]).as_text()

    known = program()
    assert program(schedule__peak=0.5, schedule__warmup=1, steps=17, seed=3) == known
    assert program(optimizer__weight_decay=0.5) == known
    assert program(optimizer__weight_decay=0.0) != known


@pytest.mark.long
def test_the_cost_of_quickstart_is_what_one_counts_by_hand():
    """D = 192, F = 8/3 D: a step is forward and twice that backward, the scores of all pairs included."""
    D, F, L, V, T, B = 192, 512, 4, 512, 128, 16
    matrices = L * (4 * D * D + 3 * D * F)
    cost = ExperimentCost.of(experiment())
    assert cost.parameters == matrices + V * D + (2 * L + 1) * D
    assert cost.tokens == B * T
    assert cost.steps == 800
    assert cost.flops == 3 * 2 * (matrices + V * D + L * 2 * T * D) * B * T
    assert cost.flops_per_token == cost.flops / (B * T)


@pytest.mark.long
@pytest.mark.parametrize('runner', ['Unrolled', 'Scanned'])
@pytest.mark.parametrize(
    ('policy', 'again'),
    [
        (None, False),
        ('everything_saveable', False),
        ('dots_with_no_batch_dims_saveable', True),
        ('nothing_saveable', True),
    ],
)
def test_what_is_computed_again_is_no_part_of_what_the_model_needs(runner, policy, again):
    run = experiment(model__layers=2, model__run={'use': f'model.stack:{runner}', 'remat': policy})
    learner, rows = make_learner(run), run.data().batch_like(run.batch_size)
    state = jax.eval_shape(learner.init, jax.random.key_data(jax.random.key(0)), rows)
    needed = ExperimentCost.of(experiment(model__layers=2)).flops
    assert model_flops(learner.train_step, state, rows) == ExperimentCost.of(run).flops == needed
    assert (flops(learner.train_step, state, rows) > needed) == again


@pytest.mark.long
def test_counting_makes_no_arrays():
    """Such a model would need terabytes."""
    before = len(jax.live_arrays())
    assert ExperimentCost.of(experiment(model__width=6 * 2**16, model__layers=1)).parameters > 10**12
    assert len(jax.live_arrays()) <= before


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(UserError, match='width 192 is not divisible by 5 heads'):
        ExperimentCost.of(experiment(model__block__mixer__heads=5))


CAUSAL, MASKED, ADAM = "{'use': 'task.causal_lm:CausalLM'}", "{'use': 'task.masked_lm:MaskedLM'}", 'optimizer__rule__'


def test_a_user_without_a_home_folder_is_told_what_to_set(monkeypatch):
    def nobody(number):
        raise KeyError(number)

    for name in ('HOME', 'XDG_CACHE_HOME', 'SACCADE_CACHE'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, 'getpwuid', nobody)
    with pytest.raises(UserError, match=r'^~/\.cache/saccade: there is no home folder ~; .*: set SACCADE_CACHE'):
        cache_folder()


CONSTANT = "{'use': 'optax:constant_schedule', 'value': 1.0}"
SYSTEM = "[{'use': 'os:system', 'command': 'touch executed'}]"


@pytest.mark.parametrize(
    ('path', 'changes', 'words'),
    [
        (
            'causal_lm',
            {'task': MASKED},
            'MaskedLM needs an encoder; config.model, model.decoder:Decoder, is not one',
        ),
        ('masked_lm', {'task': CAUSAL}, 'needs a decoder; config.model, model.encoder:Encoder, is not one'),
        ('masked_lm', {'model__heads': '{}'}, "reads the head 'masked'; config.model.heads has none"),
        (
            'masked_lm',
            {'task': "{'use': 'task.classification:Classification'}"},
            'reads example from a batch',
        ),
        ('causal_lm', {'adapt': "{'use': 'train.init.partial:body'}"}, 'config.adapt: there are no weights to adapt'),
        ('causal_lm', {'init_part': 'teacher'}, "config.init_part: 'teacher' needs config.init_from"),
        ('causal_lm', {'init_from': '/nowhere/run'}, 'config.init_from: /nowhere/run: there is no such folder'),
        ('causal_lm', {'logging': SYSTEM}, 'is not a Sink: it has no return annotation'),
        ('causal_lm', {f'{ADAM}b1': 2.0}, 'b1 must be at least 0 and below 1, not 2.0'),
        ('causal_lm', {f'{ADAM}b2': -1}, 'b2 must be at least 0 and below 1, not -1.0'),
        ('causal_lm', {f'{ADAM}eps': -1e-8}, 'eps must be at least 0, not -1e-08'),
        ('causal_lm', {'optimizer': "{'use': 'optax:scale_by_adam'}"}, 'config.optimizer: .*adam is not an optimizer'),
        (
            'causal_lm',
            {'optimizer__rule': "{'use': 'optax:constant_schedule', 'value': 1.0}"},
            'does not make a gradient transformation',
        ),
        ('causal_lm', {'schedule': CONSTANT}, 'does not make a schedule'),
        (
            'causal_lm',
            {'keep_best_by': 'acuracy'},
            "config.keep_best_by: 'acuracy': no part of the config declares this metric; did you mean 'accuracy'",
        ),
        ('causal_lm', {'keep_best_by': 'mrr'}, "'mrr': no part of the config declares this metric; it has accuracy"),
        ('causal_lm', {'keep_best_by': 'learning_rate'}, 'cannot rank checkpoints: neither its lowest nor its highest'),
        ('causal_lm', {'keep_best_by': 'tokens_per_second'}, "no evaluation logs 'tokens_per_second'"),
        ('masked_lm', {'keep_best_by': 'length_accuracy'}, "no evaluation logs 'length_accuracy'"),  # of the baseline
        ('causal_lm', {'model__block': '[]'}, 'block is empty'),
        ('causal_lm', {'model__block__feedforward__ratio': 0.001}, 'a ratio of 0.001 leaves nothing of a width of 192'),
        ('causal_lm', {'model__embedding_init': "{'use': 'jax.nn:gelu'}"}, 'gelu is not what its field takes'),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_compiled(path, changes, words):
    with pytest.raises(UserError, match=words) as refusal:
        ExperimentCost.of(experiment(f'{path}/quickstart.py', **changes))
    assert '\n' not in str(refusal.value)


@pytest.mark.long
@pytest.mark.parametrize('backend', ['jit', 'pmap'])
def test_a_step_is_compiled_for_every_bucket(backend, tmp_path):
    run = experiment(
        'translation/generated.py',
        backend=backend,
        data__buckets='(6,)',
        data__train=64,
        data__validation=8,
        model__decoder__width=8,
        model__decoder__layers=1,
        batch_size=jax.device_count(),
    )
    compiled, split = make_backend(run), run.data().prepare(tmp_path).splits['train']
    state, shapes, losses = compiled.init(0), set(), []
    for rows in itertools.islice(train_batches(split, run.batch_size, 0, 0), 8):
        shapes.add(rows['source'].shape)
        state, metrics = compiled.train_step(state, compiled.place(rows), 1e-3)
        losses.append(float(compiled.host(metrics)['loss']))
    assert len(shapes) == 2
    assert np.isfinite(losses).all()


@pytest.mark.parametrize(
    ('evaluated', 'saved', 'said'), [(20, 20, ''), (20, 40, ''), (40, 20, ''), (20, 90, ''), (20, 30, 'every 60 steps')]
)
def test_checkpoints_that_no_evaluation_ranks_are_said_before_training(evaluated, saved, said):
    lines = ranked_lines(experiment(steps=80, eval_every=evaluated, checkpoint_every=saved))
    assert [said in line for line in lines] == ([True] if said else [])
    assert ranked_lines(experiment(steps=80, eval_every=20, checkpoint_every=30, keep_best=0)) == []
