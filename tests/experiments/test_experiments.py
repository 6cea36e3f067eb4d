# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment that ships builds and trains, its sizes hang together, and its published ones are as it says."""

import ast
import math
import re
import shlex
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.analysis.catalogue.catalogue import KERNEL, MIXER, SOFTMAX, TERM, Catalogue, can
from saccade.parts import uses
from saccade.sweep.plan import SweepPlan
from saccade.train.config import load_config
from saccade.train.config_file import run_file
from saccade.train.experiment import Experiment
from saccade.train.initial import param_shapes
from saccade.train.setup import make_learner
from saccade.train.workdir import Workdir

ROOT = Path(__file__).parents[2]
SWEEPS = sorted(path for path in (ROOT / 'experiments/sweeps').glob('*.py') if 'def get_sweep(' in path.read_text())
FILES = sorted(path for path in (ROOT / 'experiments/causal_lm').glob('*.py') if 'def get_config(' in path.read_text())
VOCABULARY, CONTEXT, ROWS = 64, 16, 2
NATS_FROM_EQUAL_ODDS = 0.1  # how far the loss of random weights may be from ln V

each_experiment = pytest.mark.parametrize('file', FILES, ids=lambda path: path.stem)


def blocks(config):
    block = config['model']['block']
    return block if isinstance(block, list) else [block]


def a_mixer(config):
    """The field of a mixer; sizes that all mixers share are set by any one."""
    return 'model.block.0.mixer' if isinstance(config['model']['block'], list) else 'model.block.mixer'


def repeats(config, times):
    """Layers enough that the pattern of blocks is there so many times."""
    ends = [*config['model'].get('first_blocks', ()), *config['model'].get('last_blocks', ())]
    return times * len(blocks(config)) + len(ends)


def narrow(file):
    """The experiment, of 8 features a head and of one repeat of its blocks."""
    config = load_config(str(file))
    heads = blocks(config)[0]['mixer']['heads']
    sizes = dict(width=8 * heads, layers=repeats(config, 1), vocabulary=VOCABULARY, context_length=CONTEXT)
    overrides = [f'--config.model.{name}={size}' for name, size in sizes.items()]
    if config['model'].get('logit_gain'):  # nGPT: a gain of 10 at the start is for training, and moves the odds apart
        overrides.append('--config.model.logit_gain.start=1.0')
    return load_config(str(file), [*overrides, '--config.dtype=float32', '--config.accumulate=1'])


def published(file):
    """The parameters that the docstring says its overrides make, and these."""
    words = ast.get_docstring(ast.parse(file.read_text()))
    counts = re.findall(r'(\d[\d,]{8,})\sparameters', words)
    overrides = re.findall(r'--config\.model\.[\w.]+=[\d.]+', words)
    return [int(count.replace(',', '')) for count in counts], overrides


def test_there_are_experiments():
    assert {path.stem for path in FILES} >= {
        'quickstart', 'char_shakespeare', 'gpt2_124m', 'llama_tiny', 'mistral_tiny', 'gemma2_tiny', 'gemma3_tiny',
        'mixtral_tiny', 'deepseek_tiny', 'bloom_tiny', 'mpt_tiny', 'minimal', 'linear_lm', 'hybrid',
        'mamba2_tiny', 'yoco_tiny', 'qwen3_next_tiny', 'kimi_linear_tiny', 'rwkv7_tiny', 'xlstm_tiny', 'samba_tiny',
        'ngpt_tiny',
    }  # fmt: skip


@pytest.mark.long
@each_experiment
def test_it_builds_and_makes_parameters(file):
    experiment = Experiment.of(load_config(str(file)))
    assert experiment.model().context_length == experiment.data().context_length
    assert jax.tree.leaves(param_shapes(experiment))
    make_learner(experiment)


@pytest.mark.long
@each_experiment
def test_another_width_changes_what_hangs_on_it(file):
    config = load_config(str(file))
    heads, layers = blocks(config)[0]['mixer']['heads'], repeats(config, 2)
    config = load_config(str(file), [f'--config.model.width={16 * heads}', f'--config.model.layers={layers}'])
    shapes = param_shapes(Experiment.of(config))
    assert shapes['embedding'].shape[1] == 16 * heads
    repeated = [of for name, of in shapes['layers'].items() if name.startswith('pattern_')]
    assert {leaf.shape[0] for leaf in jax.tree.leaves(repeated)} == {2}


@each_experiment
def test_other_heads_are_those_of_every_layer_with_such_a_mixer(file):
    mixer = a_mixer(load_config(str(file)))
    config = load_config(str(file), [f'--config.{mixer}.heads=2'])
    mixers = [block['mixer'] for block in blocks(config)]
    assert {mixer['heads'] for mixer in mixers if mixer['use'] == mixers[0]['use']} == {2}


@pytest.mark.long
@each_experiment
def test_the_published_sizes_have_the_published_number_of_parameters(file):
    counts, overrides = published(file)
    if not counts:
        pytest.skip('its docstring says no number')
    shapes = param_shapes(Experiment.of(load_config(str(file), overrides)))
    assert [sum(leaf.size for leaf in jax.tree.leaves(shapes))] == counts


