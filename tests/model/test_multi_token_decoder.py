# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Heads for later tokens: their inputs, what they can see, and the decoder that stays the same without them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.decode.generate import generate
from saccade.decode.sampling import Sampler
from saccade.types import LanguageModel, LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, V, D = 2, 9, 13, 16
RANDOM = np.random.default_rng(0)
TOKENS = jnp.array(RANDOM.integers(0, V, (B, T)))
PACKED = jnp.array([[1, 1, 1, 1, 2, 2, 2, 2, 2], [1, 1, 1, 1, 1, 1, 1, 0, 0]])
CONTEXT = LayerContext(jnp.array([[0, 1, 2, 3, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 6, 0, 0]]), PACKED)
ONE = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
HEADS = ['ParallelHeads', 'SequentialHeads']
MIXER = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 2,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.rotary:Rotary'},
}
GRU = {'use': 'recurrent.mixer.recurrent:Recurrent', 'cell': {'use': 'recurrent.cell.gru:GRU', 'width': D}}


def decoder(**changes):
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    block = {'use': 'block.pre_norm:PreNorm', 'feedforward': feedforward, 'norm': {'use': 'norm.rms:RMSNorm'}}
    return {
        'use': 'model.decoder:Decoder',
        'vocabulary': V,
        'context_length': T + 4,
        'width': D,
        'layers': 2,
        'block': block | {'mixer': changes.pop('mixer', MIXER)},
        'position': {'use': 'position.none:NoPosition'},
        'norm': {'use': 'norm.rms:RMSNorm'},
        'run': {'use': 'model.stack:Unrolled'},
        **changes,
    }


def spec(heads, count=2, block=None, **changes):
    ahead = {'use': f'model.multi_token:{heads}', 'count': count, 'block': block}
    return decoder(**changes) | {'use': 'model.multi_token:MultiTokenDecoder', 'ahead': ahead}


def model(heads, **changes):
    return build(spec(heads, **changes))()


def drawn(given):
    shapes = jax.eval_shape(lambda: given.init(jax.random.key(0), TOKENS, ONE, False))['params']
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def by_distance(given, params, tokens=TOKENS, context=ONE):
    """The hidden states of the decoder and of each head, in the order of their targets' distances."""

    @jax.jit
    def run(params, tokens, context):
        return given.apply({'params': params}, tokens, context, False, method='projection_ahead').hidden

    return np.split(np.asarray(run(params, tokens, context)), given.ahead['count'] + 1, axis=1)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('heads', HEADS)
@pytest.mark.parametrize('mixer', [MIXER, GRU], ids=['attention', 'recurrent'])
def test_without_its_heads_it_is_a_decoder(heads, mixer):
    given, plain = model(heads, mixer=mixer, tied=False), build(decoder(mixer=mixer, tied=False))()
    params = drawn(given)
    own = {name: value for name, value in params.items() if name != 'ahead'}
    assert jax.tree.structure(own) == jax.tree.structure(drawn(plain))
    assert isinstance(given, LanguageModel)
    logits = plain.apply({'params': own}, TOKENS, CONTEXT, False)
    assert_near(given.apply({'params': params}, TOKENS, CONTEXT, False), logits)
    whole = given.apply({'params': params}, TOKENS, CONTEXT, False, method='projection_ahead')
    assert_near(whole.logits()[:, :T], logits)
    prompts = [[1, 2, 3], [4]]
    told = prompts, Sampler(0.0), 5, jax.random.key(0)
    assert generate(given, params, *told) == generate(plain, own, *told)


def layer(given, params, x):
    """One block of the model on whole rows, with the parameters of a head."""
    own = jax.tree.map(lambda leaf: leaf[0], params['pattern_0'])
    return given.blocks[0](parent=None).apply({'params': own}, x, ONE, False)


def normed(params, x):
    return params['scale'] * x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + 1e-6)


def before_norm(params, **changes):
    """Hidden states of the decoder before the final norm: those after it, of a norm that is the identity."""
    plain = build(decoder(**changes) | {'norm': {'use': 'norm.none:NoNorm'}})()
    own = {name: value for name, value in params.items() if name not in ('ahead', 'norm')}
    return plain.apply({'params': own}, TOKENS, ONE, False, method='output_projection').hidden


