# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The contracts: each measures how far a layer is from what it must be.

A contract is a function of a layer and tokens [B T D], with B >= 2 and T >= 8. It returns a difference relative to the
largest expected element, or raises `Fault` where none can be measured. `NotOffered` passes through.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from conformance.layer import Array, Layer, NotOffered, spans

FLOAT32 = 1e-5  # of the largest element
GRADIENTS = 1e-4  # of the largest element of a parameter's gradient: sums over documents in another order
BFLOAT16 = 3e-2  # of the largest element


class Fault(Exception):  # noqa: N818  # a verdict, not an error of the program
    """A failure without a measured difference; the message is the reason, in one line."""


@dataclass(frozen=True)
class Contract:
    """Contract. Attributes: name; title for people; measure; tolerance, the largest difference that passes."""

    name: str
    title: str
    measure: Callable[[Layer, Array], float]
    tolerance: float = FLOAT32


CONTRACTS: dict[str, Contract] = {}


def contract(title: str, tolerance: float = FLOAT32) -> Callable[..., Callable[[Layer, Array], float]]:
    """Register a function as a contract of its own name."""

    def register(measure: Callable[[Layer, Array], float]) -> Callable[[Layer, Array], float]:
        name = measure.__name__
        CONTRACTS[name] = Contract(name, title, measure, tolerance)
        return measure

    return register


def difference(found: Array, expected: Array, scale: float | None = None) -> float:
    """Largest difference, relative to the largest expected element, or to `scale`.

    Raises:
        Fault: the shapes differ, or a number is not finite.
    """
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape:
        raise Fault(f'shape {found.shape} instead of {expected.shape}')
    _require_finite(found, expected)
    scale = np.abs(expected).max(initial=0.0) if scale is None else scale
    return float(np.abs(found - expected).max(initial=0.0) / (scale or 1.0))


def _require_finite(*arrays: Array) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise Fault('not finite')


