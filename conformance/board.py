# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The board: layer by contract, of the committed results, in Markdown and HTML."""

import ast
import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from conformance.contracts import CONTRACTS
from conformance.run import FAIL, NOT_OFFERED, PASS
from saccade.inside.page import page_of

HERE = Path(__file__).parent
ROOT = HERE.parent
COMMAND = 'python -m conformance --board'
COVERS = re.compile(r'Covers ([^:]+): ([^;]+); (.+)')
SIGNS = {PASS: '✓', FAIL: '✗', NOT_OFFERED: '·'}


@dataclass(frozen=True)
class Reproduction:
    """A failure without Saccade. Attributes: file name; text; covers, each as library, layer and contract."""

    name: str
    text: str
    covers: frozenset[tuple[str, str, str]]


@functools.cache
def reproductions() -> tuple[Reproduction, ...]:
    """Read the reproductions: a docstring with lines `Covers library: layer; contract, contract`."""
    found = []
    for file in sorted((HERE / 'reproductions').glob('[a-z]*.py')):
        lines = ast.get_docstring(ast.parse(file.read_text())).splitlines()
        covers = [COVERS.fullmatch(line) for line in lines if line.startswith('Covers ')]
        named = ((one[1], one[2], contract) for one in covers for contract in one[3].split(', '))
        text = ' '.join(line for line in lines if line and not line.startswith('Covers '))
        found.append(Reproduction(file.name, text, frozenset(named)))
    return tuple(found)


def results() -> list[dict[str, Any]]:
    """Read the committed results, Saccade's first."""
    found = [json.loads(file.read_text()) for file in (HERE / 'results').glob('*.json')]
    return sorted(found, key=lambda of: (of['library'] != 'Saccade', of['library'].lower()))


