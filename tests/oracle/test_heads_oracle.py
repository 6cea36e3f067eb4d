# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loaded classifiers of decoders, of T5 and of dual encoders against transformers itself: scores of padded rows."""

import inspect
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_hub_keys_oracle import CASES, images, random_model
from theirs import torch

from saccade.build import build
from saccade.hub.family import find_family
from saccade.hub.load import load
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-4  # greatest difference of a score
LEAST_SPREAD = 0.1  # standard deviation of the scores, compared with which the tolerance is small
END = 13  # ends a text for T5
# Padding on the left and on the right; token 0 is padding.
TOKENS = np.array([[0, 0, 5, 17, 28, END], [2, 30, 19, END, 0, 0], [3, 8, 8, 21, 4, END]])
PRESENT = (TOKENS != 0).astype(int)
POSITIONS = np.maximum(np.cumsum(PRESENT, axis=1) - 1, 0)
FAMILIES = {
    architecture: name
    for name in CASES
    if find_family(name).architecture
    for architecture in find_family(name).heads
}  # fmt: skip


def model_of(architecture: str) -> Any:
    """A random model of transformers with a head; or a decoder without an output layer, which no embedding gives it."""
    name = FAMILIES[architecture]
    changes = {} if architecture.endswith('ForQuestionAnswering') else {'num_labels': 5}
    if architecture.endswith('Model') and find_family(name).template['use'] == 'model.decoder:Decoder':
        changes['tie_word_embeddings'] = False
    return random_model(replace(CASES[name], name=architecture), CASES[name].config({'eos_token_id': END, **changes}))


def scores(output: Any) -> np.ndarray:
    """Scores of classes, of each text or of each token; of a trunk alone, its hidden states."""
    if 'start_logits' in output:
        return torch.stack([output.start_logits, output.end_logits], dim=-1).numpy()
    return (output.logits if 'logits' in output else output.last_hidden_state).numpy()


def theirs_of(model: Any, rows: slice) -> np.ndarray:
    read = inspect.signature(model.forward).parameters
    given = {'input_ids': TOKENS, 'attention_mask': PRESENT, 'position_ids': POSITIONS}
    tensors = {name: torch.tensor(value[rows]) for name, value in given.items() if name in read}
    if 'pixel_values' in read:
        tensors = {'pixel_values': torch.tensor(images(model.config)).permute(0, 3, 1, 2)}
    with torch.no_grad():
        return scores(model(**tensors))


@pytest.mark.parametrize('architecture', FAMILIES)
def test_scores_are_those_of_transformers(architecture, tmp_path, record_property):
    theirs = model_of(architecture)
    theirs.save_pretrained(tmp_path)
    found = load(tmp_path)
    model, params = build(found.spec)(), {'params': found.params}
    # The decoder of theirs that reads a text again reads padding on the left too.
    rows = slice(1, None) if found.spec['use'] == 'model.reread:Reread' else slice(None)
    context = LayerContext(jnp.asarray(POSITIONS[rows]), jnp.asarray(PRESENT[rows]))
    inputs, real = jnp.asarray(TOKENS[rows]), PRESENT[rows] != 0
    if 'vision_config' in theirs.config:
        inputs, context, real = jnp.asarray(images(theirs.config)), LayerContext(jnp.zeros((2, 1), int)), ...
    wanted = theirs_of(theirs, rows)
    if model.heads:
        ((name, ours),) = jax.jit(model.apply)(params, inputs, context).items()
    else:
        name, ours = 'hidden', model.apply(params, inputs, context, False, method='encode')[0]
    real = ... if name == 'pooled' else real
    assert wanted.std() > LEAST_SPREAD
    assert ours.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(ours)[real], wanted[real], atol=TOLERANCE, rtol=0)
    record_property(f'{FAMILIES[architecture]} in', float(np.abs(ours - wanted)[real].max()))
