# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base classes of our Linen modules: checked fields, parts given as modules, classes and specs, dtypes, taps."""

import pydoc
import subprocess
import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saccade
from saccade import module
from saccade.build import build
from saccade.feedforward.mlp import MLP
from saccade.module import Layer, Module
from saccade.norm.rms import RMSNorm
from saccade.ops.mask import Causal, Prefix, Window
from saccade.ops.term import Softcap
from saccade.types import LayerContext, Part, UserError

B, T, D, L = 2, 5, 16, 3
X = jax.random.normal(jax.random.key(0), (B, T, D))
OWN = """
import beartype, jax, jax.numpy as jnp, jaxtyping, pydoc, saccade

class Mine(saccade.MultiHead):
    '''Multi-head attention of my own.'''

    factor: float

    def mix(self, x, context, train, state):
        y, state = super().mix(x, context, train, state)
        return self.factor * y, state

@jaxtyping.jaxtyped(typechecker=beartype.beartype)
class Checked(Mine):
    pass

x = jnp.ones((2, 5, 16))
mine = Mine(heads=4, factor=2.0)
Checked(heads=4, factor=2.0, mask=saccade.mask.Full())
assert isinstance(mine, saccade.MultiHead)
variables = mine.init(jax.random.key(0), x)
assert {*variables} == {'params'}
assert jnp.array_equal(mine.apply(variables, x), 2.0 * saccade.MultiHead(heads=4).apply(variables, x))
block = saccade.PreNorm(mixer=mine)
assert block.mixer.target is Mine
block.init(jax.random.key(0), x)
assert 'Multi-head attention of my own' in pydoc.render_doc(Mine)
for given in ({'heads': 4}, {'heads': 4, 'factor': 'x'}, {'heads': 4, 'factor': 1.0, 'kernal': saccade.Plain}):
    try:
        Mine(**given)
    except Exception as error:
        print(error)
"""


def test_a_class_of_a_users_file(tmp_path):
    file = tmp_path / 'mine.py'
    file.write_text(OWN)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        '__main__.Mine.factor: missing; __main__:Mine needs it',
        "__main__.Mine.factor: __main__:Mine wants float, not 'x'",
        "__main__.Mine.kernal: __main__:Mine has no field 'kernal'; did you mean 'kernel'?",
    ]


def test_help_shows_fields_and_methods():
    text = pydoc.render_doc(saccade.MultiHead, renderer=pydoc.plaintext)
    for words in ('key_value_heads', 'mix(', 'init_state(', 'Run whole sequences'):  # 3.13 breaks signatures into lines
        assert words in text


@pytest.mark.parametrize(
    'mixer',
    [
        saccade.MultiHead(heads=2, mask=Causal()),
        saccade.MultiHead(heads=2, mask=Causal),
        saccade.part_of(
            {'use': 'attention.multi_head:MultiHead', 'heads': 2, 'mask': {'use': 'ops.mask:Causal'}},
        ),
        {'use': 'attention.multi_head:MultiHead', 'heads': 2, 'mask': {'use': 'ops.mask:Causal'}},
    ],
    ids=['module', 'class', 'part', 'spec'],
)
def test_parts_become_factories(mixer):
    block = saccade.PreNorm(mixer=mixer, norm=RMSNorm, feedforward=MLP(ratio=2.0))
    assert block.mixer == Part(saccade.MultiHead, (('heads', 2), ('mask', Part(Causal))))
    assert block.norm == Part(RMSNorm)
    assert block.feedforward == Part(MLP, (('ratio', 2.0),))


