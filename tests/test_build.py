# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""From specs to parts: what is built, and the one line that each mistake is met with."""

import functools
import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict, FieldReference

from saccade.attention.multi_head import MultiHead
from saccade.build import bind, build, fields, load
from saccade.model.stack import Stack
from saccade.norm.layer import LayerNorm
from saccade.ops.rotary import linear
from saccade.types import Count, LayerContext, Part, Share, UserError

NORM = {'use': 'norm.rms:RMSNorm'}
ROTARY = {'use': 'position.rotary:Rotary'}
YARN = {'use': 'ops.rotary:yarn', 'factor': 2.0, 'context_length': 64}
MIXER = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 2,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}
FEEDFORWARD = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
BLOCK = {'use': 'block.pre_norm:PreNorm', 'mixer': MIXER, 'feedforward': FEEDFORWARD, 'norm': NORM}
STACK = {'use': 'model.stack:Stack', 'block': BLOCK, 'layers': 3, 'run': {'use': 'model.stack:Unrolled'}}

MINE = """
import flax.linen as nn

class Mine(nn.Module):
    strength: float

    def __call__(self, x, real=None):
        return self.strength * x
"""


def changed(spec, **changes):
    return {**spec, **changes}


def without(spec, key):
    return {name: value for name, value in spec.items() if name != key}


def message(spec) -> str:
    with pytest.raises(UserError) as caught:
        build(spec, 'config.part')
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_a_part_calls_its_class_with_the_arguments_of_the_config():
    norm = build({'use': 'norm.layer:LayerNorm', 'epsilon': 0.5})()
    assert isinstance(norm, LayerNorm)
    assert norm.epsilon == 0.5


def test_parts_nest():
    part = build(MIXER)
    assert part['kernel'].name == 'attention.plain:Plain'
    assert isinstance(part(), MultiHead)


def test_caller_adds_arguments():
    assert build({'use': 'jax.nn.initializers:normal'})(stddev=2.0)(jax.random.key(0), (3,)).shape == (3,)


def test_functions_take_what_their_caller_adds_later():
    part = build({'use': 'jax.nn:leaky_relu', 'negative_slope': 0.5})
    assert part(-2.0) == -1.0


def test_a_function_may_declare_what_its_caller_gives_it():
    def takes(scaling: Part[Callable[[float], float]] | None, several: tuple[Part[Callable[[int], int]], ...] = ()):
        return scaling

    assert list(fields(takes)) == ['scaling', 'several']
    hint = fields(takes)['scaling'][0]
    assert list(fields(linear, hint)) == ['factor']
    assert bind(takes, {'scaling': {'use': 'ops.rotary:linear', 'factor': 2.0}})()(np.ones(1)) == 0.5
    for argument in ('scaling', 'several'):
        spec = {'use': 'ops.rotary:linear'}
        with pytest.raises(UserError, match=rf'^config\.{argument}.*\.factor: missing; ops.rotary:linear needs it$'):
            bind(takes, {'scaling': None, argument: spec if argument == 'scaling' else [spec]})


@pytest.mark.parametrize(
    ('spec', 'words'),
    [
        (changed(MIXER, heads=0), 'config.part.heads must be at least 1, not 0'),
        (changed(MIXER, dropout=1.0), 'config.part.dropout must be at least 0 and below 1, not 1.0'),
        (changed(MIXER, scale=float('nan')), 'config.part.scale must be a finite number, not nan'),
        (changed(MIXER, heads=2**40), 'config.part.heads must be a number of at most 32 bits'),
        (changed(MIXER, terms=[{'use': 'ops.term:Softcap', 'cap': 0}]), 'terms[0].cap must be above 0, not 0'),
        (changed(FEEDFORWARD, activation={**FEEDFORWARD['activation'], 'x': 2}), "has no field 'x'"),
        (changed(MIXER, heads='9' * 6000), '...'),
    ],
)
def test_a_number_out_of_the_range_that_its_field_states_is_refused(spec, words):
    assert words in message(spec)
    assert len(message(spec)) < 400


def test_a_range_holds_at_any_depth_of_a_tuple():
    def target(lengths: tuple[Count, ...] = (), pair: tuple[int, Share] | None = None) -> int: ...

    bind(target, {'lengths': [1, 2], 'pair': [0, 0.5]})
    for arguments, words in (({'lengths': [1, 0]}, r'lengths\[1\] must be'), ({'pair': [0, 1]}, r'pair\[1\] must be')):
        with pytest.raises(UserError, match=words):
            bind(target, arguments)


def test_an_integer_serves_where_a_float_is_wanted():
    assert build(changed(FEEDFORWARD, ratio=4))['ratio'] == 4


