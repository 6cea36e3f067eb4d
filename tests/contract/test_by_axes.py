# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What training derives from the declared axes of every part: which parameters decay, muP's rates, LoRA's kernels."""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
import pytest
from discovery import CATALOGUE, CHOSEN, CONTEXT, D, X, mixing, pointwise

from saccade.analysis.catalogue.catalogue import BLOCK
from saccade.axes import KernelAxes, copies_in, declared, letters_of, recorded_axes
from saccade.build import build
from saccade.train.low_rank import LowRank
from saccade.train.mup import MuP
from saccade.train.optimizer import Optimizer, path_of
from saccade.types import Part

SOURCE = Path(__file__).parents[2] / 'src' / 'saccade'
OPTIMIZER = Optimizer(Part(optax.identity), weight_decay=0.5)
# Decayed by their own word: depthwise convolutions, segment types and modalities, and trained memory.
BY_THEIR_WORD = {
    'attention/causal_luna.py',
    'attention/induced.py',
    'attention/luna.py',
    'attention/nystromformer.py',
    'attention/persistent_memory.py',
    'attention/synthesizer_base.py',
    'attention/ttt_linear.py',
    'embed/hashed.py',
    'embed/image_and_text.py',
    'embed/prompt.py',
    'model/encoder.py',
    'model/perceiver.py',
    'recurrent/mixer/convolution.py',
    'recurrent/mixer/lightweight_convolution.py',
}
# Of the catalogue, what is neither bias nor scale and does not decay: vectors, gains, rates, small tables, mixes of
# scores and of layers that begin as the identity.
SPARED = {
    'AttentionResiduals': {'queries'},
    'CoPE': {'table'},
    'Cosine': {'log_gain'},
    'Delta': {'log_rate'},
    'DeltaProduct': {'log_rate'},
    'DenseFormer': {'weights'},
    'Differential': {'lambda_key_1', 'lambda_key_2', 'lambda_query_1', 'lambda_query_2'},
    'GatedDelta2': {'log_rate'},
    'Halting': {'step'},
    'Hyena': {'frequency'},
    'KimiDelta': {'log_rate'},
    'LearnedSink': {'sink'},
    'LogLinearMamba2': {'log_rate', 'skip'},
    'Mamba2': {'log_rate', 'skip'},
    'MultiToken': {'scores_kernel', 'scores_heads', 'weights_kernel', 'weights_heads'},
    'NativeSparse': {'compressed_key_places', 'compressed_value_places'},
    'NormalizedHeads': {'gain'},
    'NormalizedResidual': {'feedforward_rate', 'mixer_rate'},
    'RWKV7': {'bonus', 'find', 'write'} | {f'{of}_share' for of in ('decay', 'gate', 'key', 'query', 'rate', 'value')},
    'RelativeBias': {'table'},
    'RescaledGated': {'gate_gain', 'up_gain'},
    'S4D': {'frequency', 'log_rate', 'log_step', 'read_imaginary', 'read_real', 'skip'},
    'Scalable': {'sharpness'},
    'Shaw': {'table'},
    'TalkingHeads': {'after', 'before'},
}


def subjects():
    return {**pointwise(), **mixing()}


def shapes(name, width=D):
    spec, rest, flags = subjects()[name]
    x = jnp.zeros((*X.shape[:2], width))
    with recorded_axes():
        return jax.eval_shape(lambda: build(spec)().init(jax.random.key(0), x, *rest, *flags))


def marks(variables):
    """Whether each parameter decays, by its path."""
    params = variables.get('params', {})
    found = OPTIMIZER.decays(params, declared(variables))
    return {path_of(path): mark for path, mark in jax.tree_util.tree_leaves_with_path(found)}


@pytest.mark.parametrize('name', subjects())
def test_kernels_and_tables_decay_and_no_vector_does(name):
    variables = shapes(name)
    axes = declared(variables)
    for path, decays in marks(variables).items():
        if path not in axes:  # of a part from elsewhere
            continue
        letters, by_its_word = letters_of(axes[path])[copies_in(axes[path]) :], 'decays' in axes[path]
        assert decays == ('->' in axes[path] or letters in (['V', 'D'], ['T', 'D']) or by_its_word), path
        assert len(letters) > 1 or not decays, path


@pytest.mark.skipif(bool(CHOSEN), reason='it is of the whole catalogue')
@pytest.mark.parametrize('part', SPARED)
def test_these_do_not_decay(part):
    """Those of its authors' code that decayed while it went by the names bias and scale."""
    (name,) = {part, f'MultiHead, {part}'} & subjects().keys()
    found = {path.rpartition('/')[2]: mark for path, mark in marks(shapes(name)).items()}
    assert {path: found[path] for path in SPARED[part]} == dict.fromkeys(SPARED[part], False)


