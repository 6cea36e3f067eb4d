# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Alignment: cross-attention weights over the source for each target token, with the tokens.

A row is a decoding step, labelled by the generated token; a column is a source token. Bahdanau, Cho and Bengio
2015, figure 3, https://arxiv.org/abs/1409.0473. The weights come from the cross-attention of a recurrent decoder or of
a Transformer layer.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.translator import Rendering, Translator
from saccade.inside.activations import Inside
from saccade.inside.attention import maps_of
from saccade.inside.maps import MEAN, AttentionMap, Explored, named
from saccade.inside.reading import of_pair
from saccade.types import Params, Seq2Seq, UserError


@dataclass(frozen=True, eq=False)
class Alignment:
    """Alignment of a target with its source: attention weights by token.

    Attributes:
        maps: one for each layer with cross-attention.
        layer: index of a map.
        head: index from 0; MEAN for the mean over heads.
        what: name of the head, as 'decoder.layers.1.cross.heads.0'.
    """

    maps: tuple[AttentionMap, ...]
    layer: int
    head: int
    what: str

    @property
    def weights(self) -> Float[np.ndarray, 'T S']:
        """Weights of the layer and head."""
        return self.maps[self.layer].head(self.head)

    def record(self) -> dict[str, Any]:
        """Return the alignment as one JSON object."""
        read, written = (list(side) for side in (self.maps[0].keys, self.maps[0].queries))
        return {'read': read, 'written': written, 'weights': self.weights.tolist(), 'what': self.what}

    def save(self, path: Path, title: str, run: str, step: int | None) -> None:
        """Write a page of all layers and heads that opens with these weights, or a picture or .npz of these.

        Raises:
            UserError: the ending is not supported, or the file cannot be written.
        """
        Explored(title, run, step, self.maps).save(path, self.maps[self.layer].name, self.head)


@dataclass(frozen=True, eq=False)
class Aligner:
    """Computes alignments with one layer and head.

    Attributes:
    frame: row layout of the training data.
    layer: index among the layers with cross-attention, from 0; -1 is the last.
    head: index from 0; MEAN for the mean over heads.
    """

    model: Seq2Seq
    params: Params
    tokenizer: Tokenizer
    frame: PairFrame
    layer: int = -1
    head: int = MEAN

    @classmethod
    def of(cls, translator: Translator, layer: int = -1, head: int = MEAN) -> 'Aligner':
        """Return the aligner of a translator's model."""
        given = (getattr(translator, name) for name in ('model', 'params', 'tokenizer', 'frame'))
        return cls(*given, layer, head)

    def align(self, source: list[int], target: list[int]) -> Alignment:
        """Return the alignment of a target with its source, given their tokens.

        Raises:
            UserError: the sequences are too long, the layer or head does not exist, or cross-attention reports no
                weights.
        """
        room = self.frame.context_length
        read = self.frame.read(source)
        if len(read) > self.frame.source_context_length or len(target) > room:
            raise UserError(f'{len(read)} source tokens and {len(target)} target tokens do not fit the rows')
        # A text that fills the whole row has no end token.
        given, written = [self.frame.start, *target][:room], [*target, self.frame.end][:room]
        reading = of_pair(self.tokenizer, read, given, written)
        maps = maps_of(Inside(self.model, self.params, reading.arguments), reading)
        return self._picked(tuple(one for one in maps if one.is_cross))

    def replace_unknown(self, found: Rendering) -> str:
        """Return a translation with the source word of the highest weight in place of each unknown token.

        Jean et al. 2015, "On Using Very Large Target Vocabulary for Neural Machine Translation", section 4.1,
        https://arxiv.org/abs/1412.2007, without its dictionary. Special tokens of the source are not chosen.

        Raises:
            UserError: as for `align`.
        """
        places = [place for place, token in enumerate(found.ids) if token in self.tokenizer.unknown]
        if not places:
            return found.text
        ((_, offsets),) = self.tokenizer.source.encode_places([found.source])
        first = self.frame.read(found.source_ids).index(found.source_ids[0])
        weights = self.align(found.source_ids, found.ids).weights[:, first : first + len(offsets)]
        words = [found.source[slice(*offsets[weights[place].argmax()])] for place in places]
        return self.tokenizer.decode_replacing(found.ids, words)

    def _picked(self, maps: tuple[AttentionMap, ...]) -> Alignment:
        if not maps:
            raise UserError('the cross-attention of this model reports no weights, so there is no alignment')
        if not -len(maps) <= self.layer < len(maps):
            raise UserError(f'layer {self.layer}: the layers with cross-attention are 0 to {len(maps) - 1}')
        number = self.layer % len(maps)
        last = len(maps[number].weights) - 1
        if not MEAN <= self.head <= last:
            raise UserError(f'head {self.head}: the heads are 0 to {last}; {MEAN} is their mean')
        head = self.head if last else 0
        return Alignment(maps, number, head, named(maps[number], head))
