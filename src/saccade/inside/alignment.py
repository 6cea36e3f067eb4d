# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Alignment: cross-attention weights over the source for each target token, with the tokens.

A row is a decoding step, labelled by the generated token; a column is a source token. Bahdanau, Cho and Bengio
2015, figure 3, https://arxiv.org/abs/1409.0473. The weights come from the cross-attention of a recurrent decoder or of
a Transformer layer. They are recognised by their shape [T S]: the two sequences are padded to different lengths.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PyTree

from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.translator import Rendering, Translator
from saccade.layer_paths import IN_A_STACK, layer_numbers
from saccade.train.optimizer import path_of
from saccade.types import LayerContext, Params, Seq2Seq, UserError

_SPACE = '\N{OPEN BOX}'


@dataclass(frozen=True, eq=False)
class Alignment:
    """Alignment of a target with its source: attention weights by token.

    Attributes: tokens of the target, tokens of the source, the weights, and their layer and head.
    """

    written: list[str]
    read: list[str]
    weights: Float[np.ndarray, 'T S']
    what: str

    def record(self) -> dict[str, Any]:
        """Return the alignment as one JSON object."""
        return {'read': self.read, 'written': self.written, 'weights': self.weights.tolist(), 'what': self.what}


@dataclass(frozen=True, eq=False)
class Aligner:
    """Computes alignments with one layer and head.

    Attributes:
    frame: row layout of the training data.
    layer: index among the layers with cross-attention, from 1; -1 is the last.
    head: index from 1; 0 for the mean over heads.
    """

    model: Seq2Seq
    params: Params
    tokenizer: Tokenizer
    frame: PairFrame
    layer: int = -1
    head: int = 0

    @classmethod
    def of(cls, translator: Translator, layer: int = -1, head: int = 0) -> 'Aligner':
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
        layers = list(_over_source(self._weights(read, given), *_sizes(len(given), len(read), self.frame)))
        weights, what = self._picked(layers)
        labels = (
            [(used.decode([number]) or used.token(number)).replace(' ', _SPACE) for number in side]
            for used, side in ((self.tokenizer, written), (self.tokenizer.source, read))
        )
        return Alignment(*labels, weights[: len(given), : len(read)], what)

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
        words, start = [], 0
        for place in places:
            words.append(self.tokenizer.decode(found.ids[start:place]))
            words.append(found.source[slice(*offsets[weights[place].argmax()])])
            start = place + 1
        return ' '.join(filter(None, [*words, self.tokenizer.decode(found.ids[start:])]))

    def _weights(self, read: list[int], given: list[int]) -> PyTree:
        T, S = _sizes(len(given), len(read), self.frame)
        rows = []
        for ids, size in ((read, S), (given, T)):
            rows.append(np.pad(np.array(ids, np.int32), (0, size - len(ids)))[None])
            rows.append((np.arange(size) < len(ids)).astype(np.int32)[None])
        return _reported(self.model, self.params, *rows)

    def _picked(self, layers: list[Float[np.ndarray, 'N T S']]) -> tuple[Float[np.ndarray, 'T S'], str]:
        if not layers:
            raise UserError('the cross-attention of this model reports no weights, so there is no alignment')
        number = self.layer if self.layer > 0 else len(layers) + 1 + self.layer
        if not 1 <= number <= len(layers):
            raise UserError(f'layer {self.layer}: the layers with cross-attention are 1 to {len(layers)}')
        heads = layers[number - 1]
        if not 0 <= self.head <= len(heads):
            raise UserError(f'head {self.head}: the heads are 1 to {len(heads)}; 0 is their mean')
        whose = 'mean of its heads' if self.head == 0 else f'head {self.head}'
        weights = heads.mean(axis=0) if self.head == 0 else heads[self.head - 1]
        return weights, f'layer {number} of {len(layers)}' + (f', {whose}' if len(heads) > 1 else '')


def _sizes(T: int, S: int, frame: PairFrame) -> tuple[int, int]:
    """Return padded lengths of target and source. They differ, as cross-attention weights are found by shape."""
    if T != S:
        return T, S
    return (T, S + 1) if frame.source_context_length > S else (T + 1, S)


@partial(jax.jit, static_argnums=0)
def _reported(model: Any, params: Params, source: Any, there: Any, tokens: Any, written: Any) -> PyTree:
    contexts = [LayerContext(np.arange(each.shape[1])[None] * each, each) for each in (there, written)]
    variables = {'params': params}
    return model.apply(variables, source, contexts[0], tokens, contexts[1], False, mutable=['weights'])[1].get(
        'weights', {}
    )


def _over_source(weights: PyTree, T: int, S: int) -> Iterator[Float[np.ndarray, 'N T S']]:
    """Yield the cross-attention weights of each layer, in order."""
    numbers, found = layer_numbers(weights), []
    for place, (path, leaf) in enumerate(jax.tree_util.tree_leaves_with_path(weights)):
        if leaf.shape[-2:] == (T, S):
            stacked = np.asarray(leaf).reshape(-1, *leaf.shape[-3:])  # one row, so B is 1
            at = IN_A_STACK.match(path_of(path))
            layers = numbers[at['tower']][at['group']] if at else range(len(stacked))
            found += [(layer, place, each) for layer, each in zip(layers, stacked, strict=True)]
    yield from (each for *_, each in sorted(found, key=lambda layer: layer[:2]))
