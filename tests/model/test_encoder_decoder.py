# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The encoder-decoder: what each side sees, its steps beside a source that is read once, and what it refuses."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted import count_primitive

from saccade.build import build
from saccade.decode.greedy import Greedy
from saccade.model.stack import unstacked
from saccade.types import LayerContext, Seq2Seq, UserError

F32_RELATIVE = 1e-5  # of the largest element
BF16_RELATIVE = 0.05
B, S, T, V, D, N, L = 2, 7, 6, 13, 16, 2, 2
RANDOM = np.random.default_rng(0)
SOURCE, TOKENS = (jnp.array(RANDOM.integers(0, V, (B, length))) for length in (S, T))
READ = LayerContext(jnp.tile(jnp.arange(S), (B, 1)), jnp.array([[1] * 7, [1] * 4 + [0] * 3]))
WRITTEN = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), jnp.array([[1] * 6, [1] * 5 + [0]]))
REAL = np.asarray(WRITTEN.segments) != 0

NORM = {'use': 'norm.rms:RMSNorm'}
UNROLLED = {'use': 'model.stack:Unrolled'}
TABLE = {'use': 'position.relative_bias:RelativeBias', 'buckets': 8, 'furthest': 20}


def attention(mask, **changes):
    own = {
        'use': 'attention.multi_head:MultiHead',
        'heads': N,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': f'ops.mask:{mask}'},
        'position': {'use': 'position.none:NoPosition'},
    }
    return own | changes


def block(mask, use='block.pre_norm:PreNorm', **more):
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    return {'use': use, 'mixer': attention(mask), 'feedforward': feedforward, 'norm': NORM, **more}


def tower(use, block, run=UNROLLED, **changes):
    own = {
        'use': use,
        'vocabulary': V,
        'context_length': 9,
        'width': D,
        'layers': L,
        'block': block,
        'position': {'use': 'position.none:NoPosition'},
        'norm': NORM,
        'run': run,
        'embedding_init': {'use': 'jax.nn.initializers:normal', 'stddev': 1.0},
    }
    return own | changes


def spec(run=UNROLLED, encoder=None, decoder=None, cross=None, writes=None, **changes):
    both_ways = {'shared': TABLE | {'both_sides': True}, 'run': run, **(encoder or {})}
    one_way = {'shared': TABLE, 'run': run, 'tied': True, **(decoder or {})}
    writes = writes or block('Causal', cross=cross or attention('Full'))
    return {
        'use': 'model.encoder_decoder:EncoderDecoder',
        'encoder': tower('model.encoder:Encoder', block('Full'), **both_ways),
        'decoder': tower('model.decoder:Decoder', writes, **one_way),
        **changes,
    }


def model(**changes):
    return build(spec(**changes))()


def shapes(given, source=SOURCE):
    return jax.eval_shape(lambda: given.init(jax.random.key(0), source, READ, TOKENS, WRITTEN, False))


def drawn(given, source=SOURCE):
    random = np.random.default_rng(1)
    draw = functools.partial(random.normal, scale=0.4)
    with jax.ensure_compile_time_eval():  # the first call may be inside a traced function
        return jax.tree.map(lambda leaf: jnp.array(draw(size=leaf.shape), leaf.dtype), shapes(given, source))


@functools.cache
def params():
    return drawn(model())


@functools.cache
def compiled():
    return jax.jit(lambda params, *rest: model().apply(params, *rest, False))


def logits_of(source=SOURCE, read=READ, tokens=TOKENS, written=WRITTEN):
    return compiled()(params(), source, read, tokens, written)


def assert_near(given, expected, relative=F32_RELATIVE):
    given, expected = np.asarray(given, np.float32), np.asarray(expected, np.float32)
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * np.abs(expected).max())


def test_it_is_a_sequence_to_sequence_model():
    given = model(encoder={'context_length': 8})
    assert isinstance(given, Seq2Seq)
    assert (given.vocabulary, given.source_vocabulary, given.source_context_length, given.context_length) == (
        V,
        None,
        8,
        9,
    )


@pytest.mark.long
def test_padding_of_a_source_is_not_read():
    padded = np.asarray(READ.segments) == 0
    np.testing.assert_array_equal(logits_of(jnp.where(padded, (SOURCE + 1) % V, SOURCE)), logits_of())
    assert np.abs(logits_of((SOURCE + 1) % V) - logits_of()).max() > 0.01


@pytest.mark.long
def test_more_padding_changes_no_logits():
    row = slice(1, 2)
    short = LayerContext(READ.positions[row, :4], READ.segments[row, :4])
    alone = compiled()(
        params(), SOURCE[row, :4], short, TOKENS[row], LayerContext(WRITTEN.positions[row], WRITTEN.segments[row])
    )
    assert_near(alone[:, :5], logits_of()[row, :5])