def failures(of: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the layer, contract and verdict of each failure of a library."""
    for layer, verdicts in of['layers'].items():
        for contract, each in verdicts.items():
            if each['verdict'] == FAIL:
                yield layer, contract, each


def reproduced(of: Mapping[str, Any], layer: str, contract: str) -> str | None:
    """Return the name of the file that shows a failure, or None."""
    failure = (of['library'], layer, contract)
    return next((one.name for one in reproductions() if failure in one.covers), None)


def _count(of: Mapping[str, Any], verdict: str) -> int:
    return sum(each['verdict'] == verdict for verdicts in of['layers'].values() for each in verdicts.values())


def _versions(of: Mapping[str, Any]) -> str:
    return ', '.join(f'{name} {version}' for name, version in of['versions'].items())


def _cell(each: Mapping[str, Any]) -> str:
    return f'{each["difference"]:.2g}' if each['verdict'] == FAIL and 'difference' in each else SIGNS[each['verdict']]


def _reason(contract: str, each: Mapping[str, Any]) -> str:
    return each.get('note') or f'{CONTRACTS[contract].title}: {each["difference"]:.2g}'


def markdown(found: list[dict[str, Any]]) -> str:
    """Return the page of docs/results."""
    lines = [
        '# Conformance: the same contracts for the layers of every library',
        '',
        f'<!-- Written by `{COMMAND}`; do not edit. -->',
        'Each layer of each library is held to [the same contracts](../guides/conformance.md), on the CPU, with',
        'small random layers. ✓ is a pass. A number is a failure: the measured difference, relative to the largest',
        'element. ✗ is a failure without a number: an exception, or an output that is not finite. · is not offered by',
        'the library, or cannot be run on a CPU. <a href="../_static/conformance.html">The board as one page</a> gives',
        'the reason of each cell where you point at it.',
        '',
        '```shell',
        'python -m conformance --make=NAME',
        'python -m conformance --library=NAME --json=conformance/results/NAME.json',
        COMMAND,
        '```',
        '',
        '| library | layers | pass | fail | not offered | minutes | date | versions |',
        '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ]
    for of in found:
        counts = ' | '.join(str(_count(of, verdict)) for verdict in (PASS, FAIL, NOT_OFFERED))
        rest = f'{math.ceil(of["seconds"] / 60)} | {of["date"]} | {_versions(of)}, Python {of["python"]}'
        lines.append(f'| {of["library"]} | {len(of["layers"])} | {counts} | {rest} |')
    lines += [
        '',
        'Each library was installed with pip into an environment of its own. The minutes were measured on a busy',
        'machine with two cores. Not run are kernels that need CUDA, and FlexAttention compiled.',
        '',
        '## Failures',
        '',
        'Each is shown without Saccade by a file of `conformance/reproductions`, and was seen twice.',
        '',
        '| library | layer | contract | difference | shown by |',
        '| --- | --- | --- | --- | --- |',
    ]
    for of in found:
        for layer, contract, each in failures(of):
            said = _plain(each['note']) if 'note' in each else _cell(each)
            shown = f'`{reproduced(of, layer, contract)}`'
            lines.append(f'| {of["library"]} | {layer} | {CONTRACTS[contract].title} | {said} | {shown} |')
    for one in reproductions():
        lines += ['', f'**`{one.name}`** {one.text}']
    for of in found:
        lines += ['', f'## {of["library"]}', '', *([of['note'], ''] if of['note'] else [])]
        lines += [
            f'| layer | {" | ".join(contract.title for contract in CONTRACTS.values())} |',
            '| --- ' * (len(CONTRACTS) + 1) + '|',
        ]
        for layer, verdicts in of['layers'].items():
            lines.append(f'| {layer} | {" | ".join(_cell(verdicts[name]) for name in CONTRACTS)} |')
    return '\n'.join(lines) + '\n'


def _plain(text: str) -> str:
    return re.sub(r'[<>|*_`\[\]]', lambda sign: f'\\{sign[0]}', text)


_STYLE = """
.board th.contract { writing-mode: vertical-rl; transform: rotate(180deg); height: 14rem; padding: .4rem .1rem;
  text-align: left; }
.board td { text-align: center; padding: .2rem .4rem; white-space: nowrap; }
.board td:first-child, .board th:first-child { text-align: left; position: sticky; left: 0;
  background: var(--page); max-width: 16rem; white-space: normal; overflow-wrap: anywhere; }
.board .pass { color: var(--variant-2); }
.board .fail { color: var(--bad); font-weight: 600; }
.board .not { color: var(--faint); }
@media (max-width: 40rem) { .board td:first-child, .board th:first-child { max-width: 9rem; min-width: 8rem; } }
"""


def html(found: list[dict[str, Any]]) -> str:
    """Return the board as one page; the reason of each cell is its title."""
    body = Markup('<p>{}</p><p>{}</p>').format(
        'Each row is a layer, each column a contract. ✓ passes. A number is a failure: the measured difference, '
        'relative to the largest element.',
        '✗ is a failure without a number: an exception, or an output that is not finite. · is not offered by the '
        'library, or cannot be run on a CPU. Point at a cell for the reason; those of failures are listed too.',
    )
    counted = Markup('').join(
        Markup('<tr><td><a href="#{}">{}</a></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>').format(
            of['library'], of['library'], len(of['layers']), *(_count(of, each) for each in SIGNS)
        )
        for of in found
    )
    body += Markup(
        '<div class="scroll"><table class="board"><thead><tr><th>library</th><th>layers</th><th>pass</th><th>fail</th>'
        '<th>not offered</th></tr></thead><tbody>{}</tbody></table></div>'
    ).format(counted)
    head = Markup('').join(
        Markup('<th class="contract">{}</th>').format(contract.title) for contract in CONTRACTS.values()
    )
    for of in found:
        rows = Markup('').join(_row(layer, verdicts) for layer, verdicts in of['layers'].items())
        failed = Markup('').join(
            Markup('<li>{}, {}: {} (<code>{}</code>)</li>').format(
                layer, CONTRACTS[contract].title, each.get('note') or _cell(each), reproduced(of, layer, contract)
            )
            for layer, contract, each in failures(of)
        )
        body += Markup(
            '<section id="{}"><h2>{}</h2><p class="provenance">{}, Python {}, {}. {}</p>'
            '<div class="scroll"><table class="board"><thead><tr><th>layer</th>{}</tr></thead>'
            '<tbody>{}</tbody></table></div><ul>{}</ul></section>'
        ).format(of['library'], of['library'], _versions(of), of['python'], of['date'], of['note'], head, rows, failed)
    shown = Markup('').join(
        Markup('<li><code>{}</code>: {}</li>').format(one.name, one.text) for one in reproductions()
    )
    body += Markup('<section><h2>Failures without Saccade</h2><ul>{}</ul></section>').format(shown)
    return page_of('Conformance', body, _STYLE)


def _row(layer: str, verdicts: Mapping[str, Any]) -> Markup:
    cells = Markup('').join(
        Markup('<td class="{}" title="{}">{}</td>').format(
            verdicts[name]['verdict'].partition(' ')[0], _reason(name, verdicts[name]), _cell(verdicts[name])
        )
        for name in CONTRACTS
    )
    return Markup('<tr><td>{}</td>{}</tr>').format(layer, cells)


def write() -> None:
    """Write both pages."""
    found = results()
    (ROOT / 'docs' / 'results' / 'conformance.md').write_text(markdown(found))
    (ROOT / 'docs' / '_static' / 'conformance.html').write_text(html(found))
