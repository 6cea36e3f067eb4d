# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Greedy search: generate for each source the most probable next token, y_t = argmax p(y | y_<t, x), until the end.

Sutskever, Vinyals and Le 2014, section 3.2, https://arxiv.org/abs/1409.3215, whose beam of one this is. Cost: one step
of the model a token. It may miss the most probable text, which begins with a token that is not the most probable one.
"""

from dataclasses import dataclass

import jax

from saccade.decode.loop import after_sources, write
from saccade.decode.rules import FREE, TokenRules
from saccade.decode.sampling import Sampler
from saccade.types import Batch, CountOrZero, Params, Seq2Seq, Written

__all__ = ['Greedy']


@dataclass(frozen=True)
class Greedy:
    """Greedy search.

    Attributes: max_tokens, written of a row at most, the end token included; 0 for the model's context; rules,
        constraints on the tokens.
    """

    max_tokens: CountOrZero = 0
    rules: TokenRules = FREE

    def __call__(self, model: Seq2Seq, params: Params, batch: Batch) -> Written:
        """Write for each row of a batch."""
        return sample(model, params, batch, Sampler(0.0), jax.random.key(0), self.max_tokens, self.rules)


def sample(
    model: Seq2Seq,
    params: Params,
    batch: Batch,
    sampler: Sampler,
    key: jax.Array,
    max_tokens: int = 0,
    rules: TokenRules = FREE,
) -> Written:
    """Write for each row of a batch by drawing each token."""
    tokens = max_tokens or model.context_length
    return write(after_sources(model, params, batch, tokens), sampler, tokens, key, batch['end'], rules)
