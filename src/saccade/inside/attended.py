# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Queries and keys of cross-attention, head by head, of a sequence-to-sequence model.

For a recurrent decoder these are its hidden states and the encoder's, or their projections; for a Transformer the
queries and keys of each layer's cross-attention. Linen interceptors capture the arguments, so models need no code for
it. Without attention the hidden states of both sides are returned, without scores.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import flax.linen as nn
import jax
import numpy as np
from einops import repeat
from jaxtyping import Array, Float

from saccade.attention.base import ScoreKernel
from saccade.data.split import Row
from saccade.model.stack import Scanned, Unrolled
from saccade.recurrent.decoder.attention_base import AttenderBase
from saccade.recurrent.decoder.hard import HardAttender
from saccade.recurrent.decoder.layers import Layers
from saccade.recurrent.decoder.soft import SoftAttender
from saccade.recurrent.encoder import Encoded
from saccade.task.causal_lm import context_of
from saccade.types import Batch, Keys, LayerContext, Params, Part, Queries, UserError


@dataclass(frozen=True, eq=False)
class HeadInputs:
    """Queries and keys of one head.

    Attributes:
        name: layer and head, from 0.
        queries, keys: states of the decoder, and of the encoder.
        scale: factor of their dot products; None if the scores are not these products for all pairs.
    """

    name: str
    queries: Float[np.ndarray, 'B T H']
    keys: Float[np.ndarray, 'B S C']
    scale: float | None


@dataclass(eq=False)
class _Seen:
    """Inputs of cross-attention, captured in a forward pass.

    Attributes:
        layers: queries, keys and scale of each layer of a Transformer.
        encoded: the encoder's states of a recurrent model.
        hidden: the decoder's states of a recurrent model.
        attender: the attention of a recurrent model.
    """

    layers: list[tuple[Queries, Keys, float | None]] = field(default_factory=list)
    encoded: Encoded | None = None
    hidden: Float[Array, 'B T D'] | None = None
    attender: Any = None

    def take(self, go: Callable[..., Any], given: tuple, named: dict, call: nn.module.InterceptorContext) -> Any:
        """Interceptor: call a method of a module and record its relevant arguments."""
        made, module = go(*given, **named), call.module
        if module.is_initializing():  # Linen traces initialisation to check parameter shapes
            return made
        if isinstance(module, ScoreKernel) and 'cross' in module.path and call.method_name == '__call__':
            q, k, _, scoring, _ = given
            scale = None if scoring.terms else scoring.scale
            self.layers.append((q, repeat(k, 'B S K H -> B S (K G) H', G=q.shape[2] // k.shape[2]), scale))
        elif isinstance(module, Layers) and call.method_name == 'whole':
            self.hidden = made[0]
        elif isinstance(made, Encoded):
            self.encoded = made
        elif isinstance(made, AttenderBase):
            self.attender = made
        return made

    def compared(self) -> list[tuple[Queries, Keys]]:
        """Return the queries and keys of each layer."""
        if self.layers or self.hidden is None:
            return [(q, k) for q, k, _ in self.layers]
        if self.attender is None:
            return [(self.hidden[:, :, None], self.encoded.hidden[:, :, None])]
        keys, _ = self.attender.encode_source(self.encoded.hidden, self.encoded.segments).heads()
        return [(self.attender.score_function.queries(self.hidden, keys), keys)]

    def scales(self) -> list[float | None]:
        """Return the scale of each layer's products; None if they are not its scores for all source tokens."""
        if self.layers or self.hidden is None:
            return [scale for *_, scale in self.layers]
        whole = isinstance(self.attender, SoftAttender | HardAttender) and not self.attender.score_function.terms
        return [self.attender.score_function.scale if whole else None]


def heads_of(model: Part, params: Params, batch: Row) -> list[HeadInputs]:
    """Return the queries and keys of each head of cross-attention; without attention, the hidden states of both sides.

    Raises:
        UserError: the decoder's states are not computed all at once, or no cross-attention of the model has scores.
    """
    whole, scales = _unrolled(model)(), []

    @jax.jit  # so that XLA removes the unused logits
    def run(params: Params, batch: Batch) -> list[tuple[Queries, Keys]]:
        seen = _Seen()
        source = LayerContext(batch['source_positions'], batch['source_segments'])
        with nn.intercept_methods(seen.take):
            whole.apply({'params': params}, batch['source'], source, batch['tokens'][:, :-1], context_of(batch), False)
        scales.extend(seen.scales())
        return seen.compared()

    layers = jax.device_get(run(params, batch))
    if not layers:
        raise UserError(
            f'{model.name}: its decoder does not compute all states at once: use '
            'recurrent.decoder.fixed_context:FixedContext, recurrent.decoder.luong:Luong without input feeding, or an '
            'encoder-decoder whose cross-attention has scores'
        )
    return [
        HeadInputs(f'layer {layer}, head {head}', queries[:, :, head], keys[:, :, head], scale)
        for layer, ((queries, keys), scale) in enumerate(zip(layers, scales, strict=True))
        for head in range(queries.shape[2])
    ]


def _unrolled(value: Any) -> Any:
    """Return a part with its layers unrolled: equal results, and interceptors see every layer."""
    if isinstance(value, tuple):
        return tuple(map(_unrolled, value))
    if not isinstance(value, Part):
        return value
    if value.target in (Scanned, Unrolled):
        return Part(Unrolled)
    return value.replace(**{name: _unrolled(argument) for name, argument in value.arguments})
