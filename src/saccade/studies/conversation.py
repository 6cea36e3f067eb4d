# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of a conversation: an encoder-decoder that re-encodes the transcript each turn, and a decoder with a KV cache.

    encoder-decoder     turn k encodes k (m + r) - r tokens, then decodes r: k^2 over the conversation
    cached decoder      turn k prefills m tokens, then decodes r: k over the conversation

where each turn has m tokens of input and r tokens of reply. Both models have the same number of layers and width. The
cache has the capacity of the whole conversation from the first turn on, so a decoding step costs the same at each turn.
FLOPs are counted in the jaxpr of the timed functions.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.analysis.report.figures import MeasurementReport, Table, exponent
from saccade.build import build
from saccade.decode.loop import stepper
from saccade.ops.flops import flops
from saccade.studies.chart import Chart, Claim
from saccade.types import LayerContext, Params, State, UserError

VOCABULARY, WIDTH, LAYERS = 256, 128, 4  # total number of layers
SAID, REPLIED = 32, 32  # m and r, in tokens

Heard = Int[Array, '1 T']


@dataclass(frozen=True)
class Turns:
    """Cost of each turn of a conversation. Attributes: FLOPs and milliseconds of each turn."""

    flops: list[int]
    milliseconds: list[float]


def conversation(turns: int = 8, rounds: int = 3) -> Claim:
    """Count FLOPs and time of each turn of a conversation, with both models.

    Raises:
        UserError: there are fewer than two turns.
    """
    if turns < 2:
        raise UserError(f'--turns={turns}: growth needs at least 2')
    found = {'encoder-decoder': _rereading(turns, rounds), 'cached decoder': _going_on(turns, rounds)}
    names, so_far = tuple(found), range(1, turns + 1)
    rows = [
        (
            f'{turn + 1}',
            *(f'{each.flops[turn] / 1e6:,.1f}' for each in found.values()),
            *(f'{each.milliseconds[turn]:,.2f}' for each in found.values()),
        )
        for turn in range(turns)
    ]
    columns = ('turn', *(f'{name}, MFLOPs' for name in names), *(f'{name}, ms' for name in names))
    title = f'Cost of a turn of {SAID} input and {REPLIED} reply tokens; {LAYERS} layers of width {WIDTH}'
    sums = {name: [sum(each.flops[:turn]) for turn in so_far] for name, each in found.items()}
    grown = {name: exponent(so_far, values) for name, values in sums.items()}
    note = 'FLOPs of a conversation of k turns: ' + '; '.join(f'{name} ~ k^{grown[name]:.2f}' for name in names)
    figures = {'turns': turns, 'models': {name: vars(each) for name, each in found.items()}, 'exponents': grown}
    report = MeasurementReport('conversation', figures, (Table(title, columns, rows),), (note,))
    return Claim(report, Chart('turns', 'FLOPs of the conversation', so_far, sums))


def _rereading(turns: int, rounds: int) -> Turns:
    model = build(_encoder_decoder(turns * (SAID + REPLIED)))()

    def turn(params: Params, transcript: Heard) -> Heard:
        state = model.apply({'params': params}, transcript, _context(transcript), REPLIED, method='encode')
        return _reply(stepper(model, params), transcript[:, -1:], state)[0]

    one, context = jnp.ones((1, 1), jnp.int32), _context(jnp.ones((1, 1), jnp.int32))
    params = model.init(jax.random.key(0), one, context, one, context, False)['params']
    heard = [jnp.ones((1, count * (SAID + REPLIED) - REPLIED), jnp.int32) for count in range(1, turns + 1)]
    return Turns(
        [flops(turn, params, transcript) for transcript in heard],
        [_milliseconds(jax.jit(turn), rounds, params, transcript) for transcript in heard],
    )


def _going_on(turns: int, rounds: int) -> Turns:
    capacity = turns * (SAID + REPLIED)
    spec = {'use': 'model.decoder:Decoder', 'block': _block('Causal'), 'tied': True, **_tower(capacity, LAYERS)}
    model = build(spec)()

    def turn(params: Params, said: Heard, state: State) -> tuple[Heard, State]:
        step = stepper(model, params)
        _, state = step(said[:, :-1], jnp.ones_like(said[:, :-1]), state)
        return _reply(step, said[:, -1:], state)

    said = jnp.ones((1, SAID), jnp.int32)
    params = model.init(jax.random.key(0), said, _context(said), False)['params']
    state = model.apply({'params': params}, said, capacity, method='init_state')
    compiled, found = jax.jit(turn), Turns([], [])
    for _ in range(turns):
        found.flops.append(flops(turn, params, said, state))
        found.milliseconds.append(_milliseconds(compiled, rounds, params, said, state))
        _, state = compiled(params, said, state)
    return found


def _reply(step: Callable, newest: Int[Array, '1 1'], state: State) -> tuple[Heard, State]:
    """Decode REPLIED tokens greedily; the last one is not added to the state."""

    def write(carry: tuple[Array, State], _: None) -> tuple[tuple[Array, State], Array]:
        logits, state = step(carry[0], jnp.ones((1, 1), jnp.int32), carry[1])
        newest = logits[:, -1:].argmax(axis=-1).astype(jnp.int32)
        return (newest, state), newest[:, 0]

    (_, state), written = jax.lax.scan(write, (newest, state), None, length=REPLIED)
    return written.T, state


def _milliseconds(run: Callable[..., Any], rounds: int, *given: Any) -> float:
    """Return the median over the rounds, without the first run, which compiles."""
    taken = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        jax.block_until_ready(run(*given))
        taken.append(1000 * (time.perf_counter() - start))
    return median(taken[1:])


def _context(tokens: Heard) -> LayerContext:
    return LayerContext(jnp.arange(tokens.shape[1])[None], jnp.ones(tokens.shape, jnp.int32))


def _encoder_decoder(context: int) -> dict[str, Any]:
    sizes = _tower(context, LAYERS // 2)
    return {
        'use': 'model.encoder_decoder:EncoderDecoder',
        'encoder': {'use': 'model.encoder:Encoder', 'block': _block('Full'), **sizes},
        'decoder': {
            'use': 'model.decoder:Decoder',
            'block': {**_block('Causal'), 'cross': _attention('Full')},
            'tied': True,
            **sizes,
        },
    }


def _tower(context: int, layers: int) -> dict[str, Any]:
    return {
        'vocabulary': VOCABULARY,
        'context_length': context,
        'width': WIDTH,
        'layers': layers,
        'dropout': 0.0,
        'embedding_scale': 1.0,
        'position': {'use': 'position.sinusoid:Sinusoid'},
        'norm': {'use': 'norm.layer:LayerNorm'},
        'run': {'use': 'model.stack:Unrolled'},
        'shared': None,
    }


def _block(mask: str) -> dict[str, Any]:
    return {
        'use': 'block.pre_norm:PreNorm',
        'norm': {'use': 'norm.layer:LayerNorm'},
        'mixer': _attention(mask),
        'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:relu'}, 'ratio': 4.0},
    }


def _attention(mask: str) -> dict[str, Any]:
    return {
        'use': 'attention.multi_head:MultiHead',
        'heads': 4,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': f'ops.mask:{mask}'},
        'position': {'use': 'position.none:NoPosition'},
    }
