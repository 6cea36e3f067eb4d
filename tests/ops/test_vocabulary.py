# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Losses of logits made in chunks: numbers of whole logits, bytes of a chunk's, and the same on eight devices."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from saccade.ops.loss import cross_entropy
from saccade.ops.vocabulary import ALIGNED, OutputProjection, score_in_chunks

SAME_NUMBERS = 1e-5
B, T, D, V = 8, 11, 6, 17
FORMS = {
    'tied': {'tied': True},
    'untied': {'tied': False},
    'bias and cap': {'tied': True, 'bias': jnp.linspace(-1.0, 1.0, V), 'cap': 3.0},
}


def score(logits, targets):
    return (cross_entropy(logits, targets, 0.1, 1e-2),), jnp.argmax(logits, axis=-1)


def drawn(tied, rows=B, **further):
    random = np.random.default_rng(0)
    hidden, kernel = random.normal(size=(rows, T, D)), random.normal(size=(V, D) if tied else (D, V))
    projection = OutputProjection(jnp.array(hidden, jnp.float32), jnp.array(kernel, jnp.float32), tied, **further)
    return projection, jnp.array(random.integers(0, V, (rows, T)))


@pytest.mark.parametrize('form', FORMS)
def test_on_a_gpu_the_products_are_aligned_and_logits_and_gradients_the_same(form, monkeypatch):
    projection, targets = drawn(**FORMS[form])
    hidden, kernel = (x.astype(jnp.bfloat16) for x in (projection.hidden, projection.kernel))
    projection = projection.replace(hidden=hidden, kernel=kernel)

    def found():
        loss = jax.value_and_grad(lambda each: whole(each, targets)[0])
        return jax.make_jaxpr(loss)(projection), jax.jit(loss)(projection)

    _, expected = found()
    monkeypatch.setattr('saccade.ops.vocabulary.device', lambda: SimpleNamespace(platform='gpu'))
    program, given = found()
    assert (f'bf16[{ALIGNED},{D}]' if projection.tied else f'bf16[{D},{ALIGNED}]') in str(program)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, given, expected))


def in_chunks(projection, targets, chunk):
    (losses,), best = score_in_chunks(score, (projection,), (targets,), chunk)
    return jnp.sum(losses * jnp.arange(T)), (losses, best)


def whole(projection, targets):
    (losses,), best = score(projection.logits(), targets)
    return jnp.sum(losses * jnp.arange(T)), (losses, best)


def near(given, expected):
    scale = max(float(np.abs(expected).max()), 1.0)
    np.testing.assert_allclose(given, expected, rtol=0, atol=SAME_NUMBERS * scale)


@pytest.mark.parametrize('chunk', [1, 4, T])  # 4 leaves a chunk that is not full
@pytest.mark.parametrize('form', FORMS.values(), ids=FORMS)
def test_losses_choices_and_gradients_are_those_of_whole_logits(form, chunk):
    projection, targets = drawn(**form)
    found = jax.value_and_grad(in_chunks, has_aux=True)(projection, targets, chunk)
    jax.tree.map(near, found, jax.value_and_grad(whole, has_aux=True)(projection, targets))


def test_z_loss_is_the_square_of_the_log_of_the_denominator():
    logits, targets = drawn(tied=True)[0].logits(), jnp.zeros((B, T), int)
    added = cross_entropy(logits, targets, 0.0, 0.5) - cross_entropy(logits, targets)
    near(added, 0.5 * jnp.square(jax.nn.logsumexp(logits, axis=-1)))


def test_gradients_of_kernels_in_bfloat16_are_summed_in_float32():
    projection, targets = drawn(tied=True)
    narrow = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), projection)
    found = jax.grad(in_chunks, has_aux=True)(narrow, targets, 1)[0].kernel
    expected = jax.grad(whole, has_aux=True)(jax.tree.map(lambda leaf: leaf.astype(jnp.float32), narrow), targets)[0]
    assert found.dtype == jnp.bfloat16
    error = np.abs(np.asarray(found, np.float32) - expected.kernel).max() / np.abs(expected.kernel).max()
    assert error < 2**-7  # a sum in bfloat16 over eleven chunks would lose more


@pytest.mark.long
@pytest.mark.parametrize('words', [32_768, 262_144])
def test_temporary_bytes_are_of_a_chunk_and_of_the_kernels_gradient(words):
    rows, length, width, chunk = 2, 512, 64, 32
    shapes = (rows, length, width), (words, width)
    hidden, kernel = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)
    targets = jax.ShapeDtypeStruct((rows, length), jnp.int32)

    def loss(hidden, kernel, targets):
        found = score_in_chunks(score, (OutputProjection(hidden, kernel, tied=True),), (targets,), chunk)
        return found[0][0].sum()

    def loss_of_whole_logits(hidden, kernel, targets):
        return score(OutputProjection(hidden, kernel, tied=True).logits(), targets)[0][0].sum()

    chunks, whole = (
        jax.jit(jax.grad(each, (0, 1))).lower(hidden, kernel, targets).compile().memory_analysis().temp_size_in_bytes
        for each in (loss, loss_of_whole_logits)
    )
    of_logits, of_chunk = (4 * rows * places * words for places in (length, chunk))
    assert whole >= of_logits
    assert chunks < 3 * of_chunk + 2 * 4 * words * width


@pytest.mark.long
def test_eight_devices_have_the_numbers_of_one():
    mesh = Mesh(np.array(jax.devices()), ('batch',))
    projection, targets = drawn(tied=True)
    rows, everywhere = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (('batch',), ()))
    spread = projection.replace(
        hidden=jax.device_put(projection.hidden, rows), kernel=jax.device_put(projection.kernel, everywhere)
    )
    step = jax.jit(jax.value_and_grad(in_chunks, has_aux=True), static_argnums=2)
    found = step(spread, jax.device_put(targets, rows), 4)
    jax.tree.map(near, found, step(projection, targets, 4))
    assert found[1].hidden.sharding.is_equivalent_to(rows, 3)
