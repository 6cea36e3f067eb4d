# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The cuDNN kernel, emulated by XLA, against the whole score matrix; and what it refuses."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saccade
from saccade.attention.auto import Auto, choices
from saccade.attention.cudnn import CuDNN
from saccade.attention.plain import Plain
from saccade.ops.devices import traced_for
from saccade.ops.flops import flops
from saccade.ops.mask import Causal, CausalAfterPrefix, Chunked, Full, SameSegment, Strided, Window
from saccade.ops.scoring import Dropout, Scoring
from saccade.ops.softmax import SoftmaxWeights
from saccade.ops.term import LinearBias, Softcap
from saccade.softmax.top_k import TopKWeights
from saccade.train.mesh import devices_of, make_mesh
from saccade.types import UserError

F32_RELATIVE, BF16_RELATIVE = 1e-5, 2e-2
B, T, N, K, H = 3, 20, 4, 2, 4
WHOLE = jnp.array([[1] * T, [2] * 15 + [0] * 5, [0] * T])  # a document, one that ends early, none
PACKED = jnp.array([[1] * T, [1] * 8 + [2] * 12, [1] * 12 + [0] * 8])
LEFT = jnp.array([[1] * T, [0] * 5 + [1] * 15, [0] * T])
HOLE = jnp.array([[1] * 5 + [0] * 5 + [1] * 10] * B)


def same(q, k=None):
    return SameSegment(q, q if k is None else k)


SERVED = {
    'full': Full(),
    'causal': Causal(),
    'window back': Causal() & Window(7),
    'window of one': Causal() & Window(0),
    'window longer than the row': Causal() & Window(400, 400),
    'causal, padded': Causal() & same(WHOLE),
    'window, padded': Causal() & Window(7) & same(WHOLE),
    'full, padded': Full() & same(WHOLE),
    'causal, packed': Causal() & same(PACKED),
    'window, packed': Causal() & Window(7) & same(PACKED),
    'full, packed': Full() & same(PACKED),
    'causal, padded on the left': Causal() & same(LEFT),
    'full, padded within': Full() & same(HOLE),
}


def drawn(*shape, number=0):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


Q, K_, V, OUT = drawn(B, T, N, H), drawn(B, T, K, H, number=1), drawn(B, T, K, H, number=2), drawn(B, T, N, H, number=3)
LOW = tuple(x.astype(jnp.bfloat16) for x in (Q, K_, V))


def cudnn(**fields):
    return CuDNN(**{'emulate': True} | fields, parent=None)


def with_gradients(kernel, mask, q=Q, k=K_, v=V):
    out = drawn(*q.shape[:3], v.shape[3], number=3).astype(v.dtype)
    kernel.require_served(q, k, v, Scoring(mask))
    y, pull = jax.vjp(jax.jit(lambda *qkv: kernel.attend(*qkv, Scoring(mask, scale=0.3))), q, k, v)
    return [y, *pull(out)]


def assert_near(given, expected, relative=F32_RELATIVE):
    for one, other in zip(given, expected, strict=True):
        assert one.dtype == other.dtype
        one, other = np.asarray(one, np.float32), np.asarray(other, np.float32)
        np.testing.assert_allclose(one, other, rtol=0, atol=relative * np.abs(other).max())


@pytest.mark.long
@pytest.mark.parametrize('name', SERVED)
def test_outputs_and_gradients_are_those_of_the_whole_matrix(name):
    assert_near(with_gradients(cudnn(), SERVED[name]), with_gradients(Plain(parent=None), SERVED[name]))


@pytest.mark.long
@pytest.mark.parametrize('name', ['causal', 'full, padded', 'causal, packed'])
def test_so_they_are_in_bfloat16(name):
    plain = with_gradients(Plain(parent=None), SERVED[name], *LOW)
    assert_near(with_gradients(cudnn(), SERVED[name], *LOW), plain, BF16_RELATIVE)


@pytest.mark.long
def test_keys_of_another_length_and_padding_among_them():
    k, v, queries = K_[:, :9], V[:, :9], jnp.ones((B, T), int)
    sources = jnp.array([[1] * 9, [1] * 4 + [0] * 5, [0] * 9])
    for mask in (Full(), same(queries, sources), same(queries, 2 * sources), same(WHOLE, sources)):
        assert_near(with_gradients(cudnn(), mask, Q, k, v), with_gradients(Plain(parent=None), mask, Q, k, v))


