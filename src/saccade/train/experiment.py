# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experiment: the fields of every config, checked and typed."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from saccade.build import bind, lacking
from saccade.paths import expanded
from saccade.train.adapter import Adapter, Whole
from saccade.train.extension_schedule import Extension
from saccade.types import (
    AnyLength,
    Count,
    CountOrZero,
    Data,
    Model,
    OfOneSequence,
    OfTwoSequences,
    Part,
    Range,
    Scales,
    Share,
    Sink,
    Task,
    UserError,
)


@dataclass(frozen=True)
class Experiment:
    """Experiment: a config with built parts and checked values.

    Attributes:
        seed: seed of initialisation, data order and all randomness in a step; 32 bits in JAX.
        steps: total number of training steps.
        batch_size: rows per step, over all devices and processes.
        log_every: steps from one logged step to the next; 0 for only at the end.
        eval_every: steps from one evaluation to the next; 0 for only at the end.
        checkpoint_every: steps from one checkpoint to the next; 0 for only at the end.
        eval_batches: first batches of the split that evaluations during training cover, logged as split
            'validation_part'; 0 for the whole split. The last evaluation always covers the whole split: reports compare
            its metrics, and `launch/evaluate.py` gives the same. Learning curves and checkpoints compare the parts.
        eval_lengths: further sequence lengths, in tokens, at which the validation split is evaluated at the end, as
            split 'validation_LENGTH'.
        keep_last: number of latest checkpoints to keep.
        keep_best: number of best checkpoints to keep.
        keep_best_by: metric of the validation split that ranks checkpoints, as 'accuracy'; None for the task's own,
            which is `loss` except for dual encoders, whose loss depends on `batch_size`.
        backend: 'jit' over a mesh, or 'pmap'.
        mesh: number of devices along each named axis; -1 is the rest.
        dtype: dtype of the computation; parameters and optimizer state are float32.
        stop_at: metrics of the validation split and their values at which the task is solved, as dict(accuracy=0.99):
            the run ends at the first evaluation that reaches each of them on the whole split.
        accumulate: number of microbatches per step.
        ema: decay of the moving average of the parameters that evaluation uses, or (1 + step) / (10 + step) if that is
            less; 0 for none.
        schedule_free: weight of the average of all parameters so far in those that gradients are of, as 0.9: evaluation
            uses the average, so the schedule need not decay, and the rule needs no momentum (Adam with b1 = 0; see
            `train.learner`). 0 for none.
        init_from: a run or a Hugging Face directory with the initial weights.
        adapt: converts those weights to this model, as `train.init.upcycle:grouped` or `train.init.partial:body`; None
            if they fit.
        inherit: field that is replaced by the model of `init_from`, if that is given, as 'model'; see
            `train.init.inherit`.
        init_part: selects one of several models of `init_from`, as 'discriminator' of a run of ELECTRA, or 'encoder'
            of a directory of T5, which tagging chooses itself.
        low_rank: trains low-rank updates of frozen weights, as `train.low_rank:LowRank`; None to train the weights.
        sample: sample to show at each evaluation. If it has a method `require` of the model and the processor, that
            is called before training, to refuse what cannot be shown.
        baseline: function of the training split, the validation split and the vocabulary size (None without a
            vocabulary) that returns nats per target, or metrics by name, printed next to the model's at the end.
        extended: extensions of the run by more steps, in order; `--extend` writes them.
        logging: log sinks in addition to the run's folder and the console.
    """

    seed: Annotated[int, Range(least=0, most=2**32 - 1)]
    steps: Annotated[int, Range(least=1, most=2**31 - 1)]
    batch_size: Count
    log_every: CountOrZero
    eval_every: CountOrZero
    checkpoint_every: CountOrZero
    task: Part[Task]
    model: Part[Model]
    data: Part[Data]
    optimizer: Part
    schedule: Part
    mesh: tuple[tuple[str, int], ...]
    backend: Literal['jit', 'pmap']
    dtype: Literal['float32', 'bfloat16']
    init_from: str = ''
    adapt: Part | None = None
    inherit: str = ''
    init_part: str = ''
    eval_batches: CountOrZero = 0
    eval_lengths: tuple[Count, ...] = ()
    keep_last: Count = 2
    keep_best: CountOrZero = 1
    keep_best_by: str | None = None
    stop_at: tuple[tuple[str, int | float], ...] = ()
    accumulate: Count = 1
    ema: Scales[Share] = 0.0
    schedule_free: Scales[Share] = 0.0
    low_rank: Part[Adapter] | None = None
    sample: Part | None = None
    baseline: Part | None = None
    logging: tuple[Part[Sink], ...] = ()
    extended: tuple[Part[Extension], ...] = ()

    def __post_init__(self) -> None:
        for name, value in self.data.arguments:
            if isinstance(value, str) and not _is_unicode(value):
                raise UserError(f'config.data.{name}: {value!r} is not UTF-8; rename the file or folder')
        if self.batch_size % self.accumulate:
            raise UserError(
                f'config.accumulate: {self.batch_size} rows do not divide into {self.accumulate} microbatches'
            )
        if self.ema and self.schedule_free:
            raise UserError('config.schedule_free: evaluation uses one average; set config.ema to 0')
        if self.adapt is not None and not (self.init_from or self.inherit):
            raise UserError('config.adapt: there are no weights to adapt; give config.init_from, a run or a folder')
        if self.init_part and not self.init_from:
            raise UserError(f"config.init_part: '{self.init_part}' needs config.init_from, a run")
        for number, sink in enumerate(self.logging):
            if not isinstance(sink.target, type) and 'return' not in getattr(sink.target, '__annotations__', {}):
                raise UserError(f'config.logging[{number}]: {sink.name} is not a Sink: it has no return annotation')
        self._require_model()
        self._require_batch()

    @property
    def has_average(self) -> bool:
        """True if evaluation uses an average of the parameters."""
        return bool(self.ema or self.schedule_free)

    @property
    def tokens(self) -> int:
        """Tokens per batch: positions of its rows; for images, the positions that the model makes of them."""
        like = self.data().batch_like(self.batch_size)
        length = self.model().context_length if 'images' in like else self.data().context_length
        _, *texts, _ = like['segments'].shape  # a row may have several texts
        return self.batch_size * math.prod(texts) * length

    def _require_model(self) -> None:
        """Check that the model is of the kind that the task trains."""
        protocol, words = getattr(self.task.target, 'trains', (Model, 'a model'))
        missing = lacking(self.model.target, protocol)
        if missing:
            raise UserError(
                f'config.task: {self.task.name} needs {words}; config.model, {self.model.name}, is not one: '
                f'{missing[0]}'
            )

    def _require_batch(self) -> None:
        """Check that the data's batches have the arrays that the task reads and the model embeds."""
        there = self.data().batch_like(self.batch_size)
        if missing := [name for name in getattr(self.task.target, 'reads', ()) if name not in there]:
            raise UserError(
                f'config.task: {self.task.name} reads {", ".join(missing)} from a batch; config.data, '
                f'{self.data.name}, has {", ".join(there)}'
            )
        reads = getattr(self.model(), 'reads', ())
        if missing := [name for name in ((reads,) if isinstance(reads, str) else reads) if name not in there]:
            raise UserError(
                f'config.model: {self.model.name} embeds {", ".join(missing)} from a batch; config.data, '
                f'{self.data.name}, has {", ".join(there)}'
            )

    @property
    def adapter(self) -> Adapter:
        """Adapter from the trained parameters to the model's."""
        return self.low_rank() if self.low_rank else Whole()

    def at_length(self, length: int) -> 'Experiment':
        """Return the experiment at another sequence length in tokens, in batches of about as many tokens.

        Raises:
            UserError: the model has several sequences, and the data have lengths of their own.
        """
        model, other = self.model.target, self.data()
        if isinstance(self.model(), OfOneSequence):
            data, model = self.data.replace(context_length=length), model.at_length(self.model, length)
        elif isinstance(self.model(), OfTwoSequences) and isinstance(other, AnyLength):
            data = self.data.target.at_length(self.data, length)
            model = model.at_lengths(self.model, data['source_context_length'], data['context_length'])
        else:
            raise UserError(
                f'{self.model.name} has separate contexts for source and target, so it can be evaluated at a single '
                f'length of {length} tokens only on generated sequences, not on {self.data.name}'
            )
        rows = max(self.batch_size * other.context_length // length, 1)
        return replace(self, data=data, model=model, batch_size=rows, accumulate=1)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> 'Experiment':
        """Build a resolved config.

        Raises:
            UserError: a field is unknown, missing, or does not fit.
        """
        return bind(cls, config, 'config')()


def _is_unicode(text: str) -> bool:
    """True if text has no surrogates, which Python uses for bytes of a path that are not UTF-8."""
    return not any('\ud800' <= character <= '\udfff' for character in text)


def cache_folder() -> Path:
    """Return the cache folder of prepared data: $SACCADE_CACHE, or saccade in the user's cache folder.

    Raises:
        UserError: the user has no home folder.
    """
    base = os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    try:
        return expanded(os.environ.get('SACCADE_CACHE') or f'{base}/saccade')
    except UserError as error:
        raise UserError(f'{error}; prepared data are stored there: set SACCADE_CACHE to another folder') from None
