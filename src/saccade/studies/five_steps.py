# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of a recurrent decoder in five steps, computed by hand and by the module.

    1 align     e_j = score(s_(i-1), h_j)          4 decode    s_i = cell(s_(i-1), [y_(i-1) ; c_i]),  y_i of it
    2 softmax   alpha = softmax(e)                 5 repeat    with s_i and y_i
    3 context   c_i = sum_j alpha_j h_j

Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate", section 3.1,
https://arxiv.org/abs/1409.0473. The model is small, has random weights, and generates words of its source. By hand
means in NumPy, from the encoder's hidden states on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.build import build
from saccade.types import LayerContext, Params, UserError

START = '<start>'


@dataclass(frozen=True)
class Turn:
    """Turn of the five steps, computed by hand.

    Attributes:
        fed: previous word.
        scores, weights: score and weight of each source word.
        context, state: context vector, and new decoder state.
        written: most probable word.
        logits: logits of all words.
    """

    fed: str
    scores: np.ndarray
    weights: np.ndarray
    context: np.ndarray
    state: np.ndarray
    written: str
    logits: np.ndarray


@dataclass(frozen=True)
class Recipe:
    """The five steps of attention for a text.

    Attributes: source, its words; turns; difference, the maximum between numbers by hand and the module's.
    """

    source: tuple[str, ...]
    turns: tuple[Turn, ...]
    difference: float

    @classmethod
    def of(cls, text: str, turns: int, width: int, seed: int) -> 'Recipe':
        """Compute the steps for the words of a text.

        Raises:
            UserError: the text has no words.
        """
        words = tuple(text.split())
        if not words:
            raise UserError('--text: the text has no words')
        vocabulary = (START, *dict.fromkeys(words))
        model = _model(len(vocabulary), max(len(words), turns), width)
        source = jnp.array([[vocabulary.index(word) for word in words]])
        params = _drawn(model, source, seed)
        found = _by_hand(params, *_encoded(model, params, source), vocabulary, turns)
        tokens = jnp.array([[vocabulary.index(turn.fed) for turn in found]])
        return cls(words, found, _difference(model, params, source, tokens, found))

    def report(self) -> MeasurementReport:
        """Return a table of the five steps for each turn."""
        tables = [_table(number, turn, self.source) for number, turn in enumerate(self.turns, 1)]
        note = f'The module has the same weights and logits; the maximum difference is {self.difference:.1e}.'
        figures = {
            'source': self.source,
            'difference': self.difference,
            'turns': [
                {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(turn).items()}
                for turn in self.turns
            ],
        }
        return MeasurementReport('five steps of attention', figures, tuple(tables), (note,))


def _model(vocabulary: int, longest: int, width: int) -> Any:
    cell = {'use': 'recurrent.cell.rnn:RNN', 'width': width}
    return build(
        {
            'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq',
            'vocabulary': vocabulary,
            'context_length': longest,
            'source_context_length': longest,
            'width': width,
            'encoder': {'use': 'recurrent.encoder:Encoder', 'cell': cell, 'layers': 1, 'bidirectional': False},
            'bridge': {'use': 'recurrent.decoder.copied:Copied'},
            'decoder': {
                'use': 'recurrent.decoder.bahdanau:Bahdanau',
                'cell': cell,
                'layers': 1,
                'attention': {
                    'use': 'recurrent.decoder.soft:Soft',
                    'score': {'use': 'recurrent.score.general:General'},
                },
            },
            'tied': True,
        }
    )()


def _drawn(model: Any, source: jax.Array, seed: int) -> Params:
    """Draw weights large enough for attention to differ between words."""
    context = _context(source)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), source, context, source, context, False))['params']
    random = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(0, leaf.shape[0] ** -0.5, leaf.shape), leaf.dtype), shapes)


def _context(tokens: jax.Array) -> LayerContext:
    return LayerContext(jnp.arange(tokens.shape[1])[None], jnp.ones(tokens.shape, jnp.int32))


def _encoded(model: Any, params: Params, source: jax.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the hidden state of each word, and the decoder's initial state."""
    state = model.apply({'params': params}, source, _context(source), 0, method='encode').decoder
    return np.asarray(state.source.values[0], np.float64), np.asarray(state.cells[0][0], np.float64)


def _by_hand(
    params: Params, hidden: np.ndarray, state: np.ndarray, vocabulary: Sequence[str], turns: int
) -> tuple[Turn, ...]:
    own = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    decoder, table = own['decoder'], own['embedding']
    cell, key, readout = decoder['layers']['layer_0'], decoder['look']['score']['key'], decoder['readout']['kernel']
    fed, found = START, []
    for _ in range(turns):
        y = table[vocabulary.index(fed)]
        scores = hidden @ key @ state
        weights = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        context = weights @ hidden
        state = np.tanh(state @ cell['recurrent'] + np.concatenate([y, context]) @ cell['inputs'] + cell['bias'])
        pairs = np.concatenate([state, y, context]) @ readout
        logits = table @ np.maximum(pairs[::2], pairs[1::2])
        written = vocabulary[int(logits.argmax())]
        found.append(Turn(fed, scores, weights, context, state, written, logits))
        fed = written
    return tuple(found)


def _difference(model: Any, params: Params, source: jax.Array, tokens: jax.Array, turns: Sequence[Turn]) -> float:
    """Return the maximum difference between weights and logits by hand and the module's, for the same words."""
    logits, reported = model.apply(
        {'params': params}, source, _context(source), tokens, _context(tokens), False, mutable=['pattern']
    )
    weights = reported['pattern']['decoder']['pattern'].value
    pairs = ((weights[0, 0], [turn.weights for turn in turns]), (logits[0], [turn.logits for turn in turns]))
    return max(float(np.abs(np.asarray(theirs) - np.stack(ours)).max()) for theirs, ours in pairs)


def _table(number: int, turn: Turn, source: Sequence[str]) -> Table:
    rows = [
        (f'{number}.1 align', *(f'{score:z.3f}' for score in turn.scores)),
        (f'{number}.2 softmax', *(f'{weight:.3f}' for weight in turn.weights)),
        (f'{number}.3 context', _numbers(turn.context), *[''] * (len(source) - 1)),
        (f'{number}.4 decode', _numbers(turn.state), *[''] * (len(source) - 1)),
        (f'{number}.5 repeat', f'with "{turn.written}"', *[''] * (len(source) - 1)),
    ]
    return Table(f'after "{turn.fed}"', ('', *source), rows)


def _numbers(vector: np.ndarray) -> str:
    return ' '.join(f'{number:z.2f}' for number in vector)
