# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""KerasHub and Keras on JAX: attention, Transformer layers and RNNs.

Documents in a row are an attention mask; padding is a padding mask where the layer has one, else an attention mask.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

os.environ['KERAS_BACKEND'] = 'jax'

import jax
import jax.numpy as jnp
import keras
import keras_hub
import numpy as np

from conformance.jax_layer import JaxLayer
from conformance.layer import Array, Layer, NotOffered, Weights, mask_of, refuse_documents

TITLE = 'KerasHub'
REQUIRES = ('keras-hub==0.32.0', 'keras==3.15.1', 'jax==0.10.2')
HEADS, HEAD_WIDTH = 4, 4


class Keras(JaxLayer):
    """A layer of Keras, called without state. An adapter overrides `given`, the arguments for segments."""

    def __init__(self, make: Callable[..., keras.layers.Layer], causal: bool) -> None:
        keras.utils.set_random_seed(0)
        self.make, self.module = make, make()
        self.module.build(*self.shapes())
        self.rest = [each.value for each in self.module.non_trainable_variables]
        super().__init__(self.apply, [each.value for each in self.module.trainable_variables], causal)

    def shapes(self) -> list[tuple[int | None, ...]]:
        """Shapes to build the layer with."""
        return [(None, None, self.width)]

    def apply(self, parameters: Any, x: jax.Array, given: dict[str, Any], **arguments: Any) -> Any:
        """Call the layer; a second input is the same tokens."""
        inputs = [x] * len(self.shapes())
        return self.module.stateless_call(parameters, self.rest, *inputs, **given, **arguments)[0]

    def in_bfloat16(self) -> tuple[Layer, Layer]:
        low, exact = super().in_bfloat16()
        low.parameters = exact.parameters  # which the policy converts where they are used
        low.module = self.make(dtype='mixed_bfloat16')
        low.module.build(*self.shapes())
        low.forward = low.apply
        low.__dict__.pop('programs', None)
        return low, exact


