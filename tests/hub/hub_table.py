# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Table of the Hugging Face families: their declarations, and what the oracle tests measured.

.venv/bin/python -m pytest -m oracle tests/oracle --junitxml=oracle.xml
.venv/bin/python tests/hub/hub_table.py oracle.xml

writes docs/results/hugging_face.md. Each oracle test records the greatest difference of the outputs of a family, under
'FAMILY in' for a folder of transformers that is loaded here, and under 'FAMILY out' for one that is written here and
opened there; and 'FAMILY greedy', the number of tokens that both generate.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from test_hub_lines import lines

from saccade.hub.family import Family, families
from saccade.hub.keys import CAUSAL, Keys

PAGE = Path(__file__).parents[2] / 'docs/results/hugging_face.md'
COLUMNS = 'family', 'architectures', 'lines', 'in', 'out', 'greedy tokens equal', 'the only supported values'
NONE = '-'
HEAD = f"""# Hugging Face families

Each row is a family, by its `model_type`. It is one declaration in `src/saccade/hub`, of this many lines, which reads
and writes every architecture of the row. Random tiny models of `transformers` are saved, loaded here, written again and
opened by `transformers`, with padded rows too. *In* is the largest difference of an output of the loaded model, *out*
that of the written folder; after both, every tensor is the same bit by bit. *Greedy tokens equal* counts tokens
generated from prompts of two lengths, all of them equal to those of `transformers`. The last column has the settings of
`config.json` with one supported value; any other raises an error. Further limits depend on the value, as those of
`rope_type`; see [the guide](../guides/hugging_face.md).

```shell
.venv/bin/python -m pytest -m oracle tests/oracle --junitxml=oracle.xml
.venv/bin/python tests/hub/hub_table.py oracle.xml
```

| {' | '.join(COLUMNS)} |
|{' --- |' * len(COLUMNS)}
"""


def measured(*reports: str) -> dict[str, list[float]]:
    """Return what the tests of JUnit reports recorded, by name."""
    found = defaultdict(list)
    for report in reports:
        for each in ElementTree.parse(report).iter('property'):
            found[each.attrib['name']].append(float(each.attrib['value']))
    return found


def declared(name: str, family: Family) -> tuple[str, str, str]:
    """Return what the declaration of a family says: its architectures, its lines, the only values of settings."""
    only = [f'`{key}` {value}' for key, value in sorted(_required(family.keys).items())]
    return ', '.join(family.architectures), str(lines(name.replace('-', '_'))), ', '.join(only) or NONE


def _required(keys: Keys, at: str = '') -> dict[str, object]:
    """Return the settings with one supported value, without those of every decoder."""
    own = {f'{at}{key}': value for key, value in keys.required.items() if (key, value) not in CAUSAL.items()}
    inner = [_required(each, f'{at}{key}.') for key, each in keys.inner.items() if not key.endswith('_dict')]
    return {key: value for each in (own, *inner) for key, value in each.items()}


def row(name: str, family: Family, found: Mapping[str, list[float]]) -> str:
    """Return the row of a family."""
    architectures, length, only = declared(name, family)
    differences = [f'{max(found[f"{name} {way}"]):.1e}' for way in ('in', 'out')]
    greedy = f'{sum(found[f"{name} greedy"]):.0f}' if f'{name} greedy' in found else NONE
    return f'| {" | ".join([name, architectures, length, *differences, greedy, only])} |\n'


if __name__ == '__main__':
    found = measured(*sys.argv[1:])
    PAGE.write_text(HEAD + ''.join(row(*each, found) for each in sorted(families().items())))
