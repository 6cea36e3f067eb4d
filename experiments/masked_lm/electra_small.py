# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""ELECTRA small: a generator fills in masks, and a discriminator detects replaced tokens.

    python launch/train.py --config=experiments/masked_lm/electra_small.py --workdir=runs/electra \
        --config.data.path=FOLDER
    python launch/train.py --config=experiments/finetune/classify.py --workdir=runs/sst2 \
        --config.init_from=runs/electra --config.init_part=discriminator ...

Clark et al. 2020, https://arxiv.org/abs/2003.10555, table 6: a discriminator of 14 M parameters (13,549,057 with 512
positions), a generator a quarter as wide, and shared embeddings of width 128. For accelerators; to
try it on a CPU: --config.model.discriminator.layers=2 --config.model.generator.layers=2 --config.batch_size=16.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.masked_lm.base import GELU, MASKED, NORMAL, bert_block, masked_lm


def get_config() -> ConfigDict:
    dropout = FieldReference(0.1)
    config = masked_lm(
        vocabulary=FieldReference(30522),
        context_length=FieldReference(128),
        types=FieldReference(2),
        embedding_width=FieldReference(128),
    )

    def encoder(width: int, heads: int, head: dict[str, Any]) -> dict[str, Any]:
        sizes = dict(width=width, layers=12, dropout=dropout, block=bert_block(heads, dropout), heads=head)
        # `to_dict` would copy the references, so data and models would no longer share a context length and vocabulary.
        return dict(config.model.items(preserve_field_references=True)) | sizes

    told = dict(use='head.each_token:EachToken', classes=1, activation=GELU, kernel_init=NORMAL)
    config.model = dict(
        use='model.together:Electra',
        generator=encoder(64, 1, dict(masked=MASKED)),
        discriminator=encoder(256, 4, dict(tokens=told)),
    )
    config.task = dict(use='task.replaced_token:ReplacedToken', share=0.15, weight=50.0)
    config.data.pairing = dict(use='data.encoder.pairing:OnePassage')
    config.sample = None
    config.steps = 1_000_000
    config.batch_size = 128
    config.dtype = 'bfloat16'
    config.eval_every = 10_000
    config.checkpoint_every = 10_000
    config.schedule = dict(use='train.schedule:Cosine', peak=5e-4, floor=0.0, warmup=10_000)
    return config
