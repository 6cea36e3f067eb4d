# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gates, states, contexts and patterns of recurrent models by name: equations, steps, edits, programs without taps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.inside.activations import Inside, _places
from saccade.inside.interventions import Change, edits_of
from saccade.module import Module
from saccade.recurrent.cell.base import Cell
from saccade.types import LayerContext, UserError

B, S, T, D, E, L, V = 2, 6, 5, 4, 3, 2, 11
NEAR = 1e-5
LSTM, GRU, RNN, SLSTM = (f'recurrent.cell.{name}' for name in ('lstm:LSTM', 'gru:GRU', 'rnn:RNN', 'slstm:SLSTM'))
CELLS = (LSTM, GRU, RNN, SLSTM)
DECODERS = ('bahdanau', 'luong', 'feeding', 'local', 'fixed')
TOKENS = jnp.arange(B * T).reshape(B, T) * 5 % V
SOURCE = jnp.arange(B * S).reshape(B, S) * 3 % V
PADDED = jnp.array([[1] * S, [1] * 4 + [0] * 2])  # the second source has four tokens


def context(segments):
    return LayerContext(jnp.tile(jnp.arange(segments.shape[1]), (B, 1)), segments)


def seq2seq(kind, cell=LSTM):
    attention = {'use': 'recurrent.decoder.soft:Soft', 'score': {'use': 'recurrent.score.general:General'}}
    local = attention | {'use': 'recurrent.decoder.local_predictive:LocalPredictive', 'reach': 1}
    decoder = {
        'bahdanau': {'use': 'recurrent.decoder.bahdanau:Bahdanau', 'attention': attention},
        'luong': {'use': 'recurrent.decoder.luong:Luong', 'input_feeding': False, 'attention': attention},
        'feeding': {'use': 'recurrent.decoder.luong:Luong', 'input_feeding': True, 'attention': attention},
        'local': {'use': 'recurrent.decoder.luong:Luong', 'input_feeding': True, 'attention': local},
        'fixed': {'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': True},
    }[kind]
    cells = {'cell': {'use': cell, 'width': D}, 'layers': L}
    return build({
        'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq', 'vocabulary': V, 'context_length': T,
        'source_context_length': S, 'width': E, 'tied': False, 'decoder': decoder | cells,
        'encoder': {'use': 'recurrent.encoder:Encoder', 'bidirectional': True, **cells},
        'bridge': {'use': 'recurrent.decoder.projected:Projected'},
    })()  # fmt: skip


def stacked(mixer='recurrent', cell=LSTM, run='Unrolled'):
    model = {'recurrent': 'decoder:Decoder', 'bidirectional': 'encoder:Encoder'}[mixer]
    mixer = {'use': f'recurrent.mixer.{mixer}:{mixer.capitalize()}', 'cell': {'use': cell, 'width': D}}
    return build({
        'use': f'model.{model}', 'context_length': T, 'width': E, 'layers': L, 'vocabulary': V,
        'block': {'use': 'block.pre_norm:PreNorm', 'mixer': mixer}, 'run': {'use': f'model.stack:{run}'},
        **({'heads': {}} if model == 'encoder:Encoder' else {}),
    })()  # fmt: skip


def drawn(model, *arguments):
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), *arguments))['params']
    random = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.6), leaf.dtype), shapes)
    return Inside(model, params, arguments)


def translating(kind, cell=LSTM):
    ones = jnp.ones((B, T), jnp.int32)
    return drawn(seq2seq(kind, cell), SOURCE, context(PADDED), TOKENS, context(ones))


def reading(**given):
    return drawn(stacked(**given), TOKENS, context(jnp.ones((B, T), jnp.int32)))


def near(given, expected, tolerance=NEAR):
    np.testing.assert_allclose(given, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))


def ran(inside, changes, names=()):
    output, found = inside.run(names, edits_of(inside.places, changes))
    return np.asarray(output), found


