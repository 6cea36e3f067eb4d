# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our attention, as a config names it, against the attention modules of transformers: outputs and all gradients.

Weights are copied, settings drawn at random; rows are whole, padded on both sides or packed. Their masks are made by
transformers too, so that what a window of so many tokens means is theirs to say.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from einops import rearrange
from flax.traverse_util import unflatten_dict

from saccade.build import build
from saccade.types import LayerContext, Source

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')
with warnings.catch_warnings():
    # What these libraries warn of as they are imported is not ours to mend.
    warnings.simplefilter('ignore')
    transformers = pytest.importorskip('transformers', reason='the oracle extra is not installed: transformers')
    from transformers import masking_utils as masks
    from transformers.models.bert import modeling_bert
    from transformers.models.bloom import modeling_bloom
    from transformers.models.gemma2 import modeling_gemma2
    from transformers.models.gpt2 import modeling_gpt2
    from transformers.models.llama import modeling_llama
    from transformers.models.mistral import modeling_mistral
    from transformers.models.mixtral import modeling_mixtral
    from transformers.models.t5 import modeling_t5

pytestmark = pytest.mark.oracle

NEAR = 2e-5  # of the largest element, if that is above 1
GRADIENT_NEAR = 1e-4  # those of the keys' biases are sums that come to nothing
LEAST_SPREAD = 0.1  # standard deviation of an output, beside which this is small
SEEDS = range(3)  # one for each layout


def whole(random, B, T):
    return np.ones((B, T), int)


def padded(random, B, T):
    """Padding on either side."""
    ends = np.sort([random.choice(T + 1, 2, replace=False) for _ in range(B)], axis=-1)
    index = np.arange(T)
    return ((ends[:, :1] <= index) & (index < ends[:, 1:])).astype(int)


def packed(random, B, T):
    """Three segments, the third of which is padding in every other row."""
    cuts = np.sort([1 + random.choice(T - 1, 2, replace=False) for _ in range(B)], axis=-1)
    piece = (np.arange(T) >= cuts[..., None]).sum(axis=-2)
    numbers = np.array([[1, 2, 3 * (row % 2)] for row in range(B)])
    return np.take_along_axis(numbers, piece, axis=-1)


LAYOUTS = (whole, padded, packed)


@dataclass
class Tokens:
    """Where tokens stand: the segment of each, 0 for padding."""

    segments: np.ndarray

    @property
    def positions(self):
        same = self.segments[..., :, None] == self.segments[..., None, :]
        return np.tril(same, -1).sum(axis=-1)

    @property
    def present(self):
        return self.segments != 0

    def ours(self, here=slice(None)):
        """Positions and segments of some of the tokens; no segments where every row is one."""
        segments = None if (self.segments == 1).all() else jnp.asarray(self.segments[:, here])
        return jnp.asarray(self.positions[:, here]), segments


