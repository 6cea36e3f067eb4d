# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Small models, and tokenizers that fit them."""

from typing import Any

import pytest
from small_models import encoder_spec, learned_spec, make, model_spec

from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.data.tokenizer.word import Word


@pytest.fixture(scope='session')
def rotary() -> tuple[Any, Any]:
    return make(model_spec())


@pytest.fixture(scope='session')
def windowed() -> tuple[Any, Any]:
    """Its state holds ten tokens, fewer than the chunks that prompts are read by."""
    spec = model_spec()
    spec['block']['mixer']['mask'] = {'use': 'ops.mask:Window', 'left': 9}
    return make(spec)


@pytest.fixture(scope='session')
def hybrid() -> tuple[Any, Any]:
    """Attention, a fixed memory with a convolution, a ring buffer, and latents."""
    spec = model_spec(layers=4)
    block = spec['block']
    window = {**block['mixer'], 'mask': {'use': 'ops.mask:Window', 'left': 9}}
    convolution = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True}
    delta = {'use': 'attention.delta:Delta', 'heads': 4, 'convolution': convolution}
    latent = {
        'use': 'attention.latent:Latent', 'heads': 4, 'rank': 6, 'head_width': 4, 'value_width': 3, 'rotated_width': 2,
        'position': {'use': 'position.rotary:Rotary'}, 'mask': {'use': 'ops.mask:Causal'},
    }  # fmt: skip
    spec['block'] = [{**block, 'mixer': mixer} for mixer in (block['mixer'], delta, window, latent)]
    return make(spec)


@pytest.fixture(scope='session')
def learned() -> tuple[Any, Any]:
    return make(learned_spec())


@pytest.fixture(scope='session')
def counted() -> Any:
    """A model whose position scheme notes when it is traced and when it is run."""
    spec = model_spec(position={'use': 'counting_position:Counting'})
    return make(spec)


@pytest.fixture(scope='session')
def encoder() -> tuple[Any, Any]:
    return make(encoder_spec())


@pytest.fixture(scope='session')
def words() -> Tokenizer:
    """Fewer words than the encoder has room for, and the special tokens of BERT."""
    return Word(36, end=None, specials=BERT).train(['the dog saw a cat and this cat sat on that dog of mine again'])


@pytest.fixture(scope='session')
def tokenizer() -> Tokenizer:
    return Byte().train([])
