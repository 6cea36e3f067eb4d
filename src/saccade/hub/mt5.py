# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""mT5: T5 1.1 with an output kernel of its own, whatever config.json says of tied embeddings.

Xue et al. 2021, "mT5", https://arxiv.org/abs/2010.11934; names and settings of `MT5ForConditionalGeneration` and its
heads in transformers. A folder without an output kernel has the embedding in its place.
"""

from dataclasses import replace
from typing import Any

from saccade.hub.template import Both, MismatchError
from saccade.hub.text_to_text import WEIGHTS, family, keys, template


def _untied(tied: bool) -> dict[str, Any]:
    if tied:
        raise MismatchError('is True, which must be False')
    return {'tie_word_embeddings': False}


_KEYS = keys(feed_forward_proj='gated-gelu')

FAMILY = family(
    'MT5',
    template(Both(lambda config: False, _untied), 1.0),
    weights=(*WEIGHTS[:-1], replace(WEIGHTS[-1], instead='shared.weight')),
    keys=replace(_KEYS, harmless=(*_KEYS.harmless, 'tie_word_embeddings')),
    like='t5',
)
