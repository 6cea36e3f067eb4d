# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run traces its step once, and runs that differ in numbers alone share the programs."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saccade.model.decoder
from saccade.ops import causality
from saccade.task.causal_lm import CausalLM
from saccade.train import initial, setup
from saccade.train.backend import OnMesh, Steps
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.learner import Learner
from saccade.train.loop import Options, train
from saccade.train.mesh import make_mesh
from saccade.train.program import OUTSIDE, program_digest
from saccade.train.scales import rescaled, scales_of
from saccade.train.setup import batches_like, learner_on, make_backend, make_learner, program_key
from saccade.types import NotNegative, Scales, is_zero

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
SMALL = ('model.layers=2', 'model.width=24', 'model.block.mixer.heads=2', 'model.context_length=16', 'batch_size=4')
SHORT = ('steps=3', 'log_every=1', 'eval_every=0', 'eval_batches=1', 'baseline=None')
OTHER = ('seed=5', 'schedule.peak=0.01', 'optimizer.weight_decay=0.3', 'task.label_smoothing=0.2')
OPTIMIZER = 'config.optimizer'


def config(*changes, path='causal_lm/quickstart.py'):
    return load_config(str(EXPERIMENTS / path), [f'--config.{each}' for each in changes])


def experiment(*changes, path='causal_lm/quickstart.py'):
    return Experiment.of(config(*changes, path=path))


@pytest.fixture
def counts(monkeypatch):
    """How often the bodies of a decoder and of a step are traced, the latter before each first step too."""
    found = Counter()

    def counted(place, name, words):
        whole = getattr(place, name)

        def call(*given, **named):
            found[words] += 1
            return whole(*given, **named)

        monkeypatch.setattr(place, name, call)

    setup._compiled.cache_clear()
    initial._initial.cache_clear()
    causality._require_causal.cache_clear()
    counted(saccade.model.decoder, 'require_causal', 'decoder')
    counted(Learner, 'train_step', 'step')
    first = Steps.__call__

    def step(self, *given):
        found.setdefault('decoder before step 1', found['decoder'])
        return first(self, *given)

    monkeypatch.setattr(Steps, '__call__', step)
    return found


@pytest.mark.long
@pytest.mark.parametrize('changes', [(), ('accumulate=2',), ('backend=pmap',), ('model.run.use=model.stack:Scanned',)])
def test_a_run_traces_its_decoder_twice_before_step_1_and_its_step_once(changes, counts, tmp_path):
    train(config(*SMALL, *SHORT, *changes), str(tmp_path / 'run'), Options(quiet=True))
    assert counts['decoder before step 1'] == 2
    assert counts['step'] == 1
    assert causality._require_causal.cache_info().misses == 1  # of a kind of layers


@pytest.mark.long
def test_the_causality_of_each_kind_of_layers_is_checked_once(counts):
    block = config(*SMALL)['model']['block']
    make_backend(experiment(*SMALL, f'model.block={[block, {**block, "use": "block.post_norm:PostNorm"}]}'))
    assert causality._require_causal.cache_info().misses == 2


@pytest.mark.long
def test_a_run_that_differs_in_numbers_is_trained_as_alone_without_tracing_or_compiling(counts, tmp_path):
    compiled = []
    train(config(*SMALL, *SHORT, 'task.label_smoothing=0.1'), str(tmp_path / 'first'), Options(quiet=True))
    counts.clear()
    jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: compiled.append(name))
    try:
        train(config(*SMALL, *SHORT, *OTHER), str(tmp_path / 'other'), Options(quiet=True))
    finally:
        jax.monitoring.clear_event_listeners()
    assert counts['decoder'] == counts['step'] == 0
    alone = f'from saccade.train.loop import *; train({config(*SMALL, *SHORT, *OTHER)!r}, "{tmp_path}/alone")'
    subprocess.run([sys.executable, '-c', alone], check=True, capture_output=True)
    assert records(tmp_path / 'other') == records(tmp_path / 'alone')
    assert len(records(tmp_path / 'other')) == 6  # the plan, three steps, an evaluation of a part and one of all
    assert Counter(compiled)['/jax/core/compile/backend_compile_duration'] == 0


