# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A researcher's own mixer, norm, model and task, from files outside the package, go the whole way."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from watched import losses

from saccade.train.log.log import read
from saccade.train.log.provenance import read as starts

PARTS = """
import flax.linen as nn
import jax.numpy as jnp

from my_tools import half
from saccade.model.decoder import Decoder


class Halved(nn.Module):
    size: int = 16
    strength: float = 1.0

    @nn.compact
    def __call__(self, x, real=None):
        assert self.size == 16, f'nobody wrote {self.size}'
        gain = self.param('gain', nn.initializers.ones, (x.shape[-1],))
        low = x.astype(jnp.float32)
        mean = (low * low).mean(-1, keepdims=True)
        return (half() * self.strength * gain * low / jnp.sqrt(mean + 1e-6)).astype(x.dtype)


class Mine(Decoder):
    pass
"""
SWEEP = """
def get_sweep():
    mixer = 'model.block.mixer'
    whole = {'use': 'my_attention:Mine', 'heads': 2}
    swapped = {'name': 'swapped', f'{mixer}.use': whole['use']}
    return dict(runs=dict(list=[{}, swapped, {'name': 'whole', mixer: whole}]))
"""
TRUST = '--trust=my_attention,my_parts,my_task'
OWN = (
    '--config.model.use=my_parts:Mine',
    '--config.model.**.norm.use=my_parts:Halved',
    '--config.model.block.mixer.use=my_attention:Mine',
    '--config.task.use=my_task:Sharpened',
    '--config.task.start=2.0',
)
SHORT = ('--config.steps=4', '--config.eval_every=0', '--config.checkpoint_every=0')

ASKED = 'SACCADE_VARIANT', 'SACCADE_EXPERIMENT'  # of the tests that run these tests

pytestmark = pytest.mark.long


def block(page: str, number: int = 0) -> str:
    """A Python block of a guide, by its number."""
    return re.findall(r'```python\n(.*?)```', (ROOT / 'docs/guides' / page).read_text(), re.S)[number]


@pytest.fixture(scope='module')
def lab(runner, tmp_path_factory):
    """A runner in a folder of the user's own: the mixer and the task are those of the guides."""
    folder = tmp_path_factory.mktemp('lab')
    (folder / 'my_attention.py').write_text(block('own_variant.md').replace('"""', '"""One line.\n', 1))
    for number, name in enumerate(('my_term', 'my_heads', 'my_mean', 'my_norm', 'my_gated'), 1):
        (folder / f'{name}.py').write_text(block('own_variant.md', number))
    for number, name in enumerate(('my_task', 'my_metric')):
        (folder / f'{name}.py').write_text(block('own_task.md', number))
    for number, name in enumerate(('my_generator', 'my_data')):
        (folder / f'{name}.py').write_text(block('own_data.md', number))
    (folder / 'FOLDER').mkdir()
    for file in ('train.bin', 'val.bin'):
        np.random.default_rng(0).integers(0, 50, 400).astype(np.uint16).tofile(folder / 'FOLDER' / file)
    (folder / 'my_parts.py').write_text(PARTS)
    (folder / 'my_tools.py').write_text('def half(): return 0.5\n')
    (folder / 'my_sweep.py').write_text(SWEEP)
    return replace(runner, folder=folder)


@pytest.fixture(scope='module')
def trained(lab):
    workdir = lab.folder / 'run'
    done = lab.train(workdir, *OWN)
    assert done.returncode == 0, done.stderr
    return workdir, done


@pytest.fixture
def changed(lab):
    """The file that a module imports, after an edit."""
    file = lab.folder / 'my_tools.py'
    before = file.read_text()
    file.write_text('def half(): return 0.25\n')
    yield file
    file.write_text(before)


def test_it_is_said_which_fields_a_class_keeps(trained):
    _, done = trained
    said = [line for line in done.stderr.splitlines() if ' keeps ' in line]
    assert said[2:4] == [
        'config.model.norm.use=my_parts:Halved keeps no field; drops none',
        'config.model.block.mixer.use=my_attention:Mine keeps heads, kernel_init, output_init; '
        'drops kernel, mask, position',
    ]
    assert len(said) == 5