def before(x, reverse=False):
    """The values one token earlier, in the direction of the loop; zeros before the first."""
    zeros = np.zeros_like(x[:, :1])
    return np.concatenate([x[:, 1:], zeros] if reverse else [zeros, x[:, :-1]], axis=1)


def assert_equations(cell, of, reverse=False, places=slice(None)):
    """The equations of a cell, at some places of rows that start from zeros."""
    h = of['state']
    if cell == GRU:
        z = of['update_gate']
        near(h[:, places], (z * before(h, reverse) + (1 - z) * of['candidate'])[:, places])
        return
    c, o = of['memory'], of['output_gate']
    near(c[:, places], (of['forget_gate'] * before(c, reverse) + of['input_gate'] * of['candidate'])[:, places])
    if cell == SLSTM:
        n = of['normaliser']
        near(n[:, places], (of['forget_gate'] * before(n, reverse) + of['input_gate'])[:, places])
        near(h, o * c / n)
    else:
        near(h, o * np.tanh(c))


def of_cell(found, start):
    return {name.removeprefix(start): value for name, value in found.items() if name.startswith(start)}


@pytest.mark.long
@pytest.mark.parametrize('cell', [LSTM, GRU, SLSTM])
@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
def test_gates_and_states_of_a_mixer_obey_the_equations_of_its_cell(cell, run):
    _, found = reading(cell=cell, run=run).run('*')
    for layer in range(L):
        of = of_cell(found, f'layers.{layer}.mixer.')
        assert {value.shape for value in of.values()} == {(B, T, D)}
        assert_equations(cell, of)


@pytest.mark.long
@pytest.mark.parametrize('cell', [LSTM, GRU, SLSTM])
def test_gates_and_states_of_both_directions_obey_the_equations(cell):
    _, found = reading(mixer='bidirectional', cell=cell).run('*')
    for layer in range(L):
        for way in ('forward', 'backward'):
            assert_equations(cell, of_cell(found, f'layers.{layer}.mixer.{way}.'), way == 'backward')


@pytest.mark.long
@pytest.mark.parametrize('cell', [LSTM, GRU, SLSTM])
def test_gates_and_states_of_an_encoder_obey_the_equations(cell):
    """The second row is padded at its end: its backward cell starts from zeros there."""
    _, found = translating('fixed', cell).run('encoder.*')
    for layer in range(L):
        states = []
        for way in ('forward', 'backward'):
            of = of_cell(found, f'encoder.layers.{layer}.{way}.')
            assert_equations(cell, {name: value[:1] for name, value in of.items()}, way == 'backward')
            assert_equations(cell, {name: value[1:, :4] for name, value in of.items()}, way == 'backward')
            states.append(of['state'])
        real = np.asarray(PADDED) != 0
        np.testing.assert_array_equal(found[f'encoder.layers.{layer}.state'][real], np.concatenate(states, -1)[real])
    last = [states[0][0, -1], states[0][1, 3]], [states[1][0, 0], states[1][1, 0]]
    np.testing.assert_array_equal(found['encoder.context'], np.concatenate(np.array(last), axis=-1))


@pytest.mark.long
@pytest.mark.parametrize('kind', DECODERS)
@pytest.mark.parametrize('cell', [LSTM, GRU])
def test_a_decoder_obeys_its_equations(kind, cell):
    inside = translating(kind, cell)
    logits, found = inside.run('*')
    for layer in range(L):
        assert_equations(cell, of_cell(found, f'decoder.layers.{layer}.'), places=slice(1, None))
    assert ({'decoder.context', 'decoder.pattern'} <= {*found}) == (kind != 'fixed')
    if kind == 'fixed':
        return
    pattern, source = found['decoder.pattern'], found[f'encoder.layers.{L - 1}.state']
    assert pattern.shape == (B, 1, T, S)
    assert np.abs(pattern[1, :, :, 4:]).max() == 0
    near(found['decoder.context'], np.einsum('bts,bsd->btd', pattern[:, 0], source))
    if kind in ('luong', 'feeding'):
        kernel = np.asarray(inside.params['decoder']['joining']['kernel'])
        both = np.concatenate([found['decoder.context'], found[f'decoder.layers.{L - 1}.state']], axis=-1)
        near(found['decoder.attentional_state'], np.tanh(both @ kernel))
    near(inside.run()[0], logits)


