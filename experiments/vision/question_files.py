# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Visual question answering on your own images: the answer is a span of the text that accompanies an image.

    {"image": "a.png", "question": "What is the sign?", "context": "Stop signs and crossings", "answer": "Stop signs"}

    python launch/train.py --config=experiments/vision/question_files.py --workdir=runs/mine \\
        --config.data.path=FILE.jsonl
    python launch/predict.py --workdir=runs/mine --image=a.png --question="What is the sign?" --context="Stop signs ..."

A file has one object per line. Paths of images are relative to the folder of the file. Images are scaled and cropped to
224 by 224 pixels. A tenth of the images is held out, or give a folder with train.jsonl and validation.jsonl. Training
is from scratch, for which a few thousand questions are few. For accelerators. Needs the extra `vision`.
"""

from ml_collections import ConfigDict
from saccade.experiments.vision.question_base import image_and_text


def get_config() -> ConfigDict:
    config = image_and_text(steps=20_000, image=224, patch=16, text=128, vocabulary=8192, width=256, layers=6, heads=8)
    config.data.update(
        use='data.image.question_files:ImageQuestionFiles',
        path='questions.jsonl',
        stride=48,
        longest_question=32,
        validation=0.1,
    )
    config.data.images.update(resize=256, convert=True)
    return config
