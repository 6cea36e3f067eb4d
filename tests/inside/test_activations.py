# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Activations by name and interventions: equations, names, runners, kernels, steps, one program for all layers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.data.tokenizer.word import Word
from saccade.inside import activations
from saccade.inside.activations import Inside
from saccade.inside.circuits import logit_lens, patch
from saccade.inside.interventions import Change, edits_of
from saccade.inside.reading import Reading, label
from saccade.types import LayerContext, UserError

B, T, D, N, L, V = 2, 7, 16, 4, 3, 11
NEAR = 1e-5
TOKENS = jnp.arange(B * T).reshape(B, T) * 5 % V
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
PLAIN, BLOCKWISE = 'attention.plain:Plain', 'attention.blockwise:Blockwise'


def multi_head(kernel=PLAIN):
    return {
        'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': 2, 'kernel': {'use': kernel},
        'mask': {'use': 'ops.mask:Causal'},
    }  # fmt: skip


def decoder(mixer=None, run='Unrolled', **changes):
    block = {'use': 'block.pre_norm:PreNorm', 'mixer': mixer or multi_head()}
    spec = {
        'use': 'model.decoder:Decoder', 'context_length': 16, 'width': D, 'layers': L, 'vocabulary': V, 'block': block,
        'run': {'use': f'model.stack:{run}'},
    }  # fmt: skip
    return build({**spec, **changes})()


def drawn(model, tokens=TOKENS):
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, CONTEXT))['params']
    random = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)
    return Inside(model, params, (tokens, CONTEXT))


def near(given, expected, tolerance=NEAR):
    np.testing.assert_allclose(given, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))


def ran(inside, changes, names=()):
    output, found = inside.run(names, edits_of(inside.places, changes))
    return np.asarray(output), found


@pytest.fixture(scope='module')
def plain():
    inside = drawn(decoder())
    return inside, *inside.run('*')


