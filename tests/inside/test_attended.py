# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What attention over a source compares is what its weights are made of, in every kind of model that can be asked."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from einops import rearrange

from saccade.build import build
from saccade.inside.attended import heads_of
from saccade.inside.decomposition import Decomposed, ScoreTerms
from saccade.task.translation import Translation
from saccade.train.config import load_config
from saccade.types import LayerContext, Part, UserError

FOLDER = Path(__file__).parents[2] / 'experiments/translation'
B, S, T, V = 3, 7, 5, 12
CLOSE = 1e-5
CELL = {'use': 'recurrent.cell.gru:GRU', 'width': 8}
LUONG = {'use': 'recurrent.decoder.luong:Luong', 'input_feeding': False, 'cell': CELL, 'layers': 2}
SIZES = ('data.source_context_length=8', 'data.context_length=6')


def soft(score):
    return {'use': 'recurrent.decoder.soft:Soft', 'score': {'use': f'recurrent.score.{score}'}}


def recurrent(decoder):
    """An encoder of two layers, and this decoder."""
    spec = load_config(str(FOLDER / 'one_to_one.py'), [f'--config.{each}' for each in ('model.width=8', *SIZES)])[
        'model'
    ]
    bridge = {'use': 'recurrent.decoder.projected:Projected'}
    encoder = spec['encoder'] | {'layers': 2}
    return build(spec | {'decoder': decoder, 'encoder': encoder, 'bridge': bridge, 'vocabulary': V})


def transformer(name, **cross):
    """Of two layers, which a loop goes through where attention has its plain kernel."""
    spec = load_config(str(FOLDER / f'{name}.py'), [f'--config.{each}' for each in SIZES])['model']
    for side in ('encoder', 'decoder'):
        spec[side] |= {'width': 8, 'vocabulary': V, 'layers': 2, 'run': {'use': 'model.stack:Scanned'}}
    spec['decoder']['block']['cross'] |= cross
    return build(spec)


MODELS = {
    'dot': lambda: recurrent(LUONG | {'attention': soft('dot:Dot')}),
    'general': lambda: recurrent(LUONG | {'attention': soft('general:General')}),
    'attention_only': lambda: transformer('attention_only'),
    'transformer': lambda: transformer('generated'),
    'grouped': lambda: transformer('generated', key_value_heads=2),
}


def batch():
    random = np.random.default_rng(0)
    counts = {'source': np.array([[7], [4], [6]]), 'tokens': np.array([[6], [3], [5]])}
    made = {}
    for name, length in (('source', S), ('tokens', T + 1)):
        there = (np.arange(length) < counts[name]).astype(np.int32)
        prefix = 'source_' if name == 'source' else ''
        made[name] = random.integers(1, V, (B, length)).astype(np.int32) * there
        made |= {f'{prefix}segments': there, f'{prefix}positions': np.arange(length, dtype=np.int32) * there}
    return made


def drawn(model):
    """Weights that make attention look at something."""
    task = Translation(search=Part(object), metrics=())
    rows = jax.tree.map(jnp.asarray, batch())
    shapes = jax.eval_shape(lambda: task.init(model(), jax.random.key(0), rows))
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(0, 1.0, leaf.shape), jnp.float32), shapes)


def weights(model, params):
    """The model's own, [L B N T S]."""
    given = jax.tree.map(jnp.asarray, batch())
    contexts = (
        LayerContext(given['source_positions'], given['source_segments']),
        LayerContext(given['positions'][:, :-1], given['segments'][:, :-1]),
    )

    @jax.jit
    def run(params):
        arguments = given['source'], contexts[0], given['tokens'][:, :-1], contexts[1], False
        return model().apply({'params': params}, *arguments, mutable=['pattern'])[1]

    found = run(params)
    layers = [leaf for leaf in jax.tree.leaves(found) if leaf.shape[-2:] == (T, S)]
    return np.concatenate([np.asarray(leaf).reshape(-1, *leaf.shape[-4:]) for leaf in layers])


@pytest.mark.long
@pytest.mark.parametrize('name', MODELS)
def test_the_nine_terms_make_the_weights_of_the_model(name):
    model, params = MODELS[name](), drawn(MODELS[name]())
    given = batch()
    heads = heads_of(model, params, given)
    found = []
    for head in heads:
        queries = Decomposed.of(head.queries, given['tokens'][:, :-1], given['segments'][:, :-1] > 0)
        keys = Decomposed.of(head.keys, given['source'], given['source_segments'] > 0)
        terms = ScoreTerms.of(queries, keys, head.scale)
        scores = np.where(terms.seen, terms.terms.sum((0, 1)), -np.inf)
        exponents = np.exp(scores - np.where(terms.seen.any(-1), scores.max(-1), 0)[..., None])
        found.append(exponents / np.maximum(exponents.sum(-1, keepdims=True), 1e-30))
    expected = weights(model, params)
    np.testing.assert_allclose(np.stack(found), rearrange(expected, 'L B N T S -> (L N) B T S'), atol=CLOSE)
    assert expected.max() > 0.5  # so that it is not everywhere alike


@pytest.mark.long
def test_a_kernel_that_makes_no_weights_compares_the_same():
    plain = transformer('generated')
    blockwise = transformer('generated', kernel={'use': 'attention.blockwise:Blockwise'})
    params = drawn(plain)
    for one, other in zip(heads_of(plain, params, batch()), heads_of(blockwise, params, batch()), strict=True):
        np.testing.assert_allclose(other.queries, one.queries, atol=CLOSE)
        np.testing.assert_allclose(other.keys, one.keys, atol=CLOSE)


@pytest.mark.long
def test_the_heads_are_named_layer_by_layer():
    model = transformer('generated')
    assert [head.name for head in heads_of(model, drawn(model), batch())] == [
        f'layer {layer}, head {head}' for layer in (0, 1) for head in (0, 1, 2, 3)
    ]


def test_without_attention_there_are_the_hidden_states_and_no_scores():
    model = recurrent({'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': True, 'cell': CELL, 'layers': 2})
    (head,) = heads_of(model, drawn(model), batch())
    assert head.scale is None
    assert (head.queries.shape, head.keys.shape) == ((B, T, 8), (B, S, 8))
    assert head.queries.std() > 0.1
    assert head.keys.std() > 0.1


@pytest.mark.long
@pytest.mark.parametrize(
    ('attention', 'width'),
    [
        ({'use': 'recurrent.decoder.soft:Soft', 'score': {'use': 'recurrent.score.additive:Additive', 'width': 6}}, 6),
        (
            {
                'use': 'recurrent.decoder.local_monotonic:LocalMonotonic',
                'score': {'use': 'recurrent.score.dot:Dot'},
                'reach': 1,
            },
            8,
        ),
    ],
)
def test_scores_that_are_not_the_products_of_all_pairs_have_no_terms(attention, width):
    model = recurrent(LUONG | {'attention': attention})
    (head,) = heads_of(model, drawn(model), batch())
    assert head.scale is None
    assert head.queries.shape == (B, T, width)


@pytest.mark.long
@pytest.mark.parametrize(
    'decoder',
    [LUONG | {'input_feeding': True}, {'use': 'recurrent.decoder.bahdanau:Bahdanau', 'cell': CELL, 'layers': 1}],
)
def test_states_that_wait_for_each_other_are_refused(decoder):
    model = recurrent(decoder | {'attention': soft('general:General')})
    with pytest.raises(UserError, match=r'RecurrentSeq2Seq: .* recurrent.decoder.fixed_context:FixedContext'):
        heads_of(model, drawn(model), batch())