@pytest.mark.parametrize(
    ('spec', 'words'),
    [
        (changed(MIXER, head=2), ["config.part.head: attention.multi_head:MultiHead has no field 'head'", "'heads'"]),
        (changed(NORM, zzz=2), ["has no field 'zzz'", 'it has epsilon, scale']),
        (changed(NORM, name='mine'), ["has no field 'name'"]),
        (changed(MIXER, heads='8'), ['config.part.heads', 'wants int', "'8'"]),
        (changed(MIXER, heads=8.0), ['config.part.heads', 'wants int', '8.0']),
        (changed(MIXER, heads=True), ['config.part.heads', 'wants int', 'True']),
        (changed(MIXER, key_value_heads=True), ['config.part.key_value_heads', 'int', 'True']),
        (changed(NORM, scale=1), ['config.part.scale', 'wants bool', '1']),
        (changed(MIXER, kernel=NORM), ['config.part.kernel: norm.rms:RMSNorm is not a Kernel', '__call__(q, k, v']),
        (changed(MIXER, kernel='attention.plain:Plain'), ['config.part.kernel', "a dict with 'use'"]),
        (changed(MIXER, kernel=None), ['config.part.kernel', "a dict with 'use'", 'None']),
        (changed(MIXER, kernel={'dropout': 0.1}), ['config.part.kernel', "a dict with 'use'"]),
        (changed(STACK, block=[BLOCK, NORM]), ['config.part.block', 'is not a Block']),
        (changed(STACK, block=[BLOCK, 3]), ['config.part.block', 'Block']),
        (changed(BLOCK, mixer=changed(MIXER, heds=1)), ['config.part.mixer.heds', "'heads'"]),
        (changed(FEEDFORWARD, activation='silu'), ["activation: feedforward.mlp:MLP wants a part: a dict with 'use'"]),
        (changed(MIXER, head_norm='rms'), ["head_norm: attention.multi_head:MultiHead wants None or a part (Norm): a"]),
        (changed(ROTARY, scaling={'use': 'ops.rotary:linear'}),
         ['config.part.scaling.factor: missing; ops.rotary:linear needs it']),
        (changed(ROTARY, scaling={**YARN, 'truncate': True}),
         ["truncate: ops.rotary:yarn has no field 'truncate'; it has context_length, factor, fast, gain, slow"]),
        (changed(ROTARY, scaling={**YARN, 'frequencies': 1}), ["ops.rotary:yarn has no field 'frequencies'"]),
        (without(MIXER, 'heads'), ['config.part.heads: missing; attention.multi_head:MultiHead needs it']),
        (without(NORM, 'use'), ["config.part: a part needs 'use'"]),
        (7, ["config.part: a part needs 'use'"]),
        (None, ["config.part: a part needs 'use'"]),
        ({'use': 'norm.rms'}, ["config.part.use: 'norm.rms' names no class"]),
        ({'use': 'norm.rsm:RMSNorm'}, ["there is no module 'norm.rsm'", "did you mean 'norm.rms:RMSNorm'?"]),
        ({'use': 'attention.gqa:GQA'}, ["did you mean 'attention.multi_head:MultiHead'?"]),
        ({'use': 'norm.rmsnorm:RMSNorm'}, ["did you mean 'norm.rms:RMSNorm'?"]),
        ({'use': 'feedforward.swiglu:SwiGLU'}, ["did you mean 'feedforward.gated:Gated'?"]),
        (changed(MIXER, num_kv_heads=2), ["did you mean 'key_value_heads'?"]),
        (changed(MIXER, num_heads=2), ["did you mean 'heads'?"]),
        (changed(MIXER, qk_norm=True), ["did you mean 'head_norm'?"]),
        ({'use': 'norm.rms:RMSNrom'}, ["norm.rms has no 'RMSNrom'", "did you mean 'RMSNorm'?"]),
        ({'use': 'no_such_lab.mine:Mine'}, ["there is no module 'no_such_lab.mine'"]),
        ({'use': 'model.stack:POLICIES'}, ['config.part.use', 'model.stack:POLICIES']),
        ({'use': ':RMSNorm'}, ['config.part.use']),
        ({'use': '.norm:RMSNorm'}, ['config.part.use']),
        ({'use': 5}, ['config.part.use', "'5' names no class"]),
    ],
)  # fmt: skip
def test_each_mistake_has_its_line(spec, words):
    line = message(spec)
    assert [word for word in words if word not in line] == []


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A package of the user's own on the import path."""
    package = tmp_path / 'my_lab'
    package.mkdir()
    (package / 'mine.py').write_text(MINE)
    (package / 'broken.py').write_text('import no_such_dependency')
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    for name in ('my_lab', 'my_lab.mine', 'my_lab.broken'):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures('lab')
def test_a_part_may_live_in_the_users_own_package():
    part = build({'use': 'my_lab.mine:Mine', 'strength': 3.0})
    assert part.name == 'my_lab.mine:Mine'
    assert part()(2.0) == 6.0