@pytest.mark.long
def test_activations_obey_the_equations_of_a_block(plain):
    _, _, found = plain
    for layer in range(L):
        of = {name.removeprefix(f'layers.{layer}.'): value for name, value in found.items()}
        values = np.repeat(of['mixer.value'], N // 2, axis=2)
        near(of['mixer.heads'], np.einsum('bnts,bsnh->btnh', of['mixer.pattern'], values))
        products = np.einsum('btnh,bsnh->bnts', of['mixer.query'], np.repeat(of['mixer.key'], 2, axis=2))
        near(of['mixer.scores'], products / 2)
        near(of['mixer.pattern'].sum(axis=-1), np.ones((B, N, T)))
        near(of['residual_after_mixer'], of['residual_before'] + of['mixer_output'])
        near(of['residual_after'], of['residual_after_mixer'] + of['feedforward_output'])
    near(found['layers.0.residual_before'], found['embedded'])


def test_names_of_transformer_lens_and_of_heads(plain):
    _, _, found = plain
    np.testing.assert_array_equal(found['blocks.1.attn.hook_pattern'], found['layers.1.mixer.pattern'])
    np.testing.assert_array_equal(found['blocks.1.attn.hook_z.2'], found['layers.1.mixer.heads'][:, :, 2])
    np.testing.assert_array_equal(found['layers.1.mixer.pattern.2'], found['layers.1.mixer.pattern'][:, 2])
    for theirs, ours in (
        ('hook_resid_pre', 'residual_before'),
        ('hook_resid_mid', 'residual_after_mixer'),
        ('hook_resid_post', 'residual_after'),
        ('attn.hook_q', 'mixer.query'),
        ('mlp.hook_post', 'feedforward.hidden'),
    ):
        np.testing.assert_array_equal(found[f'blocks.2.{theirs}'], found[f'layers.2.{ours}'])


@pytest.mark.parametrize(
    'name',
    ['layers.1.mixer.heads', 'layers.1.mixer.key', 'layers.1.mixer_output', 'layers.1.residual_after', 'final_norm'],
)
def test_a_mean_is_over_tokens_and_not_over_padding(name):
    inside = drawn(decoder())
    segments = jnp.array([[1] * T, [1] * 3 + [0] * (T - 3)])
    padded = Inside(inside.model, inside.params, (TOKENS, CONTEXT.replace(segments=segments)))
    before = padded.run(name)[1][name]
    _, found = ran(padded, {name: 'mean'}, [name])
    near(found[name][:, :3], np.broadcast_to(before[:, :3].mean(axis=0), before[:, :3].shape))
    near(found[name][0, 3:], before[0, 3:])  # of the only row that has these tokens


@pytest.mark.long
@pytest.mark.parametrize('mixer', ['attention.mamba2:Mamba2', 'attention.rwkv7:RWKV7', 'attention.latent:Latent'])
def test_a_mean_of_other_heads_is_over_tokens_too(mixer):
    sizes = {'rank': 8, 'rotated_width': 4, 'head_width': 4, 'value_width': 4, 'mask': {'use': 'ops.mask:Causal'}}
    own = sizes if mixer.endswith('Latent') else {}
    inside, name = drawn(decoder({'use': mixer, 'heads': N, **own})), 'layers.1.mixer.heads'
    segments = jnp.array([[1] * T, [1] * 3 + [0] * (T - 3)])
    padded = Inside(inside.model, inside.params, (TOKENS, CONTEXT.replace(segments=segments)))
    before = padded.run(name)[1][name]
    _, found = ran(padded, {f'{name}.1': 'mean'}, [name])
    near(found[name][0, 3:], before[0, 3:])
    near(found[name][:, :3, 1], np.broadcast_to(before[:, :3, 1].mean(axis=0), before[:, :3, 1].shape))


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('layers.1.mixer.patern', "did you mean 'layers.1.mixer.pattern'"),
        ('layers.9.mixer.heads', 'there is no activation'),
        ('layers.1.mixer.heads.4', 'no head 4 in layers.1.mixer.heads, which has heads 0 to 3'),
        ('layers.1.residual_after.0', 'no head 0 in layers.1.residual_after, which has no heads'),
    ],
)
def test_unknown_names_are_refused_with_near_ones(plain, name, words):
    inside, _, found = plain
    with pytest.raises(UserError, match=words):
        inside.run(name)
    assert name not in found
    assert 'layers.1.mixer.heads.3' in found


def test_activations_beyond_the_memory_are_refused_with_their_size(plain, monkeypatch):
    monkeypatch.setattr(activations, 'device_limit', lambda: 100)
    with pytest.raises(UserError, match='choose fewer by names'):
        plain[0].run('*')


@pytest.mark.long
@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
@pytest.mark.parametrize('kernel', [PLAIN, BLOCKWISE])
def test_runners_and_kernels_have_the_same_activations(plain, run, kernel):
    _, logits, expected = plain
    output, found = drawn(decoder(multi_head(kernel), run)).run('*')
    assert {*found} == {*expected}
    for name, value in expected.items():
        near(found[name], value)
    near(output, logits)
    notes = {name for name, note in found.notes.items() if kernel in note}
    taken = {name for name in found if name.endswith(('scores', 'pattern'))}
    assert notes == (taken if kernel == BLOCKWISE else set())


@pytest.mark.long
def test_steps_have_the_activations_of_the_whole(plain):
    inside, _, expected = plain
    model, variables = inside.model, {'params': inside.params}
    state = model.apply(variables, TOKENS, T, method='init_state')
    for start, stop in ((0, 3), (3, 4), (4, 7)):
        given = TOKENS[:, start:stop], jnp.ones((B, stop - start), jnp.int32), state
        (_, state), stored = model.apply(
            variables, *given, mutable=['heads', 'pattern', 'residual_after'], method='step'
        )
        places = activations._places(stored, inside.params)
        for name, place in places:
            value, whole = place.read(stored), expected[name]
            if place.collection == 'pattern':
                near(value, whole[:, :, start:stop])
            else:
                near(value, whole[:, start:stop])