def test_the_weight_of_the_task_is_trained_and_its_metrics_are_logged(trained):
    workdir, _ = trained
    final = [record for record in read(workdir / 'metrics.jsonl') if record['split'] == 'validation'][-1]
    assert 0 < final['certainty'] < 1
    assert final['median_loss'] == pytest.approx(final['loss'], rel=0.1)
    assert losses(workdir)[20, 'train'] < losses(workdir)[1, 'train']


def test_the_weight_of_the_task_is_in_the_table_of_parameters(lab, trained):
    done = lab.run('params', f'--workdir={trained[0]}', TRUST, '--json')
    assert done.returncode == 0, done.stderr
    (weight,) = [weight for weight in json.loads(done.stdout)['weights'] if weight['name'] == 'sharpness']
    assert (weight['shape'], weight['count']) == ([], 1)
    assert weight['norm'] != 2.0  # where it started


def test_files_of_ones_own_are_recorded(lab, trained):
    (start,) = starts(trained[0] / 'provenance.jsonl')
    assert list(start['modules']) == ['my_attention', 'my_parts', 'my_task', 'my_tools']
    assert start['modules']['my_tools']['file'] == str(lab.folder / 'my_tools.py')
    assert {module['git'] for module in start['modules'].values()} == {'no repository'}


@pytest.mark.parametrize('script', ['evaluate', 'generate', 'inside', 'params'])
def test_a_run_is_opened_without_a_word_while_nothing_has_changed(lab, trained, script):
    done = lab.run(script, f'--workdir={trained[0]}', TRUST)
    assert done.returncode == 0, done.stderr
    assert 'has changed' not in done.stderr


def test_evaluation_gives_the_metrics_of_the_end_of_training(lab, trained):
    done = lab.run('evaluate', f'--workdir={trained[0]}', TRUST, '--json')
    assert done.returncode == 0, done.stderr
    final = [record for record in read(trained[0] / 'metrics.jsonl') if record['split'] == 'validation'][-1]
    found = json.loads(done.stdout)
    for name in ('loss', 'certainty', 'median_loss'):
        assert found[name] == pytest.approx(final[name], rel=1e-5)
    assert found['intervals']['median_loss'][0] <= found['median_loss'] <= found['intervals']['median_loss'][1]


@pytest.mark.parametrize('script', ['evaluate', 'generate', 'params'])
def test_a_run_that_is_opened_after_a_change_says_which_file(lab, trained, changed, script):
    done = lab.run(script, f'--workdir={trained[0]}', TRUST)
    assert done.returncode == 0, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if 'has changed' in line]
    assert said.endswith(f'{trained[0]}: code that the run was trained with has changed: {changed}')


