# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of masked-LM training: the peer's BERT as one of ours, its weights and its masks."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks import our_training
from benchmarks.size import masked_rows
from saccade.build import build
from saccade.hub.load import load
from saccade.ops.masking import Chosen
from saccade.task.masked_lm import MaskedLM
from saccade.types import Batch, Params, PRNGKey


class Given(MaskedLM):
    """Masked language modelling on masks that the batch brings along."""

    def hide(self, key: PRNGKey, batch: Batch, vocabulary: int) -> tuple[Any, Chosen]:
        """Return the batch's own masked tokens, and the places that are predicted."""
        return batch['hidden'], Chosen(batch['at'], jnp.ones(batch['at'].shape))


class Training(our_training.Training):
    """Training steps of our BERT on masked tokens."""

    task = Given()

    def _read(self, folder: Path) -> tuple[Any, Params]:
        pretrained = load(folder)
        spec = pretrained.spec | {'run': {'use': f'model.stack:{self._run.capitalize()}'}}
        return build(spec, 'model')(), jax.tree.map(jnp.asarray, pretrained.params)

    def _batch(self, number: int) -> Batch:
        made = {name: jnp.asarray(array, jnp.int32) for name, array in masked_rows(self._size, number).items()}
        tokens = made['tokens']
        positions = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
        return {**made, 'segments': jnp.ones_like(tokens), 'positions': positions, 'types': jnp.zeros_like(tokens)}
