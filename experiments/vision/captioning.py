# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Captions of drawn shapes: a ViT encoder and a text decoder with cross-attention to its patches, minutes on a CPU.

    python launch/train.py --config=experiments/vision/captioning.py --workdir=runs/captioned
    python launch/evaluate.py --workdir=runs/captioned --split=unseen

In training a quarter of the sizes and of the places are left out of the captions, in evaluation none; the split
`unseen` has combinations of colour and shape that training has not. Own images: experiments/vision/caption_files.py.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.pairs.dual_encoder import WORD_PIECE
from saccade.experiments.translation.base import transformer
from saccade.experiments.translation.seq2seq import BLEU, EXACT, seq2seq


def captioning(
    data: dict[str, Any], side: int, patch: int, vocabulary: int, context_length: int, **size: int
) -> ConfigDict:
    """Return an experiment on square images.

    Args:
        data: the dataset, without its processors.
        side, patch: in pixels.
        size: width, heads and layers of both towers.
    """
    side, patch, vocabulary = FieldReference(side), FieldReference(patch), FieldReference(vocabulary)
    context_length, patches = FieldReference(context_length), side // patch
    model = transformer(
        vocabulary=vocabulary,
        source_context_length=patches * patches,
        context_length=context_length,
        dropout=0.0,
        pre_norm=True,
        **size,
    )
    model['shared_embedding'] = False
    model['encoder'] |= dict(
        embed=dict(use='embed.patch:PatchEmbedding', patch=patch),
        vocabulary=None,
        embedding_scale=1.0,
        position=dict(use='position.learned_grid:LearnedGrid', rows=patches, columns=patches),
    )
    data = data | dict(
        images=dict(use='data.image.processor:ImageProcessor', size=(side, side), resize=(side, side), convert=True),
        tokenizer=WORD_PIECE | dict(vocabulary=vocabulary),
        context_length=context_length,
    )
    config = seq2seq(model=model, data=data, metrics=[EXACT, BLEU])
    config.task.use = 'task.captioning:Captioning'
    return config


def get_config() -> ConfigDict:
    data = dict(use='data.synthetic.shapes:Shapes', train=10_000, validation=200, unseen=200, seed=0)
    config = captioning(data, side=32, patch=4, vocabulary=320, context_length=16, width=64, heads=4, layers=2)
    config.steps = 1500
    config.schedule.peak = 3e-3
    return config
