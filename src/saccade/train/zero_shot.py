# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Open a dual encoder of a run or of a Hugging Face directory, for zero-shot classification."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from saccade.build import build
from saccade.data.caption.captioned_base import CaptionSplit
from saccade.data.caption.frame import CaptionFrame
from saccade.data.image.tokenizer import open_tokenizer_and_images
from saccade.decode.zero_shot import ZeroShot
from saccade.hub import load as hub
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.trained import is_hub, open_run, require_latest
from saccade.train.workdir import Workdir, absolute
from saccade.types import ImageTextModel, Part, UserError


@dataclass(frozen=True)
class Opened:
    """Opened dual encoder. Attributes: zero_shot, the classifier; path, of the run or of the directory."""

    zero_shot: ZeroShot
    path: str

    def split(self, name: str) -> CaptionSplit:
        """Return a split of the data of a run.

        Raises:
            UserError: it is no run, or its data have no such split.
        """
        if is_hub(self.path):
            raise UserError(f'--split={name}: {self.path} is a Hugging Face directory, which has no data')
        data = Experiment.of({**Workdir.existing(self.path).read_config(), 'logging': []}).data()
        splits = data.prepare(cache_folder(), self.zero_shot.processor).splits
        if name not in splits:
            raise UserError(f'--split={name}: the data of {self.path} have no such split, but {", ".join(splits)}')
        return splits[name]


def open_zero_shot(path: str, which: str, rows: int) -> Opened:
    """Open a run or a Hugging Face directory.

    Args:
        which: checkpoint of a run, as in `train.trained.CHECKPOINTS`.
        rows: images or prompts that are read at once.

    Raises:
        UserError: there is neither, its model compares no images with texts, or it has no processor for both.
    """
    if is_hub(path):
        require_latest(path, which)
        found = hub.load(path)
        model, params = build(found.spec, 'model')(), jax.tree.map(jnp.asarray, found.params)
        processor, length = open_tokenizer_and_images(absolute(path)), model.context_length
    else:
        trained = open_run(path, which)
        model, params, processor = trained.model, trained.params, trained.processor
        length = Experiment.of(trained.config).data().context_length
    if not isinstance(model, ImageTextModel):
        raise UserError(f'{path}: {Part(type(model)).name} compares no images with texts; a dual encoder does')
    if processor is None:
        raise UserError(f'{path}: preprocessor_config.json or tokenizer.json is missing; images and texts need both')
    return Opened(ZeroShot(model, params, processor, CaptionFrame.of(processor, length), rows), path)
