# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""An encoder-decoder that reads a text twice: the hidden states of one that writes the text that it read."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_encoder import CONTEXT, HEAD, NORM, TOKENS, V, near, spec

from saccade.build import build
from saccade.types import EncoderModel, LayerContext, Seq2Seq, UserError

POOLED = {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:last'}, 'classes': 3}


def towers():
    encoder = spec(heads={})
    causal = {**encoder['block']['mixer'], 'mask': {'use': 'ops.mask:Causal'}}
    block = {**encoder['block'], 'mixer': causal, 'cross': encoder['block']['mixer']}
    decoder = {key: value for key, value in encoder.items() if key != 'heads'}
    return {'encoder': encoder, 'decoder': {**decoder, 'use': 'model.decoder:Decoder', 'norm': NORM, 'block': block}}


@pytest.mark.long
@pytest.mark.parametrize('start', [4, None])
def test_it_has_the_states_of_one_that_writes_what_it_read(start):
    model = build(
        {'use': 'model.reread:Reread', **towers(), 'heads': {'tokens': HEAD, 'pooled': POOLED}, 'start': start}
    )()
    assert isinstance(model, EncoderModel)
    assert not isinstance(model, Seq2Seq)
    segments = jnp.array([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]])
    context = CONTEXT.replace(segments=segments)
    params = model.init(jax.random.key(0), TOKENS, context)['params']
    found = model.apply({'params': params}, TOKENS, context)
    ends = segments.sum(axis=1) - 1
    first = TOKENS[jnp.arange(2), ends] if start is None else jnp.full(2, start)
    shifted = jnp.concatenate([first[:, None], TOKENS[:, :-1]], axis=1)
    both = build({'use': 'model.encoder_decoder:EncoderDecoder', **towers()})()
    own = {name: params[name] for name in ('encoder', 'decoder')}
    given = TOKENS, context, shifted, context, False
    hidden = both.apply({'params': own}, *given, method='output_projection').hidden
    head = params['tokens_head']
    scores = hidden @ head['output'] + head['output_bias']
    real = np.asarray(segments) > 0
    near(found['tokens'][real], scores[real])
    head = params['pooled_head']
    near(found['pooled'], (hidden @ head['output'] + head['output_bias'])[jnp.arange(2), ends])


@pytest.mark.long
def test_a_head_of_the_whole_text_reads_its_last_end():
    ends = jnp.array([[0, 1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0]])
    tokens = jnp.where(ends == 1, V - 1, TOKENS % (V - 1))
    segments = jnp.array([[1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 0, 0]])
    given = {'use': 'model.reread:Reread', **towers(), 'heads': {'tokens': HEAD, 'pooled': POOLED}}
    model = build({**given, 'end': V - 1})()
    params = model.init(jax.random.key(0), tokens)['params']
    params = {**params, 'pooled_head': params['tokens_head']}
    for context in (None, CONTEXT.replace(segments=segments)):
        found = model.apply({'params': params}, tokens, context)
        # Of the second row, which has no end, the last token.
        last = tokens.shape[1] - 1 if context is None else 3
        near(found['pooled'], found['tokens'][jnp.arange(2), jnp.array([4, last])])
        near(found['tokens'], build(given)().apply({'params': params}, tokens, context)['tokens'])


def test_towers_that_do_not_fit_are_refused():
    given = towers()
    given['decoder'] = {**given['decoder'], 'vocabulary': V + 1}
    model = build({'use': 'model.reread:Reread', **given})()
    with pytest.raises(UserError, match='cannot serve a decoder of 12 x 8 too'):
        model.init(jax.random.key(0), TOKENS, LayerContext(CONTEXT.positions))