def records(workdir):
    """What was logged, less what a clock told."""
    timed = ('seconds', 'tokens_per_second', 'mfu', 'time')
    lines = [json.loads(line) for line in (workdir / 'metrics.jsonl').read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in timed} for line in lines]


@pytest.mark.long
def test_runs_that_differ_in_numbers_share_a_program_and_zero_is_another():
    def program(*changes):
        run = experiment(*SMALL, *changes)
        mesh = make_mesh({}, jax.devices()[:1])
        step = OnMesh(learner_on(mesh, run), batches_like(run), mesh)
        init = jax.jit(step.learner.init).lower(jax.random.key_data(jax.random.key(run.seed)), step.batches[0])
        return init.as_text(), step.train_step(step.batches[0]).as_text()

    known = program('task.label_smoothing=0.1', 'task.z_loss=0.1', 'ema=0.9')
    others = 'optimizer.clip_norm=0.5', 'optimizer.rule.b1=0.8', 'optimizer.rule.b2=0.99', 'optimizer.rule.eps=1e-6'
    assert program(*OTHER, *others, 'task.z_loss=0.2', 'ema=0.99') == known
    for zero in ('weight_decay=0.0', 'clip_norm=None', 'rule.b1=0.0'):
        assert program(*OTHER, 'task.z_loss=0.2', 'ema=0.99', f'optimizer.{zero}')[1] != known[1]
    assert program(*OTHER, 'task.z_loss=0.0', 'ema=0.99')[1] != known[1]


@pytest.mark.long
@pytest.mark.parametrize(
    ('path', 'changes'),
    [
        ('causal_lm/quickstart.py', ('task.label_smoothing=0.1', 'task.z_loss=0.01', 'model.layers=1')),
        ('causal_lm/quickstart.py', ('task.label_smoothing=0.1', 'task.vocabulary_chunk=5', 'accumulate=2')),
        ('masked_lm/quickstart.py', ('model.layers=1', 'task.label_smoothing=0.1')),
        ('translation/generated.py', ('task.label_smoothing=0.1',)),
        ('translation/dates_recurrent.py', ()),
        ('pairs/clip.py', ()),
        ('vision/digits.py', ('task.label_smoothing=0.1',)),
        ('masked_lm/electra_small.py', ('model.generator.layers=1', 'model.discriminator.layers=1')),
    ],
)
def test_numbers_given_as_arguments_make_the_same_gradients(path, changes):
    run = experiment('batch_size=4', *changes, path=path)
    learner, like = make_learner(run), run.data().batch_like(4)
    rows = {name: jnp.ones(leaf.shape, leaf.dtype) for name, leaf in like.items()}
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), rows)
    found = [jax.jit(learner.train_step)(state, rows, 1e-3, scales)[1] for scales in (None, learner.scales)]
    assert learner.scales
    for known, other in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_allclose(other, known, rtol=2e-6)


def test_the_numbers_of_an_experiment_are_those_that_its_parts_declare():
    run = experiment('task.label_smoothing=0.1', "optimizer.rule={'use': 'optax:scale_by_adam', 'b1': 0.0, 'b2': 0.99}")
    numbers = {'b2': 0.99, 'eps': 1e-8}
    assert scales_of(run) == {
        **{f'{OPTIMIZER}.rule.{name}': value for name, value in numbers.items()},
        f'{OPTIMIZER}.weight_decay': 0.1,
        f'{OPTIMIZER}.clip_norm': 1.0,
        'config.task.label_smoothing': 0.1,
    }
    made = rescaled(run, dict.fromkeys(scales_of(run), 7.0))
    assert (made['optimizer']['weight_decay'], made['optimizer']['rule']['b1']) == (7.0, 0.0)
    assert (made['task']['label_smoothing'], made['ema']) == (7.0, 0.0)
    muon = experiment("optimizer.rule={'use': 'train.optimizer:muon', 'others': {'use': 'optax:scale_by_lion'}}")
    found = {path.removeprefix(f'{OPTIMIZER}.rule.') for path in scales_of(muon) if '.rule.' in path}
    assert found == {'momentum', 'rms', 'others.b1', 'others.b2'}