def test_published_sizes_are_found_in_docstrings():
    assert sum(bool(published(file)[0]) for file in FILES) >= 10
    counts, overrides = published(ROOT / 'experiments/causal_lm/gemma2_tiny.py')
    assert counts == [2_614_341_888]
    assert '--config.model.block.0.mixer.mask.left=4095' in overrides


@pytest.mark.long
@each_experiment
def test_a_step_from_equal_odds_is_finite(file):
    learner = make_learner(Experiment.of(narrow(file)))
    tokens = jnp.array(np.random.default_rng(0).integers(0, VOCABULARY, (ROWS, CONTEXT + 1)), jnp.int32)
    places = jnp.broadcast_to(jnp.arange(CONTEXT + 1), tokens.shape)
    batch = {'tokens': tokens, 'segments': jnp.ones_like(tokens), 'positions': places}
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
    state, metrics = jax.jit(learner.train_step)(state, batch)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.params, metrics)))
    assert metrics['gradient_norm'] > 0
    loss = metrics.get('cross_entropy', metrics['loss'])
    assert loss == pytest.approx(math.log(VOCABULARY), abs=NATS_FROM_EQUAL_ODDS)


def test_there_are_sweeps():
    assert {path.stem for path in SWEEPS} >= {
        'heads', 'learning_rate', 'pooling', 'masking_rate', 'pretraining', 'embeddings'
    }  # fmt: skip


@pytest.fixture(scope='module')
def bytes_run(tmp_path_factory):
    """Overrides that start from the run that the sweep over embeddings asks for, of which there is the config alone."""
    words = ast.get_docstring(ast.parse((ROOT / 'experiments/sweeps/embeddings.py').read_text()))
    _, *fields = shlex.split(words[words.index('--workdir=runs/bytes') :].replace('\\\n', ''))
    config = load_config(str(ROOT / 'experiments/masked_lm/quickstart.py'), fields)
    folder = tmp_path_factory.mktemp('runs')
    Workdir.open(folder, config)
    (folder / 'checkpoints').mkdir()
    return [f'--config.init_from={folder}', f'--config.data.context_length={config["data"]["context_length"]}']


@pytest.mark.long
@pytest.mark.parametrize('sweep', SWEEPS, ids=lambda path: path.stem)
def test_every_variant_of_a_sweep_can_be_built(sweep, bytes_run):
    words = ast.get_docstring(ast.parse(sweep.read_text()))
    config = re.search(r'--config=(\S+)', words)[1]
    started = bytes_run if re.search(r' --config\.init_from=', words) else []
    given = [*started, *re.findall(r'--config\.data\.context_length=\S+', words)]
    loaded = load_config(str(ROOT / config), given)
    spec = run_file('sweep', str(sweep), 'get_sweep')[0]
    free = not started and 'layers' in loaded['model'] and not re.search(r"'model\.(layers|first_blocks)'", repr(spec))
    smaller = [f'--config.model.layers={repeats(loaded, 1)}'] if free else []
    planned = SweepPlan.of(str(ROOT / config), str(sweep), [*smaller, *given])
    assert len(planned.variants) > 1
    seeds, rest = divmod(len(planned.sweep.runs), len(planned.variants))
    assert len({run.name for run in planned.sweep.runs}) == len(planned.sweep.runs)
    assert (seeds, rest) == (spec['seeds'], 0)
    assert planned.sweep.title not in ('', sweep.stem)


def test_the_sweep_over_attention_names_every_variant_that_can_be_causal():
    """So that a new file has its row in the table, or is named here with the reason why it has none."""
    elsewhere = {
        'attention.auto:Auto',  # a choice of kernels that are named
        'attention.cudnn:CuDNN',  # the same sums as of the plain kernel, on GPUs
        'attention.largest_scores:LargestScores',  # the same sums as of the kernel within it, and a statistic
        'attention.ring:Ring',  # the sums of the blockwise kernel, over devices
        'attention.shared_indices:SharedIndices',  # a pattern of layers; in a layer, the lightning indexer
        'attention.splash:Splash',  # the same sums as of the plain kernel, on TPUs
        'attention.ulysses:Ulysses',  # the sums of the kernel within it, over devices
        'ops.term:LinearBias',  # a position, in the sweep over these
        'recurrent.mixer.channel_mixing:ChannelMixing',  # a feed-forward layer, which reads the token before alone
        'softmax.softmax:Softmax',  # what the kernels have by default
    }
    spec = run_file('sweep', str(ROOT / 'experiments/sweeps/attention.py'), 'get_sweep')[0]
    named = {use for _, use in uses([spec['runs'], load_config(str(ROOT / 'experiments/causal_lm/comparison.py'))])}
    ours = Catalogue.ours()
    kinds = (MIXER, KERNEL, SOFTMAX, TERM)
    there = {part['use'] for kind in kinds for part in ours.specs(kind).values() if can(part).causal}
    assert there - named == elsewhere