class Attention(Keras):
    """keras.layers.MultiHeadAttention or GroupQueryAttention."""

    def shapes(self) -> list[tuple[int | None, ...]]:
        return super().shapes() * 2

    def given(self, segments: Array | None) -> dict[str, Any]:
        return {} if segments is None else {'attention_mask': mask_of(segments, causal=False)}

    def apply(self, parameters: Any, x: jax.Array, given: dict[str, Any], **arguments: Any) -> Any:
        return super().apply(parameters, x, given, use_causal_mask=self.causal, **arguments)

    def weights(self, x: Array) -> Weights:
        paths = ['/'.join(each.path.split('/')[-2:]) for each in self.module.trainable_variables]
        leaf = dict(zip(paths, self.parameters, strict=True))
        # An output projection that only concatenates the heads.
        plain = jnp.eye(self.width).reshape(HEADS, HEAD_WIDTH, self.width)
        leaf |= {'attention_output/kernel': plain, 'attention_output/bias': jnp.zeros(self.width)}
        y, weights = self.apply(list(leaf.values()), jnp.asarray(x), {}, return_attention_scores=True)
        values = jnp.einsum('btd,dnh->bnth', x, leaf['value/kernel']) + leaf['value/bias'][:, None]
        values = jnp.repeat(values, HEADS // values.shape[1], axis=1)
        mixed = y.reshape(*x.shape[:2], HEADS, HEAD_WIDTH).swapaxes(1, 2)
        return Weights(*(np.asarray(each) for each in (weights, values, mixed)))


class Decoder(Keras):
    """keras_hub.layers.TransformerDecoder, with its cache."""

    def given(self, segments: Array | None) -> dict[str, Any]:
        if segments is None:
            return {}
        if segments.max() > 1:
            return {'decoder_attention_mask': mask_of(segments, causal=False)}
        return {'decoder_padding_mask': segments != 0}

    def init_state(self, batch: int, capacity: int) -> Any:
        return jnp.zeros((batch, 2, capacity, HEADS, HEAD_WIDTH)), np.zeros((batch, 0), np.int32)

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        cache, before = state
        both = np.concatenate([before, np.ones(x.shape[:2], np.int32) if segments is None else segments], axis=1)
        room = np.pad(both, ((0, 0), (0, cache.shape[2] - both.shape[1])))
        mask = mask_of(room, causal=False)[:, before.shape[1] : both.shape[1]]
        y, cache = self.apply(
            self.parameters,
            jnp.asarray(x),
            {} if segments is None else {'decoder_attention_mask': mask},
            self_attention_cache=cache,
            self_attention_cache_update_index=before.shape[1],
        )
        return np.asarray(y), (cache, both)


class Encoder(Keras):
    """keras_hub.layers.TransformerEncoder."""

    def given(self, segments: Array | None) -> dict[str, Any]:
        if segments is None:
            return {}
        if segments.max() > 1:
            return {'attention_mask': mask_of(segments, causal=False)}
        return {'padding_mask': segments != 0}


class Fourier(Keras):
    """keras_hub.layers.FNetEncoder."""

    def given(self, segments: Array | None) -> dict[str, Any]:
        if segments is not None:
            raise NotOffered('no masks')
        return {}


class Recurrent(Keras):
    """keras.layers.SimpleRNN, GRU, LSTM, or Bidirectional, with padding as a mask."""

    def given(self, segments: Array | None) -> dict[str, Any]:
        refuse_documents(segments)
        return {} if segments is None else {'mask': segments != 0}

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.causal:
            raise NotOffered('both directions')
        return None

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        y, *state = self.apply(self.parameters, jnp.asarray(x), self.given(segments), initial_state=state)
        return np.asarray(y), state


class Stateful(Recurrent):
    """An RNN that returns its state."""

    def apply(self, parameters: Any, x: jax.Array, given: dict[str, Any], **arguments: Any) -> Any:
        found = super().apply(parameters, x, given, **arguments)
        return found if arguments else found[0]


def layers() -> dict[str, Callable[[], Layer]]:
    """Attention, Transformer layers and RNNs."""
    multi_head = functools.partial(keras.layers.MultiHeadAttention, HEADS, HEAD_WIDTH)
    grouped = functools.partial(keras.layers.GroupQueryAttention, HEAD_WIDTH, HEADS, 2)
    decoder = functools.partial(keras_hub.layers.TransformerDecoder, 32, HEADS)
    encoder = functools.partial(keras_hub.layers.TransformerEncoder, 32, HEADS)
    rnns = (keras.layers.SimpleRNN, keras.layers.GRU, keras.layers.LSTM)

    def both_ways(**dtype: Any) -> keras.layers.Layer:
        one = keras.layers.GRU(8, return_sequences=True, **dtype)
        return keras.layers.Bidirectional(one, **dtype)

    return {
        'MultiHeadAttention, causal': functools.partial(Attention, multi_head, True),
        'MultiHeadAttention, both directions': functools.partial(Attention, multi_head, False),
        'GroupQueryAttention, causal': functools.partial(Attention, grouped, True),
        'GroupQueryAttention, both directions': functools.partial(Attention, grouped, False),
        'TransformerDecoder': functools.partial(Decoder, decoder, True),
        'TransformerDecoder, norm first': functools.partial(
            Decoder, functools.partial(decoder, normalize_first=True), True
        ),
        'TransformerEncoder': functools.partial(Encoder, encoder, False),
        'TransformerEncoder, norm first': functools.partial(
            Encoder, functools.partial(encoder, normalize_first=True), False
        ),
        'FNetEncoder': functools.partial(Fourier, functools.partial(keras_hub.layers.FNetEncoder, 32), False),
        **{
            rnn.__name__: functools.partial(
                Stateful, functools.partial(rnn, 16, return_sequences=True, return_state=True), True
            )
            for rnn in rnns
        },
        'Bidirectional, GRU': functools.partial(Recurrent, both_ways, False),
    }