class Drawn:
    """A random setting: sizes, and where the tokens of each row stand. The seed also says in which layout."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = np.random.default_rng((seed, number))
        self.K, self.G, self.B = (int(self.random.integers(1, 4)) for _ in range(3))
        self.T, self.S = (int(self.random.integers(8, 15)) for _ in range(2))
        self.N, self.H = self.K * self.G, 2 * int(self.random.integers(2, 6))
        self.D = self.N * int(self.random.integers(3, 9))
        self.tokens, self.source = (Tokens(LAYOUTS[seed](self.random, self.B, length)) for length in (self.T, self.S))

    def normal(self, *shape):
        return self.random.normal(size=shape).astype(np.float32)

    def one_of(self, *values):
        return values[self.random.integers(len(values))]

    def between(self, low, high):
        return float(self.random.uniform(low, high))

    def redraw(self, module):
        """Draw every parameter again, so that no bias is 0."""
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(torch.tensor(0.4 * self.normal(*parameter.shape)))

    def mask(self, make, config, keys=None):
        """What they add to the scores, by a function of theirs."""
        keys = self.tokens if keys is None else keys
        q_segments, k_segments = torch.tensor(self.tokens.segments), torch.tensor(keys.segments)
        return make(
            config=config,
            inputs_embeds=torch.zeros(self.B, self.T, 1),
            attention_mask=torch.tensor(keys.present),
            cache=None,
            and_mask_function=lambda row, head, q, k: q_segments[row, q] == k_segments[row, k],
        )


@dataclass
class Case:
    """A module of theirs, and what makes ours the same.

    Attributes:
        width: D.
        module: what holds their parameters.
        names: of their parameters: the layout, in einops' words, and our names.
        attend: their output, of tokens and, if it is across, of a source.
        spec: ours, as a config has it, less the kernel.
    """

    width: int
    module: Any
    names: dict[str, tuple[str, tuple[str, ...]]]
    attend: Callable[..., Any]
    spec: dict[str, Any]
    across: bool = False


def mixer(**fields):
    return {
        'use': 'attention.multi_head:MultiHead',
        'mask': {'use': 'ops.mask:Causal'},
        'position': {'use': 'position.none:NoPosition'},
        **fields,
    }


def linears(query, key, value, output):
    """The names of four layers of torch."""
    names = {f'{output}.weight': ('D (N H) -> N H D', ('output',)), f'{output}.bias': ('D -> D', ('output_bias',))}
    for theirs, ours in ((query, 'query'), (key, 'key'), (value, 'value')):
        names[f'{theirs}.weight'] = ('(N H) D -> D N H', (ours,))
        names[f'{theirs}.bias'] = ('(N H) -> N H', (f'{ours}_bias',))
    return names


PLAIN = {'use': 'attention.plain:Plain'}
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
QKV, QKV_BIAS = ('query', 'key', 'value'), ('query_bias', 'key_bias', 'value_bias')


def gpt2(drawn):
    N, layer = drawn.N, drawn.one_of(0, 1, 5)
    scaled, by_layer = (drawn.one_of(True, False) for _ in range(2))
    config = transformers.GPT2Config(
        n_embd=N * drawn.H,
        n_head=N,
        scale_attn_weights=scaled,
        scale_attn_by_inverse_layer_idx=by_layer,
        reorder_and_upcast_attn=drawn.one_of(True, False),
        attn_implementation='eager',
    )
    module = modeling_gpt2.GPT2Attention(config, layer_idx=layer).eval()
    names = {
        'c_attn.weight': ('D (three N H) -> three D N H', QKV),
        'c_attn.bias': ('(three N H) -> three N H', QKV_BIAS),
        'c_proj.weight': ('(N H) D -> N H D', ('output',)),
        'c_proj.bias': ('D -> D', ('output_bias',)),
    }
    mask = drawn.mask(masks.create_causal_mask, config)
    scale = (drawn.H**-0.5 if scaled else 1.0) / (layer + 1 if by_layer else 1)
    spec = mixer(heads=N, scale=scale, bias=True, output_bias=True)
    return Case(N * drawn.H, module, names, lambda x: module(x, attention_mask=mask)[0], spec)


def bert(drawn):
    N = drawn.N
    config = transformers.BertConfig(hidden_size=N * drawn.H, num_attention_heads=N, attn_implementation='eager')
    attention, output = modeling_bert.BertSelfAttention(config).eval(), modeling_bert.BertSelfOutput(config).dense
    module = torch.nn.ModuleDict({'self': attention, 'output': output})
    names = linears('self.query', 'self.key', 'self.value', 'output')
    mask = drawn.mask(masks.create_bidirectional_mask, config)
    spec = mixer(heads=N, bias=True, output_bias=True, mask={'use': 'ops.mask:Full'})
    return Case(N * drawn.H, module, names, lambda x: output(attention(x, mask)[0]), spec)


def bloom(drawn):
    N = drawn.N
    config = transformers.BloomConfig(hidden_size=N * drawn.H, n_head=N, attn_implementation='eager')
    module = modeling_bloom.BloomAttention(config, layer_idx=0).eval()
    names = {
        'query_key_value.weight': ('(N three H) D -> three D N H', QKV),
        'query_key_value.bias': ('(N three H) -> three N H', QKV_BIAS),
        'dense.weight': ('D (N H) -> N H D', ('output',)),
        'dense.bias': ('D -> D', ('output_bias',)),
    }
    mask = drawn.mask(masks.create_causal_mask, config)
    alibi = modeling_bloom.build_alibi_tensor(torch.tensor(drawn.tokens.present), N, torch.float32)

    def attend(x):
        return module(x, torch.zeros_like(x), alibi, mask)[0]

    spec = mixer(heads=N, bias=True, output_bias=True, position={'use': 'position.alibi:ALiBi'})
    return Case(N * drawn.H, module, names, attend, spec)


def t5_module(drawn, **settings):
    config = transformers.T5Config(
        d_model=drawn.D, d_kv=drawn.H, num_heads=drawn.N, attn_implementation='eager', **settings
    )
    bucketed = 'relative_attention_num_buckets' in settings
    return config, modeling_t5.T5Attention(config, has_relative_attention_bias=bucketed, layer_idx=0).eval()


T5_NAMES = linears('q', 'k', 'v', 'o') | {'relative_attention_bias.weight': ('R N -> R N', ('position/table',))}


def t5(drawn, decoder):
    buckets, furthest = drawn.one_of(4, 6, 8, 12), drawn.one_of(7, 9, 13)
    config, module = t5_module(
        drawn,
        is_decoder=decoder,
        relative_attention_num_buckets=buckets,
        relative_attention_max_distance=furthest,
    )
    mask = drawn.mask(masks.create_causal_mask if decoder else masks.create_bidirectional_mask, config)
    spec = mixer(
        heads=drawn.N,
        head_width=drawn.H,
        scale=1.0,
        mask={'use': 'ops.mask:Causal' if decoder else 'ops.mask:Full'},
        position={
            'use': 'position.relative_bias:RelativeBias',
            'buckets': buckets,
            'furthest': furthest,
            'both_sides': not decoder,
        },
    )
    return Case(drawn.D, module, T5_NAMES, lambda x: module(x, mask)[0], spec)


def t5_across(drawn):
    config, module = t5_module(drawn, is_decoder=True)
    make = partial(masks.create_bidirectional_mask, encoder_hidden_states=torch.zeros(drawn.B, drawn.S, 1))
    mask = drawn.mask(make, config, drawn.source)

    def attend(x, source):
        return module(x, mask, key_value_states=source)[0]

    spec = mixer(heads=drawn.N, head_width=drawn.H, scale=1.0, mask={'use': 'ops.mask:Full'})
    return Case(drawn.D, module, T5_NAMES, attend, spec, across=True)


def sizes(drawn):
    """What the configs of Llama and its successors have in common."""
    return {
        'hidden_size': drawn.D,
        'num_attention_heads': drawn.N,
        'num_key_value_heads': drawn.K,
        'head_dim': drawn.H,
        'attn_implementation': 'eager',
    }


def rotated(drawn, module, waves, make, **fields):
    """The case of a module of Llama or its successors.

    Args:
        waves: their cosines and sines.
        make: their mask.
    """
    config = module.config
    mask, positions = drawn.mask(make, config), torch.tensor(drawn.tokens.positions)

    def attend(x):
        return module(x, position_embeddings=waves(x, positions), attention_mask=mask)[0]

    spec = mixer(heads=drawn.N, key_value_heads=drawn.K, head_width=drawn.H)
    position = {'use': 'position.rotary:Rotary', 'base': config.rope_parameters['rope_theta']}
    return Case(
        drawn.D,
        module.eval(),
        linears('q_proj', 'k_proj', 'v_proj', 'o_proj'),
        attend,
        {**spec, 'position': position, **fields},
    )


def unscaled(drawn):
    return {'rope_type': 'default'}, None


def linear(drawn):
    factor = drawn.between(1.5, 8)
    return {'rope_type': 'linear', 'factor': factor}, {'use': 'ops.rotary:linear', 'factor': factor}


def dynamic(drawn):
    """As theirs is for one length: a factor of ours grows with it."""
    factor, context = drawn.between(1.5, 8), 3
    length = max(context, drawn.tokens.positions.max() + 1)
    stretch = factor * length / context - (factor - 1)
    return (
        {'rope_type': 'dynamic', 'factor': factor, 'max_position_embeddings': context},
        {'use': 'ops.rotary:ntk', 'factor': float(stretch)},
    )


def yarn(drawn):
    factor, context, gain = drawn.between(1.5, 8), drawn.one_of(16, 64), drawn.one_of(None, drawn.between(0.8, 1.5))
    slow, fast = drawn.between(0.5, 1), drawn.between(2, 32)
    return (
        {
            'rope_type': 'yarn',
            'factor': factor,
            'original_max_position_embeddings': context,
            'beta_slow': slow,
            'beta_fast': fast,
            'attention_factor': gain,
        },
        {
            'use': 'ops.rotary:yarn',
            'factor': factor,
            'context_length': context,
            'slow': slow,
            'fast': fast,
            'gain': gain,
        },
    )


def longrope(drawn):
    """Ours has the stretches that theirs takes for the length at hand."""
    factor, context = drawn.between(1.5, 8), drawn.one_of(4, 5, 6)
    short, long = ([drawn.between(1, 9) for _ in range(drawn.H // 2)] for _ in range(2))
    stretches = long if drawn.tokens.positions.max() + 1 > context else short
    return (
        {
            'rope_type': 'longrope',
            'factor': factor,
            'original_max_position_embeddings': context,
            'short_factor': short,
            'long_factor': long,
        },
        {'use': 'ops.rotary:longrope', 'factor': factor, 'context_length': context, 'stretches': stretches},
    )


def llama3(drawn):
    factor, context, low, high = drawn.between(1.5, 8), drawn.one_of(16, 64), drawn.between(0.5, 1), drawn.between(2, 8)
    return (
        {
            'rope_type': 'llama3',
            'factor': factor,
            'original_max_position_embeddings': context,
            'low_freq_factor': low,
            'high_freq_factor': high,
        },
        {'use': 'ops.rotary:llama3', 'factor': factor, 'context_length': context, 'low': low, 'high': high},
    )


def llama(drawn, scaled):
    bias, base = drawn.one_of(True, False), drawn.one_of(10.0, 100.0, 1e4)
    rope, scaling = scaled(drawn)
    config = transformers.LlamaConfig(
        **sizes(drawn),
        attention_bias=bias,
        max_position_embeddings=rope.pop('max_position_embeddings', 128),
        rope_parameters={'rope_theta': base, **rope},
    )
    module, waves = modeling_llama.LlamaAttention(config, 0), modeling_llama.LlamaRotaryEmbedding(config)
    position = {'use': 'position.rotary:Rotary', 'base': base, 'scaling': scaling}
    return rotated(drawn, module, waves, masks.create_causal_mask, bias=bias, output_bias=bias, position=position)


def mistral(drawn):
    window = drawn.one_of(1, 2, 3)
    config = transformers.MistralConfig(**sizes(drawn), sliding_window=window)
    module, waves = modeling_mistral.MistralAttention(config, 0), modeling_mistral.MistralRotaryEmbedding(config)
    mask = {'use': 'ops.mask:Window', 'left': window - 1}  # theirs counts the query's own token
    return rotated(drawn, module, waves, masks.create_sliding_window_causal_mask, mask=mask)


def mixtral(drawn):
    config = transformers.MixtralConfig(**sizes(drawn))
    module, waves = modeling_mixtral.MixtralAttention(config, 0), modeling_mixtral.MixtralRotaryEmbedding(config)
    return rotated(drawn, module, waves, masks.create_causal_mask)


def gemma2(drawn, layer):
    """Every other layer has a window, from the first on."""
    window, scalar, bias = drawn.one_of(1, 2, 3), int(drawn.random.integers(1, 30)), drawn.one_of(True, False)
    cap = drawn.between(1, 6)
    config = transformers.Gemma2Config(
        **sizes(drawn),
        num_hidden_layers=4,
        attention_bias=bias,
        query_pre_attn_scalar=scalar,
        attn_logit_softcapping=cap,
        sliding_window=window,
    )
    kinds = {
        'sliding_attention': (masks.create_sliding_window_causal_mask, {'use': 'ops.mask:Window', 'left': window - 1}),
        'full_attention': (masks.create_causal_mask, {'use': 'ops.mask:Causal'}),
    }
    make, mask = kinds[config.layer_types[layer]]
    module, waves = modeling_gemma2.Gemma2Attention(config, layer), modeling_gemma2.Gemma2RotaryEmbedding(config)
    terms = [{'use': 'ops.term:Softcap', 'cap': cap}]
    return rotated(drawn, module, waves, make, mask=mask, terms=terms, scale=scalar**-0.5, bias=bias, output_bias=bias)


CASES = {
    'gpt2': gpt2,
    'bert': bert,
    'bloom': bloom,
    't5 encoder': partial(t5, decoder=False),
    't5 decoder': partial(t5, decoder=True),
    't5 across': t5_across,
    **{
        f'llama, {scaled.__name__}': partial(llama, scaled=scaled)
        for scaled in (unscaled, linear, dynamic, yarn, longrope, llama3)
    },
    'mistral': mistral,
    'mixtral': mixtral,
    'gemma2, even': partial(gemma2, layer=2),
    'gemma2, odd': partial(gemma2, layer=1),
}

BOTH_WAYS = ('bert', 't5 encoder', 't5 across')  # a token sees what follows it, and cannot be decoded by steps


class Both:
    """A case of a seed: theirs was run, ours is to be."""

    def __init__(self, name: str, seed: int) -> None:
        self.drawn = drawn = Drawn(seed, list(CASES).index(name))
        self.case = CASES[name](drawn)
        drawn.redraw(self.case.module)
        lengths = (drawn.T, drawn.S) if self.case.across else (drawn.T,)
        self.inputs = tuple(drawn.normal(drawn.B, length, self.case.width) for length in lengths)
        self.direction = drawn.normal(drawn.B, drawn.T, self.case.width) * drawn.tokens.present[..., None]
        leaves = [torch.tensor(x, requires_grad=True) for x in self.inputs]
        y = self.case.attend(*leaves)
        (torch.tensor(self.direction) * y).sum().backward()
        self.y = y.detach().numpy()
        self.gradients = self._converted(lambda tensor: tensor.grad), tuple(leaf.grad.numpy() for leaf in leaves)
        self.params = self._converted(torch.Tensor.detach)

    def _converted(self, read):
        return converted(self.case.module, self.case.names, self.drawn.H, read)

    def module(self, kernel):
        return build({**self.case.spec, 'kernel': kernel})()

    def context(self, *source):
        """That of all tokens, and of a source if there is one."""
        read = (Source(hidden, *self.drawn.source.ours()) for hidden in source)
        return LayerContext(*self.drawn.tokens.ours(), *read)

    def assert_near(self, y):
        given, expected = (array[self.drawn.tokens.present] for array in (np.asarray(y), self.y))
        assert expected.std() > LEAST_SPREAD
        assert_near(given, expected)


def converted(module, names, H, read):
    """Their parameters, or what is read of each, in our tree."""
    found = {}
    for name, parameter in module.named_parameters():
        layout, ours = names[name]
        known = {axis: size for axis, size in (('H', H), ('three', 3)) if axis in layout}
        array = rearrange(read(parameter).numpy(), layout, **known)
        found |= zip(ours, array if len(ours) > 1 else [array], strict=True)
    return jax.tree.map(jnp.asarray, unflatten_dict(found, sep='/'))


def assert_near(given, expected, near=NEAR):
    np.testing.assert_allclose(given, expected, rtol=0, atol=near * max(1.0, np.abs(expected).max()))


@pytest.fixture(scope='module')
def both(request):
    return Both(*request.param)


def settings(names, *turns):
    """Each case at some of the seeds, the next case at the next ones."""
    pairs = [(name, (number + turn) % len(SEEDS)) for number, name in enumerate(names) for turn in turns]
    return pytest.mark.parametrize('both', pairs, indirect=True, ids=[f'{name}, {seed}' for name, seed in pairs])


def assert_same_outputs_and_gradients(both, kernel):
    module = both.module(kernel)

    def run(params, inputs):
        x, *source = inputs
        y = module.apply({'params': params}, x, both.context(*source), False)
        return (both.direction * y).sum(), y

    gradients, y = jax.jit(jax.grad(run, (0, 1), has_aux=True))(both.params, both.inputs)
    both.assert_near(y)
    jax.tree.map(partial(assert_near, near=GRADIENT_NEAR), gradients, both.gradients)


@pytest.mark.oracle_of(
    'attention.multi_head:MultiHead',
    'attention.plain:Plain',
    'ops.mask:Causal',
    'ops.mask:Full',
    by='transformers, GPT-2, BERT, Llama and others',
)
@pytest.mark.oracle_of('ops.mask:Window', by='transformers, Mistral')
@pytest.mark.oracle_of('ops.term:Softcap', by='transformers, Gemma 2')
@pytest.mark.oracle_of('position.rotary:Rotary', by='transformers, Llama')
@pytest.mark.oracle_of('position.alibi:ALiBi', by='transformers, BLOOM')
@pytest.mark.oracle_of('position.relative_bias:RelativeBias', by='transformers, T5')
@settings(CASES, *SEEDS)
def test_plain(both):
    assert_same_outputs_and_gradients(both, PLAIN)


@pytest.mark.oracle_of('attention.blockwise:Blockwise', by='transformers, GPT-2, BERT, Llama and others')
@settings(CASES, 0)
def test_blockwise(both):
    assert_same_outputs_and_gradients(both, BLOCKWISE)


@settings([name for name in CASES if name not in BOTH_WAYS], 1)
def test_steps(both):
    """A chunk of tokens, then one, then the rest."""
    drawn, module = both.drawn, both.module(PLAIN)
    first = int(drawn.random.integers(1, drawn.T - 1))

    def run(x):
        state, found = module.init_state(x, drawn.T), []
        for here in (slice(0, first), slice(first, first + 1), slice(first + 1, drawn.T)):
            context = LayerContext(*drawn.tokens.ours(here))
            y, state = module.apply({'params': both.params}, x[:, here], context, state, method='step')
            found.append(y)
        return jnp.concatenate(found, axis=1)

    both.assert_near(jax.jit(run)(both.inputs[0]))


@pytest.mark.parametrize('seed', SEEDS)
def test_one_head_is_what_the_notes_mean(seed):
    """Their SingleHeadAttention: three linear maps, softmax(Q K^T / sqrt(H)) V, and no map of the output."""
    drawn = Drawn(seed, len(CASES))
    H, bias = drawn.H, drawn.one_of(True, False)
    D = H + drawn.D
    layers = torch.nn.ModuleDict({name: torch.nn.Linear(D, H, bias) for name in QKV})
    drawn.redraw(layers)
    leaf = torch.tensor(drawn.normal(drawn.B, drawn.T, D), requires_grad=True)
    q, k, v = (layers[name](leaf) for name in QKV)
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(H), dim=-1)
    y = weights @ v
    direction = drawn.normal(*y.shape)
    (torch.tensor(direction) * y).sum().backward()

    spec = mixer(heads=1, head_width=H, bias=bias, mask={'use': 'ops.mask:Full'}, kernel=PLAIN)
    params = converted(layers, linears(*QKV, 'output'), H, torch.Tensor.detach)
    params['output'] = jnp.eye(H, D)[None]
    context = LayerContext(jnp.tile(jnp.arange(drawn.T), (drawn.B, 1)))

    def run(x):
        ours, returned = build(spec)().apply({'params': params}, x, context, False, mutable=['pattern'])
        return (direction * ours[..., :H]).sum(), (ours[..., :H], jax.tree.leaves(returned))

    gradient, (ours, (given,)) = jax.jit(jax.grad(run, has_aux=True))(leaf.detach().numpy())
    assert_near(ours, y.detach().numpy())
    assert_near(given[:, 0], weights.detach().numpy())
    assert_near(gradient, leaf.grad.numpy())
