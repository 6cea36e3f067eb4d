# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated proteins: motifs and partners stand where they must, and the best prediction is that of an enumeration."""

import itertools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.baseline import motifs as baseline
from saccade.build import build
from saccade.data.corpus import motifs
from saccade.data.corpus.corpus import open_corpus
from saccade.data.corpus.records import open_records
from saccade.data.tokenizer.amino_acid import STANDARD
from saccade.task.masked_lm import MaskedLM
from saccade.types import UserError

ZINC = 'C.{2,4}C.{3}[LIVMFYWC].{8}H.{3,5}H'
LOOP = '[AG].{4}GK[ST]'
ORDERS = {'zinc finger': rf'{ZINC}.{{1,3}}{LOOP}', 'P-loop': rf'{LOOP}.{{1,3}}{ZINC}'}
PARTNER = dict(zip('ALCHDREKFYGPIVMWNQST', 'LAHCRDKEYFPGVIWMQNTS', strict=True))
SHARE = 0.15


@pytest.fixture(scope='module')
def some():
    return list(itertools.islice(motifs.examples('validation'), 300))


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The dataset with few sequences, in a cache of its own."""
    monkeypatch.setattr(motifs, 'SEQUENCES', {'train': 30, 'validation': 20})
    return tmp_path / 'cache'


def test_each_sequence_has_paired_strands_and_both_motifs_in_its_order(some):
    assert {each['first'] for each in some} == set(ORDERS)
    for each in some:
        starts = [start for start in range(4) if fits(each['sequence'], start, each['first'])]
        assert starts, each


def fits(sequence, start, first):
    one, other = sequence[start : start + 7], sequence[start + 10 : start + 17]
    rest = sequence[start + 17 :]
    partners = ''.join(map(PARTNER.__getitem__, one)) == other
    return partners and re.fullmatch(rf'.{{1,3}}{ORDERS[first]}.{{0,3}}', rest) is not None


def test_sequences_are_the_same_every_time_and_differ_between_splits(some):
    assert list(itertools.islice(motifs.examples('validation'), 300)) == some
    train = {each['sequence'] for each in itertools.islice(motifs.examples('train'), 300)}
    assert not train & {each['sequence'] for each in some}


def test_residues_are_as_frequent_as_in_swiss_prot():
    assert sum(motifs.FREQUENCIES.values()) == pytest.approx(100, abs=0.1)
    drawn = ''.join(each['sequence'][:7] for each in itertools.islice(motifs.examples('train'), 1000))
    for residue, percent in motifs.FREQUENCIES.items():
        share = percent / 100
        spread = (share * (1 - share) / len(drawn)) ** 0.5
        assert abs(drawn.count(residue) / len(drawn) - share) < 4.5 * spread, residue


@pytest.mark.parametrize(
    ('written', 'expected'),
    [
        ('C-x(2,4)', [('C', 1, 1, 0), (STANDARD, 2, 4, 0)]),
        ('[ST](3)-{P}', [('ST', 3, 3, 0), ('ACDEFGHIKLMNQRSTVWY', 1, 1, 0)]),
    ],
)
def test_patterns_are_read_as_prosite_writes_them(written, expected):
    assert motifs.pattern(written) == expected


@pytest.mark.parametrize('written', ['C-', 'c', '[]', 'x(2,)', 'x(a)'])
def test_what_is_no_pattern_is_refused(written):
    with pytest.raises(ValueError, match='not an element of a PROSITE pattern'):
        motifs.pattern(written)


def density(sequence):
    """The probability of a whole sequence, up to a factor of its length: a plain loop over all ways to read it."""
    p = {residue: share / sum(motifs.FREQUENCIES.values()) for residue, share in motifs.FREQUENCIES.items()}

    def drawn(text, classes):
        """Where each class is a string of residues, or None for any."""
        if len(text) != len(classes):
            return 0.0
        shares = (
            p[residue] if kept is None else (residue in kept) * p[residue] / sum(p[each] for each in kept)
            for residue, kept in zip(text, classes, strict=True)
        )
        return math.prod(shares)

    total = 0.0
    gaps = itertools.product(('zinc finger', 'P-loop'), range(4), (1, 2, 3), (2, 3, 4), (3, 4, 5), (1, 2, 3), range(4))
    for first, lead, link, near, far, between, tail in gaps:
        zinc = ['C', *near * [None], 'C', *3 * [None], 'LIVMFYWC', *8 * [None], 'H', *far * [None], 'H']
        loop = ['AG', *4 * [None], 'G', 'K', 'ST']
        one, other = (zinc, loop) if first == 'zinc finger' else (loop, zinc)
        strand = sequence[lead : lead + 7]
        if ''.join(map(PARTNER.__getitem__, strand)) == sequence[lead + 10 : lead + 17]:
            left = sequence[: lead + 10] + sequence[lead + 17 :]
            total += drawn(left, [*(lead + 10 + link) * [None], *one, *between * [None], *other, *tail * [None]])
    return total


def numbered(sequence):
    return np.array([STANDARD.index(residue) for residue in sequence])


@pytest.mark.long
@pytest.mark.parametrize('number', range(3))
def test_the_posterior_of_a_residue_is_that_of_an_enumeration(some, number):
    sequence = some[number]['sequence']
    rare = [at for at, residue in enumerate(sequence) if residue in 'CHGK']
    for at in (0, 3, 8, 14, 17, *rare[:3], len(sequence) - 1):
        hidden = np.arange(len(sequence)) == at
        found = baseline.posterior(numbered(sequence), hidden)[at]
        wanted = np.array([density(sequence[:at] + residue + sequence[at + 1 :]) for residue in STANDARD])
        np.testing.assert_allclose(found, wanted / wanted.sum(), atol=1e-9)


@pytest.mark.long
def test_the_posterior_of_both_partners_is_that_of_an_enumeration(some):
    sequence = some[0]['sequence']
    start = next(start for start in range(4) if fits(sequence, start, some[0]['first']))
    at, far = start + 2, start + 12
    hidden = np.isin(np.arange(len(sequence)), [at, far])
    joint = np.zeros((20, 20))
    for (i, one), (j, other) in itertools.product(enumerate(STANDARD), repeat=2):
        joint[i, j] = density(sequence[:at] + one + sequence[at + 1 : far] + other + sequence[far + 1 :])
    found = baseline.posterior(numbered(sequence), hidden)
    np.testing.assert_allclose(found[at], joint.sum(axis=1) / joint.sum(), atol=1e-9)
    np.testing.assert_allclose(found[far], joint.sum(axis=0) / joint.sum(), atol=1e-9)


def test_the_posterior_does_not_look_at_what_is_hidden_and_refuses_other_sequences(some):
    residues = numbered(some[0]['sequence'])
    hidden = np.random.default_rng(0).random(len(residues)) < SHARE
    other = np.where(hidden, (residues + 7) % 20, residues)
    np.testing.assert_array_equal(baseline.posterior(residues, hidden), baseline.posterior(other, hidden))
    for wrong in (residues[::-1], residues[:20]):
        with pytest.raises(UserError, match=r"config\.baseline: .*not a whole sequence of the dataset 'motifs'"):
            baseline.posterior(wrong, np.zeros(len(wrong), bool))


@pytest.mark.long
def test_the_best_prediction_is_right_as_often_as_it_expects(some):
    draw, hits, expected = np.random.default_rng(0), [], []
    for each in some:
        residues = numbered(each['sequence'])
        hidden = draw.random(len(residues)) < SHARE
        found = baseline.posterior(residues, hidden)[hidden]
        hits += (found.argmax(axis=-1) == residues[hidden]).tolist()
        expected += found.max(axis=-1).tolist()
    assert abs(np.mean(hits) - np.mean(expected)) < 3 * np.std(hits) / len(hits) ** 0.5


def test_it_is_a_corpus_and_a_dataset_of_records(small, some):
    corpus = open_corpus('motifs', None, small)
    records = open_records('motifs', None, small, 0.1, ('sequence', 'first'))
    assert [document.text for document in corpus.splits['validation']] == [each['sequence'] for each in some[:20]]
    assert [dict(each) for each in records.splits['validation']] == some[:20]
    assert len(corpus.splits['train']) == 30


@pytest.mark.long
def test_what_is_measured_is_what_evaluation_hides(small):
    """The places are those of the task, and the truth is what the rows have there."""
    spec = {
        'use': 'data.encoder.passages:Passages',
        'tokenizer': {'use': 'data.tokenizer.amino_acid:AminoAcid'},
        'context_length': 64,
        'pairing': {'use': 'data.encoder.pairing:OnePassage'},
        'name': 'motifs',
    }
    prepared = build(spec)().prepare(small)
    validation = prepared.splits['validation']
    rows = [validation.rows[row] for row in range(len(validation.rows))]
    batch = {name: jnp.asarray(np.stack([row[name] for row in rows])) for name in rows[0]}
    task = MaskedLM(share=SHARE, hidden=1.0, noise=0.0)
    hidden, chosen = task.hide(jax.random.key(0), batch, 31)
    counts, answers = np.asarray(chosen.counts) > 0, np.asarray(chosen.read(batch['tokens'])) - 5
    found = baseline.best_possible(prepared.splits['train'], validation, 31, SHARE)
    frequencies = np.array([motifs.FREQUENCIES[residue] for residue in STANDARD])
    frequencies /= frequencies.sum()
    truth = answers[counts]
    assert found['masked_accuracy'] == pytest.approx((truth == STANDARD.index('L')).mean())
    assert found['masked_loss'] == pytest.approx(-np.log(frequencies[truth]).mean())
    hits, losses = [], []
    for tokens, segments, answer, at, there in zip(
        np.asarray(hidden), np.asarray(batch['segments']), answers, np.asarray(chosen.at), counts, strict=True
    ):
        inner = tokens[segments > 0][1:-1]
        given = baseline.posterior(np.where(inner == 4, 0, inner - 5), inner == 4)[at[there] - 1]
        hits += (given.argmax(axis=-1) == answer[there]).tolist()
        losses += (-np.log(given[np.arange(there.sum()), answer[there]])).tolist()
    assert found['best_accuracy'] == pytest.approx(np.mean(hits))
    assert found['best_loss'] == pytest.approx(np.mean(losses))
