# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Position schemes against those of transformers, with random settings."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops import rotary
from saccade.ops.mask import Causal, Full
from saccade.ops.scoring import Scoring
from saccade.ops.slopes import geometric_slopes
from saccade.ops.term import RelativeKeys, RelativeWaves
from saccade.position.alibi import ALiBi
from saccade.position.learned import Learned
from saccade.position.relative_bias import Buckets
from saccade.position.rotary import Rotary
from saccade.types import Part

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')
with warnings.catch_warnings():
    # What these libraries warn of as they are imported is not ours to mend.
    warnings.simplefilter('ignore')
    transformers = pytest.importorskip('transformers', reason='the oracle extra is not installed: transformers')
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    from transformers.models.bart.modeling_bart import BartLearnedPositionalEmbedding
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.gpt_neox.modeling_gpt_neox import apply_rotary_pos_emb as neox_rotary
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as gptj_rotary
    from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
    from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding
    from transformers.models.t5.modeling_t5 import T5Attention
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention
    from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

pytestmark = pytest.mark.oracle

F32_RELATIVE = 1e-5  # of the largest element
NEAR = 1e-5
SEEDS = range(5)


def normal(random, *shape):
    return random.normal(size=shape).astype(np.float32)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def their_waves(kind, width, base, context, **settings):
    """Frequencies and gain of a rope type of transformers."""
    parameters = {'rope_type': kind, 'rope_theta': base, **settings}
    config = transformers.LlamaConfig(
        head_dim=width, max_position_embeddings=context, rope_parameters=parameters, hidden_size=4 * width
    )
    frequencies, gain = ROPE_INIT_FUNCTIONS[kind](config, 'cpu', seq_len=settings.pop('seq_len', None))
    return frequencies.numpy(), gain


def random_rope(seed):
    random = np.random.default_rng(seed)
    width, base = int(random.choice([16, 64, 80, 128])), float(random.choice([1e4, 5e5, 1e6]))
    return random, width, base, int(random.choice([512, 4096, 8192])), float(random.uniform(1.5, 32.0))


@pytest.mark.parametrize('seed', SEEDS)
def test_linear(seed):
    _, width, base, context, factor = random_rope(seed)
    expected, _ = their_waves('linear', width, base, context, factor=factor)
    np.testing.assert_allclose(rotary.linear(rotary.frequencies(width, base), factor), expected, rtol=NEAR)


@pytest.mark.parametrize('share', [0.1, 0.25, 0.5, 0.9, 1.0])
def test_highest_is_proportional(share):
    expected, _ = their_waves('proportional', 80, 1e6, 512, partial_rotary_factor=share)
    np.testing.assert_allclose(rotary.highest(rotary.frequencies(80, 1e6), share), expected, rtol=NEAR)


@pytest.mark.parametrize('seed', SEEDS)
def test_llama3(seed):
    _, width, base, context, factor = random_rope(seed)
    turns = {'low_freq_factor': 1.0, 'high_freq_factor': 4.0}
    expected, _ = their_waves(
        'llama3', width, base, 8 * context, factor=factor, original_max_position_embeddings=context, **turns
    )
    given = rotary.llama3(rotary.frequencies(width, base), factor, 1.0, 4.0, context)
    np.testing.assert_allclose(given, expected, rtol=NEAR)


@pytest.mark.parametrize('seed', SEEDS)
def test_ntk_is_dynamic_ntk_at_one_length(seed):
    random, width, base, context, factor = random_rope(seed)
    length = context * int(random.integers(2, 9))
    config = transformers.LlamaConfig(
        head_dim=width,
        max_position_embeddings=context,
        rope_parameters={'rope_type': 'dynamic', 'rope_theta': base, 'factor': factor},
    )
    expected, _ = ROPE_INIT_FUNCTIONS['dynamic'](config, 'cpu', seq_len=length)
    given = rotary.ntk(rotary.frequencies(width, base), factor * length / context - (factor - 1))
    np.testing.assert_allclose(given, expected.numpy(), rtol=NEAR)


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('turns', [{}, {'fast': 20.0, 'slow': 2.0}])
def test_yarn(seed, turns):
    _, width, base, context, factor = random_rope(seed)
    named = {f'beta_{name}': value for name, value in turns.items()}
    frequencies, gain = their_waves(
        'yarn', width, base, 8 * context, factor=factor, original_max_position_embeddings=context, **named
    )
    given = rotary.yarn(rotary.frequencies(width, base), factor, context, **turns)
    np.testing.assert_allclose(given.frequencies, frequencies, rtol=NEAR)
    assert given.gain == pytest.approx(gain)


