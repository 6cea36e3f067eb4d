# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Proteins: the amino-acid tokenizer, FASTA files as documents and as records, and what is refused, naming the line."""

import gzip

import pytest

from saccade.build import build
from saccade.data.corpus.corpus import open_corpus
from saccade.data.corpus.record_files import read_records
from saccade.data.corpus.records import open_records
from saccade.data.tokenizer.amino_acid import RESIDUES, AminoAcid
from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.types import UserError

CODES = 'ACDEFGHIKLMNPQRSTVWYBJOUXZ'
INSULIN = """>sp|P01308|INS_HUMAN Insulin, human
MALWMRLLPLLALLALWGPDPAAAFVNQHLCGSHLVEALYLVCGERGFFYTPKTRREAEDLQVGQVELGG
GPGAGSLQPL ALEGSLQKRG

ivEQCCTSICSLYQLENYCN*
"""
WHOLE = 'MALWMRLLPLLALLALWGPDPAAAFVNQHLCGSHLVEALYLVCGERGFFYTPKTRREAEDLQVGQVELGGGPGAGSLQPLALEGSLQKRGIVEQCCTSICSLYQLENYCN'
SPEC = {
    'use': 'data.encoder.passages:Passages',
    'tokenizer': {'use': 'data.tokenizer.amino_acid:AminoAcid'},
    'context_length': 12,
    'pairing': {'use': 'data.encoder.pairing:OnePassage'},
}


def written(folder, text, name='p.fasta'):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith('.gz') else text.encode())
    return path


def many(count):
    """Proteins of different sequences and lengths."""
    parts = ((number, 'ab'[number % 2], 'ACDEFGHIKL'[number % 10] * (number + 1)) for number in range(count))
    return ''.join(f'>p{number} {label}\nMK{residues}\n' for number, label, residues in parts)


def texts(corpus):
    return [document.text for split in corpus.splits.values() for document in split]


def test_a_residue_is_a_token_after_the_special_ones_and_lower_case_is_the_same():
    tokenizer = AminoAcid().train([])
    assert (tokenizer.size, AminoAcid().vocabulary) == (31, 31)
    assert [tokenizer.special(name) for name in BERT] == [0, 1, 2, 3, 4]
    assert tokenizer.encode(CODES) == tokenizer.encode(CODES.lower()) == [*range(5, 31)]
    assert tokenizer.decode(tokenizer.encode('mkVx')) == 'MKVX'
    assert sorted(RESIDUES) == sorted(CODES)


def test_each_residue_is_a_word_so_that_whole_words_can_be_hidden():
    ((ids, begins),) = AminoAcid().train([]).words(['MKV'])
    assert len(ids) == 3
    assert begins == [True, True, True]


def test_it_is_the_same_after_it_was_saved(tmp_path):
    tokenizer = AminoAcid().train([])
    tokenizer.save(tmp_path)
    kept = Tokenizer.load(tmp_path / 'tokenizer.json')
    assert kept.encode('MKb') == tokenizer.encode('MKB')
    with pytest.raises(UserError):
        kept.encode('M-K')


@pytest.mark.parametrize(('text', 'culprit'), [('MK-V', '-'), ('m.k', '.'), ('MK*', '*'), ('M K', ' '), ('mk1', '1')])
def test_what_is_no_residue_is_refused_and_never_the_unknown_token(text, culprit):
    with pytest.raises(UserError, match=rf'cannot encode {culprit!r}'.replace('.', r'\.').replace('*', r'\*')):
        AminoAcid().train([]).encode(text)


@pytest.mark.parametrize('name', ['p.fasta', 'p.faa', 'P.FASTA', 'p.fasta.gz'])
def test_a_sequence_is_joined_in_upper_case_without_its_stop(tmp_path, name):
    corpus = open_corpus(None, str(written(tmp_path, INSULIN + '>other\r\nMKV\r\n', name)), tmp_path / 'cache', 0.5)
    assert sorted(texts(corpus)) == sorted([WHOLE, 'MKV'])
    records = open_records(None, str(tmp_path / name), tmp_path / 'cache', 0.5)
    (human,) = (each for split in records.splits.values() for each in split if each['sequence'] == WHOLE)
    assert human == {'id': 'sp|P01308|INS_HUMAN', 'description': 'Insulin, human', 'sequence': WHOLE}


@pytest.mark.parametrize('header', ['>P1\tkinase of yeast', '> P1  kinase of yeast ', '>P1 \t kinase of yeast'])
def test_the_id_ends_at_the_first_blank_of_any_kind(tmp_path, header):
    (record,) = read_records(written(tmp_path, f'{header}\nMKV\n'), ('sequence',))
    assert record == {'id': 'P1', 'description': 'kinase of yeast', 'sequence': 'MKV'}


