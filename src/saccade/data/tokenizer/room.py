# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Check of a model's vocabulary: an embedding for every token that a tokenizer has, or may learn."""

from collections.abc import Iterator
from typing import Any

from saccade.types import Model, Part, UserError


def most_tokens(data: Any) -> tuple[int, int | None]:
    """Return the maximum vocabulary sizes of a dataset's tokenizers, as far as its config determines them.

    Returns:
        The tokenizer's size, 0 if it depends on the texts; the source tokenizer's size, None if there is none.
    """
    recipes = (getattr(data, name, None) for name in ('tokenizer', 'source_tokenizer'))
    size, source = (recipe and getattr(recipe(), 'vocabulary', 0) for recipe in recipes)
    return size or 0, source


def require_room(part: Part[Model], size: int, source_size: int | None) -> None:
    """Check that a model has an embedding for each token, of its vocabulary and of the source's if that is separate.

    Raises:
        UserError: the model has too few embeddings; the message names the fields that set the number.
    """
    model = part()
    own = getattr(model, 'source_vocabulary', None)
    if own is None and source_size is not None:
        raise UserError(
            f'data.source_tokenizer: the model has one embedding for source and target; give it a source vocabulary'
            f'{f" of {source_size}" if source_size else ""}'
        )
    sizes = [(model.vocabulary or 0, size)]
    if own is not None:
        sizes.append((own, size if source_size is None else source_size))
    for there, needed in sizes:
        if there < needed:
            fields = ', '.join(_vocabularies(part, 'config.model', there)) or 'config.model.vocabulary'
            raise UserError(
                f'{fields}: {there} is smaller than the tokenizer, which has {needed} tokens; '
                f'set it to at least {needed}'
            )


def _vocabularies(part: Part, path: str, size: int) -> Iterator[str]:
    """Yield the fields, at any depth of a part, that set a vocabulary of this size."""
    for name, value in part.arguments:
        if isinstance(value, Part):
            yield from _vocabularies(value, f'{path}.{name}', size)
        elif name.endswith('vocabulary') and value == size:
            yield f'{path}.{name}'