@pytest.mark.long
def test_steps_are_edited_as_the_whole(plain):
    inside, _, _ = plain
    edits = edits_of(inside.places, {'layers.1.mixer.heads.2': 0.0, 'layers.2.residual_before': Change(1.0, add=True)})
    whole, _ = inside.run((), edits)
    variables, found = {'params': inside.params, 'edits': edits}, []
    state = inside.model.apply(variables, TOKENS, T, method='init_state')
    for start, stop in ((0, 3), (3, 4), (4, 7)):
        given = TOKENS[:, start:stop], jnp.ones((B, stop - start), jnp.int32), state
        logits, state = inside.model.apply(variables, *given, method='step')
        found.append(logits)
    near(np.concatenate(found, axis=1), whole)


def test_repeated_passes_are_named():
    names = [name for name in drawn(decoder(layers=1, passes=3)).places if name.endswith('heads')]
    assert names == ['layers.0.mixer.heads', 'layers.0.pass_2.mixer.heads', 'layers.0.pass_3.mixer.heads']


@pytest.mark.long
@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
def test_passes_are_edited_apart(run):
    inside = drawn(decoder(layers=1, passes=2, run=run))
    _, found = ran(inside, {'layers.0.pass_2.mixer.heads.1': 0.0}, '*.heads')
    assert np.abs(found['layers.0.pass_2.mixer.heads.1']).max() == 0 < np.abs(found['layers.0.mixer.heads.1']).min()


@pytest.mark.long
@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
def test_an_ablated_head_is_one_without_output_weights(run):
    inside = drawn(decoder(run=run))
    logits, _ = ran(inside, {'layers.1.mixer.heads.2': 0.0})
    params = jax.tree.map(lambda leaf: leaf, inside.params)
    mixer = params['layers']['pattern_0']['mixer']
    mixer['output'] = mixer['output'].at[1, 2].set(0.0)
    near(logits, Inside(inside.model, params, inside.arguments).run()[0])


@pytest.mark.long
def test_changes_are_what_they_say(plain):
    inside, logits, found = plain
    name, direction = 'layers.1.residual_after', np.linspace(-1, 1, D)
    before = found[name]
    _, moved = ran(inside, {name: Change(direction, add=True, tokens=[2, 4])}, name)
    expected = np.array(before)
    expected[:, [2, 4]] += direction
    near(moved[name], expected)
    _, averaged = ran(inside, {'layers.1.mixer.heads.3': 'mean'}, 'layers.1.mixer.heads')
    heads = found['layers.1.mixer.heads']
    near(averaged['layers.1.mixer.heads'][:, :, 3], np.tile(heads[:, :, 3].mean(axis=0), (B, 1, 1)))
    near(averaged['layers.1.mixer.heads'][:, :, :3], heads[:, :, :3])
    same, _ = ran(inside, {each: found[each] for each in found if 'residual' in each or 'heads' in each})
    near(same, logits)


@pytest.mark.long
@pytest.mark.parametrize('tokens', [[2, 4], [0, 3, 5]])
def test_some_tokens_get_a_value_for_each_row_and_token(plain, tokens):
    inside, _, found = plain
    name = 'layers.1.residual_after'
    value = np.random.default_rng(0).normal(size=(B, T, D))
    _, moved = ran(inside, {name: Change(value, tokens=tokens)}, name)
    expected = np.array(found[name])
    expected[:, tokens] = value[:, tokens]
    near(moved[name], expected)


