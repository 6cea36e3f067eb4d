# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Report of the costs of one layer by length: results in words, exponents by kind of layer, and the records."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from saccade.experiments.sweeps import attention as sweep
from scipy.stats import t as student

from benchmarks.costs import (
    BLOCK,
    DECODED,
    FIGURES,
    LARGEST,
    MACHINE,
    TOKENS,
    WIDTH,
    WINDOW,
    Record,
    layers,
    refusal,
    variants,
)
from saccade.analysis.catalogue.catalogue import can
from saccade.analysis.report.figures import MeasurementReport, Table

LINEAR = 1.1  # largest exponent of a cost that is called linear in the length
COMMAND = 'python -m benchmarks --what=costs --rounds=3 --records=docs/results/costs.csv --out=docs/results/costs.md'
COMPARED = 'multi_head'  # whose seconds, in blocks, others are compared with
SECONDS = 'compile_seconds', 'seconds', 'token_seconds'
COMPILED = 2  # ratio of seconds to compile that is the goal
FASTER = 0.9  # ratio of seconds below which a layer is called faster
LISTED = 8  # layers in one sentence
QUADRATIC, MASKED, KEYS, STATE = (
    'Scores of all pairs in memory',
    'Masks of fewer pairs, in blocks',
    'Decoding state with an entry for each token',
    'Decoding state of a fixed or logarithmic size',
)
# Layers above LINEAR; softmax variants declare their reason in `why_not`.
REASONS: Mapping[str, str] = {
    'plain': '`multi_head` with the kernel `attention.plain:Plain`, for comparison',
    'random_synthesizer': 'by nature; it has a parameter for each head and pair of positions',
    'selective': 'not blockwise yet; blocks of queries could pass on what earlier queries subtract from each key',
    'multi_token': 'not blockwise yet; scores are convolved over neighbouring queries and keys before and after the '
    'softmax, so blocks would overlap',
    'path': 'not blockwise yet; its authors compute blocks, with products of Householder-like matrices between them',
    's4d': 'an effect of the batch, whose rows share one filter of T D numbers; a single row has 0.99',
}
_LENGTHS = re.compile(r'(?<!log )(?<!log\^2 )(?<!sqrt\()\b[TS]\b(\^2)?')


@dataclass(frozen=True)
class Cost:
    """One cost.

    Attributes: title of its table; name; unit, as a divisor; exponent in a whole batch, None without exponents.
    """

    title: str
    name: str
    unit: float
    of_batch: int | None


COSTS: Mapping[str, Cost] = dict(
    zip(
        FIGURES,
        (
            Cost(f'GFLOPs of the forward pass, {TOKENS:,} tokens', 'FLOPs', 1e9, 1),
            Cost(f'Temporary MiB of the forward and backward pass, {TOKENS:,} tokens', 'temporary bytes', 2.0**20, 1),
            Cost('KiB of the decoding state of a sequence', 'state bytes', 2.0**10, 0),
            Cost('Seconds to compile the forward and backward pass', 'seconds to compile', 1.0, None),
            Cost(f'Seconds of the forward and backward pass, {TOKENS:,} tokens', 'seconds', 1.0, 1),
            Cost('Milliseconds to decode a token', 'seconds of a decoded token', 1e-3, 0),
        ),
        strict=True,
    )
)
Row = Sequence[int | float | None]
Exponent = tuple[float, float]


def report(records: Mapping[tuple[str, int], Record]) -> MeasurementReport:
    """Return the report of the layers that have a record at every length."""
    lengths = sorted({length for _, length in records})
    specs = {name: spec for name, spec in layers(lengths[0]).items() if all((name, at) in records for at in lengths)}
    of_kind = {
        kind: [name for name in specs if kind_of(specs[name]) == kind] for kind in (STATE, MASKED, KEYS, QUADRATIC)
    }
    names = [name for group in of_kind.values() for name in group]
    figures = {
        cost: {name: [records[name, length][cost] for length in lengths] for name in names}
        for cost in COSTS
        if any(record[cost] is not None for record in records.values())
    }
    exponents = {
        cost: {name: exponent(lengths, row, COSTS[cost].of_batch) for name, row in rows.items()}
        for cost, rows in figures.items()
        if COSTS[cost].of_batch is not None
    }
    by_kind = (
        Table(
            kind,
            ('layer', *(COSTS[cost].name for cost in exponents), 'declared time', 'memory', 'state'),
            [(name, *(_fitted(rows[name]) for rows in exponents.values()), *_declared(specs[name])) for name in group],
        )
        for kind, group in of_kind.items()
        if group
    )
    by_cost = (
        Table(
            COSTS[cost].title,
            ('layer', *(f'T = {length:,}' for length in lengths)),
            [(name, *(_figure(figure, COSTS[cost].unit) for figure in row)) for name, row in rows.items()],
        )
        for cost, rows in figures.items()
    )
    return MeasurementReport(
        'costs',
        {'lengths': lengths, 'exponents': exponents, **figures},
        (*by_kind, *by_cost),
        (*_results(of_kind[QUADRATIC], exponents), *_speed(figures, lengths), *_method(figures)),
        tuple(_machines(records.values())),
    )


