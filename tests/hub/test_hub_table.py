# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Table of the families in docs/results: a row for each, with its declaration, and differences within the tolerance."""

import pytest
from hub_table import HEAD, NONE, PAGE, declared, measured, row

from saccade.hub.family import families

TOLERANCE = 1e-4
ROWS = {cells[0]: cells for line in PAGE.read_text().splitlines() for cells in [line.strip('| ').split(' | ')]}
GENERATE = 'ForCausalLM', 'LMHeadModel', 'ForConditionalGeneration', 'MarianMTModel'
REPORT = """<testsuites><testsuite><testcase><properties>
<property name="vit in" value="2e-06"/><property name="vit in" value="3.25e-05"/><property name="vit out" value="0.0"/>
</properties></testcase></testsuite></testsuites>"""


def test_the_page_is_written_by_its_program():
    assert PAGE.read_text().startswith(HEAD)


@pytest.mark.parametrize('name', families())
def test_a_family_has_its_row(name):
    _, architectures, length, came_in, went_out, greedy, only = ROWS[name]
    family = families()[name]
    assert (architectures, length, only) == declared(name, family)
    assert float(came_in) < TOLERANCE
    assert float(went_out) < TOLERANCE
    generates = any(name.endswith(GENERATE) for name in family.architectures)
    assert (greedy != NONE) == generates


def test_a_row_has_the_largest_difference(tmp_path):
    (tmp_path / 'oracle.xml').write_text(REPORT)
    found = measured(str(tmp_path / 'oracle.xml'))
    assert row('vit', families()['vit'], found).split(' | ')[3:6] == ['3.2e-05', '0.0e+00', NONE]
