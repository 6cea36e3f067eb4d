# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a report shows of a number that a sweep goes through."""

import re

import pytest
from report_study import config, records, write_run

from saccade.analysis.report.across import across
from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.write import report

LENGTHS = (10, 50, 200)
ACCURACY = {('d:A', length): 0.9 for length in LENGTHS} | {('d:B', length): 8 / length for length in LENGTHS}


def compared(folder, measured=ACCURACY):
    for (use, length), accuracy in measured.items():
        settings = config(
            data={'use': use, 'longest': length, 'context_length': length + 1, 'source_context_length': length + 1}
        )
        logged = records(0, 1)
        logged[-1]['accuracy'] = accuracy
        write_run(folder / f'{use[-1]}{length}', settings, logged)
    return compare(read_study(folder), StudyQuestion('accuracy'))


def test_each_line_has_the_metric_at_each_value_whatever_follows_from_it(tmp_path):
    found = across(compared(tmp_path))
    assert found.field == 'longest'
    assert {name: [y for _, y in line] for name, line in found.lines.items()} == {
        'A': [pytest.approx(0.9)] * 3,
        'B': [pytest.approx(8 / length) for length in LENGTHS],
    }


@pytest.mark.long
def test_the_page_shows_it(tmp_path):
    compared(tmp_path)
    page = report(tmp_path, StudyQuestion('accuracy')).files[0].read_text()
    assert '<h2>Accuracy by ' in page
    assert 'id="across-wide' in page


@pytest.mark.long
def test_whole_numbers_have_whole_ticks(tmp_path):
    compared(tmp_path, {('d:A', length): 0.5 + length / 100 for length in (1, 2, 3)})
    page = report(tmp_path, StudyQuestion('accuracy')).files[0].read_text()
    picture = page[page.index('id="across-wide') :].partition('</svg>')[0]
    written = re.findall(r'<text[^>]*>([^<]*)<', picture)
    assert {'1', '2', '3'} <= set(written)
    assert '1.5' not in written


def test_two_values_show_no_course(tmp_path):
    assert across(compared(tmp_path, {(use, length): 0.5 for use in ('d:A', 'd:B') for length in (10, 50)})) is None


def test_numbers_that_were_drawn_together_show_no_course(tmp_path):
    for name, (width, rate) in enumerate(((10, 0.3), (20, 0.1), (30, 0.2))):
        write_run(tmp_path / str(name), config(data={'use': 'd:A', 'width': width, 'rate': rate}), records(0, 1))
    assert across(compare(read_study(tmp_path), StudyQuestion())) is None


def test_a_number_that_was_matched_to_each_part_shows_no_course(tmp_path):
    assert across(compared(tmp_path, {('d:A', 10): 0.5, ('d:B', 50): 0.6, ('d:C', 200): 0.4})) is None