def test_fields_of_a_given_module_stay():
    mixer = saccade.MultiHead(heads=2, mask=Window(left=2), dtype=jnp.bfloat16)
    part = saccade.PreNorm(mixer=mixer).mixer
    assert (part['heads'], part['mask'], part['dtype']) == (2, Part(Window, (('left', 2),)), jnp.bfloat16)


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        ({'heads': 0}, r'^saccade\.MultiHead\.heads must be'),
        ({'heads': 4.0}, r'^saccade\.MultiHead\.heads: attention\.multi_head:MultiHead wants int, not 4\.0$'),
        ({'heads': True}, r'^saccade\.MultiHead\.heads: .* wants int, not True$'),
        (
            {'heads': 1, 'kernel': saccade.norm.RMSNorm},
            r'^saccade\.MultiHead\.kernel: norm\.rms:RMSNorm is not a Kernel',
        ),
        ({'heads': 1, 'mask': {'use': 'ops.mask:Cauzal'}}, r"^saccade\.MultiHead\.mask\.use: .* has no 'Cauzal'"),
    ],
)
def test_fields_are_checked(given, message):
    saccade.MultiHead(heads=4)  # equals 4.0
    saccade.MultiHead(heads=1)  # equals True
    with pytest.raises(UserError, match=message):
        saccade.MultiHead(**given)


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        (lambda: dict(mask=Window(-1)), r'^saccade\.Window\.left must be at least 0, not -1$'),
        (lambda: dict(mask=Window('3')), r'^saccade\.Window\.left: .* wants int'),
        (lambda: dict(mask=Causal() | Prefix(-1)), r'^saccade\.Prefix\.count must be at least'),
        (lambda: dict(terms=(Softcap(0.0),)), r'^saccade\.Softcap\.cap must be above 0'),
    ],
)
def test_masks_and_terms_that_are_made_in_python_are_checked(fields, message):
    with pytest.raises(UserError, match=message):
        saccade.MultiHead(heads=2, **fields())


@pytest.mark.parametrize(
    ('shape', 'context', 'message'),
    [
        ((8, 4), None, r'MultiHead: x must be hidden states \[B T D\], not of shape \(8, 4\)'),
        ((2, 0, 4), None, r'not of shape \(2, 0, 4\)'),
        ((2, 8, 4), dict(segments=jnp.ones((2, 4), int)), r'context\.segments has the shape \(2, 4\), and x \(2, 8\)'),
        ((2, 8, 4), dict(segments=jnp.ones((3, 8), int)), r'context\.segments has the shape \(3, 8\)'),
        ((2, 8, 4), dict(positions=jnp.arange(8)), r'context\.positions has the shape \(8,\)'),
        ((2, 8, 4), dict(types=jnp.ones((2, 9), int)), r'context\.types has the shape \(2, 9\)'),
    ],
)
def test_inputs_of_another_shape_are_refused(shape, context, message):
    given = context and LayerContext(**{'positions': jnp.zeros((2, 8), int), **context})
    with pytest.raises(UserError, match=message):
        saccade.MultiHead(heads=2).init(jax.random.key(0), jnp.zeros(shape), given)


def test_equal_fields_are_checked_once(monkeypatch):
    checked, bind = [], module.bind
    monkeypatch.setattr(module, 'bind', lambda made, *given: checked.append(made) or bind(made, *given))

    def run():
        model = saccade.PreNorm(mixer=saccade.MultiHead(heads=4, scale=0.3217), branch_scale=0.3217)
        model.apply(model.init(jax.random.key(0), X), X)

    run()
    assert {saccade.MultiHead, saccade.PreNorm} <= {*checked}
    checked.clear()
    run()
    assert checked == []


def test_no_axes_are_in_a_users_model():
    class Mine(nn.Module):
        @nn.compact
        def __call__(self, x):
            return saccade.PreNorm(mixer=saccade.MultiHead(heads=4))(x)

    assert {*Mine().init(jax.random.key(0), X)} == {'params'}
    decoder = build_decoder('Scanned')
    assert {*decoder.init(jax.random.key(0), jnp.zeros((B, T), int))} == {'params'}


