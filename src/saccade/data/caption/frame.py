# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Frame of a caption: [CLS] caption [SEP], or the special tokens of a published model's tokenizer.

CLIP has <|startoftext|> and <|endoftext|> (Radford et al. 2021, section 2.4, https://arxiv.org/abs/2103.00020), SigLIP
only </s>, after the caption. Longer captions are truncated.
"""

from dataclasses import dataclass

import numpy as np

from saccade.data.rows.frame import CLOSES, OPENS, Values
from saccade.data.split import Row
from saccade.data.tokenizer.tokenizer import Tokenizer

_OPENS, _CLOSES = (*OPENS, '<|startoftext|>'), (*CLOSES, '<|endoftext|>')


@dataclass(frozen=True)
class CaptionFrame:
    """Special tokens around a caption.

    Attributes: context_length, tokens per row; opens, closes, the ids before and after the caption.
    """

    context_length: int
    opens: tuple[int, ...] = ()
    closes: tuple[int, ...] = ()

    @classmethod
    def of(cls, tokenizer: Tokenizer, context_length: int) -> 'CaptionFrame':
        """Return the frame with the special tokens of a tokenizer.

        Raises:
            UserError: none of them closes a text.
        """
        if tokenizer.around and any(tokenizer.around):
            return cls(context_length, *tokenizer.around)
        opens = (tokenizer.special(*_OPENS),) if tokenizer.specials.keys() & {*_OPENS} else ()
        return cls(context_length, opens, (tokenizer.special(*_CLOSES),))

    def row(self, caption: Values) -> Row:
        """Return tokens, segments and positions of a caption."""
        room = self.context_length - len(self.opens) - len(self.closes)
        tokens = [*self.opens, *caption[:room], *self.closes]
        row = self.padding()
        row['tokens'][: len(tokens)] = tokens
        row['segments'][: len(tokens)] = 1
        row['positions'][: len(tokens)] = np.arange(len(tokens))
        return row

    def padding(self) -> Row:
        """Return a row of padding."""
        return {name: np.zeros(self.context_length, np.int32) for name in ('tokens', 'segments', 'positions')}
