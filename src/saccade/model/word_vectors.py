# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Skip-gram word vectors (word2vec): each word has a centre vector and a context vector.

    v = E[tokens],    u = C[tokens]

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality", section 2,
https://arxiv.org/abs/1310.4546. E is named `embedding`, as in every text model, so it can initialise any of them; C is
initialised to zero, as in the authors' program. There are no other parameters. Cost: a lookup.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.module import Module
from saccade.types import Count, Part, Tokens

__all__ = ['WordVectors']


@struct.dataclass
class Vectors:
    """Word vectors of a batch.

    Attributes: centre vectors of the tokens, context vectors of the tokens, and context vectors of the noise words.
    """

    centres: Float[Array, 'B T D']
    contexts: Float[Array, 'B T D']
    noise: Float[Array, 'B M D']


class WordVectors(Module):
    """Skip-gram word vectors.

    Attributes:
        vocabulary: vocabulary size (V), at least the tokenizer's.
        context_length: maximum row length, in tokens.
        width: width of a vector (D).
        embedding_init: initialiser of E.
    """

    vocabulary: Count
    context_length: Count
    width: Count
    embedding_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    why_not: ClassVar[dict[str, str]] = {
        'LanguageModel': 'it has only word vectors; launch/embed.py --nearest=WORD prints the nearest words',
    }

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the config of the same model for rows of up to `length` tokens."""
        return part.replace(context_length=length)

    @nn.compact
    def __call__(self, tokens: Tokens, noise: Int[Array, 'B M']) -> Vectors:
        shape = self.vocabulary, self.width
        centres = parameter(self, 'embedding', 'V D', self.embedding_init(), shape)
        contexts = parameter(self, 'context_embedding', 'V D', nn.initializers.zeros, shape)
        return Vectors(_rows(centres, tokens), _rows(contexts, tokens), _rows(contexts, noise))


def _rows(table: Float[Array, 'V D'], tokens: Int[Array, 'B _']) -> Float[Array, 'B _ D']:
    # Cast before the lookup, so that the gradient is summed over the occurrences of a token in the wider dtype.
    return jnp.take(table.astype(jnp.float32), tokens, axis=0).astype(table.dtype)
