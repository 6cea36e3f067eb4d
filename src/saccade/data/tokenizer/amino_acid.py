# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Amino-acid tokenizer: one token a residue of a protein sequence, by the one-letter codes of IUPAC and IUBMB.

The 20 standard amino acids, B (D or N), J (I or L), Z (E or Q), X (any), U (selenocysteine) and O (pyrrolysine):
IUPAC-IUB 1984, "Nomenclature and symbolism for amino acids and peptides", https://doi.org/10.1351/pac198456050595

Lower case is the same residue: FASTA files mark stretches of low complexity by it (soft masking). All else is refused,
gaps (- and .) and stops (*) among it: a gap is of an alignment, and no residue.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.data.tokenizer.trainer import Reserving, numbered

__all__ = ['AminoAcid']

STANDARD = 'ACDEFGHIKLMNPQRSTVWY'
RESIDUES = f'{STANDARD}BJOUXZ'


@dataclass(frozen=True)
class AminoAcid(Reserving):
    """One token a residue, each a word of its own: nothing to train. The special tokens are BERT's, with its ids.

    Attributes: examples, texts that it reads, as the commands that a run prints need some.
    """

    end: str | None = field(default=None, kw_only=True)
    specials: tuple[str, ...] = field(default=BERT, kw_only=True)

    examples: ClassVar[tuple[str, str]] = 'MALWMRLLPLLALLALWGPD', 'MALWTRLRPLLALLALWPPP'  # insulins begin so

    @property
    def vocabulary(self) -> int:
        """Tokens, the special ones included."""
        return len(self.reserved) + len(RESIDUES)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Return the tokenizer; the texts are not read."""
        # No token is named '', so what is unknown is an error even where [UNK] is among the special tokens.
        backend = tokenizers.Tokenizer(models.WordLevel(numbered(self.reserved, RESIDUES), unk_token=''))
        backend.normalizer = normalizers.Sequence([normalizers.Replace(code.lower(), code) for code in RESIDUES])
        backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex('.'), 'isolated')
        backend.decoder = decoders.Fuse()
        return self.finished(backend)