@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
@pytest.mark.parametrize('layers', [1, 3])
def test_parallel_heads_are_other_last_layers(layers, run):
    given = model('ParallelHeads', layers=layers, run={'use': f'model.stack:{run}'})
    params = drawn(given)
    _, *found = by_distance(given, params)
    first = jax.tree.map(lambda leaf: leaf[: layers - 1], params['layers'])
    h = before_norm(params | {'layers': first}, layers=layers - 1) if layers > 1 else params['embedding'][TOKENS]
    for number, hidden in enumerate(found, start=1):
        head = layer(given, params['ahead'][f'head_{number}'], h)
        assert_near(hidden, normed(params['ahead'][f'norm_{number}'], head))


def test_sequential_heads_read_the_head_before_them_and_the_next_token():
    given = model('SequentialHeads', embedding_scale=2.0)
    params = drawn(given)
    _, *found = by_distance(given, params)
    h, ahead = before_norm(params, embedding_scale=2.0), params['ahead']
    for number, hidden in enumerate(found, start=1):
        later = 2.0 * params['embedding'][np.roll(TOKENS, -number, axis=1)]
        both = normed(ahead[f'hidden_norm_{number}'], h), normed(ahead[f'token_norm_{number}'], later)
        joined = np.concatenate(both, axis=-1) @ ahead[f'join_{number}']
        h = layer(given, ahead[f'head_{number}'], joined)
        there = T - number  # the last places have no such token
        assert_near(hidden[:, :there], normed(ahead[f'norm_{number}'], h)[:, :there])


@pytest.mark.parametrize('mixer', [MIXER, GRU], ids=['attention', 'recurrent'])
@pytest.mark.parametrize('heads', HEADS)
def test_a_head_sees_no_token_from_its_target_on(heads, mixer):
    given = model(heads, mixer=mixer)
    params = drawn(given)
    place = 5
    found = by_distance(given, params)
    changed = by_distance(given, params, TOKENS.at[:, place].set((TOKENS[:, place] + 1) % V))
    for number, (before, after) in enumerate(zip(found, changed, strict=True)):
        differs = np.abs(before - after).max(axis=(0, 2)) > 0
        first = place - number if heads == 'SequentialHeads' else place
        # At place t the head reads the tokens up to t + number; the last `number` places have no target.
        assert not differs[:first].any()
        assert differs[first]


@pytest.mark.long
@pytest.mark.parametrize('mixer', [MIXER, GRU], ids=['attention', 'recurrent'])
@pytest.mark.parametrize('heads', HEADS)
def test_packed_documents_are_those_of_rows_of_their_own(heads, mixer):
    given = model(heads, mixer=mixer)
    params = drawn(given)
    packed = by_distance(given, params, TOKENS, CONTEXT)
    for row, start, stop in [(0, 0, 4), (0, 4, 9), (1, 0, 7)]:
        tokens, length = TOKENS[row : row + 1, start:stop], stop - start
        alone = by_distance(given, params, tokens, LayerContext(jnp.arange(length)[None]))
        for number, (of_row, of_document) in enumerate(zip(packed, alone, strict=True)):
            there = length - number  # places that have a target
            assert_near(of_row[row, start : start + there], of_document[0, :there])


def test_a_head_can_have_a_block_of_its_own():
    gated = {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:silu'}}
    block = {
        'use': 'block.pre_norm:PreNorm', 'mixer': GRU, 'feedforward': gated, 'norm': {'use': 'norm.rms:RMSNorm'},
    }  # fmt: skip
    params = drawn(model('SequentialHeads', count=1, block=block))
    assert 'cell' in params['ahead']['head_1']['pattern_0']['mixer']
    assert 'query' in params['layers']['pattern_0']['mixer']


def test_parallel_heads_need_a_last_layer_of_its_own():
    pattern = [decoder()['block']] * 2
    with pytest.raises(UserError, match='last_blocks to one block'):
        drawn(patterned(pattern))
    assert drawn(patterned(pattern, layers=3, last_blocks=[decoder()['block']]))['ahead']


def patterned(pattern, layers=4, **changes):
    return build(spec('ParallelHeads', layers=layers, **changes) | {'block': pattern})()


def test_a_head_that_reads_later_tokens_is_refused():
    block = decoder()['block'] | {'mixer': MIXER | {'mask': {'use': 'ops.mask:Full'}}}
    with pytest.raises(UserError, match='causal'):
        drawn(model('ParallelHeads', block=block))


@pytest.mark.parametrize('count', [0, 8])
def test_there_are_one_to_seven_heads(count):
    with pytest.raises(UserError, match='count must be at least 1 and at most 7'):
        model('ParallelHeads', count=count)
