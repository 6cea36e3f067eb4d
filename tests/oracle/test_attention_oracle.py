# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention against torch and transformers, in outputs and gradients, with settings drawn at random."""

import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops import blockwise
from saccade.ops.mask import Causal, Full, PrecomputedMask
from saccade.ops.scoring import Scoring
from saccade.ops.softmax import SoftmaxWeights
from saccade.score.cosine import Cosine
from saccade.softmax.softmax_one import SoftmaxOne
from saccade.types import LayerContext, Source

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')
with warnings.catch_warnings():
    # What these libraries warn of as they are imported is not ours to mend.
    warnings.simplefilter('ignore')
    gpt_oss = pytest.importorskip('transformers.models.gpt_oss.modeling_gpt_oss', reason='transformers is missing')

pytestmark = pytest.mark.oracle

NEAR = 2e-5
SEEDS = range(6)


class Drawn:
    """A random setting of grouped attention: sizes, arrays, scale and a mask that leaves each query a key."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.K, self.G, self.B, self.H = (int(self.random.integers(1, high)) for high in (4, 4, 3, 9))
        self.T, self.S = (int(self.random.integers(2, 12)) for _ in range(2))
        self.N = self.K * self.G
        self.scale = [None, 1.0, float(self.random.uniform(0.1, 1.5))][seed % 3]
        self.arrays = tuple(
            self.normal(self.B, length, heads, self.H)
            for length, heads in ((self.T, self.N), (self.S, self.K), (self.S, self.K))
        )
        self.direction = self.normal(self.B, self.T, self.N, self.H)
        allowed = self.random.random((self.B, self.T, self.S)) < 0.6
        allowed[..., 0] |= ~allowed.any(axis=-1)
        self.allowed = allowed

    def normal(self, *shape):
        return self.random.normal(size=shape).astype(np.float32)

    def scoring(self, mask, **more):
        return Scoring(mask, scale=self.H**-0.5 if self.scale is None else self.scale, **more)

    def ours(self, scoring, attend):
        """What is read, and the gradients by queries, keys and values."""

        def run(q, k, v):
            y = attend(q, k, v, scoring)
            return (self.direction * y).sum(), y

        gradients, y = jax.jit(jax.grad(run, (0, 1, 2), has_aux=True))(*self.arrays)
        return y, *gradients

    def theirs(self, attend):
        """The same of a torch function, whose heads come before its tokens."""
        leaves = [torch.tensor(x, requires_grad=True) for x in self.arrays]
        y = attend(*(leaf.transpose(1, 2) for leaf in leaves)).transpose(1, 2)
        (torch.tensor(self.direction) * y).sum().backward()
        return y.detach().numpy(), *(leaf.grad.numpy() for leaf in leaves)


def by_matrix(q, k, v, scoring):
    return scoring.attend(q, k, v)[0]


def by_blocks(q, k, v, scoring):
    return blockwise.attend(q, k, v, scoring, 4, 3)


def assert_all_near(given, expected, near=NEAR):
    for one, two in zip(given, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=near * max(1.0, np.abs(two).max()))


@pytest.mark.parametrize('seed', SEEDS)
def test_a_mask_and_a_scale_are_those_of_torch(seed):
    drawn = Drawn(seed)

    def theirs(q, k, v):
        mask = torch.tensor(drawn.allowed)[:, None]
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, scale=drawn.scale, enable_gqa=drawn.G > 1
        )

    assert_all_near(
        drawn.ours(drawn.scoring(PrecomputedMask(jnp.array(drawn.allowed))), by_matrix), drawn.theirs(theirs)
    )


@pytest.mark.oracle_of('softmax.softmax:Softmax', by='torch')
@pytest.mark.parametrize('attend', [by_matrix, by_blocks])
@pytest.mark.parametrize('seed', SEEDS)
def test_causal_attention_is_that_of_torch(seed, attend):
    drawn = Drawn(seed)

    def theirs(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=drawn.scale, enable_gqa=drawn.G > 1
        )

    assert_all_near(drawn.ours(drawn.scoring(Causal()), attend), drawn.theirs(theirs))


@pytest.mark.oracle_of('softmax.sink:LearnedSink', by='transformers, gpt-oss')
@pytest.mark.parametrize('attend', [by_matrix, by_blocks])
@pytest.mark.parametrize('seed', SEEDS)
def test_a_sink_is_that_of_gpt_oss(seed, attend):
    drawn = Drawn(seed)
    sinks = drawn.normal(drawn.N)
    module = types.SimpleNamespace(sinks=torch.tensor(sinks), num_key_value_groups=drawn.G, training=False)

    def theirs(q, k, v):
        scale = drawn.H**-0.5 if drawn.scale is None else drawn.scale
        y, _ = gpt_oss.eager_attention_forward(module, q, k, v, attention_mask=None, scaling=scale)
        return y.transpose(1, 2)

    scoring = drawn.scoring(Full(), softmax=SoftmaxWeights(jnp.array(sinks)))
    assert_all_near(drawn.ours(scoring, attend), drawn.theirs(theirs))


@pytest.mark.oracle_of('softmax.softmax_one:SoftmaxOne', by='torch')
@pytest.mark.parametrize('seed', SEEDS)
def test_softmax_one_is_a_key_and_a_value_of_zeros_of_torch(seed):
    """Its function of multi-head attention with `add_zero_attn`, without projections of q, k and v."""
    drawn = Drawn(seed)
    drawn.scale = None

    def theirs(q, k, v):
        k, v = (torch.repeat_interleave(x, drawn.G, 1) for x in (k, v))
        rows = [x.permute(2, 0, 1, 3).flatten(2) for x in (q, k, v)]
        D, identity = rows[0].shape[-1], torch.eye(rows[0].shape[-1])
        y, _ = torch.nn.functional.multi_head_attention_forward(
            *rows, D, drawn.N, identity.repeat(3, 1), None, None, None, True, 0.0, identity, None
        )
        return y.unflatten(-1, (drawn.N, drawn.H)).permute(1, 2, 0, 3)

    assert_all_near(drawn.ours(drawn.scoring(Full(), softmax=SoftmaxOne()(drawn.N)), by_matrix), drawn.theirs(theirs))


@pytest.mark.parametrize('seed', SEEDS)
def test_cosine_scores_are_those_of_swin_2(seed):
    """As in its window attention: both normalised, times exp of the logarithm of a scale that is at most 100.

    Ours keeps the parameter at or below the bound after each step, so that none above it is met in a forward pass.
    """
    drawn = Drawn(seed)
    log_gain = np.minimum(np.float32(np.log(10.0)) + 2.0 * drawn.normal(drawn.N), np.float32(np.log(100.0)))

    def theirs(q, k, v):
        k, v = (torch.repeat_interleave(x, drawn.G, 1) for x in (k, v))
        q, k = (torch.nn.functional.normalize(x, dim=-1) for x in (q, k))
        gain = torch.clamp(torch.tensor(log_gain)[:, None, None], max=float(np.log(100.0))).exp()
        return torch.softmax(gain * (q @ k.transpose(-2, -1)), dim=-1) @ v

    terms = Cosine().apply({'params': {'log_gain': jnp.array(log_gain)}}, drawn.N, method='terms')
    assert_all_near(drawn.ours(drawn.scoring(Full(), terms=terms), by_matrix), drawn.theirs(theirs), 1e-4)


@pytest.mark.oracle_of('attention.multi_head:MultiHead', by='torch')
@pytest.mark.parametrize('seed', SEEDS)
def test_multi_head_attention_is_that_of_torch(seed):
    """Outputs, weights and gradients by the input; padding, masks and biases; across to another sequence too."""
    random = np.random.default_rng(seed)
    N, H, B, T = (int(random.integers(low, high)) for low, high in ((1, 5), (1, 6), (1, 4), (2, 9)))
    bias, causal, across = (bool(random.integers(2)) for _ in range(3))
    D, S = N * H, int(random.integers(2, 9)) if across else T
    theirs = torch.nn.MultiheadAttention(D, N, bias=bias, batch_first=True)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.tensor(random.normal(size=parameter.shape, scale=0.5)))
    x, source, direction = (random.normal(size=shape).astype(np.float32) for shape in ((B, T, D), (B, S, D), (B, T, D)))
    present = np.arange(S) < random.integers(1, S + 1, (B, 1))
    queries = np.ones((B, T), bool) if across else present

    spec = {
        'use': 'attention.multi_head:MultiHead', 'heads': N, 'bias': bias, 'output_bias': bias,
        'kernel': {'use': 'attention.plain:Plain'}, 'position': {'use': 'position.none:NoPosition'},
        'mask': {'use': 'ops.mask:Causal' if causal else 'ops.mask:Full'},
    }  # fmt: skip
    module, params = build(spec)(), converted(theirs, N, H, bias)

    def run(x):
        read = None if not across else place(source, present)
        context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), jnp.array(queries, int), read)
        y, returned = module.apply({'params': params}, x, context, False, mutable=['pattern'])
        return (direction * queries[..., None] * y).sum(), (y, jax.tree.leaves(returned)[0])

    gradient, (y, weights) = jax.jit(jax.grad(run, has_aux=True))(x)
    leaf = torch.tensor(x, requires_grad=True)
    read = torch.tensor(source) if across else leaf
    closed = torch.tensor(np.arange(S) > np.arange(T)[:, None]) if causal else None
    expected, their_weights = theirs(
        leaf, read, read, key_padding_mask=torch.tensor(~present), attn_mask=closed, average_attn_weights=False
    )
    (torch.tensor(direction * queries[..., None]) * expected).sum().backward()
    np.testing.assert_allclose(y[queries], expected.detach().numpy()[queries], atol=NEAR * np.abs(y).max())
    assert_all_near([gradient], [leaf.grad.numpy()])
    rows = np.broadcast_to(queries[:, None], (B, N, T))
    np.testing.assert_allclose(weights[rows], their_weights.detach().numpy()[rows], atol=NEAR)


def place(source, present):
    positions = jnp.tile(jnp.arange(source.shape[1]), (source.shape[0], 1))
    return Source(jnp.array(source), positions, jnp.array(present, int))


def converted(theirs, N, H, bias):
    """The weights of torch's module under our names: its kernels are [out, in], with the heads in the rows."""
    D = N * H
    kernels = theirs.in_proj_weight.detach().numpy().reshape(3, N, H, D)
    params = {name: np.moveaxis(kernels[number], -1, 0) for number, name in enumerate(('query', 'key', 'value'))}
    params['output'] = theirs.out_proj.weight.detach().numpy().T.reshape(N, H, D)
    if bias:
        biases = theirs.in_proj_bias.detach().numpy().reshape(3, N, H)
        params |= {f'{name}_bias': biases[number] for number, name in enumerate(('query', 'key', 'value'))}
        params['output_bias'] = theirs.out_proj.bias.detach().numpy()
    return jax.tree.map(jnp.array, params)


