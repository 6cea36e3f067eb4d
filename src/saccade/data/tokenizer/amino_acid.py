# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Amino-acid tokenizer: one token per residue of a protein sequence, by the one-letter codes of IUPAC and IUBMB.

The 20 standard amino acids, B (D or N), J (I or L), Z (E or Q), X (any), U (selenocysteine) and O (pyrrolysine):
IUPAC-IUB 1984, "Nomenclature and symbolism for amino acids and peptides", https://doi.org/10.1351/pac198456050595

Lower case is the same residue: FASTA files mark low-complexity regions by it (soft masking). Other characters raise an
error, including gaps (- and .) and stops (*): a gap belongs to an alignment, and is not a residue.
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
    """One token per residue, without training; each residue is a word. The special tokens and their ids are BERT's.

    Attributes: examples, texts for the example commands that a run prints.
    """

    end: str | None = field(default=None, kw_only=True)
    specials: tuple[str, ...] = field(default=BERT, kw_only=True)

    examples: ClassVar[tuple[str, str]] = 'MALWMRLLPLLALLALWGPD', 'MALWTRLRPLLALLALWPPP'  # starts of insulins

    @property
    def vocabulary(self) -> int:
        """Number of tokens, including the special ones."""
        return len(self.reserved) + len(RESIDUES)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Return the tokenizer; the texts are not used."""
        # No token is named '', so unknown residues raise an error even if [UNK] is among the special tokens.
        backend = tokenizers.Tokenizer(models.WordLevel(numbered(self.reserved, RESIDUES), unk_token=''))
        backend.normalizer = normalizers.Sequence([normalizers.Replace(code.lower(), code) for code in RESIDUES])
        backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex('.'), 'isolated')
        backend.decoder = decoders.Fuse()
        return self.finished(backend)
