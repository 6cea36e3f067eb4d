# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Greedy search: generate the most probable next token, y_t = argmax p(y | y_<t, x), until the end token.

Sutskever, Vinyals and Le 2014, section 3.2, https://arxiv.org/abs/1409.3215: a beam of one. Cost: one step of the model
per token. It may miss the most probable text, if that begins with a less probable token.
"""

from dataclasses import dataclass

import jax

from saccade.decode.loop import after_sources, write
from saccade.decode.rules import FREE, TokenRules
from saccade.decode.sampling import Sampler
from saccade.types import Batch, CountOrZero, DecodedTokens, Params, Seq2Seq

__all__ = ['Greedy']


@dataclass(frozen=True)
class Greedy:
    """Greedy search.

    Attributes: max_tokens, maximum number of new tokens per row, including the end token; 0 for the model's context;
        rules, constraints on the tokens.
    """

    max_tokens: CountOrZero = 0
    rules: TokenRules = FREE

    def __call__(self, model: Seq2Seq, params: Params, batch: Batch) -> DecodedTokens:
        """Generate a text for each row of a batch."""
        return sample(model, params, batch, Sampler(0.0), jax.random.key(0), self.max_tokens, self.rules)


def sample(
    model: Seq2Seq,
    params: Params,
    batch: Batch,
    sampler: Sampler,
    key: jax.Array,
    max_tokens: int = 0,
    rules: TokenRules = FREE,
) -> DecodedTokens:
    """Sample a text for each row of a batch."""
    tokens = max_tokens or model.context_length
    return write(after_sources(model, params, batch, tokens), sampler, tokens, key, batch['end'], rules)