@pytest.mark.long
def test_what_is_written_is_causal_and_sees_the_whole_source():
    """By the Jacobian: of the logits at each place, by the embeddings of tokens of which no two are alike."""
    given = model(decoder={'tied': False})
    alike = drawn(given)['params']
    source, tokens = jnp.arange(S)[None], S + jnp.arange(T)[None]
    whole = LayerContext(READ.positions[:1]), LayerContext(WRITTEN.positions[:1])

    @jax.jit
    def depends(place):
        def logits(table):
            own = {**alike, 'encoder': {**alike['encoder'], 'embedding': table}}
            return jnp.sin(given.apply({'params': own}, source, whole[0], tokens, whole[1], False)[:, place]).sum()

        return jnp.abs(jax.grad(logits)(alike['encoder']['embedding'])).max(axis=-1)

    for place in range(T):
        of_source, of_tokens = np.split(depends(place), [S])
        assert (of_source > 0).all()
        assert (of_tokens[: place + 1] > 0).all()
        np.testing.assert_array_equal(of_tokens[place + 1 :], 0.0)


@pytest.mark.long
def test_pairs_packed_into_a_row_are_as_if_alone():
    places = jnp.array([[0, 1, 2, 3, 0, 1, 2]]), jnp.array([[0, 1, 2, 0, 1, 2]])
    packed = (
        LayerContext(places[0], jnp.array([[1] * 4 + [2] * 3])),
        LayerContext(places[1], jnp.array([[1] * 3 + [2] * 3])),
    )
    together = compiled()(params(), SOURCE[:1], packed[0], TOKENS[:1], packed[1])
    for read, written in ((slice(0, 4), slice(0, 3)), (slice(4, 7), slice(3, 6))):
        alone = compiled()(
            params(),
            SOURCE[:1, read],
            LayerContext(places[0][:, read]),
            TOKENS[:1, written],
            LayerContext(places[1][:, written]),
        )
        assert_near(together[:, written], alone)


def in_steps(given, params):
    """Steps of one token and of more, beside sources that are read with the parameters as they are trained."""
    step = jax.jit(functools.partial(given.apply, method='step'))
    state = jax.jit(lambda params: given.apply(params, SOURCE, READ, T + 2, method='encode'))(params)
    params, parts = {'params': unstacked(params['params'])}, []
    for here in np.split(np.arange(T), np.cumsum((3, 1, 2))[:-1]):
        part, state = step(params, TOKENS[:, here], WRITTEN.segments[:, here], state)
        parts.append(part)
    return jnp.concatenate(parts, axis=1), state


@pytest.mark.long
def test_steps_replay_the_whole():
    logits, state = in_steps(model(), params())
    assert_near(logits[REAL], logits_of()[REAL])
    np.testing.assert_array_equal(state.position, WRITTEN.segments.sum(axis=-1))


CROSS = {
    'grouped, rotary, fused': {
        'key_value_heads': 1,
        'bias': True,
        'position': {'use': 'position.rotary:Rotary'},
        'fused': True,
    },
    'normed heads': {'head_norm': NORM, 'gate': {'use': 'jax.nn:sigmoid'}},
    'blockwise': {'kernel': {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}},
    'linear': {'kernel': {'use': 'attention.linear:Linear'}},
    'differential': {'use': 'attention.differential:Differential'},
    'persistent memory': {'use': 'attention.persistent_memory:PersistentMemory', 'count': 2},
}


@pytest.mark.long
@pytest.mark.parametrize('name', CROSS)
def test_steps_replay_the_whole_however_the_source_is_read(name):
    given = model(cross=attention('Full', **CROSS[name]))
    params = drawn(given)
    whole = jax.jit(lambda params: given.apply(params, SOURCE, READ, TOKENS, WRITTEN, False))(params)
    assert_near(in_steps(given, params)[0][REAL], whole[REAL])


@pytest.mark.long
def test_rows_of_a_state_can_be_reordered():
    step = functools.partial(model().apply, params(), method='step')
    state = model().apply(params(), SOURCE, READ, T, method='encode')
    assert {leaf.shape[0] for leaf in jax.tree.leaves(state)} == {B}
    one = jnp.ones((B, 1), int)
    straight, _ = step(TOKENS[:, :1], one, state)
    crossed, _ = step(TOKENS[::-1, :1], one, jax.tree.map(lambda leaf: leaf[::-1], state))
    assert_near(crossed[::-1], straight)


