# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of text datasets, whose processor is a tokenizer."""

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from saccade.data.cache import digest, trained
from saccade.data.dataset_base import DatasetBase, DatasetSource
from saccade.data.rows.frame import Frame
from saccade.data.tokenizer.file import find_tokenizer, open_tokenizer
from saccade.data.tokenizer.room import most_tokens, require_room
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.types import Model, Part


class TokenizedBase(DatasetBase):
    """Base of a text dataset.

    Attributes:
        tokenizer: trainer of the tokenizer.
        context_length: number of tokens per row.
    """

    tokenizer: Part[Trainer]

    _columns: tuple[str, ...] = ()  # tokenised columns, if there are columns

    def open_processor(self, folder: Path) -> Tokenizer | None:
        """Open the tokenizer.json or the vocab.txt of a folder; None if it has neither.

        Raises:
            UserError: the file is damaged, or has only special tokens.
        """
        file = find_tokenizer(folder)
        return file and open_tokenizer(file)

    def require_model(self, model: Part[Model], processor: Tokenizer | None) -> None:
        """Check that a model has an embedding for each token that the tokenizer has, or may learn.

        Raises:
            UserError: the model has too few embeddings; the message names the fields that set the number.
        """
        require_room(model, *(most_tokens(self) if processor is None else processor.sizes))

    def frame(self, processor: Tokenizer) -> Any:
        """Return the row layout, with the special tokens of a tokenizer.

        Raises:
            UserError: the tokenizer lacks a special token, or leaves no room for text.
        """
        return self._fitting(Frame.of(processor, self.context_length))

    def _usual(self) -> Any:
        """Return the usual row layout, without the ids of special tokens, for use before there is a tokenizer."""
        return self._fitting(Frame.of_bert(self.context_length))

    def _fitting(self, frame: Frame) -> Any:
        """Return the row layout of texts in a frame.

        Raises:
            UserError: it has no room for them.
        """
        return frame

    def _make_processor(self, source: DatasetSource, cache: Path) -> Tokenizer:
        corpus = digest(source.digest, self._columns)
        return trained(self.tokenizer, lambda: self._texts(source.splits['train']), corpus, cache)

    @abstractmethod
    def _texts(self, examples: Any) -> Iterable[str]:
        """Return the texts of a split to train the tokenizer on."""
