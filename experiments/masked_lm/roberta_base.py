# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""RoBERTa base: BERT without next sentence prediction, on passages of one document, dynamic masking, large batches.

    python launch/train.py --config=experiments/masked_lm/roberta_base.py --workdir=runs/roberta \
        --config.data.path=FOLDER

Liu et al. 2019, https://arxiv.org/abs/1907.11692, sections 4 and 5 and table 9: 124,695,897 parameters; the
published model has 1,536 more, for two positions that it never uses. The tokenizer is byte-level BPE. For accelerators.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.masked_lm.base import MASKED, bert_block, masked_lm


def get_config() -> ConfigDict:
    vocabulary, dropout = FieldReference(50265), FieldReference(0.1)
    norm = dict(use='norm.layer:LayerNorm', epsilon=1e-5)
    config = masked_lm(
        vocabulary=vocabulary,
        context_length=FieldReference(512),
        width=768,
        layers=12,
        types=1,
        dropout=dropout,
        block=bert_block(heads=12, dropout=dropout) | dict(norm=norm),
        embedding_norm=norm,
        heads=dict(masked=MASKED | dict(norm=norm)),
    )
    config.data.pairing = dict(use='data.encoder.pairing:OnePassage')
    config.data.tokenizer = dict(
        use='data.tokenizer.bpe:BPE',
        vocabulary=vocabulary,
        end=None,
        specials=['<s>', '<pad>', '</s>', '<unk>', '<mask>'],
    )
    config.sample.text = 'The <mask> argument must be a <mask>.'
    config.steps = 500_000
    config.batch_size = 8192
    config.accumulate = 128
    config.dtype = 'bfloat16'
    config.eval_every = 5000
    config.checkpoint_every = 5000
    config.optimizer.rule.b2 = 0.98
    config.schedule = dict(use='train.schedule:Cosine', peak=6e-4, floor=0.0, warmup=24_000)
    return config
