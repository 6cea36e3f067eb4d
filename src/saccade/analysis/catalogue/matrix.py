# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Capability tables of all variants, one for each kind, from what the parts declare."""

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.measure import Measurement

from saccade.analysis.catalogue.catalogue import (
    BLOCK,
    EMBEDDING,
    FEEDFORWARD,
    KERNEL,
    KINDS,
    MASK,
    MIXER,
    NORM,
    PAIR_POSITION,
    ROUTER,
    SOFTMAX,
    TERM,
    TOKEN_POSITION,
    Catalogue,
    Kind,
    can,
)
from saccade.analysis.report.figures import Table
from saccade.block.base import ResidualStreams
from saccade.build import build, lacking, load
from saccade.ops.term import reads_content
from saccade.train.process.terminal import say
from saccade.types import KeyFeatures, OnlineSoftmaxVariant, ScoreTerm

HEADS, LENGTH = 4, 16  # of what is asked of a part, in heads and in tokens
NONE = '-'
_WIDEST = 1000  # columns, more than any table has

Spec = Mapping[str, Any]
Columns = Mapping[str, Callable[[Spec], str]]


def tables(catalogue: Catalogue) -> list[Table]:
    """One table a kind: a row for each part, by its import path, in the columns of its kind."""
    return [table(catalogue, kind) for kind in KINDS]


def table(catalogue: Catalogue, kind: Kind) -> Table:
    """Return the table of one kind: a row for each of its parts."""
    columns = COLUMNS[kind]
    rows = [(spec['use'], *(say(spec) for say in columns.values())) for spec in catalogue.specs(kind).values()]
    return Table(kind.name, ('', *columns), rows)


def counts(catalogue: Catalogue) -> str:
    """Number of variants, in one line."""
    return ', '.join(f'{len(catalogue.parts[kind])} {kind.name}s' for kind in KINDS)


def as_json(catalogue: Catalogue) -> dict[str, Any]:
    """The tables, and how many variants there are, as one JSON object."""
    rows = {
        found.title: {use: dict(zip(found.columns[1:], said, strict=True)) for use, *said in found.rows}
        for found in tables(catalogue)
    }
    return {'counts': {kind.name: len(catalogue.parts[kind]) for kind in KINDS}, 'variants': rows}


def show(catalogue: Catalogue, console: Console) -> None:
    """Print the tables, each as a list where the console is too narrow for it, and how many variants there are."""
    for found in tables(catalogue):
        drawn, wide = found.drawn(), console.options.update(max_width=_WIDEST)
        say(console, found.title, style='bold')
        if Measurement.get(console, wide, drawn).maximum <= console.width:
            console.print(drawn)
        else:
            say(console, '\n'.join(_listed(found, console.width)))
        console.print()
    say(console, '\n'.join(_wrapped(counts(catalogue), console.width)))


def _listed(table: Table, width: int) -> Iterator[str]:
    """Return the matrix as text for narrow terminals: each part on its own line, its capabilities below."""
    for use, *said in table.rows:
        pairs = [(name, value) for name, value in zip(table.columns[1:], said, strict=True) if value != NONE]
        can_do = ', '.join(name for name, value in pairs if value == _yes(True))
        in_words = '; '.join(f'{name} {value}' for name, value in pairs if value != _yes(True))
        yield use
        for line in filter(None, (can_do, in_words)):
            yield from _wrapped(line, width, '    ')


def _wrapped(line: str, width: int, indent: str = '') -> list[str]:
    """Break a line between words into lines of at most `width` columns."""
    return textwrap.wrap(
        line,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def terms_of(spec: Spec) -> tuple[ScoreTerm, ...]:
    """The score terms that a part is or makes, with shapes for arrays."""
    part = build(spec)
    if hasattr(part.target, 'terms'):
        return jax.eval_shape(lambda: part().init_with_output(jax.random.key(0), HEADS, method='terms')[0])
    return (part(),) if hasattr(part.target, 'init_carry') else ()


def is_causal(mask: Spec) -> bool:
    """True if no query attends to a later key."""
    index = jnp.arange(LENGTH)
    return not np.triu(np.asarray(build(mask)()(index, index)), 1).any()


def _yes(said: bool) -> str:
    return 'yes' if said else NONE


def _declared(name: str) -> Callable[[Spec], str]:
    def say(spec: Spec) -> str:
        said = getattr(can(spec), name)
        return _yes(said) if isinstance(said, bool) else said or NONE

    return say


def _terms_served(spec: Spec) -> str:
    declared = can(spec)
    if declared.softcap and not declared.terms:
        return 'softcap'
    return 'by position' if declared.terms and not declared.content else _yes(declared.terms)


def _sum_of_a_row(spec: Spec) -> str:
    rows = load(spec['use']).rows
    return f'{rows.least:g}' if rows.least == rows.most else f'{rows.least:g} to {rows.most:g}'


def _settings(spec: Spec) -> str:
    return ', '.join(f'{name}={value}' for name, value in spec.items() if isinstance(value, int | float)) or NONE


def _scores_changed(spec: Spec) -> str:
    terms = terms_of(spec)
    return NONE if not terms else 'by content' if any(map(reads_content, terms)) else 'alone'


def _of_class(name: str, default: bool = False) -> Callable[[Spec], str]:
    return lambda spec: _yes(getattr(load(spec['use']), name, default))


def _inputs(spec: Spec) -> str:
    reads = build(spec)().reads
    return reads if isinstance(reads, str) else ' and '.join(reads)


POINTWISE: Columns = {'later tokens matter': _of_class('sees_others')}
ATTENTION: Columns = {
    'causal': _declared('causal'),
    'full': _declared('full'),
    'cross': _declared('cross'),
    'packed': _declared('packed'),
    'score terms': _terms_served,
    'equivariant': _declared('equivariant'),
    'decodes': _declared('cached'),
    'state': _declared('state'),
    'time': _declared('time'),
    'memory': _declared('memory'),
}
COLUMNS: Mapping[Kind, Columns] = {
    MIXER: ATTENTION,
    KERNEL: ATTENTION,
    SOFTMAX: {
        'sum of a row': _sum_of_a_row,
        'every key counts': lambda spec: _yes(load(spec['use']).rows.dense),
        'continuous': lambda spec: _yes(load(spec['use']).rows.continuous),
        'block by block': lambda spec: _yes(not lacking(load(spec['use']), OnlineSoftmaxVariant)),
    },
    MASK: {
        'here with': _settings,
        'causal': lambda spec: _yes(is_causal(spec)),
        'counts from the start': lambda spec: _yes(build(spec)().anchored),
    },
    TERM: {
        'scores changed': _scores_changed,
        'reads the input': lambda spec: _yes(not lacking(load(spec['use']), KeyFeatures)),
        'equivariant': _declared('equivariant'),
    },
    PAIR_POSITION: {'scores changed': _scores_changed, 'equivariant': _declared('equivariant')},
    TOKEN_POSITION: {'equivariant': _declared('equivariant')},
    EMBEDDING: {'inputs': _inputs},
    NORM: POINTWISE,
    FEEDFORWARD: POINTWISE,
    ROUTER: POINTWISE,
    BLOCK: {
        'identity without branches': _of_class('identity'),
        'several streams': lambda spec: _yes(issubclass(load(spec['use']), ResidualStreams)),
    },
}
