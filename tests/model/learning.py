# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Models that learn from rows drawn anew at each step: what tests of claims about learning share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from saccade.build import build
from saccade.decode.greedy import Greedy
from saccade.task.translation import Translation
from saccade.types import Part

END = 0  # begins what is written, and ends both

AT_ONCE = 100  # steps between two looks at how far it has come
EXAMINED = 500  # rows
# Tests compile for speed of compiling; what then runs for a minute is worth more.
OPTIMIZED = {'xla_backend_optimization_level': 3}
if version('jaxlib').startswith('0.10.'):  # tests switch it off; later ones have no such option
    OPTIMIZED['xla_cpu_use_fusion_emitters'] = True

Draw = Callable[[jax.Array, int], Mapping[str, jax.Array]]


def recurrent(decoder, width, bidirectional, **sizes):
    """A recurrent model of one layer of LSTM cells on either side, all of this width."""
    cells = {'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': width}, 'layers': 1}
    given = {
        'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq',
        'width': width,
        'encoder': {'use': 'recurrent.encoder:Encoder', 'bidirectional': bidirectional, **cells},
        'bridge': {'use': 'recurrent.decoder.projected:Projected'},
        'decoder': decoder | cells,
        'tied': True,
    }
    return build(given | sizes)()


def framed(read, written):
    """A batch of symbols that are read, and that are written; below 0 there is none."""

    def ended(symbols):
        """Each row with an end after its symbols, and which of it are tokens."""
        padded = jnp.pad(symbols, ((0, 0), (0, 1)), constant_values=-1)
        count = (padded >= 0).sum(axis=1, keepdims=True)
        place = jnp.arange(padded.shape[1])[None]
        return jnp.where(place < count, padded, END), (place <= count).astype(jnp.int32)

    (source, reads), (targets, writes) = ended(read), ended(written)
    first = ((0, 0), (1, 0))
    tokens, segments = jnp.pad(targets, first, constant_values=END), jnp.pad(writes, first, constant_values=1)
    return {
        'source': source,
        'source_segments': reads,
        'source_positions': jnp.broadcast_to(jnp.arange(source.shape[1]), source.shape),
        'tokens': tokens,
        'segments': segments,
        'positions': jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape),
    }


class Learned(NamedTuple):
    """What new rows show, each token given those before it. Attributes: shares of the rows without a mistake, which are
    written so, and of the tokens that are right.
    """

    rows: float
    tokens: float


@dataclass(frozen=True)
class Lesson:
    """Attributes: draw, so many rows; rows and peak learning rate of a step; steps at most; enough, to end before."""

    draw: Draw
    rows: int
    steps: int
    peak: float
    enough: Callable[[Learned], bool]

    def taught(self, model) -> Learned:
        """What a model has learned by the end."""
        task, examination = Translation(Part(Greedy), ()), self.draw(jax.random.key(1), EXAMINED)
        rates = optax.warmup_cosine_decay_schedule(0.0, self.peak, self.steps // 10, self.steps)
        optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rates, b2=0.98))

        @partial(jax.jit, compiler_options=OPTIMIZED)
        def learn(params, state, key):
            def loss(params, key):
                of_rows, of_choices = jax.random.split(key)
                return task.loss(model, params, self.draw(of_rows, self.rows), of_choices, True)['loss'].mean()

            def step(carry, key):
                params, state = carry
                updates, state = optimizer.update(jax.grad(loss)(params, key), state, params)
                return (optax.apply_updates(params, updates), state), None

            return jax.lax.scan(step, (params, state), jax.random.split(key, AT_ONCE))[0]

        @jax.jit
        def examined(params):
            alone = jax.tree.map(lambda leaf: leaf[:, None], examination)
            hits = jax.vmap(lambda row: task.loss(model, params, row, jax.random.key(0), False)['accuracy'])(alone)
            return (hits.total >= hits.weight).mean(), hits.total.sum() / hits.weight.sum()

        params = task.init(model, jax.random.key(0), examination)
        state, found = optimizer.init(params), Learned(0.0, 0.0)
        for turn in range(self.steps // AT_ONCE):
            params, state = learn(params, state, jax.random.fold_in(jax.random.key(2), turn))
            found = Learned(*map(float, examined(params)))
            if self.enough(found):
                break
        return found
