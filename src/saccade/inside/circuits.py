# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Lens, ablation and patching: what layers, heads and tokens contribute to what a model says.

Logit lens: the final norm and the projection to the vocabulary applied to the residual stream after each layer
(nostalgebraist 2020, https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru). Ours sets the output of the last layer to that
of an earlier one, so the model's own last steps are run.

Ablation: the loss without a head (Michel et al. 2019, "Are Sixteen Heads Really Better than One?",
https://arxiv.org/abs/1905.10650), its output set to zero or to its mean over the batch.

Patching: a run on a corrupted text in which one activation comes from a run on a clean text (Meng et al. 2022, ROME,
section 2, https://arxiv.org/abs/2202.05262; Wang et al. 2022, https://arxiv.org/abs/2211.00593).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.inside.activations import Inside, Place
from saccade.inside.grid import Grid
from saccade.inside.interventions import Change, edits_of
from saccade.inside.reading import WRITTEN, Reading, label
from saccade.task.base import Forward, TaskBase
from saccade.types import Batch, Params, Part, Total, UserError

_AFTER, _BEFORE, _HEADS = '.residual_after', '.residual_before', '.heads'


def logit_lens(
    inside: Inside, reading: Reading, tokenizer: Tokenizer, maps: Callable[[Array], Array] | None = None
) -> Grid:
    """Return the token that each layer would predict at each token, and its probability.

    Args:
        maps: function of the residual stream at all layers, [R B T D], of the tuned lens (`tuned_lens.py`).

    Raises:
        UserError: the model predicts no tokens.
    """
    names = residual_streams(inside.places)
    output, found = inside.run(names)
    _logits(inside, output)
    states = jnp.stack([found[name] for name in names])
    rows, texts = [], []
    for state in states if maps is None else maps(states):
        edits = edits_of(inside.places, {names[-1]: state})
        logits = _logits(inside, inside.run((), edits)[0])[0]
        shares = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
        best = logits.argmax(axis=-1)
        rows.append(shares[np.arange(len(best)), best])
        texts.append([f'{label(tokenizer, number)} {share:.2f}' for number, share in zip(best, rows[-1], strict=True)])
    layers = ('embedded', *(name.removesuffix(_AFTER) for name in names[1:]))
    title = 'Logit lens' if maps is None else 'Tuned lens'
    what = 'probability of the most probable token after each layer'
    return Grid(title, what, layers, _tokens(reading), np.array(rows), columns_are='token read', texts=texts)


def ablate(task: TaskBase, model: Any, params: Params, batches: Sequence[Batch], value: float | str = 0.0) -> Grid:
    """Return the rise of the loss, in nats, when the output of one head is replaced.

    Args:
        batches: of validation data.
        value: what replaces it, 0.0 or 'mean'.

    Raises:
        UserError: the model has no heads.
    """
    inside = Inside(model, params, task.inputs(model, jax.random.key(0), batches[0]))
    names = [name for name in inside.places if name.endswith(_HEADS)]
    if not names:
        raise UserError(f'{Part(type(model)).name}: no layer has attention heads')

    def loss(edits: PyTree) -> float:
        found = [_loss(task, model, params, batch, edits) for batch in batches]
        totals, weights = (sum(map(np.float64, of)) for of in zip(*found, strict=True))
        return float(Total(totals, weights).mean())

    whole = loss(edits_of(inside.places, {f'{names[0]}.0': Change(0.0, add=True)}))
    most = max(_count(inside.places[name]) for name in names)
    rises = np.full((len(names), most), np.nan)
    for row, name in enumerate(names):
        for head in range(_count(inside.places[name])):
            rises[row, head] = loss(edits_of(inside.places, {f'{name}.{head}': value})) - whole
    replaced = 'set to zero' if value == 0.0 else 'replaced by its mean over the batch'
    layers = tuple(name.removesuffix(_HEADS) for name in names)
    what = f'rise of the loss of {whole:.3f} nats when a head is {replaced} [nats]'
    return Grid('Ablation of heads', what, layers, tuple(map(str, range(most))), rises)


def patch(clean: Inside, corrupted: Inside, reading: Reading, answers: tuple[int, int] | None = None) -> list[Grid]:
    """Return, by layer and token and by layer and head, how much of the clean answer a clean activation restores.

        restored = (d - d_corrupted) / (d_clean - d_corrupted),    d = logit(answer) - logit(other) at the last token

    Args:
        reading: of the corrupted text.
        answers: the answer and the other token; None for the most probable tokens of the two runs.

    Raises:
        UserError: the texts have different numbers of tokens, the same answer, or equal logits of the answers.
    """
    shapes = [jax.tree.map(np.shape, inside.arguments) for inside in (clean, corrupted)]
    if shapes[0] != shapes[1]:
        raise UserError('--clean and --corrupted need the same number of tokens: change one word for another')
    streams = _of_last_tower(clean.places, _AFTER)
    heads = [name for name in clean.places if name.endswith(_HEADS)]
    first, kept = clean.run([*streams, *heads])
    ends = [_logits(inside, output)[0, -1] for inside, output in ((clean, first), (corrupted, corrupted.run()[0]))]
    answer, other = (int(end.argmax()) for end in ends) if answers is None else answers
    if answer == other:
        raise UserError('both texts have the same answer: give texts whose next tokens differ, or --answers=A,B')
    low, high = (float(end[answer] - end[other]) for end in reversed(ends))
    if low == high:
        raise UserError('both texts give the answers the same logits: change a word that the last token reads')

    def restored(name: str, change: Any) -> float:
        end = _logits(corrupted, corrupted.run((), edits_of(corrupted.places, {name: change}))[0])[0, -1]
        return (float(end[answer] - end[other]) - low) / (high - low)

    tokens = _tokens(reading)
    by_token = [[restored(name, Change(kept[name], tokens=[at])) for at in range(len(tokens))] for name in streams]
    what = 'share of the clean answer that a clean activation restores: 0 as corrupted, 1 as clean'
    layers = tuple(name.removesuffix(_AFTER) for name in streams)
    grids = [Grid('Residual stream, by token', what, layers, tokens, np.array(by_token), columns_are='token')]
    if heads:
        most = max(_count(clean.places[name]) for name in heads)
        by_head = np.full((len(heads), most), np.nan)
        for row, name in enumerate(heads):
            for head in range(_count(clean.places[name])):
                full = f'{name}.{head}'
                by_head[row, head] = restored(full, kept[full])
        layers = tuple(name.removesuffix(_HEADS) for name in heads)
        grids.append(Grid('Output of a head, at all tokens', what, layers, tuple(map(str, range(most))), by_head))
    return grids


@partial(jax.jit, static_argnums=(0, 1))
def _loss(task: TaskBase, model: Any, params: Params, batch: Batch, edits: PyTree) -> tuple[Array, Array]:
    forward = Forward(model, params, edits=edits)
    total = task.with_reports(task.totals(forward, batch), forward)['loss']
    return total.total, total.weight


def _of_last_tower(places: Mapping[str, Place], ending: str) -> list[str]:
    """Return the activations with this ending of the stack whose output is predicted from."""
    names = [name for name in places if name.endswith(ending)]
    if not names:
        raise UserError('this model has no stack of layers')
    tower = names[-1].partition('layers.')[0]
    return [name for name in names if name.partition('layers.')[0] == tower]


def residual_streams(places: Mapping[str, Place]) -> list[str]:
    """Return the residual stream before the first layer and after each layer of the stack that is predicted from.

    Raises:
        UserError: the model has no stack of layers.
    """
    after = _of_last_tower(places, _AFTER)
    return [after[0].removesuffix(_AFTER) + _BEFORE, *after]


def logits_of(model: Any, output: Any) -> Float[Array, 'B T V']:
    """Return the logits of a model's output: a language model's, or of an encoder's head `masked`.

    Raises:
        UserError: the model predicts no tokens.
    """
    found = output.get('masked') if isinstance(output, Mapping) else output
    if getattr(found, 'ndim', None) != 3:
        raise UserError(f'{Part(type(model)).name} predicts no tokens: no logits, and no head named masked')
    return found


def _logits(inside: Inside, output: Any) -> Float[np.ndarray, 'B T V']:
    return np.asarray(logits_of(inside.model, output), np.float32)


def _tokens(reading: Reading) -> tuple[str, ...]:
    return next(reading.labels[tower] for tower in (WRITTEN, 'decoder', '') if tower in reading.labels)


def _count(place: Place) -> int:
    return place.shape[place.axis('N')]
