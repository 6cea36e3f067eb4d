# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the tasks: a forward pass that collects the reports of parts; bases of token tasks and of encoder tasks.

    total loss = loss of the task + sum of all losses that parts report

Parts report a `types.Total` by Linen's `sow`. The collection 'losses' is added to the loss in training: the load
balance of a mixture of experts, summed over the layers as in Fedus et al. 2021, "Switch Transformers", section 2.2,
https://arxiv.org/abs/2101.03961, and updates of running statistics (`ops.statistic`). The collection 'metrics' is
logged, as means over the layers. Each total has its own weight, so microbatches and devices give the same numbers as
the whole batch.
"""

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.ops.loss import cross_entropy
from saccade.ops.sampled_softmax import sampled_cross_entropy
from saccade.ops.vocabulary import OutputProjection, Score, score_in_chunks
from saccade.taps import EDITS
from saccade.types import (
    Batch,
    Count,
    EncoderModel,
    Inputs,
    LayerContext,
    Logits,
    Metric,
    NotNegative,
    Params,
    Part,
    PRNGKey,
    Scales,
    Share,
    Total,
    UserError,
    fraction,
    is_zero,
)

# Metrics of `scored` and `over_targets`; IN_BATCH: the same where a row is compared with the others of its batch.
LOSS, ACCURACY = SCORED = Metric('loss', 'lowest', 0.0, unit='nats'), fraction('accuracy')
IN_BATCH = tuple(replace(metric, among='batch') for metric in SCORED)

LEARNED, LOGGED = ('losses', 'choices'), ('metrics',)  # collections of training only, and of every forward pass


@dataclass(frozen=True)
class Forward:
    """Forward pass of a task: applies its model, and collects the reports of the model's parts.

    Attributes:
        key: key of the task's random choices, and of dropout.
        train: enable dropout, and collect the reports that contribute to the loss.
        collections: additional Linen collections, such as the attention weights in 'pattern'.
        edits: edits of activations, as in `saccade.taps`.
        member: name of the model, in a task with several; '' for a single model.
        reports: reports by collection, then by name of the model. Each call adds to it.
    """

    model: Any
    params: Params
    key: PRNGKey = field(default_factory=functools.partial(jax.random.key, 0))
    train: bool = False
    collections: tuple[str, ...] = ()
    edits: PyTree = field(default_factory=dict)
    member: str = ''
    reports: dict[str, dict[str, PyTree]] = field(default_factory=dict)

    def __call__(self, *inputs: Any, key: PRNGKey | None = None, method: str | None = None) -> Any:
        """Return the model's output.

        Args:
            key: dropout key; None for the task's key.
            method: method of the model to apply instead of `__call__`.
        """
        rngs = {'dropout': self.key if key is None else key}
        collected = [*(LEARNED if self.train else ()), *LOGGED, *self.collections]
        given = {'params': self.params, EDITS: self.edits}, *inputs
        output, reports = self.model.apply(*given, rngs=rngs, mutable=collected, method=method)
        for collection, report in reports.items():
            self.reports.setdefault(collection, {})[self.member] = report
        return output

    def of_member(self, name: str) -> 'Forward':
        """Return the forward pass of one model of several; this one collects its reports too."""
        model, params = self.model.member(name, self.params)
        return replace(self, model=model, params=params, member=name)

    def reported(self, collection: str) -> dict[str, list[Total]]:
        """Return the totals that all models reported in one collection, by the last name of their path.

        Raises:
            UserError: a part reported a value other than a Total.
        """
        named: dict[str, list[Total]] = {}
        reports = [*self.reports.get(collection, {}).values()]
        for path, leaf in jax.tree_util.tree_leaves_with_path(reports, is_leaf=lambda node: isinstance(node, Total)):
            names = [entry.key for entry in path if isinstance(entry, jax.tree_util.DictKey)]
            if not isinstance(leaf, Total):
                raise UserError(
                    f"{'/'.join(names)}: a part reports an array in '{collection}'; report a types.Total (the sum, and "
                    'the weight to divide it by)'
                )
            named.setdefault(names[-1], []).append(leaf)
        return named


class TaskBase:
    """Base of a task, which returns its own totals; reports of parts are added here for all tasks.

    Attributes:
        bare: name of the task's own loss, used where parts add losses.
        trains, heads, reads: requirements on the model and on the data; see `types.Task`.
        reports, evaluates, best_by: declared metrics, and the metric that ranks checkpoints; see `types.Task`.
    """

    bare: ClassVar[str] = 'cross_entropy'
    trains: ClassVar[tuple[type, str]]
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    reads: ClassVar[tuple[str, ...]]
    reports: ClassVar[tuple[Metric, ...]]
    evaluates: ClassVar[tuple[Metric, ...]] = ()
    best_by: ClassVar[str] = 'loss'

    def init(self, model: Any, key: PRNGKey, batch: Batch) -> Params:
        """Initialise the model's parameters for batches of this shape."""
        return model.init(key, *self.inputs(model, key, batch))['params']

    def inputs(self, model: Any, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key. Subclasses override it."""
        raise NotImplementedError

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals by name, including `loss`, of the model that `forward` applies. Subclasses override it."""
        raise NotImplementedError

    def loss(self, model: Any, params: Params, batch: Batch, key: PRNGKey, train: bool) -> dict[str, Total]:
        """Return the task's totals with the reports of the model's parts: metrics, and in training their losses."""
        forward = Forward(model, params, key, train)
        return self.with_reports(self.totals(forward, batch), forward)

    def with_reports(self, totals: Any, forward: Forward) -> dict[str, Total]:
        """Add the reports that a forward pass collected to the totals of the task.

        Raises:
            UserError: `totals` returned a value other than a dict of Total that includes `loss`.
        """
        if not isinstance(totals, Mapping) or not isinstance(totals.get('loss'), Total):
            raise UserError(
                f"{Part(type(self)).name}.totals must return a dict of Total by name with 'loss' among them"
            )
        if wrong := [name for name, total in totals.items() if not isinstance(total, Total)]:
            raise UserError(f"{Part(type(self)).name}.totals: '{wrong[0]}' must be a Total(sum, weight)")
        metrics = {name: of_layers[0].plus(*of_layers[1:]) for name, of_layers in forward.reported('metrics').items()}
        totals = {name: total.times(1 / total.weight.size) for name, total in metrics.items()} | totals
        losses = [*itertools.chain.from_iterable(forward.reported('losses').values())]
        if not losses:
            return totals
        return {self.bare: totals['loss'], **totals, 'loss': totals['loss'].plus(*losses)}


class TokenScores(NamedTuple):
    """Scores of the logits at each target.

    Attributes:
        losses: cross-entropy, in nats.
        hits: True where no token has a higher logit than the target; None if the logits of all tokens are not known.
        best: token with the highest logit, the first of equals; None likewise.
    """

    losses: Float[Array, 'B T']
    hits: Bool[Array, 'B T'] | None
    best: Int[Array, 'B T'] | None


@dataclass(frozen=True, kw_only=True)
class PredictsTokens(TaskBase):
    """Base of tasks whose targets are tokens of the vocabulary.

    Attributes:
        label_smoothing: weight of the uniform distribution in the target distribution, in training.
        z_loss: weight of log^2 of the softmax's denominator, in training (PaLM's is 1e-4).
        vocabulary_chunk: positions per row whose logits are in memory at once, and recomputed in the backward pass;
            None for all positions (`ops.vocabulary`).
        sampled: number of tokens from which the normaliser is estimated in training (`ops.sampled_softmax`), where
            accuracy is then not reported; None for the softmax over the vocabulary.
    """

    label_smoothing: Scales[Share] = 0.0
    z_loss: Scales[NotNegative] = 0.0
    vocabulary_chunk: Count | None = None
    sampled: Count | None = None

    unprojected: ClassVar[tuple[str, ...]] = (
        'vocabulary_chunk',
        'sampled',
    )  # fields that, if set, need output projections

    def method(self, model: Any) -> str | None:
        """Return the method of the model to apply: None for logits, else the one for unevaluated output projections.

        Raises:
            UserError: a field requires output projections, and the model has none.
        """
        needed = [name for name in self.unprojected if getattr(self, name) is not None]
        if needed and not hasattr(model, 'output_projection'):
            raise UserError(
                f'task.{needed[0]}: {Part(type(model)).name} does not support chunked logits, as it has no '
                f'output_projection; set it to None'
            )
        return 'output_projection' if needed else None

    def each_target(
        self, output: Logits | OutputProjection, targets: Int[Array, 'B T'], train: bool, key: PRNGKey | None = None
    ) -> TokenScores:
        """Return the scores of each target.

        Args:
            key: key of the sample, if `sampled` is set.

        Raises:
            UserError: `sampled` is set, and the task or the model does not support it.
        """
        if self.sampled is None:
            losses, (hits, best) = self.by_chunks(functools.partial(self._scores, train), (output,), (targets,))
            return TokenScores(losses, hits, best)
        if key is None or type(output) is not OutputProjection:
            raise self._needs_all()
        if not train:
            whole = replace(self, sampled=None)
            return whole.each_target(output if self.vocabulary_chunk else output.logits(), targets, train)
        if not is_zero(self.label_smoothing) or not is_zero(self.z_loss) or self.vocabulary_chunk is not None:
            raise UserError('task.sampled: it excludes label_smoothing, z_loss and vocabulary_chunk')
        losses = sampled_cross_entropy(output, targets, self.sampled, jax.random.fold_in(key, 2))
        return TokenScores(losses, None, None)

    def by_chunks(self, score: Score, outputs: tuple[Logits | OutputProjection, ...], given: tuple[Array, ...]) -> Any:
        """Return the scores of a model's outputs, computed whole or in chunks; see `ops.vocabulary:score_in_chunks`.

        Raises:
            UserError: `sampled` is set; or `vocabulary_chunk` is set, and a head returned logits.
        """
        if self.sampled is not None:
            raise self._needs_all()
        if self.vocabulary_chunk is None:
            return score(*outputs, *given)
        if not all(isinstance(output, OutputProjection) for output in outputs):
            raise UserError(
                "task.vocabulary_chunk: the head 'masked' of config.model does not support chunked logits; set it to "
                'None, or use head.masked:Masked'
            )
        return score_in_chunks(score, outputs, given, min(self.vocabulary_chunk, given[0].shape[1]))

    def _needs_all(self) -> UserError:
        return UserError(f'task.sampled: {Part(type(self)).name} and this model need the whole softmax; set it to None')

    def _scores(self, train: bool, logits: Logits, targets: Int[Array, 'B T']) -> tuple[Array, tuple[Array, Array]]:
        smoothing, z_loss = (self.label_smoothing, self.z_loss) if train else (0.0, 0.0)
        best = jnp.argmax(logits, axis=-1)
        if train:  # the loss needs the maximum anyway, and an argmax costs more; a tie counts as a hit
            hits = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0] >= logits.max(axis=-1)
        else:
            hits = best == targets
        return cross_entropy(logits, targets, smoothing, z_loss), (hits, best)