def exponent(lengths: Sequence[int], row: Row, of_batch: int) -> Exponent | None:
    """Return the exponent of the length in a cost of one sequence, and the half-width of its 95% interval."""
    if None in row or not min(row):
        return None
    x, y, free = np.log(lengths), np.log(row), len(row) - 2
    slope, start = np.polyfit(x, y, 1)
    error = np.linalg.norm(y - start - slope * x) / np.linalg.norm(x - x.mean()) / np.sqrt(free)
    return float(slope) + of_batch, float(student.ppf(0.975, free) * error)


def kind_of(spec: Mapping[str, object]) -> str:
    """Return the kind of a layer, by the costs that it declares and by its mask."""
    declared = can(spec)
    if degree(declared.memory) > 1:
        return QUADRATIC
    if spec.get('mask', sweep.CAUSAL) != sweep.CAUSAL:
        return MASKED
    return KEYS if degree(declared.state) else STATE


def degree(order: str) -> int:
    """Return the degree of the length, T or S, in an order of cost such as 'B N T S'; logarithms and roots are none."""
    terms = re.split(r' \+ (?![^(]*\))', order)
    return max(sum(2 if found[1] else 1 for found in _LENGTHS.finditer(term)) for term in terms)


def reason(name: str) -> str | None:
    """Return the reason for which the memory of a layer grows faster than the length, None if none is known."""
    refused = refusal(variants(TOKENS)[name]) if name not in REASONS else None
    return refused.partition(', as ')[2].rpartition(': ')[0] if refused else REASONS.get(name)


def _results(quadratic: Sequence[str], exponents: Mapping[str, Mapping[str, Exponent | None]]) -> Iterable[str]:
    """Yield the results in words."""
    slopes = {cost: {name: found[0] for name, found in rows.items() if found} for cost, rows in exponents.items()}
    memory = slopes['temp_bytes']
    linear = {name: slope for name, slope in memory.items() if name not in quadratic}
    above = [name for name in (*linear, *quadratic) if memory[name] > LINEAR]
    yield (
        f'**Temporary memory.** {len(linear)} of {len(memory)} layers declare memory that is linear in the length, up '
        f'to logarithms; their largest exponent is {max(linear.values(), default=0):.2f}. The other {len(quadratic)} '
        f'have the scores of all pairs of tokens in memory. Layers with an exponent above {LINEAR}:'
    )
    yield '\n'.join(f'- `{name}`, {memory[name]:.2f}: {reason(name) or "not explained"}.' for name in above) or '- none'
    few = [name for name, slope in slopes['flops'].items() if slope <= LINEAR]
    yield (
        f'**FLOPs.** {len(few)} layers have an exponent of at most {LINEAR}: {_listed(few)}. In the others longer '
        'rows have more pairs of tokens to score per token, counted in whole blocks.'
    )
    states = slopes['state_bytes']
    fixed = [name for name, slope in states.items() if slope < 0.01]
    slow = [f'{name}` (exponent {slope:.2f})' for name, slope in states.items() if 0.01 <= slope < 0.9]
    yield (
        f'**Decoding state.** {len(fixed)} layers have a state of the same size for every length: {_listed(fixed)}. '
        + (f'It grows slowly in `{", `".join(slow)}. ' if slow else '')
        + 'That of the others has an entry for each token.'
    )


