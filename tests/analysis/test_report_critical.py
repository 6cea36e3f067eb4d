# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which differences are real among all pairs: published examples, the level that is claimed, and the files."""

import itertools
import json
import math

import numpy as np
import pytest
from report_study import config, write_run
from scipy import stats

from saccade.analysis.report import page, tables
from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.critical import (
    Critical,
    VariantPair,
    cliques,
    critical_difference,
    friedman,
    holm,
    over_seeds,
    over_tasks,
    paired_t,
    picture_of_ranks,
)
from saccade.analysis.report.power import power, seeds_for
from saccade.analysis.report.runs import read_study

VALUES = np.random.default_rng(5).random((4, 14))
NAMES = ('one', 'two', 'three', 'four')
SCORES = {
    name: {f'set {place:02}': value for place, value in enumerate(row)} for name, row in zip(NAMES, VALUES, strict=True)
}


def test_the_published_critical_difference():
    """Demšar 2006, page 12: four classifiers on 14 data sets."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)


def test_mean_ranks_and_friedmans_test_are_those_of_a_plain_loop():
    found = over_tasks(SCORES)
    ranks = dict.fromkeys(NAMES, 0.0)
    for values in VALUES.T:
        for rank, place in enumerate(np.argsort(-values), start=1):
            ranks[NAMES[place]] += rank / 14
    assert dict(zip(found.variants, found.ranks, strict=True)) == pytest.approx(ranks)
    chi = 12 * 14 / (4 * 5) * (sum(rank**2 for rank in ranks.values()) - 4 * 5**2 / 4)
    assert friedman(-VALUES) == pytest.approx(stats.f.sf(13 * chi / (14 * 3 - chi), 3, 3 * 13))


def test_the_tasks_needed_are_those_with_which_the_gap_would_be_the_critical_difference():
    found = over_tasks(SCORES)
    for pair in found.pairs:
        gap = found.ranks[pair.other] - found.ranks[pair.one]
        assert not pair.real
        assert critical_difference(4, pair.needed) <= gap < critical_difference(4, pair.needed - 1)


@pytest.mark.parametrize(('variants', 'q'), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)])
def test_the_critical_values_are_those_of_the_papers_table(variants, q):
    blocks = 12
    assert critical_difference(variants, blocks) == pytest.approx(
        q * math.sqrt(variants * (variants + 1) / (6 * blocks)), rel=5e-4
    )


def test_variants_in_the_same_order_in_every_task_differ_where_they_are_far_enough_apart():
    scores = {f'v{place}': {f't{task}': float(-place) for task in range(8)} for place in range(5)}
    found = over_tasks(scores)
    assert [*found.variants] == ['v0', 'v1', 'v2', 'v3', 'v4']
    assert found.difference == pytest.approx(2.157, abs=1e-3)
    assert [(pair.one, pair.other) for pair in found.pairs if pair.real] == [(0, 3), (0, 4), (1, 4)]
    assert found.groups == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert found.said.startswith(
        '3 of 10 pairs differ significantly; v0, the first in mean rank, differs from all except v1, v2 ('
    )


def test_of_what_is_the_same_in_all_tasks_no_two_can_be_told_apart():
    tied = {f'v{place}': {f't{task}': 0.5 for task in range(6)} for place in range(3)}
    assert over_tasks(tied).said.startswith('No two variants differ significantly')


def test_few_tasks_or_variants_are_said_and_not_drawn():
    few = {name: dict(list(found.items())[:4]) for name, found in SCORES.items()}
    found = over_tasks(few)
    assert found.said == (
        'Significance tests need 5 tasks and 3 variants: there are 4 tasks and 4 variants finished in all.'
    )
    assert picture_of_ranks(found, {}) is None
    two = {name: SCORES[name] for name in NAMES[:2]}
    assert '2 variants finished in all' in over_tasks(two).said


def test_a_variant_that_is_not_in_all_tasks_is_left_out_by_name():
    scores = SCORES | {'new': {'set 00': 0.9}}
    found = over_tasks(scores)
    assert found.said.endswith('Left out, as not all their seeds finished in all tasks: new.')
    assert 'new' not in found.variants


def test_holms_correction_is_rs():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_paired_t_is_scipys_and_knows_no_noise():
    one, other = np.array([1.0, 2.0, 4.0, 3.0, 2.0]), np.array([0.5, 2.5, 3.0, 2.0, 1.0])
    found = paired_t(np.array([one, one, np.ones(5)]), np.array([other, one + 1e-16, np.full(5, 0.5)]))
    assert found == pytest.approx([stats.ttest_rel(one, other).pvalue, 1, 0])


@pytest.mark.long
def test_equal_variants_are_seldom_found_to_differ():
    """At most 5 of 100 studies find any difference; slack is four standard errors."""
    generator, studies = np.random.default_rng(0), 600
    ones, others = np.triu_indices(4, k=1)
    found = 0
    for _ in range(studies):
        values = generator.standard_normal((4, 5)) + 3 * generator.standard_normal(5)
        found += min(holm(paired_t(values[ones], values[others]))) <= 0.05
    assert found / studies <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / studies)


def test_groups_whose_number_explodes_are_not_drawn_one_by_one():
    """Of 2n variants in pairs that differ within each pair only, 2^n groups cannot be told apart."""
    variants = 80
    pairs = [
        VariantPair(one, other, real=(one // 2 == other // 2))
        for one, other in itertools.combinations(range(variants), 2)
    ]
    names = [f'v{place}' for place in range(variants)]
    found = Critical('', 'seeds', names, [float(place) for place in range(variants)], pairs)
    assert found.groups is None
    picture = picture_of_ranks(found, {name: place + 1 for place, name in enumerate(names)})
    assert 'more than 40 groups' in picture.note
    few = Critical('', 'seeds', names[:8], [float(place) for place in range(8)], [p for p in pairs if p.other < 8])
    assert len(few.groups) == 16


def test_powers_of_many_pairs_are_found_together(monkeypatch):
    calls = []
    monkeypatch.setattr('saccade.analysis.report.power.power', lambda *given: calls.append(1) or power(*given))
    effects = np.random.default_rng(0).uniform(0.05, 3, 4950)
    together = seeds_for(effects, 1e-4)
    assert len(calls) < 50
    assert together[:5] == [seeds_for([effect], 1e-4)[0] for effect in effects[:5]]


def test_groups_are_the_maximal_ones_of_a_plain_search():
    generator = np.random.default_rng(0)
    for _ in range(20):
        edges = {pair for pair in itertools.combinations(range(7), 2) if generator.random() < 0.5}
        alike = {place: {other for pair in edges if place in pair for other in pair} - {place} for place in range(7)}
        full = [
            {*group}
            for size in range(1, 8)
            for group in itertools.combinations(range(7), size)
            if all(pair in edges for pair in itertools.combinations(group, 2))
        ]
        expected = [group for group in full if not any(group < other for other in full)]
        assert sorted(map(sorted, cliques(set(), {*range(7)}, set(), alike))) == sorted(map(sorted, expected))


def study(folder, seeds=5, missing=()):
    """Losses of three variants over seeds: two that differ by noise alone, and one far behind."""
    generator = np.random.default_rng(1)
    for heads, (name, loss) in enumerate({'best': 1.0, 'alike': 1.01, 'far': 2.0}.items(), start=1):
        for seed in range(seeds):
            last = 20 if (name, seed) in missing else 40
            value = loss + 0.3 * seed + 0.02 * generator.standard_normal()
            logged = [{'step': last, 'split': 'validation', 'loss': value}]
            write_run(folder / f'{name}{seed}', config(seed, heads, note=name), logged)
    return compare(read_study(folder), StudyQuestion())


def test_over_seeds_pairs_are_tested_with_what_a_seed_does_to_all_left_out(tmp_path):
    found = over_seeds(study(tmp_path))
    assert [name.rpartition('=')[2] for name in found.variants] == ['best', 'alike', 'far']
    assert [(pair.one, pair.other) for pair in found.pairs if pair.real] == [(0, 2), (1, 2)]
    assert found.groups == [[0, 1]]
    (alike,) = [pair for pair in found.pairs if not pair.real]
    rows = compare(read_study(tmp_path), StudyQuestion()).ranked
    differences = np.subtract(*([*row.scores.values()] for row in rows[:2]))
    effect = abs(differences.mean()) / differences.std(ddof=1)
    assert power(effect, alike.needed, 0.05 / 3) >= 0.8 > power(effect, alike.needed - 1, 0.05 / 3)
    assert '2 of 3 pairs differ significantly' in found.said


def test_few_seeds_are_said_and_what_has_not_all_seeds_is_left_out(tmp_path):
    assert over_seeds(study(tmp_path / 'few', seeds=4)).said == (
        'Significance tests need 5 seeds shared by the variants, which have 4 seeds, finished by 3 of 3 variants.'
    )
    found = over_seeds(study(tmp_path / 'missing', missing=[('alike', 2)]))
    assert [name.rpartition('=')[2] for name in found.variants] == ['best', 'far']
    assert found.said.endswith('Left out, as not all their seeds finished: heads=2,note=alike.')


def test_every_file_of_the_report_says_it(tmp_path):
    comparison = study(tmp_path)
    found = over_seeds(comparison)
    text = '\n'.join(page._critical(comparison))
    assert '## Which differences are real' in text
    assert 'no significant difference' in text
    summary = json.loads(tables.as_json(tables.summary(comparison)))['pairs']
    assert [pair['real'] for pair in summary['pairs']] == [pair.real for pair in found.pairs]
    svg = picture_of_ranks(found, {name: place for place, name in enumerate(found.variants, start=1)}).svg
    assert '1 heads=1,note=best' in svg
