# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Declared oracles: their parts exist, most mixers have one by others, and the reference shows whose it is."""

from pathlib import Path

from saccade.analysis import reference
from saccade.analysis.catalogue.catalogue import Catalogue
from saccade.analysis.oracles import Oracle, declared_oracles
from saccade.build import load
from saccade.parts import parts
from saccade.types import Part

ROOT = Path(__file__).parents[2]
WITHOUT: set[str] = set()  # mixers without an oracle by others, of 50
TEST = """
@pytest.mark.long
@pytest.mark.oracle_of('norm.rms:RMSNorm', 'norm.layer:LayerNorm', by='torch')
@pytest.mark.oracle_of('norm.rms:RMSNorm', by='Zhang_Sennrich')
def test_norms():
    raise AssertionError
"""


def test_every_declared_oracle_is_of_a_part():
    listed = {f'{module}:{name}' for module, names in parts().items() for name in names}
    assert {*declared_oracles(ROOT)} <= listed


def test_mixers_have_oracles_by_others():
    mixers = {
        Part(part).name for kind, found in Catalogue.ours().parts.items() if kind.name == 'mixer' for part in found
    }
    assert mixers - {*declared_oracles(ROOT)} == WITHOUT
    assert len(WITHOUT) <= 0.2 * len(mixers)


def test_tests_are_read_and_not_run(tmp_path):
    (tmp_path / 'tests' / 'norm').mkdir(parents=True)
    (tmp_path / 'tests' / 'norm' / 'test_norms.py').write_text(TEST)
    torch, authors = (Oracle(by, 'tests/norm/test_norms.py') for by in ('torch', 'Zhang_Sennrich'))
    assert declared_oracles(tmp_path) == {'norm.rms:RMSNorm': [torch, authors], 'norm.layer:LayerNorm': [torch]}


def test_the_page_of_a_part_says_who_wrote_its_oracle():
    def last(name, oracles):
        return reference.part_section(load(name), oracles).splitlines()[-1]

    first, second, authors = (Oracle(by, f'test_{at}.py') for by, at in (('torch', 1), ('torch', 2), ('Zhang_S', 2)))
    oracles = {'norm.rms:RMSNorm': [first, authors, second, first]}
    expected = r'**Oracle.** torch (`test_1.py`, `test_2.py`); Zhang\_S (`test_2.py`).'
    assert last('norm.rms:RMSNorm', oracles) == expected
    assert last('norm.layer:LayerNorm', oracles) == 'No oracle by others.'
    assert last('norm.rms:RMSNorm', None).startswith('**Declares.**')
    assert 'racle' not in last('ops.activation:quick_gelu', oracles)