def test_saccade_load_says_it_too(lab, trained, changed):
    code = f'import saccade; saccade.load({str(trained[0])!r})'
    environment = {**lab.environment, 'SACCADE_TRUST': TRUST.partition('=')[2], 'PYTHONPATH': str(lab.folder)}
    done = subprocess.run(
        [sys.executable, '-c', code], cwd=lab.folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f'{trained[0]}: code that the run was trained with has changed: {changed}\n' in done.stderr


def test_a_run_that_is_resumed_after_a_change_says_it_and_records_it(lab, tmp_path, changed):
    workdir = tmp_path / 'run'
    first = lab.train(workdir, *OWN, *SHORT)
    assert first.returncode == 0, first.stderr
    changed.write_text('def half(): return 0.5  # mended\n')
    again = lab.run('train', *lab.small(workdir), *OWN, *SHORT, '--extend=constant:2')
    assert again.returncode == 0, again.stderr
    assert f'resume      {workdir}: code that the run was trained with has changed: {changed}' in again.stdout
    before, after = (start['modules']['my_tools']['sha256'] for start in starts(workdir / 'provenance.jsonl'))
    assert before != after


def test_a_sweep_over_ones_own_code_and_its_report_show_the_initialisers(lab, tmp_path):
    swept = lab.run(
        'sweep', *lab.small(tmp_path / 'sweep'), *SHORT, f'--sweep={lab.folder}/my_sweep.py', *OWN[3:]
    )  # fmt: skip
    assert swept.returncode == 0, swept.stderr + swept.stdout
    done = lab.run('report', f'--workdir={tmp_path / "sweep"}', '--metric=median_loss', '--best=lowest', '--json')
    assert done.returncode == 0, done.stderr
    shown = {row['variant']: row['fields'] for row in json.loads(done.stdout)['ranking']}
    assert shown['whole'] == {'mixer': 'Mine'}
    assert re.fullmatch(r'Mine\(kernel_init=normal\(stddev=0\.02\), output_init=.*\)', shown['swapped']['mixer'])
    assert re.fullmatch(r'MultiHead\(kernel_init=normal\(stddev=0\.02\), output_init=.*\)', shown['base']['mixer'])


def contract(lab, *asked):
    """The contract tests of a part or an experiment of the user's."""
    command = [sys.executable, '-m', 'pytest', str(ROOT / 'tests/contract'), '-q', '-p', 'no:cacheprovider']
    environment = {name: value for name, value in os.environ.items() if name not in ASKED}
    return subprocess.run(
        [*command, *asked], cwd=lab.folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    'use',
    [
        'my_parts:Halved',
        'my_attention:Mine',
        'my_term:Kerple',
        'my_heads:Scalable',
        'my_mean:DecayingMean',
        'my_norm:MeanAbsolute',
        'my_gated:SoftplusGated',
    ],
)
def test_the_contract_asks_no_docstring_and_keeps_ones_own_defaults(lab, use):
    done = contract(lab, '--variant', use)
    assert done.returncode == 0, done.stdout
    assert ' passed' in done.stdout
    assert Path(lab.folder / 'my_parts.py').read_text().startswith('\nimport')


@pytest.mark.parametrize(
    'words',
    [
        'causal_lm/quickstart.py --config.task.use=my_task:Sharpened',
        """translation/dates.py --config.task.metrics="[{'use': 'my_metric:LengthRatio'}]" """,
        """diagnostics/parity.py --config.model.vocabulary=16
        --config.data.generator="{'use': 'my_generator:LargestSoFar'}" """,
        """causal_lm/quickstart.py --config.model.vocabulary=50 --config.sample=None --config.baseline=None
        --config.data="{'use': 'my_data:TokenFiles', 'path': 'FOLDER', 'vocabulary': 50, 'context_length': 8}" """,
    ],
    ids=lambda words: words.partition(' ')[0],
)
def test_tasks_metrics_and_data_of_the_guides_keep_their_contract(lab, words):
    done = contract(lab, '--experiment', f'{ROOT}/experiments/{words}')
    assert done.returncode == 0, done.stdout
    assert ' passed' in done.stdout


MEANS = """
from saccade.task.causal_lm import CausalLM
from saccade.types import Total


class Means(CausalLM):
    def totals(self, forward, batch):
        totals = super().totals(forward, batch)
        return {name: Total(each.mean(), each.weight / each.weight) for name, each in totals.items()}
"""


def test_a_task_that_returns_means_is_found_out(lab):
    (lab.folder / 'my_means.py').write_text(MEANS)
    quickstart = ROOT / 'experiments/causal_lm/quickstart.py'
    done = contract(lab, '--experiment', f'{quickstart} --config.task.use=my_means:Means', '-k', 'totals')
    assert done.returncode == 1, done.stdout
    assert 'FAILED' in done.stdout
    assert 'test_totals_are_sums_over_rows' in done.stdout


@pytest.mark.parametrize(
    'words',
    [
        ' ',
        f'{ROOT}/experiments/missing.py',
        f'{ROOT}/experiments/causal_lm/quickstart.py "',
        f'{ROOT}/experiments/causal_lm/quickstart.py --config.task.use=my_task:Sharp',
    ],
)
def test_what_is_no_experiment_is_refused_in_one_line(lab, words):
    done = contract(lab, '--experiment', words)
    assert done.returncode == 4
    assert done.stderr.count('\n') <= 2