def normal(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Return standard normal numbers, float32."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def documents(x: Array) -> Array:
    """Segments of full rows: two documents, and three that begin elsewhere in every other row."""
    length = x.shape[1]
    two = [1] * (length // 2 + 1) + [2] * (length - length // 2 - 1)
    three = [1] * (length // 3) + [2] * (length // 3 + 1) + [3] * (length - 2 * (length // 3) - 1)
    return np.array([two if row % 2 == 0 else three for row in range(len(x))], np.int32)


def padded_left(x: Array) -> Array:
    """Segments of one document a row, with a third of every other row padding, on the left."""
    segments = np.ones(x.shape[:2], np.int32)
    segments[1::2, : x.shape[1] // 3] = 0
    return segments


def _each_alone(layer: Layer, x: Array, segments: Array) -> Array:
    """Outputs of each document in a row of its own; 0 at padding."""
    y = np.zeros_like(x)
    for row, places in spans(segments):
        y[row, places] = layer.alone(x[row : row + 1, places])[0]
    return y


def _from_alone(layer: Layer, x: Array, segments: Array) -> float:
    """Difference between documents together in rows and each in a row of its own."""
    y = layer.call(x, segments)
    return difference(np.where(segments[..., None] != 0, y, 0.0), _each_alone(layer, x, segments))


@contract('packed = alone, values')
def packed_values(layer: Layer, x: Array) -> float:
    """Documents packed into a row have the outputs that each has in a row of its own."""
    segments = documents(x)
    found = _from_alone(layer, x, segments)
    with suppress(NotOffered):  # rows whose end is padding, where the layer offers both
        found = max(found, _from_alone(layer, x, np.where(segments == 3, 0, segments)))
    return found


@contract('packed = alone, gradients', GRADIENTS)
def packed_gradients(layer: Layer, x: Array) -> float:
    """Packed documents have the gradients that they have alone; no output depends on another document's tokens."""
    segments, direction = documents(x), normal(x.shape, 1)
    by_x, by_parameters = layer.gradients(x, direction, segments)
    alone, total = np.zeros_like(x), {name: np.zeros_like(leaf) for name, leaf in by_parameters.items()}
    for row, places in spans(segments):
        here, of_one = layer.gradients_alone(x[row : row + 1, places], direction[row : row + 1, places])
        alone[row, places] = here[0]
        total = {name: leaf + of_one[name] for name, leaf in total.items()}
    first, _ = layer.gradients(x, np.where((segments == 2)[..., None], direction, 0.0).astype(x.dtype), segments)
    elsewhere = np.where((segments == 2)[..., None], 0.0, first)
    largest = max((np.abs(leaf).max(initial=0.0) for leaf in total.values()), default=0.0)
    by_leaf = [
        difference(by_parameters[name], leaf, max(np.abs(leaf).max(initial=0.0), 1e-2 * largest))
        for name, leaf in total.items()
    ]
    return max(difference(by_x, alone), difference(elsewhere, np.zeros_like(x), np.abs(alone).max()), *by_leaf)


def _replay(layer: Layer, x: Array, counts: Sequence[int], segments: Array | None = None) -> Array:
    """Outputs of a sequence that is decoded in chunks."""
    state, parts, start = layer.init_state(len(x), x.shape[1] + 2), [], 0
    for count in counts:
        here = slice(start, start + count)
        y, state = layer.step(x[:, here], state, None if segments is None else segments[:, here])
        parts.append(y)
        start += count
    return np.concatenate(parts, axis=1)


def _chunks(x: Array) -> tuple[int, int, int]:
    """Chunks of a prompt, one token, and the rest."""
    return 4, 1, x.shape[1] - 5


@contract('step = whole')
def steps(layer: Layer, x: Array) -> float:
    """Decoding one token at a time gives the outputs of the whole sequence."""
    return difference(_replay(layer, x, [1] * x.shape[1]), layer.call(x))


@contract('chunks = whole')
def chunks(layer: Layer, x: Array) -> float:
    """Decoding in chunks, the first as a prompt, gives the outputs of the whole sequence."""
    return difference(_replay(layer, x, _chunks(x)), layer.call(x))


@contract('prompt then steps = whole')
def prompt(layer: Layer, x: Array) -> float:
    """A prompt and then one token at a time, as in generation, gives the outputs of the whole sequence."""
    return difference(_replay(layer, x, [4] + [1] * (x.shape[1] - 4)), layer.call(x))


@contract('decoding with left padding')
def decoding_padded(layer: Layer, x: Array) -> float:
    """A batch padded on the left, and decoded one token at a time, gives the outputs of each sequence alone."""
    return decoded(layer, x, [4] + [1] * (x.shape[1] - 4), padded_left(x))


@contract('decoding packed documents')
def decoding_packed(layer: Layer, x: Array) -> float:
    """Documents that begin within a chunk are decoded as each alone."""
    return decoded(layer, x, _chunks(x), documents(x))


def decoded(layer: Layer, x: Array, counts: Sequence[int], segments: Array) -> float:
    """Difference between documents decoded in chunks of these sizes and each in a row of its own."""
    y = _replay(layer, x, counts, segments)
    return difference(np.where(segments[..., None] != 0, y, 0.0), _each_alone(layer, x, segments))


@contract('causal')
def causal(layer: Layer, x: Array) -> float:
    """Other tokens from a place on change nothing before it, and something from there on."""
    if not layer.causal:
        raise NotOffered('sees both directions')
    y, other, largest = layer.call(x), normal(x.shape, 2), 0.0
    for place in range(1, x.shape[1]):
        after = layer.call(np.concatenate([x[:, :place], other[:, place:]], axis=1))
        if (after[:, place:] == y[:, place:]).all():
            raise Fault('later tokens change no later output')
        largest = max(largest, difference(after[:, :place], y[:, :place], np.abs(y).max()))
    return largest


@contract('left padding = alone')
def left_padding(layer: Layer, x: Array) -> float:
    """A sequence padded on the left has the outputs that it has alone."""
    return _from_alone(layer, x, padded_left(x))


@contract('right padding = alone')
def right_padding(layer: Layer, x: Array) -> float:
    """A sequence padded on the right has the outputs that it has alone."""
    return _from_alone(layer, x, padded_left(x)[:, ::-1].copy())


@contract('padding is not read')
def padding_not_read(layer: Layer, x: Array) -> float:
    """Outputs of tokens do not change with what the padded places hold."""
    largest = 0.0
    for segments in (padded_left(x), padded_left(x)[:, ::-1].copy()):
        real = segments != 0
        before, after = (layer.call(np.where(real[..., None], x, 100.0 * more + x), segments) for more in (0, 1))
        largest = max(largest, difference(after[real], before[real]))
    return largest


@contract('a row of padding alone')
def padding_alone(layer: Layer, x: Array) -> float:
    """A row of padding has finite outputs and changes no other row."""
    segments = np.ones(x.shape[:2], np.int32)
    expected, found = layer.call(x, segments), layer.call(x, _first_row_padding(x))
    _require_finite(found)
    return difference(found[1:], expected[1:])


@contract('a row of padding alone, gradients', GRADIENTS)
def padding_gradients(layer: Layer, x: Array) -> float:
    """A row of padding leaves the gradients finite, and those of the other rows as they are without it."""
    segments = _first_row_padding(x)
    direction = np.where(segments[..., None] != 0, normal(x.shape, 1), 0.0).astype(x.dtype)
    by_x, by_parameters = layer.gradients(x, direction, segments)
    _require_finite(*by_parameters.values())
    return difference(by_x[1:], layer.gradients(x, direction, np.ones_like(segments))[0][1:])


def _first_row_padding(x: Array) -> Array:
    """Segments of one document a row, of which the first is padding alone."""
    segments = np.ones(x.shape[:2], np.int32)
    segments[0] = 0
    return segments


@contract('bfloat16', BFLOAT16)
def bfloat16(layer: Layer, x: Array) -> float:
    """In bfloat16 the outputs are near those in float32; only finite if the layer makes discrete choices.

    Both layers have the same parameters and tokens, rounded to bfloat16: the rounding of these is the format's, and
    what is measured is the error of the computation.
    """
    low, exact = layer.in_bfloat16()
    x = rounded(x)
    y = low.call(x)
    return difference(y, exact.call(x) if layer.continuous else y)


def rounded(x: Array) -> Array:
    """Round float32 to the nearest bfloat16, ties to even, and return it as float32."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


@contract('any chunk size')
def chunk_size(layer: Layer, x: Array) -> float:
    """The size of the chunks in which a sequence is computed changes nothing, with documents where these are
    offered."""
    return max(_apart(layer.with_chunk(size), layer, x) for size in (1, 3, x.shape[1] + 1))


@contract('kernel = plain')
def kernel(layer: Layer, x: Array) -> float:
    """Every implementation of the layer gives the outputs of the plain one, with documents where these are offered."""
    return max(_apart(other, layer, x) for other in layer.kernels().values())


def _apart(other: Layer, layer: Layer, x: Array) -> float:
    found = difference(other.call(x), layer.call(x))
    with suppress(NotOffered):
        found = max(found, difference(other.call(x, documents(x)), layer.call(x, documents(x))))
    return found


@contract('any length')
def lengths(layer: Layer, x: Array) -> float:
    """Sequences of odd and prime lengths work; if causal, they have the outputs of the first tokens of a longer one."""
    return _prefixes(layer, x, (3, 7))


@contract('one token')
def one_token(layer: Layer, x: Array) -> float:
    """A sequence of one token works; if causal, its output is that of the first token of a longer one."""
    return _prefixes(layer, x, (1,))


def _prefixes(layer: Layer, x: Array, counts: Sequence[int]) -> float:
    y, found = layer.call(x), [(count, layer.call(x[:, :count])) for count in counts]
    expected = [y[:, :count] if layer.causal else np.nan_to_num(short) for count, short in found]
    return max(difference(short, of_long) for (_, short), of_long in zip(found, expected, strict=True))


@contract('a batch of one')
def one_row(layer: Layer, x: Array) -> float:
    """A row has the same outputs in a batch of its own."""
    return difference(layer.call(x[:1]), layer.call(x)[:1])


@contract('weights')
def weights(layer: Layer, x: Array) -> float:
    """Reported weights sum to one, are 0 at later tokens if causal, and mix the values into the heads' output."""
    given = layer.weights(x)
    sums = given.weights.sum(axis=-1)
    later = np.triu(given.weights, 1) if layer.causal else np.zeros(1)
    mixed = np.einsum('bnts,bnsh->bnth', given.weights, given.values)
    return max(
        difference(sums, np.clip(sums, given.least, given.most)),
        difference(later, np.zeros_like(later)),
        difference(mixed, given.mixed),
    )