@pytest.mark.long
def test_values_of_other_heads_and_another_width():
    v = drawn(B, T, 1, 2 * H + 1, number=2)
    assert_near(with_gradients(cudnn(), Causal(), v=v), with_gradients(Plain(parent=None), Causal(), v=v))


def branch(mask):
    """Whether the kernel is for the rows of a mask."""
    taken = []

    def look(fits, fused, in_blocks, q, *others):
        taken.append(fits)
        return q

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(jax.lax, 'cond', look)
        cudnn().attend(Q, K_, V, Scoring(mask))
    return bool(taken[0])


def test_only_rows_of_one_document_are_for_the_kernel():
    assert [branch(Causal() & same(rows)) for rows in (WHOLE, PACKED, LEFT, HOLE)] == [True, False, False, False]
    queries = jnp.ones((B, T), int)
    assert branch(same(queries, jnp.minimum(WHOLE, 1)))
    assert not branch(same(queries, WHOLE))  # keys of document 2 are not for queries of document 1


def test_the_kernel_gets_no_array_of_a_mask_and_no_window_that_is_not_causal(monkeypatch):
    calls = []

    def look(q, k, v, **given):
        calls.append(given)
        return q

    monkeypatch.setattr(jax.nn, 'dot_product_attention', look)
    monkeypatch.setattr(jax.lax, 'cond', lambda fits, fused, in_blocks, *given: fused(*given))
    for mask in SERVED.values():
        cudnn(emulate=False).attend(Q, K_, V, Scoring(mask))
    names = {'scale', 'is_causal', 'local_window_size', 'key_value_seq_lengths', 'implementation'}
    assert {name for given in calls for name in given} == names
    assert {given['implementation'] for given in calls} == {'cudnn'}
    windows = [given for given in calls if given['local_window_size'] is not None]
    assert {given['local_window_size'] for given in windows} == {(7, 0), (0, 0)}
    assert all(given['is_causal'] for given in windows)
    assert all(given['key_value_seq_lengths'] is None for given in calls if given['is_causal'])


@pytest.mark.parametrize(
    ('scoring', 'words'),
    [
        (Scoring(Window(5)), None),
        (Scoring(Window(5, 3)), 'windows only within ops.mask:Causal'),
        (Scoring(Causal() & Strided(2)), 'does not support ops.mask:Strided'),
        (Scoring(Causal() & Chunked(4)), 'does not support ops.mask:Chunked'),
        (Scoring(CausalAfterPrefix()), 'does not support ops.mask:CausalAfterPrefix'),
        (Scoring(Causal(), terms=(LinearBias((1.0,) * N),)), 'score terms such as ops.term:LinearBias'),
        (Scoring(Causal(), terms=(Softcap(2.0),)), 'score terms such as ops.term:Softcap'),
        (Scoring(Causal(), softmax=SoftmaxWeights(jnp.zeros(N))), 'softmax with a sink'),
        (Scoring(Causal(), softmax=TopKWeights(3)), 'not softmax.top_k:TopKWeights'),
        (Scoring(Causal(), dropout=Dropout(jax.random.key_data(jax.random.key(0)), 0.5)), 'attention dropout'),
    ],
)
def test_what_it_has_not_is_refused_by_name(scoring, words):
    if words is None:
        return cudnn().require_served(Q, K_, V, scoring)
    with pytest.raises(UserError, match=f'attention.cudnn:CuDNN.*{words}'):
        cudnn().require_served(Q, K_, V, scoring)


def test_a_causal_mask_is_for_as_many_queries_as_keys():
    with pytest.raises(UserError, match='20 queries over 9 keys'):
        cudnn().require_served(Q, K_[:, :9], V[:, :9], Scoring(Causal()))


@pytest.fixture
def on_a(monkeypatch):
    def found(platform, kind, capability):
        device = SimpleNamespace(platform=platform, device_kind=kind, compute_capability=capability)
        monkeypatch.setattr('saccade.attention.cudnn.device', lambda: device)

    return found


WIDE = tuple(jnp.zeros((1, 2, 2, 136), jnp.bfloat16) for _ in range(3))