@pytest.mark.oracle_of('attention.persistent_memory:PersistentMemory', by='torch')
@pytest.mark.parametrize('causal', [True, False])
def test_one_persistent_key_and_value_are_the_trained_ones_of_torch(causal):
    """Their `bias_k` and `bias_v` are attended to after the tokens, which changes nothing; with padding."""
    random, (B, T, N, H) = np.random.default_rng(0), (2, 7, 3, 4)
    theirs = torch.nn.MultiheadAttention(N * H, N, bias=False, batch_first=True, add_bias_kv=True)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.tensor(random.normal(size=parameter.shape, scale=0.5)))
    x, direction = (random.normal(size=(B, T, N * H)).astype(np.float32) for _ in range(2))
    present = np.arange(T) < np.array([[T], [4]])
    leaf = torch.tensor(x, requires_grad=True)
    closed = torch.tensor(np.arange(T) > np.arange(T)[:, None]) if causal else None
    expected, _ = theirs(leaf, leaf, leaf, key_padding_mask=torch.tensor(~present), attn_mask=closed)
    (torch.tensor(direction * present[..., None]) * expected).sum().backward()

    spec = {
        'use': 'attention.persistent_memory:PersistentMemory', 'heads': N, 'count': 1,
        'kernel': {'use': 'attention.plain:Plain'}, 'position': {'use': 'position.none:NoPosition'},
        'mask': {'use': 'ops.mask:Causal' if causal else 'ops.mask:Full'},
    }  # fmt: skip
    own = {f'memory_{name}': getattr(theirs, f'bias_{name[0]}').detach().numpy() for name in ('key', 'value')}
    params = converted(theirs, N, H, False) | {name: jnp.array(leaf.reshape(1, N, H)) for name, leaf in own.items()}
    context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), jnp.array(present, int))

    def run(x):
        y = build(spec)().apply({'params': params}, x, context, False)
        return (direction * present[..., None] * y).sum(), y

    gradient, y = jax.jit(jax.grad(run, has_aux=True))(x)
    assert_all_near([y[present], gradient], [expected.detach().numpy()[present], leaf.grad.numpy()])
