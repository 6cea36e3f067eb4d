# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of a model for one text, one pair of texts or one image, with labels for its tokens."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from saccade.data.image.rows import ImageFiles
from saccade.data.pipeline import eval_batches
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.embed import TextLayout
from saccade.decode.greedy import Greedy
from saccade.decode.predict import PlacedRecords
from saccade.decode.translator import Translator
from saccade.embed.patch import PatchEmbedding
from saccade.inside.inspection import first_batches
from saccade.paths import expanded
from saccade.train.experiment import Experiment
from saccade.train.trained import Trained
from saccade.train.translating import pair_frame
from saccade.types import Batch, ImageTextModel, LayerContext, Part, Seq2Seq, UserError

WRITTEN = 'written'  # labels of what a decoder writes at each of its tokens
_SPACE, _NEWLINE = '\N{OPEN BOX}', '\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}'


@dataclass(frozen=True, eq=False)
class Reading:
    """Inputs of a model.

    Attributes:
        arguments: of the model's `apply`, without variables.
        labels: labels of the tokens of each tower, '' for the only one, and of what a decoder writes (WRITTEN).
        method: method to apply; None for `__call__`.
        pixels: the image, with values from 0 to 1; grid of its patches.
    """

    arguments: tuple[Any, ...]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    method: str | None = None
    pixels: Float[np.ndarray, 'rows columns channels'] | None = None
    grid: tuple[int, int] | None = None


def read_text(trained: Trained, text: str, target: str | None = None) -> Reading:
    """Return the inputs of a model for a text.

    Args:
        target: what a sequence-to-sequence model writes; None for its translation.

    Raises:
        UserError: the text has no token, or is longer than the model reads; or the target has no use.
    """
    model, tokenizer = trained.model, trained.tokenizer
    if isinstance(model, Seq2Seq):
        return _pair(trained, text, target)
    if target is not None:
        raise UserError(f'{Part(type(model)).name} reads one text: --target has no use')
    if not hasattr(model, 'context_length') and not isinstance(model, ImageTextModel):
        raise UserError(f'{Part(type(model)).name} has no layers that read a text')
    reader = model.text(parent=None) if isinstance(model, ImageTextModel) else model
    ids = tokenizer.encode(text)
    if not ids:
        raise UserError(f'the text {text!r} has no token')
    layout = TextLayout.of(reader, tokenizer)
    ids = [*layout.begins, *ids, *layout.ends]
    _require_room('text', len(ids), layout.room)
    row = layout.row(ids)
    used = int((row['segments'] > 0).sum())
    tokens, positions, segments, types = (
        row[name][None, :used] for name in ('tokens', 'positions', 'segments', 'types')
    )
    context = LayerContext(positions, segments, types=types)
    labels = _labels(tokenizer, tokens[0].tolist())
    if isinstance(model, ImageTextModel):
        return Reading((tokens, context), {'text': labels}, 'encode_text')
    return Reading((tokens, context), {'': labels})


def read_image(trained: Trained, image: str, workdir: str) -> Reading:
    """Return the inputs of a model for an image.

    Args:
        image: name of a file, or the number of an image in the first batch of the run's validation data.

    Raises:
        UserError: the model reads no patches of images, the file cannot be read, or there is no such number.
    """
    if 'data' not in trained.config:
        raise UserError(f'{workdir} is no run: its images cannot be prepared; fine-tune it, and look at the run')
    experiment = Experiment.of(trained.config)
    patch = next((part['patch'] for part in experiment.model.walk() if part.target is PatchEmbedding), None)
    if patch is None:
        raise UserError(f'{experiment.model.name} reads no patches of images; give --text')
    batch = _validation_image(workdir, int(image)) if image.isdigit() else _image_file(trained, experiment, image)
    pixels = np.asarray(batch['images'][0], np.float64)
    low, high = pixels.min(), pixels.max()
    grid = pixels.shape[0] // patch, pixels.shape[1] // patch
    places = [f'{row},{column}' for row in range(grid[0]) for column in range(grid[1])]
    shown = (pixels - low) / max(high - low, 1e-9)
    if isinstance(trained.model, ImageTextModel):
        return Reading((batch['images'],), {'image': tuple(places)}, 'encode_image', shown, grid)
    arguments = experiment.task().given(trained.model, batch)
    return Reading(arguments, {'': tuple(places)}, None, shown, grid)


def _validation_image(workdir: str, number: int) -> Batch:
    _, _, (batch,) = first_batches(workdir)
    count = len(batch['images'])
    if number >= count:
        raise UserError(f'--image={number}: the first batch of validation data has the images 0 to {count - 1}')
    return {name: value[number : number + 1] for name, value in batch.items()}


def _image_file(trained: Trained, experiment: Experiment, image: str) -> Batch:
    data = experiment.data()
    if isinstance(trained.model, ImageTextModel):
        files = ImageFiles([expanded(image)])
        return {'images': jnp.asarray(trained.processor.images(files[0], files.place(0)))[None]}
    inputs = getattr(data, 'inputs', {})
    if 'image' not in inputs:
        name = Part(type(data)).name
        raise UserError(f'{name} reads no image files; --image=0 is an image of its validation data')
    split = data.unanswered(PlacedRecords([(image, {inputs['image']: image})]), (), trained.processor)
    return next(eval_batches(split, 1))


def label(tokenizer: Tokenizer, number: int | np.integer) -> str:
    """Return the text of a token, with visible spaces; its spelling in the vocabulary where it is no text by itself."""
    text = tokenizer.decode([int(number)])
    shown = tokenizer.token(int(number)) if not text or '\ufffd' in text else text
    return shown.replace(' ', _SPACE).replace('\n', _NEWLINE)


def of_pair(tokenizer: Tokenizer, read: Sequence[int], given: Sequence[int], written: Sequence[int]) -> Reading:
    """Return the inputs of a sequence-to-sequence model.

    Args:
        read: ids of the source, with special tokens.
        given, written: ids that the decoder reads, and that it writes at each of them.
    """
    sides = [np.asarray(ids, np.int32)[None] for ids in (read, given)]
    contexts = [LayerContext(np.arange(ids.shape[1])[None], np.ones(ids.shape, np.int32)) for ids in sides]
    labels = {
        'encoder': _labels(tokenizer.source, read),
        'decoder': _labels(tokenizer, given),
        WRITTEN: _labels(tokenizer, written),
    }
    return Reading((sides[0], contexts[0], sides[1], contexts[1]), labels)


def _pair(trained: Trained, text: str, target: str | None) -> Reading:
    model, tokenizer, frame = trained.model, trained.tokenizer, pair_frame(trained)
    read = frame.read(tokenizer.source.encode(text))
    _require_room('source', len(read), frame.source_context_length)
    if target is None:
        translator = Translator(model, trained.params, tokenizer, frame, Greedy(), rows=1)
        ids = next(translator.translate([text])).ids
    else:
        ids = tokenizer.encode(target)
        _require_room('target', 1 + len(ids), frame.context_length)
    room = frame.context_length  # a text that fills the whole row has no end token
    return of_pair(tokenizer, read, [frame.start, *ids][:room], [*ids, frame.end][:room])


def _labels(tokenizer: Tokenizer, ids: Iterable[int]) -> tuple[str, ...]:
    return tuple(map(partial(label, tokenizer), ids))


def _require_room(what: str, count: int, room: int) -> None:
    if count > room:
        raise UserError(f'the {what} has {count} tokens with its special ones, and the model reads at most {room}')
