# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m conformance`: adapters of one's own, and what is said of a wrong one; what it writes; the guide."""

import json
import re
import shlex
from pathlib import Path

import pytest

from conformance import __main__ as command
from conformance.__main__ import arguments, main
from conformance.contracts import CONTRACTS
from conformance.junit import junit
from conformance.run import libraries

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / 'docs' / 'guides' / 'conformance.md').read_text()
HALVES = """from conformance.layer import Layer
class Halves(Layer):
    def call(self, x, segments=None):
        return x / 2 if x.shape[1] > 1 else x
"""


@pytest.fixture
def adapter(tmp_path):
    """A function that writes an adapter and returns its argument."""

    def write(text):
        (tmp_path / 'mine.py').write_text(text)
        return f'--library={tmp_path / "mine.py"}'

    return write


def test_an_adapter_of_ones_own(adapter, tmp_path, capsys):
    library = adapter(HALVES + "def layers():\n    return {'Halves': Halves}\n")
    report, cases = tmp_path / 'a.json', tmp_path / 'a.xml'
    chosen = [f'--contract={name}' for name in ('causal', 'one_token', 'steps')]
    assert main([library, f'--json={report}', f'--junit={cases}', *chosen]) == 1
    assert re.match(r'Halves: 1 of 2 pass .*\n    fails one_token: 1.0\n$', capsys.readouterr().out)
    found = json.loads(report.read_text())
    assert {name: each['verdict'] for name, each in found['layers']['Halves'].items()} == {
        'causal': 'pass', 'one_token': 'fail', 'steps': 'not offered',
    }  # fmt: skip
    assert junit(found) == cases.read_text()
    assert 'tests="3" failures="1" skipped="1"' in cases.read_text()
    assert main([library, '--layer=Halves', '--contract=causal']) == 0


def test_results_have_one_line_per_layer(adapter, tmp_path):
    library = adapter(HALVES + "def layers():\n    return {'a': Halves, 'b': Halves}\n")
    report = tmp_path / 'a.json'
    main([library, f'--json={report}', '--contract=causal'])
    assert len(report.read_text().splitlines()) == 5
    assert list(json.loads(report.read_text())['layers']) == ['a', 'b']


def test_layers_that_are_run_again_or_new_keep_the_results_of_the_others(adapter, tmp_path):
    both = HALVES + "def layers():\n    return {'a': Halves, 'b': Halves}\n"
    report = tmp_path / 'a.json'
    main([adapter(both), f'--json={report}', '--layer=b'])
    before = json.loads(report.read_text())
    assert main([adapter(both), f'--json={report}', '--layer=a', f'--junit={tmp_path / "a.xml"}']) == 1
    found = json.loads(report.read_text())
    assert list(found['layers']) == ['a', 'b']
    assert found['layers']['b'] == before['layers']['b']
    assert found['layers']['a'].keys() == CONTRACTS.keys()


@pytest.mark.parametrize(
    ('change', 'said'),
    [
        ({'python': '3.9.1'}, 'a.json was measured with another python; run all layers, or name another file'),
        ({'library': 'theirs'}, 'a.json was measured with another library; run all layers, or name another file'),
        (None, 'a.json has no results of this command; name another file'),
    ],
)
def test_results_of_others_are_refused_in_one_line_and_left_as_they_are(change, said, adapter, tmp_path, capsys):
    library, report = adapter(HALVES + "def layers():\n    return {'a': Halves}\n"), tmp_path / 'a.json'
    main([library, f'--json={report}', '--layer=a'])
    report.write_text('[1' if change is None else json.dumps({**json.loads(report.read_text()), **change}))
    before = report.read_text()
    with pytest.raises(SystemExit):
        main([library, f'--json={report}', '--layer=a'])
    assert capsys.readouterr().err.endswith(f'{said}\n')
    assert report.read_text() == before


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('', 'mine has no function layers(), which returns the layers by name'),
        ('def layers(:', 'mine.py: SyntaxError: invalid syntax'),
        ('import no_such_library', "mine.py: ModuleNotFoundError: No module named 'no_such_library'"),
        ('def layers():\n    return 1 / 0', 'mine: layers() raises ZeroDivisionError: division by zero (mine.py:2)'),
        (
            'def layers():\n    return [1]',
            'mine: layers() must return a dict from names to functions that make',
        ),
        ("def layers():\n    return {'A': lambda: 1 / 0}", 'A cannot be made: ZeroDivisionError: division by zero'),
        ("def layers():\n    return {'A': dict}", 'A is a dict, not a conformance.layer.Layer'),
        (
            HALVES + "def layers():\n    return {'A': Halves}\nREQUIRES = ('no-such-package==1.0',)",
            'mine.py: REQUIRES names no-such-package, which is not installed',
        ),
    ],
)
def test_a_malformed_adapter_is_one_clear_line(adapter, tmp_path, capsys, text, said):
    report = tmp_path / 'a.json'
    with pytest.raises(SystemExit, match='2'):
        main([adapter(text), f'--json={report}', '--contract=causal'])
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith('python -m conformance: error: ')
    assert said in line
    assert not report.exists()


def test_an_unknown_layer_or_library_is_one_clear_line(adapter, capsys):
    library = adapter(HALVES + "def layers():\n    return {'Halves': Halves}\n")
    for given, said in (
        ([library, '--layer=Other'], 'has no layer Other; it has Halves'),
        (['--library=no_such'], '--library=no_such: no such file, and none of discretax, equinox'),
        (['--library=saccade', '--contract=no_such'], "argument --contract: invalid choice: 'no_such'"),
        (['--make=no_such'], "argument --make: invalid choice: 'no_such'"),
        ([], 'one of --library, --make and --board is needed'),
        ([library, '--json=/no/such/folder/a.json', '--contract=causal'], "No such file or directory: '/no/such"),
    ):
        with pytest.raises(SystemExit, match='2'):
            main(given)
        assert said in capsys.readouterr().err.splitlines()[-1]


def commands(text):
    return [
        shlex.split(line, comments=True)[3:] for line in text.splitlines() if re.match(' *python -m conformance ', line)
    ]


@pytest.mark.parametrize('given', [*commands(GUIDE), *commands(command.__doc__)], ids=' '.join)
def test_commands_of_the_guide_parse(given):
    asked = arguments().parse_args(given)
    assert asked.library in (None, 'my_adapter.py', *libraries())


def test_the_guide_explains_every_contract():
    table = ' '.join(line.split(' | ')[0] for line in GUIDE.splitlines() if line.startswith('| '))
    assert [contract.title for contract in CONTRACTS.values() if contract.title not in table] == []


@pytest.mark.oracle
def test_the_adapter_of_the_guide_works(adapter):
    (example,) = re.findall('```python\n(.*?)```', GUIDE, re.DOTALL)
    assert main([adapter(example), '--contract=causal', '--contract=packed_values']) == 0
    assert main([adapter(example), '--contract=padding_alone']) == 1
