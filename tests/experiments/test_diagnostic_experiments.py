# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every diagnostic builds and takes a step; parity is learned by what can learn it and by nothing else."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.data.pipeline import eval_batches
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.log.log import read
from saccade.train.loop import Options, train
from saccade.train.setup import make_learner

ROOT = Path(__file__).parents[2] / 'experiments/diagnostics'
READ = ('bytes', 'pixels')  # the others are drawn
FILES = [path for path in sorted(ROOT.glob('*.py')) if 'def get_config(' in path.read_text()]
DRAWN = [path for path in FILES if path.stem not in READ]
SMALL = ('--config.model.width=16', '--config.batch_size=8')
MAMBA = "--config.model.block.mixer={'use': 'attention.mamba2:Mamba2', 'heads': 2}"

each_drawn = pytest.mark.parametrize('file', DRAWN, ids=lambda path: path.stem)


def test_there_are_diagnostics():
    assert {path.stem for path in FILES} >= {'recall', 'parity', 'permutations', *READ}


@each_drawn
def test_data_and_model_agree_at_another_length_too(file):
    config = load_config(str(file))
    longer = load_config(str(file), [f'--config.model.context_length={2 * config["model"]["context_length"]}'])
    for experiment in map(Experiment.of, (config, longer)):
        data, model = experiment.data(), experiment.model()
        assert model.context_length == data.context_length
        assert model.vocabulary == data.generator().vocabulary


@pytest.mark.long
@each_drawn
def test_a_step_on_its_data_is_finite(file, tmp_path):
    require_a_step(Experiment.of(load_config(str(file), [*SMALL, '--config.data.train=8'])), tmp_path)


@pytest.mark.long
def test_a_step_on_pixels_is_finite_and_the_mixer_is_swept_as_in_the_others(tmp_path):
    require_a_step(Experiment.of(load_config(str(ROOT / 'pixels.py'), [*SMALL, MAMBA])), tmp_path)


@pytest.mark.long
def test_a_step_on_bytes_is_finite_and_the_mixer_is_swept_as_in_the_others(tmp_path):
    for name, count in (('train', 16), ('dev', 8)):
        rows = ''.join(f'{"good" if n % 2 else "bad"} film,{n % 2}\n' for n in range(count))
        (tmp_path / f'{name}.csv').write_text('text,label\n' + rows)
    fields = (f'--config.data.path={tmp_path}', '--config.data.context_length=16')
    require_a_step(Experiment.of(load_config(str(ROOT / 'bytes.py'), [*SMALL, MAMBA, *fields])), tmp_path)


def require_a_step(experiment, tmp_path):
    batch = next(eval_batches(experiment.data().prepare(tmp_path).splits['train'], 8))
    learner = make_learner(experiment)
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
    state, metrics = jax.jit(learner.train_step)(state, jax.tree.map(jnp.asarray, batch))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.params, metrics)))
    assert metrics['gradient_norm'] > 0


@pytest.mark.long
@pytest.mark.parametrize(('negative', 'solved'), [(True, True), (False, False)])
def test_parity_is_learned_where_eigenvalues_may_be_negative_and_holds_at_lengths_never_trained(
    negative, solved, tmp_path
):
    field = f'--config.model.block.mixer.negative_eigenvalues={negative}'
    steps = '--config.steps=250', '--config.eval_every=250', '--config.checkpoint_every=250', '--config.model.layers=1'
    config = load_config(str(ROOT / 'parity.py'), [field, *steps, '--config.data.validation=200'])
    train(config, str(tmp_path / 'run'), Options(quiet=True))
    found = {record['split']: record for record in read(tmp_path / 'run/metrics.jsonl')}
    assert found['baseline']['accuracy'] == pytest.approx(0.5, abs=0.02)
    assert (found['validation']['accuracy'] > 0.99) == solved
    assert (found['validation_256']['accuracy'] > 0.99) == solved
    assert solved or found['validation_256']['solved'] == 0


@pytest.mark.long
def test_permutations_of_three_are_learned_by_two_updates_a_token_and_not_by_one(tmp_path):
    found = {}
    for updates in (1, 2):
        fields = [f'--config.model.block.mixer.updates={updates}', '--config.eval_lengths=[32]']
        config = load_config(str(ROOT / 'permutations.py'), fields)
        train(config, str(tmp_path / f'{updates}'), Options(quiet=True))
        records = {record['split']: record for record in read(tmp_path / f'{updates}/metrics.jsonl')}
        found[updates] = [records[split]['accuracy'] for split in ('validation', 'validation_32')]
    assert min(found[2]) > 0.99
    assert found[1][0] < 0.7
    assert found[1][1] < 0.55
