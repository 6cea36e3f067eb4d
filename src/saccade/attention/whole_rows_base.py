# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of mixers in which every token depends on all tokens of a row, whichever they are."""

from typing import ClassVar, NoReturn

from saccade.module import Layer
from saccade.types import Capabilities, Hidden, LayerContext, Part, State, UserError, refuse_terms


class WholeRows(Layer):
    """Base of mixers of whole rows. They cannot be causal, decode, or tell segments apart."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        causal=False, cross=False, packed=False, terms=False, cached=False, equivariant=False
    )
    sees_others: ClassVar[bool] = True

    def mix_rows(self, x: Hidden, train: bool) -> Hidden:
        """Mix the tokens of each row. Abstract; a method that makes parameters is compact."""
        raise NotImplementedError

    def require_length(self, tokens: int, length: int) -> None:
        """Check that a row has no more tokens than a table of positions.

        Raises:
            UserError: it has more.
        """
        if tokens > length:
            raise UserError(f'{Part(type(self)).name}: {tokens} tokens exceed the length of {length}')

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, None]:
        """Mix whole sequences; there is no state.

        Raises:
            UserError: the context has a source or score terms, or rows may have several segments, or padding.
        """
        self.require_whole_rows(context)
        return self.mix_rows(x, train), None

    def require_whole_rows(self, context: LayerContext) -> None:
        """Check that rows are of one segment, and that there is nothing else to read.

        Raises:
            UserError: the context has a source or score terms, or rows may have several segments, or padding.
        """
        name = Part(type(self)).name
        context.require_no_source(name)
        refuse_terms(name, context.terms)
        context.require_one_segment(name)

    def init_state(self, x: Hidden, capacity: int) -> NoReturn:
        """Raise an error: decoding is not supported.

        Raises:
            UserError: always, because every token depends on later ones.
        """
        raise UserError(f'{Part(type(self)).name} cannot decode: every token depends on later ones')
