# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Provenance on the report: one line where all runs agree; a box where they differ, or where there is no record."""

import html
import json
from pathlib import Path

import pytest
from report_study import config, records, start, write_run

from saccade.analysis.report import tables
from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.origins import Origins, origins, started
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.write import report

SHARED = 'Saccade 0.1.0, commit cccccccccc (clean), jax 0.10.2, jaxlib 0.10.2, flax 0.12.8, Python 3.11.7, device cpu'
MACHINE = 'AMD EPYC 9654, 2 cores, host node1'


def found(folder: Path, *starts: list[dict]) -> Origins:
    """The origins of runs a, b, ... with such records."""
    for seed, of_run in enumerate(starts):
        write_run(folder / 'abcdef'[seed], config(seed), records(seed, 1), of_run)
    return origins(read_study(folder).trials)


def test_runs_that_agree_are_one_line(tmp_path):
    assert found(tmp_path, [start()], [start(start='later', command='other')]).lines() == [
        f'All runs: {SHARED}, {MACHINE}.'
    ]


def test_runs_that_differ_are_grouped_by_what_differs(tmp_path):
    other = start(jax='0.11.0', device='NVIDIA H100', devices=8)
    seen = found(tmp_path, [start()], [other], [start()], [start(clean=False)])
    assert seen.columns == ('commit', 'jax', 'device')
    assert [(group.values, group.runs) for group in seen.groups] == [
        (('cccccccccc (clean)', '0.10.2', 'cpu'), ('a', 'c')),
        (('cccccccccc (clean)', '0.11.0', '8 x NVIDIA H100'), ('b',)),
        (('cccccccccc (with uncommitted changes)', '0.10.2', 'cpu'), ('d',)),
    ]
    assert seen.lines()[0] == 'Runs differ in commit, jax, device.'


def own(digest, git='no repository'):
    return start(modules={'my_lab.gate': {'file': '/a/my_lab/gate.py', 'sha256': 64 * digest, 'git': git}})


def test_code_from_outside_the_package_is_compared_by_its_digest_and_its_repository(tmp_path):
    resumed = [own('b', f'{40 * "d"}, dirty'), own('b', f'{40 * "e"}, clean')]
    seen = found(tmp_path, [own('a')], resumed, [start()])
    assert seen.columns == ('code my_lab.gate',)
    assert [group.values for group in seen.groups] == [
        ('aaaaaaaaaa (no repository)',),
        ('bbbbbbbbbb (dddddddddd, dirty), then bbbbbbbbbb (eeeeeeeeee, clean)',),
        ('—',),
    ]


def test_runs_that_do_not_import_a_module_do_not_differ_in_it(tmp_path):
    seen = found(tmp_path, [own('a')], [own('a')], [start()])
    assert seen.columns == ()
    assert seen.shared['code my_lab.gate'] == 'aaaaaaaaaa (no repository)'


def test_a_run_that_was_resumed_elsewhere_says_both(tmp_path):
    seen = found(tmp_path, [start(host='node1'), start(host='node2'), start(host='node1')], [start()])
    assert seen.columns == ('host',)
    assert [group.values for group in seen.groups] == [('node1',), ('node1, then node2',)]


def test_runs_without_a_record_are_named(tmp_path):
    seen = found(tmp_path, [start()], [])
    assert seen.unrecorded == ('b',)
    assert seen.lines() == [
        '1 run without a record of provenance: b.',
        f'All runs with a record: {SHARED}, {MACHINE}.',
    ]


def test_older_runs_have_no_record_at_all(tmp_path):
    assert found(tmp_path, [], []).lines() == ['No run has a record of its provenance.']


def test_what_is_not_known_of_any_run_is_left_out_and_of_some_is_a_dash(tmp_path):
    bare = start(commit=None, clean=None, host=None)
    seen = found(tmp_path, [bare], [start(commit=None, clean=None)])
    assert 'commit' not in seen.shared
    assert [group.values for group in seen.groups] == [('node1',), ('—',)]


@pytest.mark.long
def test_the_page_and_markdown_show_it_above_the_tables(tmp_path):
    for seed, host in enumerate(('node1', 'node1', '<b>')):
        write_run(
            tmp_path / f'run {seed}', config(seed), records(seed, 1), [start(host=host, status='running', end=None)]
        )
    report(tmp_path)
    page, text = ((tmp_path / 'report' / name).read_text() for name in ('index.html', 'report.md'))
    assert page.index('class="notice"') < page.index('Runs differ in host.') < page.index('<h2>Ranking')
    assert '<b>' not in page.replace('<b>run', '')
    assert 'run 0; run 1' in page
    assert text.index('Runs differ in host.') < text.index('| rank |')
    assert '| node1 | run 0, run 1 |' in text
    assert '2026-11-23 01:45:44 UTC: no end recorded: it was killed, or is running' in page
    assert start()['command'] in html.unescape(page)


def test_programs_get_it(tmp_path):
    found(tmp_path, [start()], [start(host='node2')], [])
    summary = tables.summary(compare(read_study(tmp_path), StudyQuestion()))
    assert json.loads(tables.as_json(summary))['provenance'] == {
        'shared': {
            'Saccade': '0.1.0',
            'commit': 'cccccccccc (clean)',
            'jax': '0.10.2',
            'jaxlib': '0.10.2',
            'flax': '0.12.8',
            'Python': '3.11.7',
            'device': 'cpu',
            'processor': 'AMD EPYC 9654, 2 cores',
        },
        'differing': [{'values': {'host': 'node1'}, 'runs': ['a']}, {'values': {'host': 'node2'}, 'runs': ['b']}],
        'unrecorded': ['c'],
    }


@pytest.mark.parametrize(
    ('record', 'words'),
    [
        (start(), '2026-11-23 01:45:44 to 2026-11-23 01:50:10 UTC: finished'),
        (start(status='failed', error='UserError: step 7'), 'UTC: failed (UserError: step 7)'),
        ({}, 'UTC: —'),
    ],
)
def test_a_start_in_words(record, words):
    assert started(record).endswith(words)


def test_what_is_damaged_in_a_record_is_left_out(tmp_path):
    write_run(tmp_path / 'a', config(), records(0, 1), [start(jax={'evil': 1}, cores='many')])
    with (tmp_path / 'a/provenance.jsonl').open('a') as file:
        file.write('{"cut')
    comparison = compare(read_study(tmp_path), StudyQuestion())
    (line,) = origins(comparison.study.trials).lines()
    assert 'jax 0' not in line
    assert line.endswith('AMD EPYC 9654, host node1.')
    assert line.startswith('All runs: Saccade')