def test_a_rule_that_chooses_by_a_number_keeps_it_in_the_program():
    run = experiment("optimizer.rule={'use': 'optax:scale_by_sm3'}")
    assert not any('.rule.' in path for path in scales_of(run))


@dataclass(frozen=True, kw_only=True)
class Weighted(CausalLM):
    """A task of one's own, with a number that it declares and one that it does not."""

    weight: Scales[NotNegative] = 0.0
    power: float = 1.0

    def init(self, model, key, batch):
        """Add a parameter that begins with the number."""
        return {**super().init(model, key, batch), 'begun': jnp.array(self.weight)}

    def totals(self, *given):
        """Return the totals, the loss multiplied by a weight."""
        totals = super().totals(*given)
        return totals if is_zero(self.weight) else totals | {'loss': totals['loss'].times(self.weight**self.power)}


@pytest.mark.long
def test_a_task_of_ones_own_declares_its_numbers_where_its_fields_are():
    def loss(run):
        backend = make_backend(run)
        rows = {name: np.ones(leaf.shape, leaf.dtype) for name, leaf in run.data().batch_like(4).items()}
        state = backend.init(0)
        assert float(state.params['begun']) == run.task().weight
        _, metrics = backend.train_step(state, backend.place(rows), 0.0)
        return float(backend.host(metrics)['loss']), setup._compiled.cache_info().misses

    setup._compiled.cache_clear()
    plain, *others = (
        Experiment.of({**config(*SMALL), 'task': {'use': f'{__name__}:Weighted', **fields}})
        for fields in ({}, {'weight': 2.0}, {'weight': 3.0}, {'weight': 3.0, 'power': 2.0})
    )
    (of_one, _), *found = map(loss, (plain, *others))
    assert found == [
        (pytest.approx(2 * of_one), 2),
        (pytest.approx(3 * of_one), 2),  # the same program
        (pytest.approx(9 * of_one), 3),
    ]


SAME = (
    *OTHER,
    'seed=7',
    'steps=4',
    'log_every=7',
    'keep_best=0',
    'sample=None',
    'optimizer.rule.b2=0.5',
    'data.path=pydocs',
)
ELSE = (
    'model.width=48',
    'optimizer.weight_decay=0.0',
    'optimizer.clip_norm=None',
    'dtype=bfloat16',
    'batch_size=8',
    'accumulate=2',
    "optimizer.rule={'use': 'optax:scale_by_lion'}",
    'model.context_length=64',
    'backend=pmap',
)


@pytest.mark.long
@pytest.mark.parametrize('key', [lambda given: program_key(Experiment.of(given)), program_digest])
def test_the_key_of_a_program_is_what_it_depends_on(key):
    known = key(config('task.label_smoothing=0.1'))
    for same in SAME:
        assert key(config('task.label_smoothing=0.1', same)) == known, same
    for other in (*ELSE, 'task.label_smoothing=0.0'):
        assert key(config('task.label_smoothing=0.1', other)) != known, other


def test_the_digest_is_the_same_in_a_process_that_imports_nothing_of_models():
    code = (
        f'import sys; from saccade.train.program import *; print(program_digest({config()!r}), "flax" in sys.modules)'
    )
    printed = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == [program_digest(config()), 'False']


def test_what_no_program_depends_on_are_fields_of_an_experiment():
    assert set(OUTSIDE) < set(Experiment.__dataclass_fields__)


@pytest.mark.long
def test_a_process_keeps_two_programs():
    setup._compiled.cache_clear()
    for width in (8, 12, 16, 12, 16):
        make_backend(experiment(*SMALL, f'model.width={width}'))
    assert setup._compiled.cache_info()[:4] == (2, 3, 2, 2)