def test_nucleotides_are_refused_though_each_is_the_letter_of_an_amino_acid(tmp_path):
    with pytest.raises(UserError, match=r'p\.fasta: has DNA or RNA \(only A, C, G, N, T\); proteins are expected'):
        read_records(written(tmp_path, f'>MKV\n{20 * "acgtACGTN"}'), ('sequence',))
    assert len(read_records(written(tmp_path, f'>a\n{"ACGT" * 20}\n>b\n{"ACGT" * 20}M\n'), ('sequence',))) == 2


def test_a_leftover_makes_no_folder_of_texts_one_of_proteins(tmp_path):
    for name in ('a.txt', 'b.txt', '._a.fasta', 'old.fasta~'):
        (tmp_path / name).write_text(f'text of {name}')
    assert sorted(texts(open_corpus(None, str(tmp_path), tmp_path / 'cache'))) == ['text of a.txt', 'text of b.txt']


def test_equal_sequences_are_in_one_split_whatever_their_headers(tmp_path):
    twice = many(40) + many(40).replace('>p', '>copy')
    corpus = open_corpus(None, str(written(tmp_path, twice)), tmp_path / 'cache', 0.3)
    train, validation = ({document.text for document in corpus.splits[name]} for name in ('train', 'validation'))
    assert not train & validation
    assert (len(train) + len(validation), sum(map(len, corpus.splits.values()))) == (40, 80)
    assert validation


def test_files_named_after_the_splits_are_taken_as_they_are(tmp_path):
    written(tmp_path, '>a\nMK\n', 'train.fasta')
    written(tmp_path, '>b\nMV\n', 'validation.fasta.gz')
    corpus = open_corpus(None, str(tmp_path), tmp_path / 'cache')
    assert {name: [document.text for document in split] for name, split in corpus.splits.items()} == {
        'train': ['MK'],
        'validation': ['MV'],
    }


def test_a_protein_is_a_row_and_a_long_one_several(tmp_path):
    long = 'ACDEFGHIKLMNPQRSTVWY'
    written(tmp_path, f'>a\n{long}\n>b\nMKV\n', 'train.fasta')
    written(tmp_path, '>c\nWW\n', 'validation.fasta')
    prepared = build(SPEC | {'path': str(tmp_path)})().prepare(tmp_path / 'cache')
    rows = prepared.splits['train'].rows
    shown = [prepared.processor.decode(rows[number]['tokens']) for number in range(len(rows))]
    assert shown == [long[:10], long[10:], 'MKV']
    assert rows[2]['words'].tolist() == [0, 1, 2, 3, *8 * [0]]


def test_a_header_may_name_the_class(tmp_path):
    spec = {
        'use': 'data.encoder.classified:Classified',
        'tokenizer': SPEC['tokenizer'],
        'context_length': 64,
        'text': 'sequence',
        'label': 'description',
        'classes': 2,
    }
    data = build(spec | {'path': str(written(tmp_path, many(40)))})()
    split = data.prepare(tmp_path / 'cache').splits['train']
    assert split.names == ('a', 'b')
    assert set(split.answers.tolist()) == {0, 1}
    assert data.example == {'text': 'MALWMRLLPLLALLALWGPD'}
    AminoAcid().train([]).encode(data.example['text'])


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('>a\nMK\nM1V\n', r"line 3: '1' is not an amino acid; the codes are ACDEFGHIKLMNPQRSTVWYBJOUXZ"),
        ('>a\nMK-V\n', r"line 2: '-' is an alignment gap; give the sequences without gaps"),
        ('>a\nMK\n>b\nß\n', r"line 4: 'ß' is not an amino acid"),
        ('\nMKV\n>a\nMK\n', r'line 2: a sequence has no header; start the line before it with >'),
        ('>a\nMK\n>b\n\n>c\nMV\n', r"line 3: the header '>b' has no sequence"),
        ('>a\nMK\n>b', r"line 3: the header '>b' has no sequence"),
        ('>a\n*\n', r"line 1: the header '>a' has no sequence"),
        ('>a\nMK*\nMV\n', r'line 3: the sequence continues after a stop'),
        ('>a\nM*K\n', r"line 2: '\*' is not an amino acid"),
    ],
)
@pytest.mark.parametrize('name', ['p.fasta', 'p.faa.gz'])
def test_what_is_no_protein_is_refused_with_its_file_and_line(tmp_path, text, message, name):
    with pytest.raises(UserError, match=rf'^{tmp_path}/{name}, {message}') as error:
        open_corpus(None, str(written(tmp_path, text, name)), tmp_path / 'cache')
    assert '\n' not in str(error.value)


@pytest.mark.parametrize(('text', 'split'), [('', 'train'), ('>a\nMK\n', 'validation')])
def test_a_file_without_proteins_to_split_is_refused(tmp_path, text, split):
    with pytest.raises(UserError, match=rf'^{tmp_path}/p\.fasta: leaves no document for {split}$'):
        open_corpus(None, str(written(tmp_path, text)), tmp_path / 'cache')
