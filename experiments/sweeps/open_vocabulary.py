# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Open vocabulary: translation of unseen names by words, words mixed with characters, subwords and characters.

    python launch/sweep.py --config=experiments/translation/names.py --sweep=experiments/sweeps/open_vocabulary.py \\
        --workdir=runs/open_vocabulary --jobs=1
    python launch/report.py --workdir=runs/open_vocabulary --metric=exact_match

The claim of Wu et al. 2016, section 4.2, https://arxiv.org/abs/1609.08144: words mixed with characters have an open
vocabulary, with shorter sequences than characters. All models have one size and an embedding of as many rows.
`launch/translate.py --replace_unknown` with a run of words writes a source word in place of [UNK], which is right at
most for the names without an ending.
"""

LENGTHS = dict(words=(6, 4), mixed=(16, 16), subwords=(16, 16), characters=(32, 32))  # tokens, including the end token


def get_sweep() -> dict:
    tokenizers = dict(
        words=dict(use='data.tokenizer.word:Word', vocabulary=400),
        mixed=dict(use='data.tokenizer.mixed_word:MixedWord', vocabulary=400),
        subwords=dict(use='data.tokenizer.bpe:BPE', vocabulary=400),
        characters=dict(use='data.tokenizer.character:Character', specials=['[UNK]']),
    )
    points = [
        {
            'name': name,
            'data.tokenizer': tokenizers[name],
            'data.source_context_length': source,
            'data.context_length': target,
        }
        for name, (source, target) in LENGTHS.items()
    ]
    return dict(runs=dict(list=points), seeds=3, metric='exact_match')
