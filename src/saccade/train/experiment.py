# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experiment: the fields that every config has, checked and typed."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from saccade.build import bind, lacking
from saccade.paths import expanded
from saccade.train.adapter import Adapter, Whole
from saccade.train.extension import Extension
from saccade.types import (
    Count,
    CountOrZero,
    Data,
    Model,
    OfOneSequence,
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
    """Experiment: a built config, of values and parts.

    Attributes:
        seed: of initialisation, data order and whatever is random in a step. JAX reads 32 bits of it.
        steps: training steps in all.
        batch_size: rows a step, over all devices and processes.
        log_every, eval_every, checkpoint_every: steps between; 0 for only at the end.
        eval_batches: batches of each evaluation before the last; 0 for the whole split. The last covers the whole
            split, whatever this is: reports compare its metrics, and `launch/evaluate.py` gives the same.
        eval_lengths: lengths of a sequence, in tokens, at which the end of training measures the validation split
            too, as split 'validation_LENGTH', on `eval_batches` batches of about as many tokens.
        keep_last, keep_best: checkpoints kept: so many of the latest, and so many of the best.
        keep_best_by: metric of the validation split by which they are best, as 'accuracy'; None for the task's own,
            which is `loss` but of dual encoders, whose loss depends on `batch_size`.
        backend: how a step is spread over devices.
        mesh: devices along each named axis; -1 is the rest.
        dtype: of the computation; parameters and optimizer state are float32.
        accumulate: microbatches a step.
        ema: decay of the moving average of the parameters that evaluation uses, (1 + step) / (10 + step) until that is
            more; 0 for none.
        init_from: a run or a Hugging Face directory whose weights to start from.
        adapt: what makes those weights fit this model, as `train.init.upcycle:grouped` or `train.init.partial:body`;
            None where they must fit already.
        inherit: the field that takes the model of `init_from`, where it is given, as 'model'; see `train.init.inherit`.
        init_part: which of several models of `init_from` is meant, as 'discriminator' of a run of ELECTRA.
        low_rank: trains small updates of weights that stay as they are, as `train.low_rank:LowRank`; None to train the
            weights themselves.
        sample: what to show at each evaluation.
        baseline: a function of the training split, the validation split and the vocabulary's size, None where there is
            no vocabulary, that gives nats per target, or metrics by name, printed next to the model's at the end.
        extended: more steps that the run was given, in order; `--extend` writes them.
        logging: where the log goes besides the run's folder and the console.
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
    accumulate: Count = 1
    ema: Scales[Share] = 0.0
    low_rank: Part[Adapter] | None = None
    sample: Part | None = None
    baseline: Part | None = None
    logging: tuple[Part[Sink], ...] = ()
    extended: tuple[Part[Extension], ...] = ()

    def __post_init__(self) -> None:
        for name, value in self.data.arguments:
            if isinstance(value, str) and not _is_unicode(value):
                raise UserError(f'config.data.{name}: {value!r} is not UTF-8; rename what it names')
        if self.batch_size % self.accumulate:
            raise UserError(
                f'config.accumulate: {self.batch_size} rows do not divide into {self.accumulate} microbatches'
            )
        if self.adapt is not None and not (self.init_from or self.inherit):
            raise UserError('config.adapt: there are no weights to adapt; give config.init_from, a run or a folder')
        if self.init_part and not self.init_from:
            raise UserError(f"config.init_part: '{self.init_part}' is a part of no run; give config.init_from")
        for number, sink in enumerate(self.logging):
            if not isinstance(sink.target, type) and 'return' not in getattr(sink.target, '__annotations__', {}):
                raise UserError(f'config.logging[{number}]: {sink.name} is no Sink: it does not say what it makes')
        self._require_model()
        self._require_batch()

    @property
    def tokens(self) -> int:
        """Tokens of a batch: the places of its rows; where there are images, those that the model makes of them."""
        like = self.data().batch_like(self.batch_size)
        length = self.model().context_length if 'images' in like else self.data().context_length
        _, *texts, _ = like['segments'].shape  # a row may hold several
        return self.batch_size * math.prod(texts) * length

    def _require_model(self) -> None:
        """Refuse a model of another kind than the task trains."""
        protocol, words = getattr(self.task.target, 'trains', (Model, 'a model'))
        missing = lacking(self.model.target, protocol)
        if missing:
            raise UserError(
                f'config.task: {self.task.name} needs {words}; config.model, {self.model.name}, is none: {missing[0]}'
            )

    def _require_batch(self) -> None:
        """Refuse data whose batches lack what the task reads, or the model embeds."""
        there = self.data().batch_like(self.batch_size)
        if missing := [name for name in getattr(self.task.target, 'reads', ()) if name not in there]:
            raise UserError(
                f'config.task: {self.task.name} reads {", ".join(missing)} of a batch; config.data, {self.data.name}, '
                f'gives {", ".join(there)}'
            )
        reads = getattr(self.model(), 'reads', ())
        if missing := [name for name in ((reads,) if isinstance(reads, str) else reads) if name not in there]:
            raise UserError(
                f'config.model: {self.model.name} embeds {", ".join(missing)} of a batch; config.data, '
                f'{self.data.name}, gives {", ".join(there)}'
            )

    @property
    def adapter(self) -> Adapter:
        """Makes the model's parameters of those that are trained."""
        return self.low_rank() if self.low_rank else Whole()

    def at_length(self, length: int) -> 'Experiment':
        """The same on sequences of another length in tokens, in batches of about as many tokens.

        Raises:
            UserError: the model is not of one sequence.
        """
        if not isinstance(self.model(), OfOneSequence):
            raise UserError(
                f'{self.model.name} has a context for its source and one for its target, so there is no one length of '
                f'{length} tokens to evaluate it at; it is evaluated at that of its training alone'
            )
        rows = max(self.batch_size * self.data().context_length // length, 1)
        data, model = self.data.replace(context_length=length), self.model.target.at_length(self.model, length)
        return replace(self, data=data, model=model, batch_size=rows, accumulate=1)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> 'Experiment':
        """Build a resolved config.

        Raises:
            UserError: a field is unknown, missing, or does not fit.
        """
        return bind(cls, config, 'config')()


def _is_unicode(text: str) -> bool:
    """Whether it has no surrogates, which Python has for bytes of a path that are not UTF-8."""
    return not any('\ud800' <= character <= '\udfff' for character in text)


def cache_folder() -> Path:
    """Where prepared data is kept between runs: $SACCADE_CACHE, or saccade below the user's cache folder.

    Raises:
        UserError: the user has no home folder.
    """
    base = os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    try:
        return expanded(os.environ.get('SACCADE_CACHE') or f'{base}/saccade')
    except UserError as error:
        raise UserError(f'{error}; prepared data are kept there: set SACCADE_CACHE to another folder') from None
