# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""T5: the encoder-decoder with relative positions, of version 1.0 or 1.1.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
https://arxiv.org/abs/1910.10683; names and settings of `T5ForConditionalGeneration` and its heads in transformers.
Version 1.0 projects onto its scaled embedding; version 1.1 has an output kernel.
"""

import math
from typing import Any

from saccade.hub.setting import read
from saccade.hub.template import Both, Config, Leaf, MismatchError, Place
from saccade.hub.text_to_text import family, keys, template


def _scaled(config: Config) -> bool:
    # Version 5 of transformers keeps the former alone: what is not scaled was not tied.
    return read(config, 'scale_decoder_outputs', bool, read(config, 'tie_word_embeddings', bool, True))


def _tied(config: Config) -> bool:
    return read(config, 'tie_word_embeddings', bool, True) and _scaled(config)


class _LogitScale(Leaf):
    """Factor of the logits: one over the root of the width where the output is the embedding, else 1."""

    def read(self, config: Config) -> float:
        """Return the factor."""
        return read(config, 'd_model', int) ** -0.5 if _scaled(config) else 1.0

    def write(self, value: float, place: Place) -> dict[str, Any]:
        """Return no setting of its own."""
        wanted = place.fields['width'] ** -0.5 if place.fields['tied'] else 1.0
        if not math.isclose(value, wanted, rel_tol=1e-6):
            raise MismatchError(f'is {value:g}, which must be {wanted:g} where tied is {place.fields["tied"]}')
        return {}


FAMILY = family(
    'T5',
    template(Both(_tied, lambda tied: {'tie_word_embeddings': tied, 'scale_decoder_outputs': tied}), _LogitScale()),
    keys=keys(),
)
