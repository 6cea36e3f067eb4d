# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of a model for one text, one pair of texts or one image, with labels for its tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from saccade.data.pipeline import eval_batches
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.embed import TextLayout
from saccade.decode.predict import PlacedRecords
from saccade.embed.patch import PatchEmbedding
from saccade.train.experiment import Experiment
from saccade.train.trained import Trained
from saccade.types import ImageTextModel, LayerContext, Part, Seq2Seq, UserError

_SPACE = '\N{OPEN BOX}'


@dataclass(frozen=True, eq=False)
class Reading:
    """Inputs of a model.

    Attributes:
        arguments: of the model's `apply`, without variables.
        labels: labels of the tokens of each tower, '' for the only one.
        method: method to apply; None for `__call__`.
        pixels: the image, with values from 0 to 1; grid of its patches.
    """

    arguments: tuple[Any, ...]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    method: str | None = None
    pixels: Float[np.ndarray, 'rows columns channels'] | None = None
    grid: tuple[int, int] | None = None


def read_text(trained: Trained, text: str, target: str | None = None, frame: PairFrame | None = None) -> Reading:
    """Return the inputs of a model for a text.

    Args:
        target: what a sequence-to-sequence model writes.
        frame: layout of its rows, from its data; None for that of its tokenizer.

    Raises:
        UserError: the text has no token, or is longer than the model reads; or the target is missing or has no use.
    """
    model, tokenizer = trained.model, trained.tokenizer
    if isinstance(model, Seq2Seq):
        return _pair(model, tokenizer, text, target, frame)
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
    labels = tuple(map(partial(label, tokenizer), tokens[0]))
    if isinstance(model, ImageTextModel):
        return Reading((tokens, context), {'text': labels}, 'encode_text')
    return Reading((tokens, context), {'': labels})


def read_image(trained: Trained, path: str) -> Reading:
    """Return the inputs of a model for an image file.

    Raises:
        UserError: the model reads no patches of images, or the file cannot be read.
    """
    experiment = Experiment.of(trained.config)
    patch = next((part['patch'] for part in experiment.model.walk() if part.target is PatchEmbedding), None)
    data = experiment.data()
    inputs = getattr(data, 'inputs', {})
    if patch is None or 'image' not in inputs:
        raise UserError(f'{experiment.model.name} reads no patches of image files; give --text')
    split = data.unanswered(PlacedRecords([(path, {inputs['image']: path})]), (), trained.processor)
    batch = next(eval_batches(split, 1))
    pixels = np.asarray(batch['images'][0], np.float64)
    low, high = pixels.min(), pixels.max()
    grid = pixels.shape[0] // patch, pixels.shape[1] // patch
    places = [f'{row},{column}' for row in range(grid[0]) for column in range(grid[1])]
    shown = (pixels - low) / max(high - low, 1e-9)
    if isinstance(trained.model, ImageTextModel):
        return Reading((batch['images'],), {'image': tuple(places)}, 'encode_image', shown, grid)
    arguments = experiment.task().given(trained.model, batch)
    return Reading(arguments, {'': tuple(places)}, None, shown, grid)


def label(tokenizer: Tokenizer, number: int) -> str:
    """Return the text of a token, with visible spaces; its spelling in the vocabulary where it is no text by itself."""
    text = tokenizer.decode([number])
    return (tokenizer.token(number) if not text or '\ufffd' in text else text).replace(' ', _SPACE)


def _pair(model: Seq2Seq, tokenizer: Tokenizer, text: str, target: str | None, frame: PairFrame | None) -> Reading:
    if target is None:
        raise UserError('a sequence-to-sequence model also reads what it writes: give --target=TEXT')
    lengths = model.source_context_length, model.context_length
    frame = PairFrame.of(tokenizer, *lengths) if frame is None else frame
    read, written = frame.read(tokenizer.source.encode(text)), [frame.start, *tokenizer.encode(target)]
    _require_room('source', len(read), lengths[0])
    _require_room('target', len(written), lengths[1])
    sides = [np.asarray(ids, np.int32)[None] for ids in (read, written)]
    contexts = [LayerContext(np.arange(ids.shape[1])[None], np.ones(ids.shape, np.int32)) for ids in sides]
    labels = {
        'encoder': tuple(label(tokenizer.source, number) for number in read),
        'decoder': tuple(label(tokenizer, number) for number in written),
    }
    return Reading((sides[0], contexts[0], sides[1], contexts[1]), labels)


def _require_room(what: str, count: int, room: int) -> None:
    if count > room:
        raise UserError(f'the {what} has {count} tokens with its special ones, and the model reads at most {room}')