@pytest.mark.usefixtures('lab')
def test_the_users_own_part_is_checked_too():
    assert "did you mean 'strength'?" in message({'use': 'my_lab.mine:Mine', 'strenght': 3.0})
    assert 'is not a Kernel' in message(changed(MIXER, kernel={'use': 'my_lab.mine:Mine', 'strength': 3.0}))


@pytest.mark.usefixtures('lab')
def test_a_module_that_lacks_a_dependency_says_which():
    assert 'no_such_dependency' in message({'use': 'my_lab.broken:Mine'})


def test_load_finds_classes_and_functions():
    assert load('norm.layer:LayerNorm') is LayerNorm
    assert load('jax.nn:gelu') is jax.nn.gelu


def test_bind_checks_as_build_does():
    assert bind(LayerNorm, {'epsilon': 0.5})().epsilon == 0.5
    with pytest.raises(UserError, match='epsilon'):
        bind(LayerNorm, {'epsilom': 0.5})


def test_parts_of_equal_specs_are_equal_and_hash_equal():
    part, again, other = build(BLOCK), build(ConfigDict(BLOCK)), build(changed(BLOCK, norm=changed(NORM, epsilon=1.0)))
    assert part == again
    assert hash(part) == hash(again)
    assert part != other


def test_the_order_of_keys_makes_no_difference():
    assert build(MIXER) == build(dict(reversed(MIXER.items())))


def test_a_part_built_again_does_not_retrace():
    traces = []

    @functools.partial(jax.jit, static_argnums=0)
    def normalised(part: Part, x):
        traces.append(part)
        return part().apply({}, x)

    for _ in range(3):
        normalised(build({'use': 'norm.rms:RMSNorm', 'scale': False}), jnp.ones((1, 2, 4)))
    assert len(traces) == 1
    normalised(build({'use': 'norm.rms:RMSNorm', 'scale': False, 'epsilon': 1.0}), jnp.ones((1, 2, 4)))
    assert len(traces) == 2


def test_references_resolve_also_inside_lists_of_dicts():
    heads = FieldReference(2)
    config = ConfigDict(
        {'heads': heads, 'stack': changed(STACK, block=[changed(BLOCK, mixer=changed(MIXER, heads=heads))])}
    )
    config.heads = 4
    (block,) = build(config.stack)['block']
    assert block['mixer']['heads'] == 4


@pytest.mark.long
def test_a_part_handed_to_many_layers_makes_weights_for_each():
    x, context = jnp.ones((1, 3, 4)), LayerContext(jnp.arange(3)[None])
    one = jax.eval_shape(lambda: build(BLOCK)().init(jax.random.key(0), x, context, False)['params'])
    stack: Stack = build(STACK)()
    (three,) = jax.jit(stack.init, static_argnums=3)(jax.random.key(0), x, context, False)['params'].values()
    assert jax.tree.map(lambda leaf: (3, *leaf.shape), one) == jax.tree.map(jnp.shape, three)
    query = three['mixer']['query']
    assert not jnp.allclose(query[0], query[1])
    assert not jnp.allclose(query[1], query[2])


@pytest.mark.parametrize('use', ['zzz.qqq:A', 'attention.zzz:A', 'norm.zzz:A', 'zzzqqq:A', 'data.text.zzz:A'])
def test_a_module_that_is_not_there_is_answered_in_a_short_line(use):
    with pytest.raises(UserError, match='there is no module') as refused:
        load(use)
    assert len(str(refused.value)) < 400


def test_a_module_of_the_working_directory_may_have_been_meant(tmp_path, monkeypatch):
    (tmp_path / 'my_gates.py').write_text('class Gate: pass')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"there is no module 'my_gate'; did you mean 'my_gates'\?"):
        load('my_gate:Gate')
    with pytest.raises(UserError, match=r"'my_gates'; it is in the working directory, so set PYTHONPATH=\."):
        load('my_gates:Gate')
    (tmp_path / 'lab').mkdir()
    (tmp_path / 'lab/my_decays.py').write_text('class Decay: pass')
    with pytest.raises(UserError, match=r"there is no module 'my_decay'; run in its folder, or set PYTHONPATH to it"):
        load('my_decay:Decay')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path / 'lab'))
    with pytest.raises(UserError, match=r"there is no module 'my_decay'; did you mean 'my_decays'\?"):
        load('my_decay:Decay')