def _speed(figures: Mapping[str, Mapping[str, Row]], lengths: Sequence[int]) -> Iterable[str]:
    """Yield the results of measured seconds in words, as ratios to those of full attention in blocks."""
    ratios = {cost: _ratios(figures[cost]) for cost in SECONDS if COMPARED in figures.get(cost, ())}
    if 'compile_seconds' in ratios:
        known = {name: [each for each in row if each is not None] for name, row in ratios['compile_seconds'].items()}
        most = {name: max(row) for name, row in known.items() if row}
        longer = [f'`{name}` {ratio:.1f}' for name, ratio in most.items() if ratio > COMPILED]
        yield (
            f'**Compilation.** {len(most) - len(longer)} of {len(most)} layers compile in at most {COMPILED} times the '
            f'seconds of `{COMPARED}` at every length. The others, with their largest ratio: '
            f'{", ".join(longer) or "none"}.'
        )
    for cost, title in {'seconds': 'Seconds', 'token_seconds': 'Decoding'}.items():
        if cost in ratios:
            yield f'**{title}**, as ratios to `{COMPARED}`. ' + ' '.join(
                _compared(length, {name: row[number] for name, row in ratios[cost].items()})
                for number, length in ((0, lengths[0]), (len(lengths) - 1, lengths[-1]))
            )


def _ratios(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the figures by those of COMPARED at the same length."""
    base = rows[COMPARED]
    return {
        name: [None if None in pair else pair[0] / pair[1] for pair in zip(row, base, strict=True)]
        for name, row in rows.items()
        if name != COMPARED
    }


def _compared(length: int, ratios: Mapping[str, float | None]) -> str:
    """Return how many layers are faster at one length, with the fastest and the slowest."""
    known = sorted((ratio, name) for name, ratio in ratios.items() if ratio is not None)
    faster = sum(ratio < FASTER for ratio, _ in known)
    ends = known[: min(faster, LISTED)], known[-LISTED // 2 :]
    fastest, slowest = (', '.join(f'`{name}` {ratio:.2f}' for ratio, name in end) or 'none' for end in ends)
    return (
        f'At T = {length:,}: {faster} of {len(known)} layers take less than {FASTER} times as long, first {fastest}; '
        f'the slowest are {slowest}.'
    )


def _method(figures: Iterable[str]) -> Iterable[str]:
    missing = [cost.name for name, cost in COSTS.items() if name not in figures]
    yield (
        f'**Method.** One layer of width {WIDTH} with {sweep.HEADS} heads, float32, {TOKENS:,} tokens a batch at every '
        f'length; local parts see {WINDOW} tokens; kernels work in blocks of {BLOCK} tokens except `plain` and layers '
        'that refuse this. FLOPs are matrix products and transforms of the traced forward pass. Temporary bytes are '
        "the compiler's, for the gradients of parameters and inputs of the program compiled for this processor, "
        'without parameters, inputs and outputs. State bytes are the arrays that decoding begins with. Seconds are '
        f'medians of runs after the first; decoding is of {DECODED} tokens from an empty state of the given length.'
    )
    yield (
        'Exponents are of one sequence, with a 95% interval of the line through the logarithms. Memory may have an '
        'exponent below 1: a batch of longer rows has fewer, and kernels have one block of scores of each row. A dash: '
        f'no decoding state, or a program that needs more than {LARGEST // 2**30} GiB and was not run.'
    )
    if missing:
        yield f'Not measured: {", ".join(missing)}. Without `--counts` the command measures them, row by row.'
    yield f'[Records](costs.csv), which the command continues: `{COMMAND}`'


def _machines(records: Iterable[Record]) -> Iterable[str]:
    for (version, processor), count in Counter(tuple(each[part] for part in MACHINE) for each in records).items():
        yield f'{count} records: jax {version}, {processor}'


def _listed(names: Iterable[str]) -> str:
    return ', '.join(f'`{name}`' for name in names) or 'none'


def _declared(spec: Mapping[str, object]) -> tuple[str, str, str]:
    declared = can(spec)
    return declared.time, declared.memory, declared.state


def _figure(figure: int | float | None, unit: float) -> str:
    return '-' if figure is None else f'{figure / unit:,.4g}'


def _fitted(found: Exponent | None) -> str:
    return '-' if found is None else f'{found[0]:z.2f} ± {found[1]:.2f}'
