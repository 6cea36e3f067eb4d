# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Embedded generated proteins, as a TFDS dataset: two paired strands, then two motifs in either order.

    x(0,3) - 7 residues - x(3) - their 7 partners - x(1,3) - motif - x(1,3) - other motif - x(0,3)

The motifs are patterns of PROSITE, https://prosite.expasy.org/scanprosite/scanprosite_doc.html: the zinc finger of two
cysteines and two histidines (PS00028), with two variable gaps, and the P-loop (PS00017). A residue of the first strand
determines its partner, 10 positions later, as residues in contact vary together. All other residues are drawn by the
frequencies of amino acids in UniProtKB/Swiss-Prot, https://web.expasy.org/docs/relnotes/relstat.html.

Only hidden residues of a strand or a motif can be predicted from the rest, given their alignment: the optimal
prediction follows from the patterns (`baseline.motifs`). The motif that comes `first` is a fair coin, independent of
the composition of the sequence.
"""

import itertools
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import tensorflow_datasets as tfds

from saccade.data.tokenizer.amino_acid import STANDARD

SEQUENCES = {'train': 20_000, 'validation': 1000}
PATTERNS = {'zinc finger': 'C-x(2,4)-C-x(3)-[LIVMFYWC]-x(8)-H-x(3,5)-H', 'P-loop': '[AG]-x(4)-G-K-[ST]'}
DISTANCE = 10  # positions between partners
_STRAND = 7
FREQUENCIES = {  # percent
    **dict(A=8.25, C=1.38, D=5.46, E=6.72, F=3.86, G=7.07, H=2.27, I=5.91, K=5.80, L=9.65),
    **dict(M=2.41, N=4.06, P=4.74, Q=3.93, R=5.53, S=6.65, T=5.36, V=6.86, W=1.10, Y=2.92),
}
_PAIRS = 'AL', 'CH', 'DR', 'EK', 'FY', 'GP', 'IV', 'MW', 'NQ', 'ST'
PARTNERS = dict(itertools.chain.from_iterable((pair, pair[::-1]) for pair in _PAIRS))

_ELEMENT = re.compile(r'(x|[A-Z]|\[[A-Z]+\]|\{[A-Z]+\})(?:\((\d+)(?:,(\d+))?\))?')


class Element(NamedTuple):
    """Element of a pattern.

    Attributes:
        residues: allowed residues.
        fewest, most: bounds on the number of consecutive residues, uniformly distributed.
        partner: offset of the partner of each residue; 0 for none.
    """

    residues: str
    fewest: int
    most: int
    partner: int = 0


class Motifs(tfds.core.GeneratorBasedBuilder):
    """Protein sequences, labelled by the motif that comes first."""

    # Increase it when the generated sequences change: prepared data are stored under it.
    VERSION = tfds.core.Version('1.0.0')
    name = 'motifs'

    def _info(self) -> tfds.core.DatasetInfo:
        first = tfds.features.ClassLabel(names=[*PATTERNS])
        features = tfds.features.FeaturesDict({'sequence': tfds.features.Text(), 'first': first})
        return tfds.core.DatasetInfo(builder=self, description=__doc__, features=features, disable_shuffling=True)

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator[tuple[int, dict[str, str]]]]:
        return {split: self._generate_examples(split) for split in SEQUENCES}

    def _generate_examples(self, split: str) -> Iterator[tuple[int, dict[str, str]]]:
        yield from enumerate(examples(split))


def examples(split: str) -> Iterator[dict[str, str]]:
    """Generate the sequences of a split; they are deterministic."""
    generator = random.Random(split)
    for _ in range(SEQUENCES[split]):
        first = generator.choice([*PATTERNS])
        yield {'sequence': _drawn(layout(first), generator), 'first': first}


def layout(first: str) -> list[Element]:
    """Return the elements of a sequence in which the motif `first` precedes the other."""
    one, other = sorted(PATTERNS, key=lambda name: name != first)
    return [
        *pattern('x(0,3)'),
        Element(STANDARD, _STRAND, _STRAND, DISTANCE),
        *pattern(f'x({DISTANCE - _STRAND})'),
        Element(STANDARD, _STRAND, _STRAND, -DISTANCE),
        *pattern(f'x(1,3)-{PATTERNS[one]}-x(1,3)-{PATTERNS[other]}-x(0,3)'),
    ]


def pattern(written: str) -> list[Element]:
    """Return the elements of a PROSITE pattern: x for any residue, [ST] for S or T, {P} for all but P.

    Raises:
        ValueError: the pattern is malformed.
    """
    elements = []
    for part in written.split('-'):
        match = _ELEMENT.fullmatch(part)
        if match is None:
            raise ValueError(f'{part!r} is not an element of a PROSITE pattern')
        code, fewest, most = match.groups()
        kept = {'x': STANDARD, '{': ''.join(residue for residue in STANDARD if residue not in code)}
        fewest = int(fewest or 1)
        elements.append(Element(kept.get(code[0], code.strip('[]')), fewest, int(most or fewest)))
    return elements


def _drawn(elements: list[Element], generator: random.Random) -> str:
    sequence = ''
    for residues, fewest, most, partner in elements:
        weights = [FREQUENCIES[residue] for residue in residues]
        for _ in range(generator.randint(fewest, most)):
            known = partner < 0
            sequence += PARTNERS[sequence[partner]] if known else generator.choices(residues, weights)[0]
    return sequence