@pytest.mark.long
def test_a_step_multiplies_nothing_of_the_source_by_a_kernel():
    state = jax.eval_shape(lambda params: model().apply(params, SOURCE, READ, T, method='encode'), params())
    one = TOKENS[:, :1], jnp.ones((B, 1), int)

    def step(params, state):
        return model().apply(params, *one, state, method='step')[0]

    own, cross, feedforward, logits = 6, 4, 2, 1  # queries and outputs, scores and sums; keys and values of its own
    assert count_primitive(step, 'dot_general', params(), state) == L * (own + cross + feedforward) + logits


@pytest.mark.long
def test_a_step_needs_no_parameter_that_makes_anything_of_the_source():
    """With all of these gone bad after the source is read, the steps are what they were."""

    def bad(path, leaf):
        names = [key.key for key in path]
        reads = 'encoder' in names and names[-1] != 'embedding'
        makes = 'cross' in names and names[-1] in ('key', 'value')
        return jnp.full_like(leaf, jnp.nan) if reads or makes else leaf

    broken = jax.tree_util.tree_map_with_path(bad, params())
    state = model().apply(params(), SOURCE, READ, T, method='encode')
    one = TOKENS[:, :1], jnp.ones((B, 1), int)
    given, expected = (model().apply(each, *one, state, method='step')[0] for each in (broken, params()))
    np.testing.assert_array_equal(given, expected)


@pytest.mark.long
def test_a_step_moves_none_of_the_keys_and_values_of_the_source():
    state = jax.eval_shape(lambda params: model().apply(params, SOURCE, READ, T, method='encode'), params())
    step = jax.jit(functools.partial(model().apply, method='step'), donate_argnums=3)
    cut = {'params': unstacked(params()['params'])}
    compiled = step.lower(cut, TOKENS[:, :1], jnp.ones((B, 1), int), state).compile().as_text()
    assert not re.search(rf'= f32\[{B},({N},{S}|{S},{N}),{D // N}\]\S* (copy|transpose|fusion)\(', compiled)


@pytest.mark.long
def test_nor_does_a_step_in_a_loop():
    """The loop takes them with heads before tokens, as the products of a step need them; XLA would swap them first."""
    source = {'source': SOURCE, 'source_segments': READ.segments, 'source_positions': READ.positions}
    rows = {**source, 'tokens': TOKENS[:, :1], 'end': jnp.array(-1)}
    written = jax.jit(lambda params: Greedy()(model(), params['params'], rows))
    compiled = written.lower(params()).compile().as_text()
    (loop,) = (line for line in compiled.splitlines() if re.search(r' while\(.*f32|f32.* while\(', line))
    assert f'f32[{B},{N},{S},{D // N}]' in loop
    assert f'f32[{B},{S},{N},{D // N}]' not in loop


RUNNERS = {
    'unrolled, rematerialised': UNROLLED | {'remat': 'nothing_saveable'},
    'scanned': {'use': 'model.stack:Scanned', 'remat': None},
    'scanned, rematerialised': {'use': 'model.stack:Scanned'},
}


@functools.cache
def outputs_and_gradients(run):
    given = model(run=RUNNERS.get(run, UNROLLED))

    def loss(params):
        logits = given.apply(params, SOURCE, READ, TOKENS, WRITTEN, False)
        return jnp.sin(logits).sum(), logits

    return jax.jit(jax.grad(loss, has_aux=True))(params())


@pytest.mark.long
@pytest.mark.parametrize('run', RUNNERS)
def test_however_it_is_run_the_numbers_are_the_same(run):
    jax.tree.map(assert_near, outputs_and_gradients(run), outputs_and_gradients('unrolled'))


@pytest.mark.long
def test_every_parameter_has_a_finite_gradient():
    gradients, _ = outputs_and_gradients('unrolled')
    for leaf in jax.tree.leaves(gradients):
        assert np.isfinite(leaf).all()
        assert np.abs(leaf).max() > 0


@pytest.mark.long
def test_bfloat16_is_near_float32():
    low = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), params())
    logits = compiled()(low, SOURCE, READ, TOKENS, WRITTEN)
    assert logits.dtype == jnp.bfloat16
    assert_near(logits[REAL], logits_of()[REAL], BF16_RELATIVE)


@pytest.mark.long
def test_weights_over_the_source_are_reported_by_layer():
    _, reported = model().apply(params(), SOURCE, READ, TOKENS, WRITTEN, False, mutable=['pattern'])
    layers = reported['pattern']['decoder']['layers']['pattern_0']
    own, weights = (layers[name]['kernel']['pattern'].value for name in ('mixer', 'cross'))
    assert own.shape == (L, B, N, T, T)
    assert weights.shape == (L, B, N, T, S)
    assert_near(weights.sum(axis=-1)[..., :5], np.ones((L, B, N, 5)))
    np.testing.assert_array_equal(weights[:, 1, ..., 4:], 0.0)


