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
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PyTree

from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.translator import Translator
from saccade.inside.maps import AttentionMap, Explored
from saccade.layer_paths import IN_A_STACK, layer_numbers
from saccade.train.optimizer import path_of
from saccade.types import LayerContext, Params, Seq2Seq, UserError

_SPACE = '\N{OPEN BOX}'


@dataclass(frozen=True, eq=False)
class Alignment:
    """Alignment of a target with its source: attention weights by token.

    Attributes:
        maps: one for each layer with cross-attention.
        layer: index of a map.
        head: index from 0; -1 for the mean over heads.
        what: layer and head, as printed.
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
        queries, keys = (
            tuple((used.decode([number]) or used.token(number)).replace(' ', _SPACE) for number in side)
            for used, side in ((self.tokenizer, written), (self.tokenizer.source, read))
        )
        layers = _over_source(self._weights(read, given), *_sizes(len(given), len(read), self.frame))
        maps = (
            AttentionMap(f'decoder.layers.{number}.cross', weights[:, : len(given), : len(read)], queries, keys)
            for number, weights in layers
        )
        return self._picked(tuple(maps))

    def _weights(self, read: list[int], given: list[int]) -> PyTree:
        T, S = _sizes(len(given), len(read), self.frame)
        rows = []
        for ids, size in ((read, S), (given, T)):
            rows.append(np.pad(np.array(ids, np.int32), (0, size - len(ids)))[None])
            rows.append((np.arange(size) < len(ids)).astype(np.int32)[None])
        return _reported(self.model, self.params, *rows)

    def _picked(self, maps: tuple[AttentionMap, ...]) -> Alignment:
        if not maps:
            raise UserError('the cross-attention of this model reports no weights, so there is no alignment')
        number = self.layer if self.layer > 0 else len(maps) + 1 + self.layer
        if not 1 <= number <= len(maps):
            raise UserError(f'layer {self.layer}: the layers with cross-attention are 1 to {len(maps)}')
        heads = len(maps[number - 1].weights)
        if not 0 <= self.head <= heads:
            raise UserError(f'head {self.head}: the heads are 1 to {heads}; 0 is their mean')
        whose = 'mean of its heads' if self.head == 0 else f'head {self.head}'
        what = f'layer {number} of {len(maps)}' + (f', {whose}' if heads > 1 else '')
        return Alignment(maps, number - 1, self.head - 1 if heads > 1 else 0, what)


def _sizes(T: int, S: int, frame: PairFrame) -> tuple[int, int]:
    """Return padded lengths of target and source. They differ, as cross-attention weights are found by shape."""
    if T != S:
        return T, S
    return (T, S + 1) if frame.source_context_length > S else (T + 1, S)


@partial(jax.jit, static_argnums=0)
def _reported(model: Any, params: Params, source: Any, there: Any, tokens: Any, written: Any) -> PyTree:
    contexts = [LayerContext(np.arange(each.shape[1])[None] * each, each) for each in (there, written)]
    variables = {'params': params}
    return model.apply(variables, source, contexts[0], tokens, contexts[1], False, mutable=['pattern'])[1].get(
        'pattern', {}
    )


def _over_source(weights: PyTree, T: int, S: int) -> Iterator[tuple[int, Float[np.ndarray, 'N T S']]]:
    """Yield the number (from 0) and the cross-attention weights of each layer, in order."""
    numbers, found = layer_numbers(weights), []
    for place, (path, leaf) in enumerate(jax.tree_util.tree_leaves_with_path(weights)):
        if leaf.shape[-2:] == (T, S):
            stacked = np.asarray(leaf, np.float32).reshape(-1, *leaf.shape[-3:])  # one row, so B is 1
            at = IN_A_STACK.match(path_of(path))
            layers = [number - 1 for number in numbers[at['tower']][at['group']]] if at else range(len(stacked))
            found += [(layer, place, each) for layer, each in zip(layers, stacked, strict=True)]
    yield from ((layer, each) for layer, _, each in sorted(found, key=lambda layer: layer[:2]))
