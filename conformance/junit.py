# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Verdicts in the XML that CI systems read."""

from typing import Any
from xml.etree import ElementTree

from conformance.run import FAIL, NOT_OFFERED


def junit(found: dict[str, Any]) -> str:
    """Return results as JUnit XML: a test case for each layer and contract; not offered is skipped."""
    suite = ElementTree.Element('testsuite', name=f'conformance of {found["library"]}')
    for layer, verdicts in found['layers'].items():
        for contract, each in verdicts.items():
            case = ElementTree.SubElement(suite, 'testcase', classname=f'{found["library"]}.{layer}', name=contract)
            if each['verdict'] == FAIL:
                message = each.get('note') or f'differs by {each["difference"]} of the largest element'
                ElementTree.SubElement(case, 'failure', message=message)
            elif each['verdict'] == NOT_OFFERED:
                ElementTree.SubElement(case, 'skipped', message=each['note'])
    for name, tag in (('tests', 'testcase'), ('failures', 'failure'), ('skipped', 'skipped')):
        suite.set(name, str(sum(1 for _ in suite.iter(tag))))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding='unicode', xml_declaration=True) + '\n'
