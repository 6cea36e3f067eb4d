# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of whole texts from every layer of a model, in batches: the mean of the layer's outputs over the tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.search import SentenceEncoder, has_sentence_head, sentence_vectors
from saccade.model.stack import STATES, layer_states
from saccade.model.word_vectors import WordVectors
from saccade.ops.pool import mean
from saccade.types import LayerContext, Model, Params

Vectors = Float[np.ndarray, '_ D']


@dataclass(frozen=True, eq=False)
class TextReader:
    """Reads the vectors of texts from every layer of a model.

    Attributes:
        head: read the head 'pooled' of a sentence encoder too.
    """

    model: Model
    params: Params
    tokenizer: Tokenizer
    head: bool = True

    def layers(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """Return vectors by layer: '0' is the embedding, and 'head' the head 'pooled' of a sentence encoder, if any.

        Word vectors have their embedding alone. Texts longer than the context are cut.

        Raises:
            UserError: the model has no layers that read a text, or the tokenizer cannot encode a character of one.
        """
        if isinstance(self.model, WordVectors):
            return {'0': self._words(texts)}
        stacked = SentenceEncoder(self.model, self.params, self.tokenizer, read=_layer_means).encode(texts)
        found = {str(layer): stacked[:, layer] for layer in range(stacked.shape[1])}
        if self.head and has_sentence_head(self.model):
            found['head'] = SentenceEncoder(self.model, self.params, self.tokenizer, read=sentence_vectors).encode(
                texts
            )
        return found

    def _words(self, texts: Sequence[str]) -> Vectors:
        table = np.asarray(self.params['embedding'], np.float32)
        ids = self.tokenizer.encode_batch(texts)
        return np.stack([table[each].mean(axis=0) if each else np.zeros(table.shape[1], np.float32) for each in ids])


def _layer_means(model: Any, params: Params, batch: Mapping[str, Array]) -> Float[Array, 'B L D']:
    context = LayerContext(batch['positions'], batch['segments'], types=batch['types'])
    _, reported = model.apply({'params': params}, batch['tokens'], context, False, mutable=STATES)
    return jnp.stack([mean(states, batch['segments'] != 0) for states in layer_states(reported)], axis=1)
