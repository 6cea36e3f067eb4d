# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Measures of attention heads, on attention maps.

    entropy      - sum over keys of w log w, in nats; log S for equal weights on S keys, 0 for all on one
    distance     sum over keys of w |i - j|, in tokens; of an image, the Euclidean distance in patches
    itself       weight on the token itself
    previous     weight on the token before
    duplicate    weight on earlier occurrences of the token
    induction    weight on the tokens after earlier occurrences of the token
    separators   weight on special tokens between or around texts, as [SEP]
    punctuation  weight on punctuation marks

A measure is the mean over the queries to which it applies: with an allowed key and, for a weight on certain keys, with
such a key. w are the magnitudes of the weights, as shares of their sum: implied weights of linear mixers can be
negative and need not sum to one.

Clark et al. 2019, "What Does BERT Look At?", https://arxiv.org/abs/1906.04341: entropy, separators and most attended
words. Olsson et al. 2022, "In-context Learning and Induction Heads", https://arxiv.org/abs/2209.11895: induction, which
they call prefix matching. Dosovitskiy et al. 2021, https://arxiv.org/abs/2010.11929, figure 7: distance in an image.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float

from saccade.inside.maps import AttentionMap
from saccade.types import UserError

Weights = Float[np.ndarray, '... N T S']
ByHead = Float[np.ndarray, 'N']
Pairs = Sequence[tuple[int, int]]  # index of the query, index of the right key

UNITS = {'entropy': 'nats', 'distance': 'tokens'}  # the other measures are shares

_SEPARATOR = re.compile(r'\[(CLS|SEP|PAD)\]|</?s>|<(pad|bos|eos|(start|end)_of_\w+)>|<[|\uff5c].+[|\uff5c]>')
_SPACES = ' \n\t\u0120\u2581\N{OPEN BOX}'  # and their signs in tokens of BPE, of SentencePiece, and in labels


def of_head(attention: AttentionMap, pairs: Pairs = ()) -> dict[str, ByHead]:
    """Return the measures that apply to a map, by name; of cross-attention, only the entropy.

    Args:
        pairs: adds 'agreement' with these pairs of query and key.

    Raises:
        UserError: a pair does not fit the map; see `agreement`.
    """
    found = {'entropy': entropy(attention.weights)}
    if _within_one(attention):
        found['distance'] = distance(attention.weights) if attention.grid is None else _distance_in_grid(attention)
        found |= {
            name: weight_on(attention.weights, there) for name, there in _targets(attention).items() if there.any()
        }
    return found | ({'agreement': agreement(attention, pairs)} if pairs else {})


def entropy(weights: Weights) -> ByHead:
    """Return the entropy of each head, in nats."""
    shares, seen = _shares(weights)
    logs = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    return _mean(-(shares * logs).sum(axis=-1, dtype=np.float64), seen)


def distance(weights: Weights) -> ByHead:
    """Return the mean distance of each head between query and key, in tokens."""
    T, S = weights.shape[-2:]
    shares, seen = _shares(weights)
    apart = np.abs(np.arange(T)[:, None] - np.arange(S))
    return _mean((shares * apart).sum(axis=-1, dtype=np.float64), seen)


def weight_on(weights: Weights, there: Bool[np.ndarray, '... T S']) -> ByHead:
    """Return the mean weight of each head on marked pairs, over queries with a marked key; NaN if there are none."""
    shares, seen = _shares(weights)
    there = np.expand_dims(there, -3)
    return _mean((shares * there).sum(axis=-1, dtype=np.float64), seen & there.any(axis=-1))


def rollout(layers: Sequence[AttentionMap]) -> Float[np.ndarray, 'L T T']:
    """Return attention from each layer to the inputs of the first, through all layers between.

        R_l = A_l R_(l-1),      A = 1/2 (mean over heads of the weights) + 1/2 I

    Abnar, Zuidema 2020, "Quantifying Attention Flow in Transformers", https://arxiv.org/abs/2005.00928; the identity is
    the residual connection.

    Args:
        layers: self-attention of one stack, first layer first.

    Raises:
        UserError: there is no layer, or one is not self-attention of the same tokens.
    """
    if not layers:
        raise UserError('rollout: there are no layers')
    for layer in layers:
        if not _within_one(layer) or layer.keys != layers[0].keys:
            raise UserError(
                f'rollout: {layer.name} is not self-attention of the tokens of {layers[0].name}; '
                'give the maps of one stack'
            )
    own = np.eye(len(layers[0].keys))
    steps = [_shares(layer.weights)[0].mean(axis=0, dtype=np.float64) + own for layer in layers]
    steps = [step / step.sum(axis=-1, keepdims=True) for step in steps]
    return np.stack([*itertools.accumulate(steps, lambda before, step: step @ before)])