@pytest.mark.long
@pytest.mark.parametrize('kernel', [PLAIN, BLOCKWISE])
def test_a_changed_pattern_mixes_the_values(plain, kernel):
    _, _, expected = plain
    inside = drawn(decoder(multi_head(kernel), 'Scanned'))
    pattern = np.full((B, N, T, T), 1 / T)
    _, found = ran(inside, {'layers.1.mixer.pattern': pattern}, '*.heads')
    values = np.repeat(expected['layers.1.mixer.value'], 2, axis=2)
    near(found['layers.1.mixer.heads'], np.tile(values.mean(axis=1, keepdims=True), (1, T, 1, 1)))
    near(found['layers.0.mixer.heads'], expected['layers.0.mixer.heads'])


@pytest.mark.long
def test_patching_everything_is_the_other_run(plain):
    inside, logits, found = plain
    other = Inside(inside.model, inside.params, ((TOKENS + 1) % V, CONTEXT))
    near(ran(other, {'embedded': found['embedded']})[0], logits)
    near(ran(other, {f'layers.{L - 1}.residual_after': found[f'layers.{L - 1}.residual_after']})[0], logits)


@pytest.mark.long
def test_one_program_serves_every_layer_head_and_token(plain):
    inside, _, _ = plain
    ran(inside, {'layers.0.mixer.heads.0': 0.0})
    compiled = activations._run._cache_size()
    for layer in range(L):
        for head in range(N):
            ran(inside, {f'layers.{layer}.mixer.heads.{head}': 0.0})
    assert activations._run._cache_size() == compiled


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'layers.1.mixer.heads': np.zeros(3)}, 'a value of shape \\(3,\\) does not fit'),
        ({'layers.1.mixer.heads': 'median'}, "a number, an array or 'mean', not 'median'"),
        ({'layers.1.mixer.haeds': 0.0}, 'did you mean'),
    ],
)
def test_changes_that_do_not_fit_are_refused(plain, change, words):
    with pytest.raises(UserError, match=words):
        edits_of(plain[0].places, change)


@pytest.mark.long
def test_an_implied_pattern_cannot_be_changed():
    inside = drawn(decoder({'use': 'attention.retention:Retention', 'heads': N, 'chunk': 4}))
    with pytest.raises(UserError, match='cannot be changed: implied'):
        edits_of(inside.places, {'layers.1.mixer.pattern': 0.0})


@pytest.mark.long
def test_the_lens_of_the_last_layer_is_the_prediction(plain):
    inside, logits, _ = plain
    reading = Reading(inside.arguments, {'': tuple('abcdefg')})
    tokenizer = Word(vocabulary=V).train(['a b c d e f g h i j k'])
    grid = logit_lens(inside, reading, tokenizer)
    assert grid.rows == ('embedded', 'layers.0', 'layers.1', 'layers.2')
    shares = jax.nn.softmax(logits[0])
    near(grid.values[-1], shares.max(axis=-1))
    best = np.asarray(logits[0]).argmax(axis=-1)
    assert [text.split()[0] for text in grid.texts[-1]] == [label(tokenizer, number) for number in best]


@pytest.mark.long
def test_patching_restores_the_answer_where_the_texts_differ(plain):
    clean, _, _ = plain
    tokens = TOKENS[:1]
    other = tokens.at[0, 3].add(1)
    one, two = (
        Inside(clean.model, clean.params, (given, LayerContext(CONTEXT.positions[:1]))) for given in (tokens, other)
    )
    reading = Reading(two.arguments, {'': tuple('abcdefg')})
    by_token, by_head = patch(one, two, reading, (1, 2))
    assert by_token.values.shape == (L, T)
    assert by_head.values.shape == (L, N)
    np.testing.assert_allclose(by_token.values[-1], [0, 0, 0, 0, 0, 0, 1], atol=1e-4)  # the last layer, the last token
    np.testing.assert_allclose(by_token.values[:, :3], 0, atol=1e-4)  # tokens before the change are the same
    with pytest.raises(UserError, match='both texts give the answers the same logits'):
        patch(one, one, reading, (1, 2))