def steps_of(inside):
    """Stored values of three chunks of the target, with their places in the row."""
    model, variables = inside.model, {'params': inside.params}
    if len(inside.arguments) == 4:
        state = model.apply(variables, *inside.arguments[:2], T, method='encode')
    else:
        state = model.apply(variables, TOKENS, T, method='init_state')
    for start, stop in ((0, 2), (2, 3), (3, T)):
        given = TOKENS[:, start:stop], jnp.ones((B, stop - start), jnp.int32), state
        mutable = [*{place.collection for place in inside.places.values()}]
        (_, state), stored = model.apply(variables, *given, mutable=mutable, method='step')
        for name, place in _places(stored, inside.params):
            yield name, place.read(stored), place.axes.split().index('T'), slice(start, stop)


@pytest.mark.long
@pytest.mark.parametrize('kind', [*DECODERS, *CELLS])
def test_steps_have_the_activations_of_the_whole(kind):
    inside = reading(cell=kind) if kind in CELLS else translating(kind)
    _, whole = inside.run('*')
    names = set()
    for name, value, axis, tokens in steps_of(inside):
        near(value, np.moveaxis(np.moveaxis(whole[name], axis, 0)[tokens], 0, axis))
        names.add(name)
    assert names == {name for name in whole if not name.startswith('encoder.')}


@pytest.mark.long
@pytest.mark.parametrize('kind', [*DECODERS, *CELLS])
def test_each_activation_set_to_its_own_value_changes_nothing(kind):
    inside = reading(cell=kind) if kind in CELLS else translating(kind)
    logits, found = inside.run('*')
    near(ran(inside, dict(found))[0], logits)


@pytest.mark.long
@pytest.mark.parametrize('kind', [*DECODERS, *CELLS])
def test_each_gate_state_and_context_can_be_changed(kind):
    """A change of one changes the logits; the last states of an encoder are for attention only."""
    inside = reading(cell=kind) if kind in CELLS else translating(kind)
    logits, found = inside.run('*')
    unread = {f'encoder.layers.{L - 1}.state'} if kind == 'fixed' else set()
    random = np.random.default_rng(0)
    names = [name for name in found if '.mixer.' in name or name.startswith(('encoder.', 'decoder.'))]
    for name in {*names} - unread:
        moved = {each: Change((each == name) * random.random(found[each].shape), add=True) for each in names}
        changed, _ = ran(inside, moved)
        assert np.abs(changed - logits).max() > 1e-5, name


@pytest.mark.long
def test_a_change_of_a_gate_at_a_token_changes_the_loop_from_there():
    inside = reading(run='Scanned')
    _, found = inside.run('*')
    _, changed = ran(inside, {'layers.0.mixer.forget_gate': Change(0.0, tokens=[2])}, '*')
    of, now = (of_cell(each, 'layers.0.mixer.') for each in (found, changed))
    np.testing.assert_array_equal(now['memory'][:, :2], of['memory'][:, :2])
    near(now['memory'][:, 2], of['input_gate'][:, 2] * of['candidate'][:, 2])
    assert_equations(LSTM, now)
    assert np.abs(now['memory'][:, 3:] - of['memory'][:, 3:]).min(axis=-1).max() > 0


@pytest.mark.long
def test_a_backward_state_set_at_a_token_is_what_earlier_tokens_read():
    """Zeros at token 2 of a row are the start of the tokens before it."""
    inside = reading(mixer='bidirectional')
    zero = {f'layers.0.mixer.backward.{name}': Change(0.0, tokens=[2]) for name in ('state', 'memory')}
    _, changed = ran(inside, zero, '*')
    short = drawn(inside.model, TOKENS[:, :2], context(jnp.ones((B, 2), jnp.int32)))
    _, expected = Inside(inside.model, inside.params, short.arguments).run('layers.0.mixer.backward.*')
    for name, value in expected.items():
        near(changed[name][:, :2], value)


