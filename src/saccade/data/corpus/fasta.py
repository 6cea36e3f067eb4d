# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""FASTA files of proteins: a header line after >, then the sequence on any number of lines.

    >sp|P01308|INS_HUMAN Insulin
    MALWMRLLPLLALLALWGPDPAAAFVNQHLCGSHLVEALYLVCGERGFFYTPKTRREAEDLQVGQVELGG
    GPGAGSLQPLALEGSLQKRGIVEQCCTSICSLYQLENYCN*

Pearson and Lipman 1988, "Improved tools for biological sequence comparison", https://doi.org/10.1073/pnas.85.8.2444

A header's first word is the id, and what follows it, after a space or a tab, the description. Blanks and empty lines
within a sequence are passed over, lower case (soft masking) is read as upper case, and a stop (*) at the end is left
out. Residues are those of `data.tokenizer.amino_acid`. Proteins of one sequence are in one split, whatever their
headers; similar sequences may still be in both, unless they were clustered before, as UniRef's are.
"""

from collections.abc import Iterator
from pathlib import Path

from saccade.data.tokenizer.amino_acid import RESIDUES
from saccade.types import UserError

ENDINGS = ('.fasta', '.faa')  # .fa and .fas are texts in Persian among parallel files
COLUMNS = ('id', 'description', 'sequence')
_CODES = {*RESIDUES, *RESIDUES.lower()}
_GAPS = '-.'
_NUCLEOTIDES = {*'ACGTUN'}  # which are amino acids too
_MANY = 100  # residues that no protein has of these letters alone


def proteins(text: str, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each protein after the line of its header, counted from 1.

    Raises:
        UserError: a residue is unknown, a sequence has no header, or a header no sequence; file and line are named.
            Or the sequences are those of nucleotides.
    """
    header, begun, parts = '', 0, []
    letters = ''.join(line for line in text.upper().split('\n') if not line.startswith('>'))
    if len(letters) >= _MANY and _NUCLEOTIDES.issuperset(letters):
        raise UserError(f'{path}: has DNA or RNA, of {", ".join(sorted({*letters}))} alone; proteins are expected')
    for number, line in enumerate(text.split('\n'), start=1):
        if line.startswith('>'):
            if begun:
                yield begun, _protein(header, parts, f'{path}, line {begun}')
            header, begun, parts = line, number, []
            continue
        residues = ''.join(line.split())
        if residues and not begun:
            raise UserError(f'{path}, line {number}: a sequence has no header; begin the line before it with >')
        if parts and residues and parts[-1].endswith('*'):
            raise UserError(f'{path}, line {number}: the sequence goes on after a stop (*), which ends a protein')
        _require_residues(residues.removesuffix('*'), f'{path}, line {number}')
        parts += [residues] if residues else []
    if begun:
        yield begun, _protein(header, parts, f'{path}, line {begun}')


def _protein(header: str, parts: list[str], place: str) -> dict[str, str]:
    id, description, *_ = [*header[1:].split(maxsplit=1), '', '']
    sequence = ''.join(parts).removesuffix('*').upper()
    if not sequence:
        raise UserError(f'{place}: the header {header!r} is followed by no sequence')
    return {'id': id, 'description': description.strip(), 'sequence': sequence}


def _require_residues(residues: str, place: str) -> None:
    unknown = next((code for code in residues if code not in _CODES), None)
    if unknown is None:
        return
    if unknown in _GAPS:
        raise UserError(f'{place}: {unknown!r} is a gap, as alignments have; give the sequences without gaps')
    raise UserError(f'{place}: {unknown!r} is no amino acid; the codes are {RESIDUES}')
