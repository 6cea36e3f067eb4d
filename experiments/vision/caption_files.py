# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Captions of your own images, from a .csv, .tsv or .jsonl table, or a folder of such tables.

    python launch/train.py --config=experiments/vision/caption_files.py --workdir=runs/mine \
        --config.data.path=captions.csv

The table has the columns `image`, a path relative to its folder, and `caption`; `config.data.image` and
`config.data.caption` name other columns. Tested only on tables of a few images.
"""

from ml_collections import ConfigDict
from saccade.experiments.vision.captioning import captioning


def get_config() -> ConfigDict:
    data = dict(
        use='data.caption.files:CaptionFiles', path='captions.csv', image='image', caption='caption', validation=0.1
    )
    config = captioning(data, side=224, patch=16, vocabulary=16384, context_length=48, width=384, heads=6, layers=6)
    config.steps = 20_000
    config.dtype = 'bfloat16'
    return config
