# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dataset of generated token sequences with answers at some positions. Row n is a function of n, its split and the
seed.

Nothing is downloaded, tokenised or stored: rows are generated on demand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from saccade.data.cache import digest, spec
from saccade.data.diagnostic.generator import Example, ExampleGenerator, nothing
from saccade.data.split import Prepared, Row, Split, batch_of
from saccade.data.uniform import uniform
from saccade.types import Count, CountOrZero, Model, Part, Processor, UserError

__all__ = ['DiagnosticData']


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Generated rows of a split.

    Attributes:
        split, count: index of the split, and its number of rows.
        shortest, context_length: minimum and maximum length of an example; the rest of a row is padding.
    """

    generator: ExampleGenerator
    split: int
    count: int
    seed: int
    shortest: int
    context_length: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Row:
        draw = uniform(self.seed, self.split, index)
        lengths = self.context_length - self.shortest + 1
        return self._row(self.generator.example(draw, self.shortest + int(draw(1)[0] * lengths)))

    def padding(self) -> Row:
        """Return a row of padding."""
        return self._row(Example(np.zeros(0, np.int32), nothing(0)))

    def _row(self, example: Example) -> Row:
        count, zeros = len(example.tokens), np.zeros((3, self.context_length), np.int32)
        tokens, segments, positions = zeros  # np.pad would take longer than most examples
        tokens[:count], segments[:count], positions[:count] = example.tokens, 1, np.arange(count)
        labels = nothing(self.context_length)
        labels[:count] = example.targets
        return {'tokens': tokens, 'labels': labels, 'segments': segments, 'positions': positions}


@dataclass(frozen=True, kw_only=True)
class DiagnosticData:
    """Dataset of generated sequences with answers.

    Attributes:
        generator: generator of examples, as `data.diagnostic.recall:MultiQueryRecall`.
        context_length: number of tokens per row.
        shortest: minimum length of a training example, drawn uniformly up to the context; None for full rows. Rows of
            validation are always full, so an evaluation at another length is only of that length.
        train, validation: number of rows per split.
        seed: random seed.
    """

    generator: Part[ExampleGenerator]
    context_length: Count
    shortest: Count | None = None
    train: Count = 100_000
    validation: Count = 1000
    seed: CountOrZero = 0

    def __post_init__(self) -> None:
        least = max(self.generator().shortest, self.shortest or 1)
        if self.context_length < least:
            raise UserError(f'data.context_length: {self.context_length} is less than {least}, the shortest example')

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(self._splits()['validation'].rows.padding(), batch_size)

    def open_processor(self, folder: Path) -> None:
        """Return None: generated tokens need no processor."""

    def require_model(self, model: Part[Model], processor: Processor | None) -> None:
        """Check that a model has an embedding for each token.

        Raises:
            UserError: it has fewer.
        """
        there, needed = model().vocabulary or 0, self.generator().vocabulary
        if there < needed:
            raise UserError(
                f'config.model.vocabulary: {there}, but data.generator has {needed} tokens; set it to {needed}'
            )

    def prepare(self, cache: Path, processor: Processor | None = None) -> Prepared:
        """Return the splits, whose rows are generated on demand; nothing is stored."""
        generator = spec(self.generator), self.generator().version
        length = self.shortest, self.context_length
        source = {'digest': digest(generator, length, self.train, self.validation, self.seed)}
        return Prepared(None, self._splits(), source)

    def _splits(self) -> Mapping[str, Split]:
        generator = self.generator()
        counts = {'train': self.train, 'validation': self.validation}
        shortest = {'train': self.shortest or self.context_length, 'validation': self.context_length}
        return {
            name: Split(
                rows=DrawnRows(
                    generator, number, counts[name], self.seed, max(shortest[name], generator.shortest),
                    self.context_length,
                ),
                targets=counts[name],
                unit='sequences',
            )
            for number, name in enumerate(counts)
        }  # fmt: skip