class ReadsHead(TaskBase):
    """Base of a task that uses one head of an encoder."""

    trains: ClassVar[tuple[type, str]] = (EncoderModel, 'an encoder')

    def inputs(self, model: EncoderModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return *self.given(model, batch), False

    def given(self, model: EncoderModel, batch: Batch) -> tuple[Inputs, LayerContext]:
        """Return the model's inputs and their context."""
        reads = model.reads
        inputs = batch[reads] if isinstance(reads, str) else tuple(batch[name] for name in reads)
        return inputs, context_of(batch)

    def read(self, forward: Forward, batch: Batch) -> Array:
        """Return the output of the head for a batch.

        Raises:
            UserError: the model does not have the head.
        """
        (head,) = self.heads['']
        outputs = forward(*self.given(forward.model, batch), forward.train)
        if head not in outputs:
            there = ', '.join(outputs) or 'none'
            raise UserError(f"{Part(type(self)).name} reads the head '{head}'; config.model.heads has {there}")
        return outputs[head]


def context_of(batch: Batch) -> LayerContext:
    """Return the context of an encoder's layers for a batch."""
    return LayerContext(batch['positions'], batch['segments'], types=batch.get('types'))


def scored(logits: Array, targets: Array, counts: Array, smoothing: Scales[float] = 0.0) -> dict[str, Total]:
    """Return totals of the loss, in nats, and the accuracy; `counts` is 1 for targets and 0 elsewhere."""
    return over_targets(cross_entropy(logits, targets, smoothing), jnp.argmax(logits, axis=-1) == targets, counts)


def over_targets(losses: Array, hits: Array | None, counts: Array) -> dict[str, Total]:
    """Return totals of losses and, if they are known, hits; `counts` is 1 for targets and 0 elsewhere."""
    given = {'loss': losses, 'accuracy': hits}
    return {name: Total((each * counts).sum(), counts.sum()) for name, each in given.items() if each is not None}


def by_example(
    predictions: Mapping[str, np.ndarray],
) -> tuple[Float[np.ndarray, 'examples C'], Int[np.ndarray, 'examples']]:
    """Return the mean logits over the rows of each example, and the index of its first row; padding is skipped."""
    rows = np.flatnonzero(predictions['example'] >= 0)
    _, first, which, counts = np.unique(
        predictions['example'][rows], return_index=True, return_inverse=True, return_counts=True
    )
    sums = np.zeros((len(counts), predictions['logits'].shape[-1]))
    np.add.at(sums, which, predictions['logits'][rows])
    return sums / counts[:, None], rows[first]


def surprise(train: Int[np.ndarray, '_'], labels: Int[np.ndarray, '_'], classes: int) -> float:
    """Return the mean cross-entropy of labels, in nats, under the class frequencies of training (add-one smoothed)."""
    counts = np.bincount(train, minlength=classes) + 1  # no class has probability 0
    return float(np.log(counts.sum()) - np.log(counts[labels]).mean())