@pytest.mark.long
@pytest.mark.parametrize('kind', ['bahdanau', 'luong', 'feeding', 'local'])
def test_a_changed_pattern_mixes_the_states_of_the_source(kind):
    inside = translating(kind)
    even = np.full((B, 1, T, S), 1 / S)
    logits, found = ran(inside, {'decoder.pattern': even}, ['decoder.*', f'encoder.layers.{L - 1}.state'])
    source = found[f'encoder.layers.{L - 1}.state']
    near(found['decoder.context'], np.tile(source.mean(axis=1, keepdims=True), (1, T, 1)))
    near(found['decoder.pattern'], even)
    near(ran(inside, {'decoder.context': found['decoder.context']})[0], logits)


@pytest.mark.long
@pytest.mark.parametrize('kind', DECODERS)
def test_steps_are_edited_as_the_whole(kind):
    inside = translating(kind)
    changes = {'decoder.layers.0.input_gate': 0.5, 'decoder.layers.1.state': Change(0.2, add=True)}
    if kind != 'fixed':
        changes['decoder.context'] = Change('mean')
    edits = edits_of(inside.places, changes)
    whole, _ = inside.run((), edits)
    variables, found = {'params': inside.params, 'edits': edits}, []
    state = inside.model.apply(variables, *inside.arguments[:2], T, method='encode')
    for start, stop in ((0, 2), (2, 3), (3, T)):
        given = TOKENS[:, start:stop], jnp.ones((B, stop - start), jnp.int32), state
        logits, state = inside.model.apply(variables, *given, method='step')
        found.append(logits)
    near(np.concatenate(found, axis=1), whole)


@pytest.mark.parametrize('kind', [*DECODERS, *CELLS, 'bidirectional'])
def test_taps_that_nobody_asks_for_are_not_in_the_program(kind, monkeypatch):
    """Without taps, and with plain scans over the tokens, the program is the same."""
    if kind in DECODERS:
        model, arguments = seq2seq(kind), (SOURCE, context(PADDED), TOKENS)
    else:
        given = {'mixer': kind} if kind == 'bidirectional' else {'cell': kind}
        model, arguments = stacked(**given), (TOKENS,)
    params = jax.eval_shape(lambda: model.init(jax.random.key(0), *arguments))['params']

    def program():
        return str(jax.make_jaxpr(lambda params: model.apply({'params': params}, *arguments))(params))

    def plain(self, body, carry, tokens, reverse=False):
        return jax.lax.scan(lambda carry, token: body(self, carry, token), carry, tokens, reverse=reverse)

    with_taps = program()
    assert 'scan' in with_taps
    monkeypatch.setattr(Module, 'tap', lambda self, name, axes, value, note='', real=None: value)
    monkeypatch.setattr(Module, 'scan', plain)
    monkeypatch.setattr(Cell, 'at_token', lambda self, name, value: value)
    assert program() == with_taps


@pytest.mark.long
def test_names_count_layers_and_tell_directions():
    names = {*translating('bahdanau', GRU).places}
    gates = ('candidate', 'reset_gate', 'state', 'update_gate')
    expected = {
        f'encoder.layers.{n}.{way}.{gate}' for n in range(L) for way in ('forward', 'backward') for gate in gates
    }
    expected |= {f'decoder.layers.{n}.{gate}' for n in range(L) for gate in gates}
    expected |= {f'encoder.layers.{n}.state' for n in range(L)}
    assert names == expected | {'encoder.context', 'decoder.context', 'decoder.pattern'}


def test_an_unknown_gate_is_refused_with_near_names():
    with pytest.raises(UserError, match=r"did you mean 'decoder\.layers\.1\.forget_gate'"):
        translating('bahdanau').run('decoder.layers.1.forgetgate')
