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

# A batch is a dict of arrays with leading axis B, created by `data` and passed to a task:
#   tokens    [B T] int32     token ids. For a causal model T is one more than its inputs: every input has a target
#   frames    [B T F] float32 instead of tokens, for a model that embeds frames: its embedding names its inputs
#   images    [B rows columns channels] float32   likewise; an image is one place of `segments` and `positions`.
#                             If there are also `tokens`, these two are only for the tokens
#   segments  [B T] int32     number of the document within its packed row, from 1; 0 is padding
#   positions [B T] int32     position of the token within its document piece
# and, for an encoder, depending on its task:
#   types     [B T] int32     type of the token: in BERT 1 for the second of two texts, otherwise 0
#   window    [B T] int32     1 for the tokens of the context in which the answer to a question may be, otherwise 0
#   words     [B T] int32     number of the word within its row, from 1; 0 for special tokens and padding
#   mask      [B] int32       id of [MASK]
#   row       [B] int32       number of the row in its split
#   example   [B] int32       number of the row's example, of which the row can be a window; -1 for padding
#   label     [B] int32       class of the row; IGNORED for none
#   eigenvectors [B F] int32  for graphs: number of the eigenvector at each place of a frame, from 1; 0 for none
#   value     [B] float32     regression target of the row; NaN for none
#   labels    [B T] int32     class of each token; IGNORED for none
#   start, stop [B] int32     first and last token of the answer; 0, which is often [CLS], for a row without one
# and, for examples of 2 or 3 texts that are compared by their embeddings: every [B T] above is [B texts T]
# and, for a sequence-to-sequence model, whose `tokens` begin with the start token:
#   source    [B S] int32     token ids of the source
#   source_segments, source_positions [B S] int32   segments and positions of the source
#   end       [B] int32       id of the end token
# and, for skip-grams:
#   frequency [B T] float32   share of the token among the words of the training split; 0 if it is not a word
#   noise     [B M] int32     noise words, sampled by frequency
# and, for a task that creates source and target from `tokens`, the id [B] of each special token at the start of a
# source, under the token's name, and:
#   sentinels [B K] int32     ids of the sentinel tokens, in order
#   start     [B] int32       id of the start token
Batch = Mapping[str, Array]

_NO_WEIGHT = 1e-30  # divisor of a total that is 0
IGNORED = -100  # label without a target: PyTorch's default ignore_index

Metrics = Mapping[str, SupportsFloat]


@struct.dataclass
class DecodedTokens:
    """Best decoded target of each source.

    Attributes:
        tokens: tokens of each row, without the start token; only the first `counts` are valid.
        counts: number of tokens before the end token.
    """

    tokens: Int[Array, 'B M']
    counts: Int[Array, 'B']


@runtime_checkable
class DecodingSearch(Protocol):
    """Decoding search of a sequence-to-sequence model, in a compiled program: greedy, beam search ..."""

    def __call__(self, model: Seq2Seq, params: Params, batch: Batch) -> DecodedTokens:
        """Decode a target for each row of a batch, from its source and the first column of `tokens`."""
        ...


@struct.dataclass
class Total:
    """Total and weight of a mean, or of a sum of means: sum over terms of total / weight.

    Totals and weights are each summed over microbatches, devices and processes. Weights do not depend on parameters.
    """

    total: Float[Array, '*terms']
    weight: Float[Array, '*terms']

    def mean(self) -> Float[Array, '']:
        """Return the sum of the means; a term with weight 0 adds 0."""
        return (self.total / jnp.maximum(self.weight, _NO_WEIGHT)).sum()

    def times(self, factor: float | Float[Array, '']) -> 'Total':
        """Return the total of the mean multiplied by a factor."""
        return Total(factor * self.total, self.weight)

    def plus(self, *others: 'Total') -> 'Total':
        """Return the total of a sum of means with separate weights."""
        every = self, *others
        total, weight = ([getattr(each, name).ravel() for each in every] for name in ('total', 'weight'))
        return Total(jnp.concatenate(total), jnp.concatenate(weight))


@runtime_checkable
class Task(Protocol):
    """Training task: the loss, and the model's inputs from a batch.

    Optional attributes, of the class except for the first:
        then: uses of a finished run, each with its command without --workdir; {inputs} is replaced by flags with an
            example of each input of the data, {texts} by texts for the tokenizer.
        trains: the protocol of its models, with a description: (EncoderModel, 'an encoder').
        heads: the output heads that it uses, by the field of the model that has them, '' for the model itself.
        reads: names of the arrays that it uses from a batch.
        mixes_rows: description of values that depend on the batch's other rows, such as contrastive negatives.
        reports: declarations of the metrics that `loss` returns. Undeclared metrics are logged, and rank runs only if
            their best end is given.
        evaluates: declarations of the metrics logged only by evaluations, as by `Evaluator.evaluate`; like `reports`,
            an attribute of the object if it depends on the fields.
        best_by: default metric for ranking checkpoints and runs; `loss` if absent.
    """

    def init(self, model: Any, key: PRNGKey, batch: Batch) -> Params:
        """Initialise the parameters of a run: the model's, under their own names, and those that the task adds.

        The task's parameters have no declared axes, so they are replicated on each device.
        """
        ...

    def inputs(self, model: Any, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init` for a batch, after the key."""
        ...

    def loss(self, model: Any, params: Params, batch: Batch, key: PRNGKey, train: bool) -> dict[str, Total]:
        """Return totals by name. Training minimises `loss`; the others are reported."""
        ...


@runtime_checkable
class AcrossRows(Task, Protocol):
    """Task in which the loss of a row depends on the other rows of the batch, such as a contrastive loss.

    Under `jit` a step has the whole batch. Under `pmap` it has the rows of one device, and gathers the others.
    """

    def across(self, axis: str) -> Task:
        """Return the task for steps in which the rows are sharded over the devices of a named axis."""
        ...


@runtime_checkable
class ByStep(Task, Protocol):
    """Task that changes in the course of training, such as scheduled sampling."""

    def at_step(self, step: Int[Array, '']) -> Task:
        """Return the task of a training step; `step` is the number of steps taken before it."""
        ...


@runtime_checkable
class Augmentation(Protocol):
    """Augmentation: a random transformation of the training examples of a batch. `reads` names the array.

    It can add `other_label` [B] int32 and `share` [B] float32: the loss of a row is then share times the loss for its
    label plus 1 - share times the loss for the other label.
    """

    reads: str

    def __call__(self, keys: Key[Array, 'B'], batch: Batch) -> Batch:
        """Return the transformed batch. There is one key per row."""
        ...


@runtime_checkable
class Estimate(Protocol):
    """Estimate: a number with the bounds of its 95% confidence interval."""

    value: float
    low: float
    high: float


@runtime_checkable
class TextMetric(Protocol):
    """Text metric: compares texts with their references; an estimate's `signature` identifies its settings.

    Its attribute `reports` has the declarations of the metrics. A text has one reference or several.
    """

    def __call__(self, texts: Sequence[str], references: Sequence[str | Sequence[str]]) -> dict[str, Estimate]: ...


@runtime_checkable
class Evaluator(Protocol):
    """Evaluator: a task with metrics of predictions for whole examples, in addition to means over targets.

    Its attribute `evaluates` has the metrics' declarations.
    """

    def predict(self, model: Any, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the predictions for each row; axis 0 of each array is B."""
        ...

    def evaluate(self, predictions: Mapping[str, Any], split: Any) -> dict[str, Estimate]:
        """Return metrics of the predictions of all rows of a split, in order, followed by padding."""
        ...
