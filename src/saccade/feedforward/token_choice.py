# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token-choice routing: every token selects its A highest-scoring experts.

    s = score(x Wr),  chosen = top_A(s),  gate_i = s_i, or s_i / sum over chosen of s      Wr [D E], in float32
    balance = E sum_i f_i P_i,  f_i share of the routes, P_i mean probability;   z = mean (logsumexp x Wr)^2

Shazeer et al. 2017, "Outrageously Large Neural Networks", equations 3-5 (the gates of the chosen sum to 1, as in
Mixtral; `noisy`), https://arxiv.org/abs/1701.06538; Fedus et al. 2021, "Switch Transformers", equations 1, 3-6
(s itself, A = 1; capacity; balance), https://arxiv.org/abs/2101.03961; Zoph et al. 2022, "ST-MoE", equation 5 (z),
https://arxiv.org/abs/2202.08906. Here the f_i sum to 1 also for A > 1, so even routing has balance 1; capacity applies
only in training, and earlier tokens have priority, so no token depends on a later one.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.padding import of_tokens
from saccade.ops.project import project
from saccade.ops.routing import Routes, balance_loss, load, router_z_loss, routes_by_token
from saccade.types import Metric, NotNegative, Part, Positive

__all__ = ['TokenChoice']


class TokenChoice(Module):
    """Token-choice router.

    Attributes:
        score: function of the logits over their last axis: `jax.nn:softmax`; `jax.nn:sigmoid` in DeepSeek-V3.
        renormalised: whether to divide the gates of a token's experts by their sum.
        scale: factor of the gates.
        capacity: in training an expert processes at most capacity A T / E routes; None for no limit.
        balance: weight of the load balancing loss; 0.01 in Switch, section 2.2.
        z: weight of the router z-loss; 0.001 in ST-MoE.
        noisy: whether to add learned noise to the logits in training.
        kernel_init: initialiser of Wr.
    """

    score: Part
    renormalised: bool
    scale: Positive = 1.0
    capacity: Positive | None = None
    balance: NotNegative = 0.01
    z: NotNegative = 0.0
    noisy: bool = False
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    sees_others: ClassVar[bool] = False
    mixes_rows: ClassVar[str] = 'the loads of its experts'
    reports: ClassVar[tuple[Metric, ...]] = (
        Metric('balance_loss', 'lowest', 0.0, among='batch'),
        Metric('router_z_loss', 'lowest', 0.0),
        Metric('expert_load_max', 'lowest', 0.0, among='batch'),
    )
    example: ClassVar[dict] = {'score': {'use': 'jax.nn:softmax'}, 'renormalised': True}

    @nn.compact
    def __call__(
        self, x: Float[Array, 'T D'], experts: int, active: int, train: bool, real: Bool[Array, 'T']
    ) -> Routes:
        logits = self._logits(x.astype(jnp.float32), experts, train)
        scores = self.tap('router_scores', 'T E', self.score(logits))
        expert = self.choose(scores, active, real)
        self._report(logits, scores, load(expert, experts, real), real)
        gate = jnp.take_along_axis(scores, expert, axis=-1)
        if self.renormalised:
            gate = gate / gate.sum(axis=-1, keepdims=True)
        bounded = train and self.capacity is not None
        return routes_by_token(expert, self.scale * gate, real, self.capacity * active / experts if bounded else None)

    def choose(self, scores: Float[Array, 'T E'], active: int, real: Bool[Array, 'T']) -> Int[Array, 'T A']:
        """Return the A highest-scoring experts of each token. Gates always depend on the scores."""
        return jax.lax.top_k(scores, active)[1]

    def _report(
        self, logits: Float[Array, 'T E'], scores: Float[Array, 'T E'], share: Float[Array, 'E'], real: Bool[Array, 'T']
    ) -> None:
        balance, z = balance_loss(scores, share, real), router_z_loss(logits, real)
        self.sow('metrics', 'balance_loss', balance)
        self.sow('metrics', 'router_z_loss', z)
        self.sow('metrics', 'expert_load_max', of_tokens(share.size * share.max(), real))
        for loss, weight in ((balance, self.balance), (z, self.z)):
            if weight:
                self.sow('losses', 'router', loss.times(weight))

    def _logits(self, x: Float[Array, 'T D'], experts: int, train: bool) -> Float[Array, 'T E']:
        shape = (x.shape[-1], experts)
        logits = project(x, parameter(self, 'kernel', 'D -> X', self.kernel_init(), shape, dtype=jnp.float32))
        if self.noisy:
            noise = parameter(self, 'noise', 'D -> X', nn.initializers.zeros, shape, dtype=jnp.float32)
            spread = jax.nn.softplus(project(x, noise))
            logits += spread * jax.random.normal(self.make_rng('dropout'), logits.shape) if train else 0.0
        return logits
