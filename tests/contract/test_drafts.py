# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Speculative decoding for every mixer that decodes: the tokens of the model alone, or a refusal."""

import jax
import pytest
from decoders import decoding, small, unless_refused
from discovery import CATALOGUE

from saccade.decode.generate import generate
from saccade.decode.sampling import Sampler
from saccade.decode.speculate import Draft, generate_drafted

PROMPTS = [[*range(3, 12)], [5, 1, 5]]
SETTINGS = PROMPTS, Sampler(0.0), 12, jax.random.key(2)
# Each token changes the keys of earlier ones; or an array that is no KV cache has a place for every token.
REFUSED = {'PaTH', 'Selective', 'Hyena'}


@pytest.mark.long
@pytest.mark.parametrize('name', decoding(CATALOGUE.mixers()))
def test_greedy_tokens_with_a_draft_are_those_without(name):
    model, params = small(name)
    made, message = unless_refused(lambda: generate_drafted(model, params, Draft(*small(name, layers=1), 3), *SETTINGS))
    assert (made is None) == (name in REFUSED), message
    if made:
        assert made[0] == generate(model, params, *SETTINGS)
