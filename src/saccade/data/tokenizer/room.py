# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Room for a tokenizer in a model: an embedding for every token that it has, or may learn."""

from collections.abc import Iterator
from typing import Any

from saccade.types import Model, Part, UserError


def most_tokens(data: Any) -> tuple[int, int | None]:
    """Return the vocabulary sizes that the tokenizers of a dataset may reach, as far as its config tells.

    Returns:
        That of the tokenizer, 0 where the texts alone decide; that of the source's own, None where there is none.
    """
    recipes = (getattr(data, name, None) for name in ('tokenizer', 'source_tokenizer'))
    size, source = (recipe and getattr(recipe(), 'vocabulary', 0) for recipe in recipes)
    return size or 0, source


def require_room(part: Part[Model], size: int, source_size: int | None) -> None:
    """Refuse a model with fewer embeddings than tokens, of its vocabulary and of the source's own where there is one.

    Raises:
        UserError: so it is; the fields that set the size are named.
    """
    model = part()
    own = getattr(model, 'source_vocabulary', None)
    if own is None and source_size is not None:
        raise UserError(
            f'data.source_tokenizer: the model has one embedding for both sides; give it a source vocabulary'
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
    """Yield the fields, at any depth of a part, that give a vocabulary this size."""
    for name, value in part.arguments:
        if isinstance(value, Part):
            yield from _vocabularies(value, f'{path}.{name}', size)
        elif name.endswith('vocabulary') and value == size:
            yield f'{path}.{name}'