def test_a_dtype_casts_the_input_wherever_the_layer_is_called():
    low = saccade.MultiHead(heads=4, dtype=jnp.bfloat16)
    variables = saccade.MultiHead(heads=4).init(jax.random.key(0), X)
    found = low.apply(variables, X)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_array_equal(found, saccade.MultiHead(heads=4).apply(variables, X.astype(jnp.bfloat16)))
    assert {leaf.dtype for leaf in jax.tree.leaves(low.init(jax.random.key(0), X))} == {jnp.dtype('float32')}
    assert low.apply(variables, X[:, :1], T, method='init_state').k.dtype == jnp.bfloat16
    block = saccade.NoResidual(mixer=low, feedforward=None)  # it calls `mix` of its mixer
    assert block.apply(block.init(jax.random.key(0), X), X).dtype == jnp.bfloat16


def test_statistics_are_not_rounded():
    norm = saccade.norm.BatchNorm(scale=False, bias=False)
    mean = jnp.full(D, 256.7)
    params = {'running_mean': mean, 'running_variance': jnp.ones(D)}
    x = jnp.full((1, 1, D), 256.0, jnp.bfloat16)
    y = norm.apply({'params': params}, x)
    np.testing.assert_allclose(np.asarray(y, np.float32), -0.7, atol=0.01)


def build_decoder(run):
    return saccade.Decoder(
        vocabulary=7,
        context_length=T,
        width=D,
        layers=L,
        run=build({'use': f'model.stack:{run}'}),
        block=saccade.PreNorm(mixer=saccade.MultiHead(heads=2, mask=Causal())),
    )


TOKENS = jnp.arange(B * T).reshape(B, T) % 7


@pytest.mark.long
@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
def test_taps_show_the_residual_stream_of_each_layer(run):
    decoder = build_decoder(run)
    params = decoder.init(jax.random.key(0), TOKENS)['params']
    logits, found = decoder.apply({'params': params}, TOKENS, mutable=True)
    taps = {name: of['layers']['pattern_0'] for name, of in found.items() if 'layers' in of}
    before, after = (taps[f'residual_{end}'][f'residual_{end}'].value for end in ('before', 'after'))
    assert before.shape == after.shape == (L, B, T, D)
    np.testing.assert_array_equal(before[0], found['embedded']['embedded'].value)
    np.testing.assert_array_equal(before[1:], after[:-1])
    np.testing.assert_array_equal(decoder.apply({'params': params}, TOKENS), logits)
    kernel = params['layers']['pattern_0']['mixer']['output']  # [L N H D]
    shape = (L, B, T, *kernel.shape[1:3])
    for name in ('query', 'key', 'value', 'heads'):
        assert taps[name]['mixer'][name].value.shape == shape


@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
def test_taps_that_nobody_asks_for_are_not_in_the_program(run, monkeypatch):
    decoder = build_decoder(run)
    params = jax.eval_shape(lambda: decoder.init(jax.random.key(0), TOKENS))['params']

    def program():
        return str(jax.make_jaxpr(lambda params: decoder.apply({'params': params}, TOKENS))(params))

    with_taps = program()
    monkeypatch.setattr(Module, 'tap', lambda self, name, axes, value, note='', real=None: value)
    assert program() == with_taps


def test_no_taps_at_initialisation():
    assert {*saccade.PreNorm(mixer=saccade.MultiHead(heads=4)).init(jax.random.key(0), X)} == {'params'}


def test_a_layer_of_ones_own_taps_any_value():
    class Tapped(Layer):
        def mix(self, x, context, train, state):
            return self.tap('twice', 'B T D', 2.0 * x), state

    y, found = Tapped().apply({}, X, mutable=['twice'])
    np.testing.assert_array_equal(found['twice']['twice'].value, y)
    assert Tapped().apply({}, X).shape == X.shape


def test_positions_without_a_context_are_those_of_one_document():
    layer = saccade.MultiHead(heads=4, position=saccade.position.Rotary())
    variables = layer.init(jax.random.key(0), X)
    context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
    np.testing.assert_array_equal(layer.apply(variables, X), layer.apply(variables, X, context))
    added = saccade.position.Sinusoid()
    np.testing.assert_array_equal(added.apply({}, X), added.apply({}, X, context.positions))