def agreement(attention: AttentionMap, pairs: Pairs) -> ByHead:
    """Return the share of pairs whose right key is the query's most attended word; k keys that tie count 1/k each.

    For coreference, a pair is a pronoun and its antecedent, as in the visualisations of Vaswani et al. 2017,
    https://arxiv.org/abs/1706.03762, and the head's accuracy is that of Clark et al. 2019, section 4. The candidates
    are the keys other than the query itself and separators; in a causal map, only keys before the query.

    Args:
        pairs: index of the query and index of the right key.

    Raises:
        UserError: there are no pairs, a pair is outside the map, or its key is not a candidate.
    """
    candidates, (queries, keys) = _candidates(attention, pairs), np.transpose(pairs)
    weights = np.where(candidates, np.abs(attention.weights[:, queries]), -1)
    most = weights == weights.max(axis=-1, keepdims=True)
    return (most[:, np.arange(len(pairs)), keys] / most.sum(axis=-1)).mean(axis=-1)


def chance(attention: AttentionMap, pairs: Pairs) -> float:
    """Return the expected agreement of a head that attends to a random candidate.

    Raises:
        UserError: as in `agreement`.
    """
    return float((1 / _candidates(attention, pairs).sum(axis=-1)).mean())


def _targets(attention: AttentionMap) -> dict[str, Bool[np.ndarray, 'T T']]:
    """Return the pairs that each weight on certain keys counts, by name."""
    labels, T = np.array(attention.keys), len(attention.keys)
    there = {'itself': np.eye(T, dtype=bool), 'separators': _allowed(attention) & _are(_is_separator, attention)}
    if attention.grid is not None:
        return there
    earlier = np.tril(labels[:, None] == labels, -1)
    return there | {
        'previous': np.eye(T, k=-1, dtype=bool),
        'duplicate': earlier,
        'induction': np.pad(earlier[:, :-1], ((0, 0), (1, 0))),
        'punctuation': _allowed(attention) & _are(_is_punctuation, attention),
    }


def _distance_in_grid(attention: AttentionMap) -> ByHead:
    """Return the mean distance between patches; other tokens, as [CLS], have no place and are left out."""
    rows, columns = attention.grid
    places = np.stack(np.divmod(np.arange(rows * columns), columns), axis=-1)
    apart = np.linalg.norm(places[:, None] - places, axis=-1)
    shares, seen = _shares(attention.weights[:, -len(places) :, -len(places) :])
    return _mean((shares * apart).sum(axis=-1, dtype=np.float64), seen)


def _candidates(attention: AttentionMap, pairs: Pairs) -> Bool[np.ndarray, 'P S']:
    """Return the keys that count as the most attended one, for the query of each pair."""
    if not pairs:
        raise UserError('agreement: there are no pairs')
    T, S = attention.weights.shape[1:]
    candidates = _allowed(attention) & ~_are(_is_separator, attention)
    if _within_one(attention):
        candidates &= ~np.eye(T, dtype=bool)
    for query, key in pairs:
        if not (0 <= query < T and 0 <= key < S):
            raise UserError(f'agreement: pair ({query}, {key}): {attention.name} has {T} queries and {S} keys, from 0')
        if not candidates[query, key]:
            raise UserError(
                f"agreement: pair ({query}, {key}): '{attention.queries[query]}' cannot choose "
                f"'{attention.keys[key]}': it is the query itself, a separator, or a later token of a causal map"
            )
    return candidates[[query for query, _ in pairs]]


def _allowed(attention: AttentionMap) -> Bool[np.ndarray, 'T S']:
    """Return the pairs within the mask: in a map without weights on later keys, the keys up to the query."""
    everywhere = np.ones(attention.weights.shape[1:], bool)
    causal = _within_one(attention) and not np.triu(attention.weights, 1).any()
    return np.tril(everywhere) if causal else everywhere


def _within_one(attention: AttentionMap) -> bool:
    """Return True for self-attention, and False if the keys are of another sequence."""
    return attention.queries == attention.keys and not attention.is_cross


def _are(kind: Callable[[str], bool], attention: AttentionMap) -> Bool[np.ndarray, 'S']:
    return np.array([*map(kind, attention.keys)])


def _is_separator(token: str) -> bool:
    return _SEPARATOR.fullmatch(token.strip(_SPACES)) is not None


def _is_punctuation(token: str) -> bool:
    word = token.removeprefix('##').strip(_SPACES)
    return bool(word) and all(unicodedata.category(letter).startswith('P') for letter in word)


def _shares(weights: Weights) -> tuple[Weights, Bool[np.ndarray, '... N T']]:
    """Return magnitudes as shares of each query's sum, and the queries with any weight; the shares of others are 0."""
    magnitudes = np.abs(weights)
    sums = magnitudes.sum(axis=-1, keepdims=True)
    return magnitudes / np.where(sums > 0, sums, 1), sums[..., 0] > 0


def _mean(values: Float[np.ndarray, '... N T'], counted: Bool[np.ndarray, '... N T']) -> ByHead:
    """Return the mean of each head over the counted queries of all rows."""
    others = (*range(values.ndim - 2), values.ndim - 1)
    with np.errstate(invalid='ignore'):  # NaN without counted queries
        return (values * counted).sum(axis=others) / counted.sum(axis=others)