@pytest.mark.long
def test_the_encoder_has_the_parameters_of_an_encoder_alone():
    alone = build(spec()['encoder'])()
    expected = jax.eval_shape(lambda: alone.init(jax.random.key(0), SOURCE, READ, False))['params']
    given = params()['params']
    assert jax.tree.map(jnp.shape, given['encoder']) == jax.tree.map(jnp.shape, expected)
    assert 'embedding' not in given['decoder']


@pytest.mark.long
def test_separate_vocabularies_have_an_embedding_each():
    given = model(encoder={'vocabulary': 17}, shared_embedding=False)
    assert (given.vocabulary, given.source_vocabulary) == (V, 17)
    made = shapes(given)['params']
    assert (made['encoder']['embedding'].shape, made['decoder']['embedding'].shape) == ((17, D), (V, D))
    params = drawn(given)
    whole = given.apply(params, SOURCE, READ, TOKENS, WRITTEN, False)
    assert_near(in_steps(given, params)[0][REAL], whole[REAL])


@pytest.mark.long
def test_the_score_terms_that_layers_share_are_not_of_the_source():
    """As T5's table: another one changes what cross-attention weighs only by what it reads."""
    _, before = model().apply(params(), SOURCE, READ, TOKENS, WRITTEN, False, mutable=['pattern'])
    changed = jax.tree.map(lambda leaf: leaf, params())
    changed['params']['decoder']['shared']['table'] = -changed['params']['decoder']['shared']['table']
    _, after = model().apply(changed, SOURCE, READ, TOKENS, WRITTEN, False, mutable=['pattern'])
    first = [w['pattern']['decoder']['layers']['pattern_0'] for w in (before, after)]
    own, cross = ([one[name]['kernel']['pattern'].value[0] for one in first] for name in ('mixer', 'cross'))
    # The first token sees itself alone, whatever its score: so it asks the same, and the table is not in the answer.
    np.testing.assert_array_equal(cross[0][:, :, 0], cross[1][:, :, 0])
    assert np.abs(own[0] - own[1]).max() > 0.01


SLOPES = {'use': 'ops.term:LinearBias', 'slopes': [0.5] * N}


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'writes': block('Causal')}, r'PreNorm of the decoder has no cross'),
        ({'cross': attention('Full', position=TABLE)}, r'RelativeBias has no distance'),
        ({'cross': attention('Full', terms=[SLOPES])}, r'LinearBias has no distance'),
        ({'decoder': {'width': 8}}, rf'{V} x {D} cannot serve a decoder of {V} x 8'),
        ({'encoder': {'vocabulary': 5}}, rf'5 x {D} cannot serve a decoder of {V} x {D} .* shared_embedding'),
        ({'encoder': {'context_length': 5}}, r'7 tokens does not fit the context of 5'),
        ({'decoder': {'context_length': 5}}, r'6 tokens does not fit the context of 5'),
    ],
)
def test_what_does_not_fit_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        shapes(model(**changes))


@pytest.mark.long
def test_a_source_of_frames_is_read_by_another_embedding():
    """Speech to text: steps replay the whole, padding frames are not read, and no table is shared."""
    frames = jnp.array(RANDOM.normal(size=(B, S, 3)), jnp.float32)
    of_frames = {'embed': {'use': 'embed.frame:FrameEmbedding'}, 'vocabulary': None}
    given = model(encoder=of_frames, shared_embedding=False)
    made = drawn(given, frames)
    assert 'embedding' not in made['params']['encoder']
    whole = jax.jit(lambda params, frames: given.apply(params, frames, READ, TOKENS, WRITTEN, False))
    wanted = whole(made, frames)
    state = given.apply(made, frames, READ, T, method='encode')
    found = []
    for column in range(T):
        at = slice(column, column + 1)
        logits, state = given.apply(made, TOKENS[:, at], WRITTEN.segments[:, at], state, method='step')
        found.append(logits)
    assert_near(np.concatenate(found, axis=1)[REAL], np.asarray(wanted)[REAL])
    padded = (np.asarray(READ.segments) == 0)[..., None]
    np.testing.assert_array_equal(whole(made, jnp.where(padded, 9.0, frames)), wanted)
    with pytest.raises(UserError, match='no vocabulary to share; set shared_embedding to False'):
        drawn(model(encoder=of_frames), frames)
