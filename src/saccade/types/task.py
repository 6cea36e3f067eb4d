# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Batches, and the protocols of tasks, searches, metrics and evaluators."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, SupportsFloat, runtime_checkable

import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int, Key

from saccade.types.arrays import Params, PRNGKey
from saccade.types.model import Seq2Seq

# A batch is a dict of arrays whose leading axis is B. `data` makes it, a task receives it:
#   tokens    [B T] int32     of the vocabulary. For a causal model T is one more than it sees: every input has a target
#   frames    [B T F] float32 in place of tokens, where that is what a model embeds: its embedding names its inputs
#   images    [B rows columns channels] float32   likewise; an image is one place of `segments` and `positions`.
#                             Where there are `tokens` too, these two are of the tokens alone
#   segments  [B T] int32     1, 2, ... number the documents packed into a row; 0 is padding
#   positions [B T] int32     the token's place within its own document piece
# and, for an encoder, whatever of these its task needs:
#   types     [B T] int32     1 for the second of two texts, else 0
#   words     [B T] int32     1, 2, ... number the words of a row; 0 for special tokens and padding
#   mask      [B] int32       the id of [MASK]
#   row       [B] int32       the number of the row in its split
#   example   [B] int32       the number of the example that the row is of, or is a window on; -1 for padding
#   label     [B] int32       the class of the row; IGNORED for none
#   eigenvectors [B F] int32  of graphs: number of the eigenvector that each place of a frame is of, from 1; 0 for none
#   value     [B] float32     the number to predict of the row; NaN for none
#   labels    [B T] int32     the class of each token; IGNORED for none
#   start, stop [B] int32     first and last token of the answer; 0, which is [CLS], where the row has none
# and, where an example is 2 or 3 texts that are compared by their vectors: all of [B T] above are [B texts T]
# and, for a model that reads one sequence and writes another, whose `tokens` begin with the token that starts it:
#   source    [B S] int32     what is read
#   source_segments, source_positions [B S] int32   of its tokens, as those of `tokens`
#   end       [B] int32       the id of the token that ends what is written
# and, for skip-grams:
#   frequency [B T] float32   the token's share of the words of the training split; 0 where it is none
#   noise     [B M] int32     words drawn by their frequency, to be told from those that are there
# and, for a task that makes both of `tokens`, under its own name the id of each special token [B] that a source may
# begin with, and:
#   sentinels [B K] int32     the ids of the tokens that stand for what is left out, in order
#   start     [B] int32       the id of the token that starts what is written
Batch = Mapping[str, Array]

_NO_WEIGHT = 1e-30  # divides a total that is 0
IGNORED = -100  # a label that is no target: PyTorch's ignore_index, and so the field's

Metrics = Mapping[str, SupportsFloat]


@struct.dataclass
class Written:
    """Decoded target of each source, the best that the search found.

    Attributes:
        tokens: of each row, without its start token; only the first `counts` of them are meaningful.
        counts: number of tokens before the end token.
    """

    tokens: Int[Array, 'B M']
    counts: Int[Array, 'B']


@runtime_checkable
class Search(Protocol):
    """Decoding search of a sequence-to-sequence model, in a compiled program: greedy, beam search ..."""

    def __call__(self, model: Seq2Seq, params: Params, batch: Batch) -> Written:
        """Decode a target for each row of a batch, from its source and the first column of `tokens`."""
        ...


@struct.dataclass
class Total:
    """Total and weight of a mean, or of several means that are added: sum over terms of total / weight.

    Totals and weights each add up over microbatches, devices and processes. No weight depends on a parameter.
    """

    total: Float[Array, '*terms']
    weight: Float[Array, '*terms']

    def mean(self) -> Float[Array, '']:
        """Return the sum of the means; a term without weight adds 0."""
        return (self.total / jnp.maximum(self.weight, _NO_WEIGHT)).sum()

    def times(self, factor: float | Float[Array, '']) -> 'Total':
        """Return the total of a mean that is multiplied by a factor."""
        return Total(factor * self.total, self.weight)

    def plus(self, *others: 'Total') -> 'Total':
        """Return the total of a sum of means, each of which keeps its own weight."""
        every = self, *others
        total, weight = ([getattr(each, name).ravel() for each in every] for name in ('total', 'weight'))
        return Total(jnp.concatenate(total), jnp.concatenate(weight))


@runtime_checkable
class Task(Protocol):
    """Training task: the loss, and how a batch becomes the model's input.

    A task may have these attributes too, all but the first of its class:
        then: uses of a finished run, each with its command but for --workdir; {inputs} stands for an example
            of each input of the data, as flags, and {texts} for texts that the tokenizer reads.
        trains: the protocol of its models, and the words for such a model: (EncoderModel, 'an encoder').
        heads: the output heads that it uses, by the field of the model that has them, '' for the model itself.
        reads: the names of the arrays that it uses of a batch.
        mixes_rows: in words, what depends on which rows come together, as the negatives of a contrastive loss do.
        reports: declarations of the metrics that `loss` returns. One without a declaration is logged, and ranks nothing
            unless its best end is given.
        evaluates: declarations of the metrics that evaluations alone log, those of `Evaluator.judge` among them; like
            `reports`, of an object where it depends on the fields.
        best_by: the metric by which checkpoints and runs are ranked where nothing else is asked for; `loss` by default.
    """

    def init(self, model: Any, key: PRNGKey, batch: Batch) -> Params:
        """Initialise the parameters of a run: the model's, by their own names, and any that the task adds.

        What a task adds declares no axes, so it is whole on each device.
        """
        ...

    def inputs(self, model: Any, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init` for a batch, after the key."""
        ...

    def loss(self, model: Any, params: Params, batch: Batch, key: PRNGKey, train: bool) -> dict[str, Total]:
        """Return totals by name. `loss` is what training minimises; the others are reported too."""
        ...


@runtime_checkable
class AcrossRows(Task, Protocol):
    """Task whose loss of a row depends on the other rows of the batch, as a contrastive loss does.

    Under `jit` a step sees the whole batch. Under `pmap` it sees the rows of one device, and gathers the others.
    """

    def across(self, axis: str) -> Task:
        """Return the task for steps in which the rows are spread over the devices of a named axis."""
        ...


@runtime_checkable
class Augmentation(Protocol):
    """Augmentation: a random change of the training examples of a batch. `reads` names the array that it changes.

    Besides, it may give `other_label` [B] int32 and `share` [B] float32: the loss of a row is then share times that for
    its label, and 1 - share times that for the other.
    """

    reads: str

    def __call__(self, keys: Key[Array, 'B'], batch: Batch) -> Batch:
        """Return the batch, changed. There is a key for each row."""
        ...


@runtime_checkable
class Estimate(Protocol):
    """Estimate: a number with the bounds of its 95% confidence interval."""

    value: float
    low: float
    high: float


@runtime_checkable
class TextMetric(Protocol):
    """Text metric: compares texts with their references; an estimate's `signature` says how it was computed.

    Its attribute `reports` has the declarations of what it returns.
    """

    def __call__(self, texts: Sequence[str], references: Sequence[str]) -> dict[str, Estimate]: ...


@runtime_checkable
class Evaluator(Protocol):
    """Evaluator: a task with metrics of predictions for whole examples, besides means over targets.

    Its attribute `evaluates` has their declarations.
    """

    def predict(self, model: Any, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the predictions for each row; axis 0 of each array is B."""
        ...

    def judge(self, predictions: Mapping[str, Any], split: Any) -> dict[str, Estimate]:
        """Return metrics of the predictions of all rows of a split, in order, and of padding after them."""
        ...
