# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pegasus: the encoder-decoder Transformer with norms before the branches, and one after each tower.

Zhang et al. 2020, "PEGASUS", https://arxiv.org/abs/1912.08777; names and settings of `PegasusForConditionalGeneration`
in transformers. It stores its sinusoids as a table, which is read as learned positions; sinusoids of ours are written
as such a table, whatever the order of their features.
"""

from typing import Any

from saccade.hub.seq2seq import LAYER_NORM, LEARNED, WEIGHTS, family, keys, tables, template
from saccade.hub.template import Leaf, Place, filled, written
from saccade.position.sinusoid import Sinusoid

# Of older folders.
_REQUIRED = {'normalize_before': True, 'normalize_embedding': False, 'add_final_layer_norm': True}


class _Table(Leaf):
    """Positions that are stored as a table."""

    def read(self, config: Any) -> dict[str, Any]:
        """Return the spec of learned positions."""
        return filled(LEARNED, config)

    def written(self, value: Any, place: Place) -> Any:
        """Yield nothing for sinusoids: the export computes their table."""
        return () if value.target is Sinusoid else written(LEARNED, value, place)


FAMILY = family(
    'PegasusForConditionalGeneration',
    template('block.pre_norm:PreNorm', {'position': _Table(), 'norm': LAYER_NORM}),
    keys=keys(required=_REQUIRED),
    weights=(*WEIGHTS, *tables()),
    tokens={'pad_token_id': 0, 'eos_token_id': 1, 'decoder_start_token_id': 0, 'forced_eos_token_id': 1},
)