@pytest.mark.parametrize('seed', SEEDS)
def test_longrope(seed):
    random, width, base, context, factor = random_rope(seed)
    short, long = (list(map(float, random.uniform(1.0, 30.0, width // 2))) for _ in range(2))
    config = transformers.LlamaConfig(
        head_dim=width,
        max_position_embeddings=8 * context,
        rope_parameters={
            'rope_type': 'longrope',
            'rope_theta': base,
            'factor': factor,
            'short_factor': short,
            'long_factor': long,
            'original_max_position_embeddings': context,
        },
    )
    for length, stretches in ((context, short), (context + 1, long)):
        frequencies, gain = ROPE_INIT_FUNCTIONS['longrope'](config, 'cpu', seq_len=length)
        given = rotary.longrope(rotary.frequencies(width, base), tuple(stretches), factor, context)
        np.testing.assert_allclose(given.frequencies, frequencies.numpy(), rtol=NEAR)
        assert given.gain == pytest.approx(gain)


B, T, N, H = 2, 9, 3, 16
POSITIONS = np.tile(np.arange(T), (B, 1))


@pytest.mark.oracle_of('position.rotary:Rotary', by='transformers, GPT-NeoX')
@pytest.mark.parametrize('share', [0.25, 0.5, 1.0])
def test_partial_rotary_is_that_of_gpt_neox(share):
    random, width = np.random.default_rng(0), int(H * share)
    q, k = (normal(random, B, T, N, H) for _ in range(2))
    angle = POSITIONS[..., None] * rotary.frequencies(width, 100.0)
    cosine, sine = (torch.tensor(np.tile(wave(angle), 2), dtype=torch.float32) for wave in (np.cos, np.sin))
    expected = neox_rotary(*(torch.tensor(x).transpose(1, 2) for x in (q, k)), cosine, sine)
    given = Rotary(base=100.0, share=share).apply({}, *map(jnp.array, (q, k, POSITIONS, POSITIONS)), method='rotate')
    for ours, theirs in zip(given, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.transpose(1, 2), atol=NEAR)


def test_neighbours_give_the_products_of_gptj():
    random = np.random.default_rng(0)
    q, k = (normal(random, B, T, N, H) for _ in range(2))
    sine, cosine = create_sinusoidal_positions(T, H)[None].split(H // 2, dim=-1)
    theirs = [gptj_rotary(torch.tensor(x), sine, cosine).numpy() for x in (q, k)]
    expected = np.einsum('btnh,bsnh->bnts', *theirs)
    module = Rotary(pairing=Part(rotary.neighbours))
    ours = module.apply({}, *map(jnp.array, (q, k, POSITIONS, POSITIONS)), method='rotate')
    assert_near(jnp.einsum('btnh,bsnh->bnts', *ours), expected)


@pytest.mark.oracle_of('position.alibi:ALiBi', by='transformers, BLOOM')
@pytest.mark.parametrize('heads', [1, 2, 5, 8, 12, 16, 25, 71])
def test_alibi_weights_are_those_of_bloom(heads):
    """BLOOM adds m j where ours adds -m (i - j): a constant a query, which the softmax does not see."""
    scores = jnp.array(normal(np.random.default_rng(heads), B, heads, T, T))
    bias = build_alibi_tensor(torch.ones(B, T), heads, torch.float32).reshape(B, heads, 1, T).numpy()
    (term,) = ALiBi().terms(heads)
    pairs = Scoring(Causal()).pairs(jnp.arange(T), jnp.arange(T))
    seen = np.tril(np.ones((T, T), bool))
    ours, theirs = (
        jax.nn.softmax(jnp.where(seen, given, -jnp.inf)) for given in (term.change(scores, pairs), scores + bias)
    )
    np.testing.assert_allclose(ours, theirs, atol=NEAR)


@pytest.mark.parametrize('heads', [2, 8, 12, 25])
def test_alibi_slopes_are_those_of_mpt_in_some_order(heads):
    """For numbers that are no power of two MPT puts the slopes in another order."""
    bias = build_mpt_alibi_tensor(heads, T).reshape(heads, T).numpy()
    np.testing.assert_allclose(sorted(bias[:, -2] * -1), sorted(geometric_slopes(heads)), rtol=NEAR)


@pytest.mark.oracle_of('position.relative_bias:RelativeBias', by='transformers, T5')
@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('both_sides', [True, False])
def test_buckets_are_those_of_t5(seed, both_sides):
    random = np.random.default_rng(seed)
    count, furthest = 2 * int(random.integers(4, 33)), int(random.integers(80, 400))
    distance = np.arange(-500, 500)
    expected = T5Attention._relative_position_bucket(torch.tensor(distance), both_sides, count, furthest).numpy()
    given = Buckets(count, furthest, both_sides)(jnp.array(distance)[None])[0]
    np.testing.assert_array_equal(given, expected)


@pytest.mark.oracle_of('position.transformer_xl:TransformerXL', by='transformers, XLNet')
@pytest.mark.parametrize('seed', SEEDS)
def test_transformer_xl_scores_are_those_of_xlnet(seed):
    random = np.random.default_rng(seed)
    width, scale = int(random.choice([8, 24])), float(random.uniform(0.1, 1.0))
    config = transformers.XLNetConfig(
        d_model=N * H, n_head=N, n_layer=1, d_inner=8, vocab_size=8, d_head=H, attn_type='bi', clamp_len=-1
    )
    theirs = XLNetRelativeAttention(config).eval()
    theirs.scale, theirs.d_model = scale, width
    u, v, projection = normal(random, N, H), normal(random, N, H), normal(random, width, N, H)
    q, k = (normal(random, B, T, N, H) for _ in range(2))
    waves = XLNetModel.relative_positional_encoding
    model = transformers.XLNetModel(config)
    model.d_model = width
    r = waves(model, T, T, bsz=B)
    with torch.no_grad():
        theirs.r_w_bias.copy_(torch.tensor(u))
        theirs.r_r_bias.copy_(torch.tensor(v))
        keys = torch.einsum('ibh,hnd->ibnd', r, torch.tensor(projection))
        values = torch.eye(T)[:, None, None].expand(T, B, N, T)
        heads = (torch.tensor(x).transpose(0, 1) for x in (q, k))
        expected = theirs.rel_attn_core(*heads, values, keys).permute(1, 2, 0, 3)
    scoring = Scoring(Full(), (RelativeWaves(*map(jnp.array, (u, v, projection)), 10000.0),), scale)
    index = jnp.arange(T)
    scores, _ = scoring.scores(jnp.array(q), jnp.array(k), scoring.pairs(index, index), ((),))
    assert_near(jax.nn.softmax(scores), expected.numpy())


@pytest.mark.oracle_of('position.shaw:Shaw', by='transformers, Wav2Vec2-BERT')
@pytest.mark.parametrize('seed', SEEDS)
def test_relative_keys_are_those_of_wav2vec2_bert(seed):
    random = np.random.default_rng(seed)
    reach = int(random.integers(1, 12))
    config = transformers.Wav2Vec2BertConfig(
        hidden_size=N * H,
        num_attention_heads=N,
        position_embeddings_type='relative_key',
        left_max_position_embeddings=reach,
        right_max_position_embeddings=reach,
        attention_dropout=0.0,
    )
    config._attn_implementation = 'eager'
    theirs = Wav2Vec2BertSelfAttention(config).eval()
    x = normal(random, B, T, N * H)
    with torch.no_grad():
        table = theirs.distance_embedding.weight.copy_(torch.tensor(normal(random, 2 * reach + 1, H))).numpy()
        q, k = (
            layer(torch.tensor(x)).view(B, T, N, H).numpy() for layer in (theirs.linear_q, theirs.linear_k)
        )  # fmt: skip
        _, expected = theirs(torch.tensor(x), output_attentions=True)
    scoring = Scoring(Full(), (RelativeKeys(jnp.array(table)),), H**-0.5)
    index = jnp.arange(T)
    scores, _ = scoring.scores(jnp.array(q), jnp.array(k), scoring.pairs(index, index), ((),))
    assert_near(jax.nn.softmax(scores), expected.numpy())


@pytest.mark.oracle_of('position.learned:Learned', by='transformers, OPT and BART')
@pytest.mark.parametrize('theirs', [OPTLearnedPositionalEmbedding, BartLearnedPositionalEmbedding])
def test_learned_positions_with_an_offset_are_the_table_without_its_first_rows(theirs):
    """Rows before the offset serve no position, so ours has none of them; OPT counts from the first real token."""
    random, (rows, tokens, width) = np.random.default_rng(0), (3, 7, 4)
    real = np.ones((rows, tokens), int)
    if theirs is OPTLearnedPositionalEmbedding:
        real[1, :3] = 0
    embedding = theirs(10, width)
    with torch.no_grad():
        expected = embedding(torch.tensor(real)).numpy()
    x, table = jnp.array(normal(random, rows, tokens, width)), embedding.weight.detach().numpy()[embedding.offset :]
    positions = jnp.maximum(jnp.cumsum(real, axis=1) - 1, 0)
    given = Learned(length=10).apply({'params': {'positions': jnp.array(table)}}, x, positions) - x
    assert_near(given[real == 1], expected[real == 1])