@pytest.mark.long
@pytest.mark.skipif(bool(CHOSEN), reason='it is of the whole catalogue')
def test_no_other_parameter_of_the_catalogue_is_spared():
    spared = {}
    for name in subjects():
        for path, decays in marks(shapes(name)).items():
            leaf = path.rpartition('/')[2]
            if not decays and not leaf.endswith(('bias', 'scale')) and 'running_' not in leaf:
                spared.setdefault(leaf, set()).add(name)
    assert spared.keys() == set().union(*SPARED.values()) | {'up_share'}  # of ChannelMixing


def test_who_decays_by_its_own_word():
    """In the whole source, no catalogue being needed."""
    files = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob('*.py')
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and any(keyword.arg == 'decays' for keyword in node.keywords)
    }
    assert files - {'axes.py', 'train/low_rank.py'} == BY_THEIR_WORD


def test_the_update_takes_decay_off_what_decays_and_nothing_else():
    with recorded_axes():
        variables = jax.eval_shape(lambda: build(subjects()['Mamba2'][0])().init(jax.random.key(0), X, CONTEXT, False))
    params = jax.tree.map(lambda leaf: jnp.ones(leaf.shape), variables['params'])
    optimizer = OPTIMIZER(optax.constant_schedule(0.1), params, declared(variables))
    updates, _ = optimizer.update(jax.tree.map(jnp.zeros_like, params), optimizer.init(params), params)
    moved = {path_of(path): float(leaf.ravel()[0]) for path, leaf in jax.tree_util.tree_leaves_with_path(updates)}
    assert moved == {path: pytest.approx(-0.05 if decays else 0.0) for path, decays in marks(variables).items()}
    assert {'convolution/output': True, 'log_rate': False, 'skip': False}.items() <= marks(variables).items()


def factors(name, width, base):
    """muP's factor of each parameter, by its path, at a width of the part."""
    variables = shapes(name, width)
    found = MuP(base)(
        variables.get('params', {}), declared(variables), lambda other: shapes(name, other).get('params', {})
    )
    return {path_of(path): factor for path, factor in jax.tree_util.tree_leaves_with_path(found)}


@pytest.mark.parametrize('name', subjects())
def test_at_the_base_width_mup_is_the_standard_parametrisation(name):
    assert set(factors(name, D, D).values()) <= {1.0}


@pytest.mark.skipif(bool(CHOSEN), reason='it is of some parts of the catalogue')
@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        # The two layers that compress read blocks of `length` tokens of width H, which grows; the gates read D.
        (
            'NativeSparse',
            {'compressed_key_1': 0.5, 'compressed_key_2': 0.5, 'query': 0.5, 'output': 0.5, 'branch_gate': 0.5},
        ),
        # Widths that the config gives do not grow: of a cell, of the rank and of the values of a latent.
        ('Recurrent', {'cell/inputs': 0.5, 'cell/recurrent': 1.0, 'output': 1.0}),
        ('Latent', {'latent': 0.5, 'key': 1.0, 'value': 1.0, 'output': 1.0}),
        ('Convolution', {'output': 0.5, 'bias': 1.0}),
        (
            'ManifoldHyperConnections',
            {f'{branch}_connection/{of}': 0.5 for branch in ('mixer', 'feedforward') for of in ('read', 'add', 'keep')},
        ),
        ('Gated', {'up': 0.5, 'gate': 0.5, 'down': 43 / 85}),
    ],
)
def test_a_kernel_learns_as_much_slower_as_its_fan_in_has_grown(name, expected):
    assert expected.items() <= factors(name, 2 * D, D).items()


@pytest.mark.parametrize('name', CATALOGUE.specs(BLOCK))
def test_lora_updates_every_hidden_kernel_of_a_layer_by_default(name):
    variables = shapes(name)
    axes = {f'layers/pattern_0/{path}': f'L {letters}' for path, letters in declared(variables).items()}
    layers = jax.tree.map(lambda leaf: jnp.zeros((2, *leaf.shape)), variables['params'])
    kept = LowRank(rank=1, alpha=1.0).init(jax.random.key(0), {'layers': {'pattern_0': layers}}, axes)
    updated = {path_of(path).rpartition('/')[0] for path, _ in jax.tree_util.tree_leaves_with_path(kept['low_rank'])}
    kernels = {path: KernelAxes.of(letters) for path, letters in axes.items()}
    assert updated == {path for path, kernel in kernels.items() if kernel is not None and kernel.is_hidden}
