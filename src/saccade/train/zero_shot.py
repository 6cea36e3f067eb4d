# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Open a dual encoder of a run or of a Hugging Face directory, for zero-shot classification."""

from saccade.build import build
from saccade.data.caption.captioned_base import CaptionSplit
from saccade.data.caption.frame import CaptionFrame
from saccade.data.image.tokenizer import open_tokenizer_and_images
from saccade.decode.zero_shot import ZeroShot
from saccade.hub import load as hub
from saccade.hub.download import local
from saccade.train.digests import prepare_other
from saccade.train.experiment import Experiment
from saccade.train.trained import config_of, is_hub, open_trained, require_latest
from saccade.train.workdir import Workdir, absolute
from saccade.types import ImageTextModel, Model, Part, UserError


def split_of(path: str, name: str) -> CaptionSplit:
    """Return a split of the data of a run; the model is not read yet.

    Raises:
        UserError: the path is not a run, or its data have no such split.
    """
    if is_hub(path):
        raise UserError(f'--split={name}: {path} is a Hugging Face directory, which has no data')
    workdir = Workdir.existing(path)
    experiment = Experiment.of(config_of(workdir))
    _require_image_text(experiment.model(), path)
    splits = prepare_other(workdir, experiment).splits
    if name not in splits:
        raise UserError(f'--split={name}: the data of {path} have no such split; they have {", ".join(splits)}')
    return splits[name]


def open_zero_shot(path: str, which: str, rows: int, dtype: str) -> ZeroShot:
    """Open a run or a Hugging Face directory.

    Args:
        which: checkpoint of a run, as in `train.process.given.CHECKPOINTS`.
        rows: images or prompts in a batch.
        dtype: of the parameters.

    Raises:
        UserError: the path is neither, the model does not compare images with texts, or it lacks a processor for both.
    """
    if is_hub(path):
        require_latest(path, which)
        found = hub.load(path, dtype=dtype)
        model, params = build(found.spec, 'model')(), found.params
        processor, length = open_tokenizer_and_images(absolute(local(path))), model.context_length
    else:
        trained = open_trained(path, which=which, dtype=dtype)
        model, params, processor = trained.model, trained.params, trained.processor
        length = Experiment.of(trained.config).data().context_length
    _require_image_text(model, path)
    if processor is None:
        raise UserError(f'{path}: preprocessor_config.json or tokenizer.json is missing; images and texts need both')
    return ZeroShot(model, params, processor, CaptionFrame.of(processor, length), rows)


def _require_image_text(model: Model, path: str) -> None:
    if not isinstance(model, ImageTextModel):
        raise UserError(f'{path}: {Part(type(model)).name} does not compare images with texts; a dual encoder does')