@pytest.mark.parametrize(
    ('device', 'given', 'words'),
    [
        (('cpu', 'cpu', None), LOW, 'only NVIDIA GPUs, not cpu'),
        (('tpu', 'TPU v5e', None), LOW, 'only NVIDIA GPUs, not tpu'),
        (('gpu', 'Tesla T4', '7.5'), LOW, r'compute capability 8.0 or more, not Tesla T4 \(7.5\)'),
        (('gpu', 'AMD Instinct MI300X', 'gfx942'), LOW, r'not AMD Instinct MI300X \(gfx942\)'),
        (('gpu', 'NVIDIA H100', '9.0'), (Q, K_, V), 'bfloat16 and float16, not float32'),
        (('gpu', 'NVIDIA H100', '9.0'), (LOW[0], K_, LOW[2]), 'not bfloat16 with float32'),
        (('gpu', 'NVIDIA A100', '8.0'), WIDE, 'up to 128 on NVIDIA A100, not 136'),
        (('gpu', 'NVIDIA H100', '9.0'), WIDE, None),
        (('gpu', 'NVIDIA B200', '10.0'), WIDE, None),
        (('gpu', 'NVIDIA A100', '8.0'), LOW, None),
    ],
)
def test_only_gpus_that_have_it_serve_it(on_a, device, given, words):
    on_a(*device)
    if words is None:
        return cudnn(emulate=False).require_served(*given, Scoring(Causal()))
    with pytest.raises(UserError, match=f'attention.cudnn:CuDNN.*{words}'):
        cudnn(emulate=False).require_served(*given, Scoring(Causal()))


def test_a_gpu_gets_it_in_bfloat16_and_blocks_in_float32(on_a, monkeypatch):
    on_a('gpu', 'NVIDIA H100', '9.0')
    monkeypatch.setattr(jax.nn, 'dot_product_attention', lambda q, k, v, **given: q)  # a CPU cannot compile it
    with choices() as made:
        for given in (LOW, (Q, K_, V)):
            jax.eval_shape(lambda *qkv: Auto().apply({}, *qkv, Scoring(Causal()), False), *given)
    assert [choice.name for choice in made] == ['attention.cudnn:CuDNN', 'attention.blockwise:Blockwise']
    assert made[1].reasons[1] == 'attention.cudnn:CuDNN supports bfloat16 and float16, not float32'


def test_a_causal_mask_counts_the_blocks_that_it_leaves():
    shapes = [jax.ShapeDtypeStruct((1, 1024, heads, H), jnp.bfloat16) for heads in (N, K, K)]

    def count(mask):
        return flops(lambda *qkv: cudnn(emulate=False).attend(*qkv, Scoring(mask)), *shapes)

    assert count(Full()) == 4 * N * 1024 * 1024 * H
    assert count(Causal()) / count(Full()) == 10 / 16  # of 4 x 4 blocks


def check_on_a_mesh():
    mesh = make_mesh({'data': 4, 'tensor': 2}, jax.devices())
    q, k, v = (jnp.concatenate([x, x[:1]]) for x in (Q, K_, V))
    mask = Causal() & same(jnp.concatenate([PACKED, PACKED[:1]]))
    alone = cudnn().attend(q, k, v, Scoring(mask))
    with traced_for(devices_of(mesh)):
        attend = jax.jit(lambda *qkv: cudnn().attend(*qkv, Scoring(mask)))
        text = attend.lower(q, k, v).as_text()
        assert f'tensor<1x{T}x{N // 2}x{2 * H}xf32>' in text  # a row and half of the heads, padded to eight
        assert_near([attend(q, k, v)], [alone])


@pytest.mark.long
def test_each_device_of_a_mesh_takes_the_branch_of_its_own_rows():
    flags = f'{os.environ.get("XLA_FLAGS", "")} --xla_force_host_platform_device_count=8'
    program = 'import test_cudnn; test_cudnn.check_on_a_mesh()'
    environment = {**os.environ, 'XLA_FLAGS': flags, 'JAX_PLATFORMS': 'cpu'}
    subprocess.run([sys.executable, '-c', program], cwd=Path(__file__).parent, env=environment, check=True)


@pytest.mark.skipif(jax.default_backend() != 'cpu', reason='of a CPU')
def test_without_a_gpu_parameters_are_made_and_a_call_is_refused():
    layer, x = saccade.MultiHead(heads=2, kernel=CuDNN()), jnp.ones((1, 4, 8))
    params = layer.init(jax.random.key(0), x)
    with pytest.raises(UserError, match=r'attention\.cudnn:CuDNN supports only NVIDIA GPUs, not cpu'):
        layer.apply(params, x)
