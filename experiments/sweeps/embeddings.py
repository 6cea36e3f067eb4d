# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Sweep over embeddings: trained or frozen, pretrained or random, and none.

    python launch/sweep.py --config=experiments/finetune/classify.py --sweep=experiments/sweeps/embeddings.py \
        --workdir=runs/embeddings --jobs=2 --config.init_from=runs/bytes --config.data.context_length=128 \
        --config.data.path=FILE --config.data.text=0 --config.data.label=1

Without an embedding, tokens are one-hot vectors, so the width must be at least the vocabulary; here tokens are bytes.
`init_from` is a run that defines the architecture of all variants, and the embedding of two of them:

    python launch/train.py --config=experiments/masked_lm/quickstart.py --workdir=runs/bytes \
        --config.data.tokenizer="{'use': 'data.tokenizer.byte:Byte', 'end': None, \
            'specials': ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']}" \
        --config.model.vocabulary=264 --config.model.width=264 --config.model.context_length=128
"""

NOTHING = dict(use='train.init.partial:nothing')
EMBEDDING = dict(use='train.init.partial:only', match='^embedding$')
FROZEN = dict(use='train.rates:Frozen', match='^embedding$')
ONE_HOT = dict(use='ops.embedding:one_hot')


def get_sweep() -> dict:
    variants = dict(
        learned=dict(adapt=NOTHING),
        learned_from_pretrained=dict(adapt=EMBEDDING),
        frozen_random={'adapt': NOTHING, 'optimizer.rates': FROZEN},
        frozen_pretrained={'adapt': EMBEDDING, 'optimizer.rates': FROZEN},
        none={'adapt': NOTHING, 'optimizer.rates': FROZEN, 'model.embedding_init': ONE_HOT},
    )
    points = [{'name': name, **fields} for name, fields in variants.items()]
    needs = dict(init_from='a run of experiments/masked_lm/quickstart.py on bytes, with at least as many features')
    return dict(runs=dict(list=points), seeds=3, needs=needs)
