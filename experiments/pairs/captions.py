# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""CLIP with a ViT-S/16 on your own images and captions, from a .csv, .tsv or .jsonl table.

    python launch/train.py --config=experiments/pairs/captions.py --workdir=runs/mine --config.data.path=captions.csv
    python launch/zero_shot.py --workdir=runs/mine --image=a.png --classes="a dog,a cat"

The table has the columns `image`, a path relative to its folder, and `caption`; `config.data.image` and
`config.data.caption` name other columns. Tested only on tables of a few images.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.pairs.dual_encoder import WORD_PIECE, Inputs, Size, dual_encoder


def get_config() -> ConfigDict:
    inputs = Inputs(side=224, patch=16, vocabulary=FieldReference(16384), context_length=FieldReference(64))
    image, text = Size(width=384, layers=12, heads=6), Size(width=256, layers=6, heads=4)

    config = dual_encoder(dict(use='task.contrastive:Contrastive'), inputs, image, text, shared=256)
    config.model.image.embed.embed.bias = False  # both as in CLIP, whose family `launch/export.py` writes
    config.model.image.embedding_norm = config.model.image.norm.to_dict()
    config.steps = 20_000
    config.batch_size = 256
    config.dtype = 'bfloat16'
    config.schedule.peak = 5e-4
    config.data = dict(
        use='data.caption.files:CaptionFiles',
        path='captions.csv',
        image='image',
        caption='caption',
        validation=0.1,
        images=dict(
            use='data.image.processor:ImageProcessor',
            size=(inputs.side, inputs.side),
            resize=inputs.side,
            convert=True,
        ),
        tokenizer=WORD_PIECE | dict(vocabulary=inputs.vocabulary),
        context_length=inputs.context_length,
    )
    return config
