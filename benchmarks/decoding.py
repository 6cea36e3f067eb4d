# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of greedy decoding against `transformers`: the same weights and prompts, in turn."""

import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from benchmarks.compare import Comparison, Variant, alternate
from benchmarks.process import Worker, require
from benchmarks.size import DecodingSize, prompts
from saccade.analysis.report.figures import MeasurementReport
from saccade.types import UserError

OURS, PEER = 'saccade', 'transformers'
# Two logits this near to each other may come in either order in float32.
TIE = 1e-4

_HERE = 'benchmarks'


@dataclass(frozen=True)
class Sides:
    """Our side and the peer's. Attributes: modules with a class Decoding, of ours and of theirs."""

    ours: str
    theirs: str


PROMPTS, SOURCES = Sides('our_decoding', 'torch_decoding'), Sides('our_seq2seq', 'torch_seq2seq')


def decoding(sides: Sides, size: DecodingSize, rounds: int, steps: int) -> MeasurementReport:
    """Measure new tokens/s, prompt included in the time, at each batch size.

    Args:
        sides: PROMPTS, which a language model continues, or SOURCES, which an encoder-decoder translates.
        steps: whole generations that each variant makes in its turn.

    Raises:
        UserError: torch or transformers is missing, a variant fails, or the two decode different tokens.
    """
    require('torch', 'transformers')
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        peer = stack.enter_context(Worker(PEER, f'{_HERE}.{sides.theirs}:Decoding', size=asdict(size)))
        ours = stack.enter_context(Worker(OURS, f'{_HERE}.{sides.ours}:Decoding', size=asdict(size)))
        counts = peer.ask('save', folder=folder), ours.ask('load', folder=folder)
        if counts[0] != counts[1]:
            raise UserError(f'not the same model: {PEER} has {counts[0]:,} parameters, we have {counts[1]:,}')
        ties = {batch: assert_same_tokens(ours, peer, prompts(size, batch)) for batch in size.batches}
        found = {}
        for batch in size.batches:
            seconds = alternate({OURS: ours, PEER: peer}, rounds, steps, batch=batch)
            found[batch] = Comparison(batch * size.new, seconds, (PEER,))
    return _report(size, counts[0], ties, found)


def assert_same_tokens(ours: Variant, peer: Variant, prompts: list[list[int]]) -> int:
    """Refuse to compare models that decode different tokens; return the number of rows that part at a tie.

    Raises:
        UserError: a row differs where the logits of its two tokens do.
    """
    batch, ties = len(prompts), 0
    pairs = zip(prompts, ours.ask('tokens', batch=batch), peer.ask('tokens', batch=batch), strict=True)
    for number, (prompt, own, theirs) in enumerate(pairs):
        if own == theirs:
            continue
        place = next((place for place, pair in enumerate(zip(own, theirs, strict=False)) if pair[0] != pair[1]), None)
        if place is None:
            raise UserError(f'row {number} of {batch}: we decode {len(own)} tokens, {PEER} {len(theirs)}')
        gap = ours.ask('gap', prefix=prompt + own[:place], first=own[place], second=theirs[place])
        if abs(gap) > TIE:
            raise UserError(
                f'row {number} of {batch}: new token {place} is {own[place]} with us and {theirs[place]} with {PEER}, '
                f'and their logits differ by {gap:.2g}'
            )
        ties += 1
    return ties


def _report(
    size: DecodingSize, parameters: int, ties: dict[int, int], found: dict[int, Comparison]
) -> MeasurementReport:
    sizes = f'{size.layers} layers, width {size.width}, vocabulary {size.vocabulary}, {size.prompt} + {size.new} tokens'
    tables = []
    for batch, comparison in found.items():
        tables += [
            comparison.speeds(f'One greedy generation: {sizes}, batch {batch}'),
            comparison.table('Our tokens/s over theirs, median of rounds'),
        ]
    figures = {
        'size': asdict(size),
        'parameters': parameters,
        'batches': {str(batch): {'ties': ties[batch], **found[batch].data()} for batch in found},
    }
    agreed = ', '.join(f'{batch - ties[batch]} of {batch}' for batch in found)
    return MeasurementReport(
        'decoding', figures, tuple(tables), (f'Rows with equal tokens: {agreed}; any other parts at a tie.',)
    )
