# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention whose tokens are split over devices: the numbers of the whole matrix, and what each kernel refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, AxisType

from saccade.attention.blockwise import Blockwise
from saccade.attention.ring import Ring
from saccade.attention.splash import Splash
from saccade.attention.ulysses import Ulysses
from saccade.ops.devices import Devices, traced_for
from saccade.ops.mask import Causal
from saccade.ops.scoring import Scoring
from saccade.ops.term import CountedKeys
from saccade.softmax.top_k import TopKWeights
from saccade.types import Part, UserError

RELATIVE = 1e-5
B, T, N, K, H = 2, 16, 8, 4, 8
SCRIPT = Path(__file__).parent / 'over_devices.py'


def over_devices(*arguments):
    flags = f'{os.environ["XLA_FLAGS"]} --xla_force_host_platform_device_count=8'
    environment = {**os.environ, 'XLA_FLAGS': flags}
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
@pytest.mark.parametrize(('kernel', 'mesh'), [('ring', 'sequence'), ('ring', 'all three'), ('ulysses', 'all three')])
def test_outputs_and_gradients_are_those_of_the_whole_matrix(kernel, mesh):
    errors = over_devices('errors', kernel, mesh)
    assert len(errors) == 9
    assert max(errors.values()) < RELATIVE, errors


@pytest.mark.long
def test_a_device_of_a_ring_holds_and_sends_what_grows_with_its_tokens():
    short, long = over_devices('compiled', 'ring', 'sequence').values()
    assert 1.8 < long['temp_bytes'] / short['temp_bytes'] < 2.2
    # Bytes of a device's queries, and of its keys.
    queries, keys = (4 * 2048 * heads * 8 * 4 // 8 for heads in (4, 2))
    hops = (8 - 1) * 2 * keys
    around = hops + 2 * hops + 2 * keys  # forward; backward, with gradients; and these home
    zigzag = 2 * (2 * queries + 2 * keys)
    assert set(long['sent']) == {'collective-permute along sequence'}
    saved = 2 * keys  # the first hop of the backward pass is that of the forward pass, in one program
    assert around + zigzag - saved <= long['sent']['collective-permute along sequence'] <= around + zigzag


@pytest.mark.long
def test_ulysses_sends_its_tokens_by_heads_and_nothing_else():
    sent = over_devices('compiled', 'ulysses', 'all three')['2048']['sent']
    each = 4 * 2048 * 4 * 8 * 4 // 8 // 2  # bytes of queries, keys, values or output; the other device gets half
    assert set(sent) == {'all-to-all along sequence'}
    # Forward and back; the partitioner may hand on the gradient of the output twice.
    assert sent['all-to-all along sequence'] in (8 * each, 9 * each)


def split(n, tensor=1):
    mesh = AbstractMesh((1, n, tensor), ('data', 'sequence', 'tensor'), axis_types=(AxisType.Auto,) * 3)
    return traced_for(Devices(mesh, ('data',), ('tensor',), 'sequence'))


def refused(kernel, scoring=None, length=T):
    q, k = jnp.zeros((B, length, N, H)), jnp.zeros((B, length, K, H))
    return kernel.require_served(q, k, k, Scoring(Causal()) if scoring is None else scoring)


@pytest.mark.parametrize(
    ('kernel', 'words'),
    [
        (Ring(parent=None), r'config\.mesh\.sequence: 4 devices cannot share 18 tokens equally'),
        (Ulysses(parent=None), r'config\.mesh\.sequence: 4 devices cannot share 18 tokens equally'),
    ],
)
def test_tokens_that_do_not_divide_are_refused(kernel, words):
    with split(4), pytest.raises(UserError, match=words):
        refused(kernel, length=18)
    refused(kernel, length=18)


def test_the_ring_has_no_order_for_terms_that_count_keys():
    scoring = Scoring(Causal(), terms=(CountedKeys(jnp.zeros((4, H))),))
    with split(4), pytest.raises(UserError, match=r'attention\.ring:Ring.*does not support ops\.term:CountedKeys'):
        refused(Ring(parent=None), scoring)
    refused(Ring(parent=None), scoring)


def test_a_softmax_of_whole_rows_is_refused():
    scoring = Scoring(Causal(), softmax=TopKWeights(3))
    for kernel in (Ring(parent=None), Ulysses(parent=None)):
        with split(4), pytest.raises(UserError, match='needs an online softmax'):
            refused(kernel, scoring)


def test_ulysses_needs_heads_for_all_devices():
    with split(8), pytest.raises(UserError, match=r'8 devices cannot share 4 key heads equally.*attention\.ring:Ring'):
        refused(Ulysses(parent=None))
    with split(2, tensor=4), pytest.raises(UserError, match='8 devices cannot share 4 key heads'):
        refused(Ulysses(parent=None))
    with split(4):
        refused(Ulysses(parent=None))


def test_splash_attends_over_whole_rows_and_ulysses_gives_it_these():
    splash = Part(Splash, (('interpret', True),))
    with split(4):
        with pytest.raises(UserError, match=r'config\.mesh\.sequence splits: use it in attention\.ulysses:Ulysses'):
            refused(splash(parent=None))
        refused(Ulysses(inner=splash, parent=None))


def test_a_kernel_within_another_leaves_dropout_to_it():
    with pytest.raises(UserError, match=r'set dropout on attention\.ulysses:Ulysses'):
        refused(Ulysses(inner=Part(Blockwise, (('dropout', 0.1),)), parent=None))


def test_a_ring_that_is_not_to_stand_alone_needs_tokens_that_are_split():
    with pytest.raises(UserError, match=r'attention\.ring:Ring needs tokens split by'):
        refused(Ring(alone=False, parent=None))
    with split(4):
        refused(Ring(alone=False, parent=None))


@pytest.mark.long
def test_without_a_sequence_axis_they_are_the_blockwise_kernel_to_the_bit():
    q, k, v = (jax.random.normal(jax.random.key(number), (B, T, heads, H)) for number, heads in enumerate((N, K, K)))
    fields = {'query_block': 4, 'key_block': 4}
    expected = Blockwise(**fields, parent=None).attend(q, k, v, Scoring(Causal(), scale=0.3))
    inner = Part(Blockwise, tuple(sorted(fields.items())))
    for kernel in (Ring(**fields, parent=None), Ulysses(inner=inner, parent=None)):
        assert (kernel.attend(q, k, v, Scoring(Causal(), scale=0.3)) == expected).all()
