# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""FASTA files of proteins: a header line that starts with >, then the sequence on any number of lines.

    >sp|P01308|INS_HUMAN Insulin
    MALWMRLLPLLALLALWGPDPAAAFVNQHLCGSHLVEALYLVCGERGFFYTPKTRREAEDLQVGQVELGG
    GPGAGSLQPLALEGSLQKRGIVEQCCTSICSLYQLENYCN*

Pearson and Lipman 1988, "Improved tools for biological sequence comparison", https://doi.org/10.1073/pnas.85.8.2444

The first word of a header is the id; the rest, after a space or a tab, is the description. White space within a
sequence is ignored, lower case (soft masking) is read as upper case, and a stop (*) at the end is removed. Residues are
the letters of `data.tokenizer.amino_acid`. Equal sequences are in one split, whatever their headers; similar ones may
be in both, unless the file was clustered before, as UniRef is.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from saccade.data.tokenizer.amino_acid import RESIDUES
from saccade.types import UserError

ENDINGS = ('.fasta', '.faa')  # among parallel files, .fa is Persian, and .fas its variant
COLUMNS = ('id', 'description', 'sequence')
_CODES = {*RESIDUES, *RESIDUES.lower()}
_GAPS = '-.'
_NUCLEOTIDES = {*'ACGTUN'}  # also letters of amino acids
_T = TypeVar('_T', bound=tuple[Any, ...])
_MANY = 100  # residues; no protein of this length has only these letters


def proteins(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number of each header with its protein, as soon as the next header is read.

    Args:
        lines: lines with their numbers from 1.

    Raises:
        UserError: a residue is unknown, or a sequence has no header or a header no sequence; the message has file and
            line.
    """
    header, begun, parts = '', 0, []
    for number, line in lines:
        if line.startswith('>'):
            if begun:
                yield begun, _protein(header, parts, f'{path}, line {begun}')
            header, begun, parts = line, number, []
            continue
        residues = ''.join(line.split())
        if residues and not begun:
            raise UserError(f'{path}, line {number}: a sequence has no header; start the line before it with >')
        if parts and residues and parts[-1].endswith('*'):
            raise UserError(f'{path}, line {number}: the sequence continues after a stop (*), which ends a protein')
        _require_residues(residues.removesuffix('*'), f'{path}, line {number}')
        parts += [residues] if residues else []
    if begun:
        yield begun, _protein(header, parts, f'{path}, line {begun}')


def without_nucleotides(found: Iterable[_T], path: Path) -> Iterator[_T]:
    """Yield all proteins of a file, each the last item of a tuple.

    Raises:
        UserError: in the end, if all their sequences are of nucleotides.
    """
    letters, count = set(), 0
    for item in found:
        letters.update(item[-1]['sequence'])
        count += len(item[-1]['sequence'])
        yield item
    if count >= _MANY and letters <= _NUCLEOTIDES:
        raise UserError(f'{path}: has DNA or RNA (only {", ".join(sorted(letters))}); proteins are expected')


def _protein(header: str, parts: list[str], place: str) -> dict[str, str]:
    id, description, *_ = [*header[1:].split(maxsplit=1), '', '']
    sequence = ''.join(parts).removesuffix('*').upper()
    if not sequence:
        raise UserError(f'{place}: the header {header!r} has no sequence')
    return {'id': id, 'description': description.strip(), 'sequence': sequence}


def _require_residues(residues: str, place: str) -> None:
    unknown = next((code for code in residues if code not in _CODES), None)
    if unknown is None:
        return
    if unknown in _GAPS:
        raise UserError(f'{place}: {unknown!r} is an alignment gap; give the sequences without gaps')
    raise UserError(f'{place}: {unknown!r} is not an amino acid; the codes are {RESIDUES}')
