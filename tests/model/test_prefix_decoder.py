# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""One decoder that reads and writes: who sees whom, its steps after a source, padding, and what it refuses."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.decode.greedy import Greedy
from saccade.model.stack import unstacked
from saccade.types import LanguageModel, LayerContext, Seq2Seq, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, S, T, V, D = 2, 5, 4, 13, 16
RANDOM = np.random.default_rng(0)
SOURCE, TOKENS = (jnp.array(RANDOM.integers(0, V, (B, length))) for length in (S, T))
READ = LayerContext(jnp.tile(jnp.arange(S), (B, 1)), jnp.array([[1] * 5, [1] * 3 + [0] * 2]))
WRITTEN = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), jnp.array([[1] * 4, [1] * 3 + [0]]))
REAL = np.asarray(WRITTEN.segments) != 0
NORM = {'use': 'norm.rms:RMSNorm'}


def spec(mask='CausalAfterPrefix', kernel=None, context_length=S + T + 2, source_context_length=S, layers=2):
    mixer = {
        'use': 'attention.multi_head:MultiHead',
        'heads': 2,
        'kernel': kernel or {'use': 'attention.plain:Plain'},
        'mask': {'use': f'ops.mask:{mask}'},
        'position': {'use': 'position.rotary:Rotary'},
    }
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    return {
        'use': 'model.prefix_decoder:PrefixDecoder',
        'source_context_length': source_context_length,
        'decoder': {
            'use': 'model.decoder:Decoder',
            'vocabulary': V,
            'context_length': context_length,
            'width': D,
            'layers': layers,
            'block': {'use': 'block.pre_norm:PreNorm', 'mixer': mixer, 'feedforward': feedforward, 'norm': NORM},
            'position': {'use': 'position.none:NoPosition'},
            'norm': NORM,
            'run': {'use': 'model.stack:Unrolled'},
            'embedding_init': {'use': 'jax.nn.initializers:normal', 'stddev': 1.0},
            'tied': False,
        },
    }


def model(**changes):
    return build(spec(**changes))()


@functools.cache
def params():
    return drawn(model())


def drawn(given):
    shapes = jax.eval_shape(lambda: given.init(jax.random.key(0), SOURCE, READ, TOKENS, WRITTEN, False))
    random = np.random.default_rng(1)
    with jax.ensure_compile_time_eval():  # the first call may be inside a traced function
        return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def logits_of(given=None, source=SOURCE, read=READ, tokens=TOKENS, written=WRITTEN):
    return jax.jit(lambda params: (given or model()).apply(params, source, read, tokens, written, False))(params())


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def test_it_reads_and_writes_as_an_encoder_decoder_does_and_is_no_language_model():
    assert isinstance(model(), Seq2Seq)
    assert not isinstance(model(), LanguageModel)
    assert (model().vocabulary, model().source_context_length, model().context_length) == (V, S, T + 2)


@pytest.mark.long
@pytest.mark.parametrize('mask', ['CausalAfterPrefix', 'Causal'])
def test_the_source_sees_all_of_itself_where_the_mask_says_so_and_what_is_written_what_came_before(mask):
    """By the Jacobian of what the only layer's attention reads, by tokens of which no two are alike."""
    given = model(mask=mask, layers=1)
    alone = drawn(given)['params']
    row = jnp.arange(S + T)[None]
    whole = LayerContext(jnp.arange(S + T)[None], jnp.ones((1, S + T), int), prefix=jnp.array([S]))

    @jax.jit
    def depends(place):
        def logits(table):
            own = {'params': alone['decoder'] | {'embedding': table}}
            return jnp.sin(given.decoder().apply(own, row, whole, False)[:, place]).sum()

        return jnp.abs(jax.grad(logits)(alone['decoder']['embedding'])).max(axis=-1)[: S + T]

    sees = np.array([depends(place) for place in range(S + T)]) > 0
    expected = np.tri(S + T, dtype=bool)
    expected[:S, :S] |= mask == 'CausalAfterPrefix'
    np.testing.assert_array_equal(sees, expected)


@pytest.mark.long
def test_it_is_its_decoder_on_the_two_in_one_row():
    row = slice(0, 1)
    both = LayerContext(jnp.arange(S + T)[None], prefix=jnp.array([S]))
    alone = {'params': params()['params']['decoder']}
    expected = model().decoder().apply(alone, jnp.concatenate([SOURCE[row], TOKENS[row]], axis=-1), both, False)
    assert_near(logits_of()[row], expected[:, S:])


@pytest.mark.long
def test_padding_of_a_source_is_not_read_and_more_of_it_changes_nothing():
    padded = np.asarray(READ.segments) == 0
    np.testing.assert_array_equal(logits_of(source=jnp.where(padded, (SOURCE + 1) % V, SOURCE)), logits_of())
    row = slice(1, 2)
    short = LayerContext(READ.positions[row, :3], READ.segments[row, :3])
    written = LayerContext(WRITTEN.positions[row], WRITTEN.segments[row])
    alone = logits_of(source=SOURCE[row, :3], read=short, tokens=TOKENS[row], written=written)
    assert_near(alone[:, :3], logits_of()[row, :3])


KERNELS = {
    'plain': None,
    'blockwise': {'use': 'attention.blockwise:Blockwise', 'query_block': 2, 'key_block': 3},
}


@pytest.mark.long
@pytest.mark.parametrize('name', KERNELS)
def test_steps_after_a_source_replay_the_whole(name):
    given = model(kernel=KERNELS[name])
    step = jax.jit(functools.partial(given.apply, method='step'))
    state = jax.jit(lambda params: given.apply(params, SOURCE, READ, T, method='encode'))(params())
    cut, parts = {'params': {'decoder': unstacked(params()['params']['decoder'])}}, []
    for here in np.split(np.arange(T), (2, 3)):
        part, state = step(cut, TOKENS[:, here], WRITTEN.segments[:, here], state)
        parts.append(part)
    assert_near(jnp.concatenate(parts, axis=1)[REAL], logits_of(given)[REAL])
    assert {leaf.shape[0] for leaf in jax.tree.leaves(state)} == {B}


@pytest.mark.long
def test_what_is_written_greedily_is_the_most_probable_of_the_whole():
    batch = {
        'source': SOURCE,
        'source_segments': READ.segments,
        'source_positions': READ.positions,
        'tokens': TOKENS,
        'end': jnp.full(B, V),  # none: all of it is written
    }
    written = Greedy()(model(), params()['params'], batch)
    tokens = np.concatenate([TOKENS[:, :1], written.tokens], axis=1)
    whole = LayerContext(jnp.tile(jnp.arange(T + 2), (B, 1)), jnp.ones((B, T + 2), int))
    logits = logits_of(tokens=jnp.array(tokens[:, :-1]), written=whole)
    np.testing.assert_array_equal(logits.argmax(axis=-1), tokens[:, 1:])


def test_a_kernel_that_cannot_see_a_prefix_is_refused():
    given = model(kernel={'use': 'attention.linear:Linear'})
    with pytest.raises(UserError, match='does not support'):
        given.apply(params(), SOURCE, READ, TOKENS, WRITTEN, False)


@pytest.mark.parametrize('source_context_length', [0, S + T + 2])
def test_a_context_that_leaves_nothing_to_read_or_to_write_is_refused(source_context_length):
    with pytest.raises(UserError, match='source_context_length'):
        logits_of(model(source_context_length=source_context_length))
