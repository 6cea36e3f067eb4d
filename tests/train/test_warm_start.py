# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A trained encoder, with a fresh decoder beside it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.traverse_util import flatten_dict

from saccade.build import build
from saccade.train.init.partial import body, encoder
from saccade.train.start import start_from
from saccade.train.trained import open_run, spec_of
from saccade.types import LayerContext, Part, UserError

BYTES = "data.tokenizer={'use': 'data.tokenizer.byte:Byte', 'specials': ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']}"
SIZES = ('vocabulary=264', 'width=16', 'layers=2', 'context_length=16', 'block.mixer.heads=2')
TOKENS = jnp.array([[7, 100, 31, 8, 9, 12]])
PLACE = LayerContext(jnp.arange(6)[None], jnp.array([[1, 1, 1, 1, 1, 0]]))


@pytest.fixture(scope='module')
def pretrained(untrained_run):
    """The folder of a run of masked tokens and pairs of sentences."""
    return untrained_run('masked_lm/quickstart.py', BYTES, *(f'model.{size}' for size in SIZES))


def with_decoder(spec, width=16):
    """The encoder of a spec, less its heads, and a decoder of this width beside it."""
    attention = spec['block']['mixer'] | {'dropout': 0.0}
    causal = attention | {'mask': {'use': 'ops.mask:Causal'}}
    decoder = {
        'use': 'model.decoder:Decoder',
        'vocabulary': 264,
        'context_length': 8,
        'width': width,
        'layers': 1,
        'tied': True,
        'block': spec['block'] | {'mixer': causal, 'cross': attention},
        **{name: spec[name] for name in ('norm', 'run')},
        'position': {'use': 'position.sinusoid:Sinusoid'},
    }
    both = {'use': 'model.encoder_decoder:EncoderDecoder', 'encoder': spec | {'heads': {}}, 'decoder': decoder}
    return build(both | {'shared_embedding': width == spec['width']})()


def zeros(model):
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), TOKENS, PLACE, TOKENS, PLACE, False)['params'])
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


@pytest.mark.long
@pytest.mark.parametrize('width', [16, 8])
def test_the_encoder_is_that_of_the_run_and_the_decoder_is_new(pretrained, width):
    model = with_decoder(spec_of(pretrained), width)
    begun = start_from((pretrained, ''), zeros(model), {}, Part(encoder))
    run, given = open_run(pretrained), flatten_dict(begun.params, sep='/')
    there = flatten_dict(run.params, sep='/')
    assert begun.taken
    for path, leaf in given.items():
        expected = there[path.removeprefix('encoder/')] if path in begun.taken else np.zeros_like(leaf)
        np.testing.assert_array_equal(leaf, expected)
    assert all(path.startswith('encoder/') == (path in begun.taken) for path in given)
    assert sorted(begun.left) == sorted(path for path in there if '_head/' in path)


@pytest.mark.long
def test_what_it_reads_is_what_the_run_makes_of_it(pretrained):
    spec, run = spec_of(pretrained), open_run(pretrained)
    model = with_decoder(spec)
    params = start_from((pretrained, ''), zeros(model), {}, Part(encoder)).params
    read = build(spec | {'heads': {}})()
    given, _ = read.apply({'params': params['encoder']}, TOKENS, PLACE, False, method='encode')
    expected, _ = run.model.apply({'params': run.params}, TOKENS, PLACE, False, method='encode')
    np.testing.assert_array_equal(given, expected)


@pytest.mark.long
def test_another_encoder_is_refused(pretrained):
    smaller = with_decoder(spec_of(pretrained) | {'layers': 1})
    with pytest.raises(UserError, match='another architecture: encoder/layers'):
        start_from((pretrained, ''), zeros(smaller), {}, Part(encoder))
    with pytest.raises(UserError, match=r'another architecture.*--config.inherit=model takes the model'):
        start_from((pretrained, ''), zeros(smaller), {}, Part(body))
