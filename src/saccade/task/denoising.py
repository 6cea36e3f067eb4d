# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Denoising: predict the removed parts of a row, with the rest as the source.

    loss = - sum over t of log p(target_{t+1} | target_{<= t}, source) / number of targets

One denoiser is the span corruption of Raffel et al. 2020, "T5", section 3.1.4, https://arxiv.org/abs/1910.10683, or a
prefix LM, section 3.2.3; a mixture of several, each with its own token before the source, is Tay et al. 2022, "UL2",
section 3.1, https://arxiv.org/abs/2205.05131. Each step draws new corruptions. A row is one text, regardless of
document boundaries, and the model is any sequence-to-sequence model: an encoder-decoder, or one decoder.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.ops.denoising import Denoiser, DenoiserMixture, Marks, denoise
from saccade.ops.masking import row_keys
from saccade.ops.reinforce import choices_in
from saccade.task.base import SCORED, Forward, PredictsTokens
from saccade.task.causal_lm import totals_of
from saccade.task.translation import given
from saccade.types import Batch, Metric, Part, PRNGKey, Seq2Seq, Total, UserError

__all__ = ['Denoising']


@dataclass(frozen=True)
class Denoising(PredictsTokens):
    """Denoising: span corruption, prefix LM, or a mixture of denoisers (UL2).

    Attributes: as in `task.base:PredictsTokens`, and denoisers, as `ops.denoising:Spans`, one drawn per row.
    """

    denoisers: tuple[Part[Denoiser], ...]

    trains: ClassVar[tuple[type, str]] = (Seq2Seq, 'an encoder-decoder')
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'segments', 'row', 'sentinels', 'start', 'end')
    reports: ClassVar[tuple[Metric, ...]] = SCORED

    @property
    def evaluates(self) -> tuple[Metric, ...]:
        """Declarations of the metrics per mode, if there are several modes."""
        return tuple(each.suffixed(_bare(mode)) for mode in self._by_mode() for each in SCORED)

    @property
    def then(self) -> dict[str, str]:
        """Uses of a trained run: gap filling if the sources mark gaps by sentinels, and continuation of a text."""
        filling = {'fill gaps in': 'launch/fill_mask.py --text="The [MASK] argument must be [MASK]."'}
        marked = any(denoiser.target.marked for denoiser in self.denoisers)
        return {**(filling if marked else {}), 'continue a text': 'launch/translate.py --text="Return the number of"'}

    def inputs(self, model: Seq2Seq, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return *given(self.corrupted(model, key, batch)[0]), False

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over targets: `loss` in nats, and `accuracy`.

        In evaluation, the corruption depends only on the row, and each of several modes has its own totals. Evaluate
        them over a whole split, since the rows of one batch may lack a mode.
        """
        model, (drop, corrupt) = forward.model, jax.random.split(forward.key)
        rows, which = self.corrupted(model, corrupt if forward.train else jax.random.key(0), batch)
        output = forward(*given(rows), forward.train, key=drop, method=self.method(model))
        scores = self.each_target(output, rows['tokens'][:, 1:], forward.train, forward.key)
        totals = totals_of(scores, rows, choices_in(forward.reports.get('choices')))
        for mode, mine in ({} if forward.train else self._by_mode()).items():
            chosen = jnp.isin(which, jnp.array(mine))[:, None]
            own = totals_of(scores, {**rows, 'segments': jnp.where(chosen, rows['segments'], 0)})
            totals |= {f'{name}_{_bare(mode)}': total for name, total in own.items()}
        return totals

    def corrupted(self, model: Seq2Seq, key: PRNGKey, batch: Batch) -> tuple[dict[str, Array], Int[Array, 'B']]:
        """Return the batch of sources and targets, and the index of each row's denoiser.

        Raises:
            UserError: the rows or the model's contexts are too short for a denoiser, or special tokens are missing.
        """
        # Rows have one token more than the context, for models that shift their targets.
        tokens, there = batch['tokens'][:, :-1], batch['segments'][:, :-1] != 0
        mixture = DenoiserMixture(tuple(part() for part in self.denoisers), tokens.shape[1])
        marks = self._marks(mixture, batch)
        _require_room(model, mixture)
        sides = denoise(row_keys(key, batch['row']), tokens, there.sum(axis=-1), mixture, marks)
        rows = {
            **_side(sides.source, sides.source_lengths, ('source', 'source_segments', 'source_positions')),
            **_side(sides.tokens, sides.lengths, ('tokens', 'segments', 'positions')),
        }
        return {**rows, 'row': batch['row'], 'end': batch['end']}, sides.which

    def _marks(self, mixture: DenoiserMixture, batch: Batch) -> Marks:
        there, modes = batch['sentinels'].shape[1], [each.mode for each in mixture.denoisers]
        if there < mixture.sentinels:
            raise UserError(
                f'data.sentinels: {there} are too few: the denoisers of task need {mixture.sentinels} for rows of '
                f'{mixture.length} tokens, and as many special tokens <extra_id_0>, <extra_id_1> ... of the tokenizer'
            )
        for mode in modes:
            if mode is not None and mode not in batch:
                raise UserError(f"task.denoisers: there is no mode '{mode}' in data.modes; add it there")
        none = jnp.zeros_like(batch['start'])
        ids = jnp.stack([none if mode is None else batch[mode] for mode in modes], axis=-1)
        return Marks(batch['sentinels'], ids, batch['start'], batch['end'])

    def _by_mode(self) -> dict[str, list[int]]:
        """Return the indices of the denoisers of each mode, if there are several modes."""
        modes = [part().mode for part in self.denoisers]
        numbers = {mode: [at for at, other in enumerate(modes) if other == mode] for mode in modes if mode is not None}
        return numbers if len(numbers) > 1 else {}


def _bare(mode: str) -> str:
    """Return the special token of a mode without its brackets."""
    return mode.strip('[]<>')


def _require_room(model: Seq2Seq, mixture: DenoiserMixture) -> None:
    (read, written), room = mixture.sizes, (model.source_context_length, model.context_length)
    if read > room[0] or written > room[1]:
        raise UserError(
            f'task.denoisers: rows of {mixture.length} tokens need a source of up to {read} tokens and a target of '
            f"up to {written}, but the model's contexts are {room[0]} and {room[1]}; lengthen them, or shorten "
            f'data.context_length'
        )


def _side(tokens: Int[Array, 'B T'], lengths: Int[Array, 'B'], names: tuple[str, str, str]) -> dict[str, Array]:
    """Return the tokens, segments and positions of the source or the target, by their names in a batch."""
    segments = (jnp.arange(tokens.shape[1]) < lengths[:, None]).astype(jnp.int32)
    return dict(zip(names, (tokens, segments, jnp.arange(tokens.shape[1]) * segments), strict=True))
