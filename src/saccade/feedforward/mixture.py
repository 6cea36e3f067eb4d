# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixture of experts: a router sends each token to A of E feed-forward layers; compute grows with A, parameters with E.

    y_t = s_t shared(x_t) + sum over the routes (t, i) of gate_ti expert_i(x_t)         s_t = 1, or shared_gate(x_t w)

Shazeer et al. 2017, "Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer", equation 1,
https://arxiv.org/abs/1701.06538; the shared expert, which processes all tokens: Dai et al. 2024, "DeepSeekMoE",
equation 9, https://arxiv.org/abs/2401.06066 (K shared experts of width F are one of width K F), gated in Qwen3-Next.
Any feed-forward layer can be an expert. Routes are dropped only if the router bounds the load of experts; `overflow` is
then the share of dropped routes, `dropped` the share of tokens without a route. Padding is not routed, and excluded
from the shares.
Cost: T (A expert + D E), plus at most a quarter of the experts' cost for padded blocks.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Bool, Float, Int

from saccade.axes import parameter, parameters
from saccade.module import Transform
from saccade.ops.expert_parallel import serve
from saccade.ops.project import project
from saccade.ops.routing import Routes
from saccade.types import (
    Count,
    FeedForward,
    Hidden,
    Metric,
    Part,
    PRNGKey,
    Real,
    Router,
    Share,
    Total,
    UserError,
)

__all__ = ['Mixture']


class Mixture(Transform):
    """Mixture of experts.

    Also called: MoE, mixture of experts, switch.

    Attributes: experts E; active A; expert, of which E are made; router of tokens to experts; shared expert, if any;
    shared_gate, function of a projection of a token to the factor of the shared expert, None for 1;
    block, most rows of an expert run at once where loads are unbounded; dropout of the output.
    """

    experts: Count
    active: Count
    expert: Part[FeedForward]
    router: Part[Router]
    shared: Part[FeedForward] | None = None
    shared_gate: Part | None = None
    block: Count = 64
    dropout: Share = 0.0
    reports: ClassVar[tuple[Metric, ...]] = (
        Metric('dropped', 'lowest', 0.0, 1.0, among='batch'),
        Metric('overflow', 'lowest', 0.0, 1.0, among='batch'),
    )
    example: ClassVar[dict] = {
        'experts': 4,
        'active': 2,
        'expert': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}},
        'router': {
            'use': 'feedforward.token_choice:TokenChoice',
            'score': {'use': 'jax.nn:softmax'},
            'renormalised': True,
        },
    }

    @nn.compact
    def __call__(self, x: Hidden, train: bool = False, real: Real | None = None) -> Hidden:
        if self.active > self.experts:
            raise UserError(
                f'feedforward.mixture:Mixture: {self.active} active experts are more than the {self.experts} there are'
            )
        if self.shared_gate is not None and self.shared is None:
            raise UserError('feedforward.mixture:Mixture: shared_gate has no effect without shared')
        tokens = rearrange(x, 'B T D -> (B T) D')
        there = jnp.ones(tokens.shape[0], bool) if real is None else real.ravel()
        routes = self.router(name='router')(tokens, self.experts, self.active, train, there)
        expert, one = self.expert(parent=None), x[:1, :1]
        params = parameters(self, 'expert', 'E', self.experts, lambda key: expert.init(key, one, False))
        key = self.make_rng('dropout') if train and self.has_rng('dropout') else None

        def run(own: Any, rows: Float[Array, 'M D'], key: PRNGKey | None) -> Float[Array, 'M D']:
            rngs = {} if key is None else {'dropout': key}
            return expert.apply({'params': own}, rows[None], train, rngs=rngs)[0]

        y, served = serve(run, params, tokens, routes, self.block, key)
        self._report(routes, served, there)
        y = y.reshape(x.shape)
        if self.shared is not None:
            y = y + self._share(x) * self.shared(name='shared')(x, train, real)
        return nn.Dropout(self.dropout)(y, deterministic=not train)

    def _share(self, x: Hidden) -> Float[Array, 'B T 1'] | float:
        if self.shared_gate is None:
            return 1.0
        init = nn.initializers.lecun_normal()
        return self.shared_gate(project(x, parameter(self, 'shared_gate_kernel', 'D -> 1', init, (x.shape[-1], 1))))

    def _report(self, routes: Routes, served: Int[Array, 'T'], real: Bool[Array, 'T']) -> None:
        tokens, wanted = real.sum(), routes.wanted.sum()
        lost = {'dropped': (tokens - (served > 0).sum(), tokens), 'overflow': (wanted - served.sum(), wanted)}
        for name, counts in lost.items():
            self.sow('metrics', name, Total(*(count.astype(jnp.float32) for count in counts)))
