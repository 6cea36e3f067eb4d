# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Zero-shot image classification by the names of the classes, with a run on images and captions (CLIP, SigLIP).

python launch/zero_shot.py --workdir=runs/clip --image=a.png --classes="a red square,a blue circle"
python launch/zero_shot.py --workdir=runs/clip --split=unseen
python launch/zero_shot.py --init_from=FOLDER_OF_CLIP --folder=photos --template="a photo of a {}."

A template is a prompt with {} for the class; the embeddings of several prompts are averaged. --folder, with a folder of
images for each class, and --split, of the run's data, measure the accuracy. The classes are then the names of the
folders or of the data, unless --classes is given.
"""

import json
import sys
from typing import TYPE_CHECKING

from absl import flags

from saccade.decode.batches import COMPARED
from saccade.nearest import listed
from saccade.paths import expanded
from saccade.train.process.given import CHECKPOINTS, DTYPES, refuse_given, require_content, require_files
from saccade.train.process.main import run_main
from saccade.train.process.terminal import printable
from saccade.types import UserError

if TYPE_CHECKING:
    import numpy as np

    from saccade.data.image.rows import ImageFiles, ImageSource
    from saccade.decode.zero_shot import ZeroShot

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'A run, a Hugging Face directory or hf:ORG/NAME; or --workdir.')
DTYPE = flags.DEFINE_enum('dtype', 'float32', DTYPES, 'Type of the parameters and of the computation.')
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Checkpoint, or the mean of the last checkpoints.')
IMAGE = flags.DEFINE_multi_string('image', [], 'A file with an image; may be repeated.')
FOLDER = flags.DEFINE_string('folder', None, 'Folder with a folder of images for each class, instead of --image.')
SPLIT = flags.DEFINE_string('split', None, "Split of the run's data, such as validation, instead of --image.")
CLASSES = flags.DEFINE_list('classes', None, 'Names of the classes, separated by commas.')
TEMPLATE = flags.DEFINE_multi_string('template', ['{}'], 'A prompt with {} for the class; may be repeated.')
BATCH = flags.DEFINE_integer('batch', COMPARED, 'Batch size.', 1)
TOP = flags.DEFINE_integer('top', 3, 'Number of classes to show per image.', 1)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object per image, or one with the accuracy.')


def main(overrides: list[str]) -> None:
    """Print the class of each image, or the accuracy on images with a known class.

    Raises:
        UserError: overrides are given, not exactly one model and one source of images is given, or a flag is empty or
            has no effect.
    """
    from saccade.data.image.rows import ImageFiles
    from saccade.train.zero_shot import open_zero_shot

    if overrides:
        raise UserError(f"'{overrides[0]}': a model reads with its training config")
    require_content(IMAGE, CLASSES, TEMPLATE)
    if bool(WORKDIR.value) == bool(INIT_FROM.value):
        raise UserError('give either --workdir, the folder of a run, or --init_from, a run or a Hugging Face directory')
    if sum(map(bool, (IMAGE.value, FOLDER.value, SPLIT.value))) != 1:
        raise UserError('give one of --image=FILE, --folder=FOLDER and --split=validation')
    if not IMAGE.value:
        refuse_given('without --image', TOP)
    if IMAGE.value and not CLASSES.value:
        raise UserError('give --classes="a dog,a cat", the names of the classes')
    require_files(IMAGE)
    path = WORKDIR.value or INIT_FROM.value
    labelled = None if IMAGE.value else _labelled(path)
    zero_shot = open_zero_shot(path, CHECKPOINT.value, BATCH.value, DTYPE.value)
    if labelled:
        _measure(zero_shot, *labelled)
    else:
        _classify(zero_shot, ImageFiles([expanded(path) for path in IMAGE.value]))


def _labelled(path: str) -> tuple['ImageSource', 'np.ndarray', tuple[str, ...]]:
    """Return the images, their class indices, and the names of the classes."""
    from saccade.data.image.folder import images_by_class
    from saccade.train.zero_shot import split_of

    if FOLDER.value:
        images, labels, names = images_by_class(expanded(FOLDER.value))
    else:
        split = split_of(path, SPLIT.value)
        images, labels, names = split.rows.images, split.labels, split.names
    if CLASSES.value and len(CLASSES.value) != len(names):
        raise UserError(
            f'--classes: {len(CLASSES.value)} names given, but there are {len(names)} classes: {listed(names)}'
        )
    given = tuple(CLASSES.value or names)
    if given != names:
        pairs = ', '.join(f'{there}: {name}' for there, name in zip(names, given, strict=True))
        print(printable(f'the names of the classes, in their order: {pairs}'), file=sys.stderr)
    return images, labels, given


def _classify(zero_shot: 'ZeroShot', images: 'ImageFiles') -> None:
    import numpy as np

    texts = zero_shot.classifier(CLASSES.value, TEMPLATE.value)
    logits = zero_shot.logits(zero_shot.images(images), texts)
    shares = zero_shot.probabilities(logits)
    for path, each in zip(images.paths, shares, strict=True):
        best = [(CLASSES.value[number], float(each[number])) for number in np.argsort(-each)[: TOP.value]]
        if JSON.value:
            print(json.dumps({'image': str(path), 'classes': dict(best)}), flush=True)
        else:
            print(printable(f'{path}  ' + ', '.join(f'{name} {share:.3f}' for name, share in best)), flush=True)


def _measure(zero_shot: 'ZeroShot', images: 'ImageSource', labels: 'np.ndarray', names: tuple[str, ...]) -> None:
    import numpy as np

    from saccade.metric.bootstrap import of_mean
    from saccade.types import IGNORED

    texts = zero_shot.classifier(names, TEMPLATE.value)
    logits = zero_shot.logits(zero_shot.images(images), texts)
    known = labels != IGNORED
    if not known.any():
        raise UserError('no image has a known class')
    accuracy = of_mean((logits.argmax(axis=-1) == labels)[known].astype(np.float64))
    if JSON.value:
        interval = [accuracy.low, accuracy.high]
        print(json.dumps({'images': int(known.sum()), 'accuracy': accuracy.value, 'interval': interval}))
        return
    print(f'{known.sum()} images of {len(names)} classes, chance {1 / len(names):.4f}')
    print(f'accuracy        {accuracy.value:.4f} [{accuracy.low:.4f}, {accuracy.high:.4f}]')


if __name__ == '__main__':
    run_main(main)
