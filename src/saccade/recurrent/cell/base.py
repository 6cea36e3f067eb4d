# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells: weights, the input projection, which does not depend on earlier steps, and the loop over tokens.

    state_t = advance(R, state_(t-1), u_t),    u_t = x_t U + b

`x U` is one matrix product for all tokens of a row, before the loop; the loop computes only the product of the state
and R. States accumulate over the row, so they are in float32 for any dtype of the tokens. Gates and states are taps;
an edit changes all that follows in the row. Their values at padding have no meaning.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.ops.recurrence import Carried, time_first
from saccade.types import Count, Part, State, UserError


@struct.dataclass
class Recurrence:
    """Weights of a cell, made before its loop. Attributes: inputs, recurrent and bias, U, R and b."""

    inputs: Float[Array, 'E F']
    recurrent: Float[Array, '_ F']
    bias: Float[Array, ' F']

    def products(self, x: Float[Array, '*B _'], first: int = 0) -> Float[Array, '*B F']:
        """Return x U, with the rows of U from `first` on: known inputs are projected before the scan."""
        return project(x, self.inputs[first : first + x.shape[-1]])


class Cell(Module):
    """Base class of recurrent cells.

    Attributes:
        width: width of the state (D).
        kernel_init: initialiser of U.
        recurrent_init: initialiser of each square of R.
    """

    width: Count
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    recurrent_init: Part = Part(nn.initializers.orthogonal)

    squares: ClassVar[int]  # number of D x D matrices in R: F = squares D
    heads: ClassVar[int] = 1  # N, the diagonal blocks of each square, R is [D/N F]

    def advance(self, R: Float[Array, 'D F'], state: State, u: Float[Array, 'B F']) -> State:
        """Return the next state, by the equation of the cell, in float32. Abstract."""
        raise NotImplementedError

    def start(self, batch: int) -> State:
        """Return the state before the first token: zeros [B D]."""
        return jnp.zeros((batch, self.width))

    def hidden(self, state: State) -> Float[Array, 'B D']:
        """Return the hidden state of a cell's state, [B D]: the cell's output."""
        return state

    def bias(self) -> Float[Array, ' F']:
        """Return the initial bias b, zeros [F]."""
        return jnp.zeros(self.squares * self.width)

    @nn.compact
    def recurrence(self, width: int) -> Recurrence:
        """Return the cell's weights for inputs of a width.

        Raises:
            UserError: the width of the state is not divisible by the number of heads.
        """
        D, squares = self.width, self.squares
        if D % self.heads:
            raise UserError(f'{Part(type(self)).name}: width {D} is not divisible by {self.heads} heads')
        inputs = parameter(self, 'inputs', 'D -> X', self.kernel_init(), (width, squares * D))
        recurrent = parameter(self, 'recurrent', 'D -> X', self._squares, (D // self.heads, squares * D))
        return Recurrence(inputs, recurrent, parameter(self, 'bias', 'X', lambda key: self.bias()))

    def step(self, weights: Recurrence, state: State, u: Float[Array, 'B F']) -> State:
        """Return the state after one token; u is its x U."""
        return self.advance(weights.recurrent, state, u.astype(jnp.float32) + weights.bias)

    def run(
        self,
        weights: Recurrence,
        u: Float[Array, 'B T F'],
        segments: Int[Array, 'B T'],
        carried: Carried,
        reverse: bool = False,
    ) -> tuple[Float[Array, 'B T D'], Carried]:
        """Run over all tokens; return the hidden state at each, and the carry after the last.

        Padding does not change the state, and a document starts from zeros.

        Args:
            u: x U.
            reverse: run from the last token to the first.
        """

        def body(cell: Cell, carried: Carried, this: tuple[Array, Array]) -> tuple[Carried, Array]:
            u, segment = this
            after = carried.after(lambda state: cell.step(weights, state, u), segment)
            return after, cell.hidden(after.state)

        carried, y = self.scan(body, carried, (time_first(u), time_first(segments)), reverse)
        return time_first(y), carried

    def __call__(self, state: State, x: Float[Array, 'B E']) -> tuple[State, Float[Array, 'B D']]:
        """Run one step; return the new state and its hidden state."""
        weights = self.recurrence(x.shape[-1])
        state = self.step(weights, state, weights.products(x))
        return state, self.hidden(state)

    def at_token(self, name: str, value: Float[Array, 'B D']) -> Float[Array, 'B D']:
        """Tap a value at one token."""
        return self.tap(name, 'B T D', value[:, None])[:, 0] if self.asked(name) else value

    def _squares(self, key: Array, shape: tuple[int, int]) -> Float[Array, '_ F']:
        init = self.recurrent_init()
        keys = jax.random.split(key, self.squares * self.heads)
        return jnp.concatenate([init(key, (shape[0], shape[0])) for key in keys], axis=-1)


def recurrent_product(state: Float[Array, 'B D'], recurrent: Float[Array, '_ F']) -> Float[Array, 'B F']:
    """Return h R, computed in the precision of the weights, in float32; R [D/N F] has N diagonal blocks a square."""
    width = recurrent.shape[0]
    if width == state.shape[-1]:
        return jnp.einsum('BD,DF->BF', state.astype(recurrent.dtype), recurrent).astype(jnp.float32)
    heads = rearrange(state.astype(recurrent.dtype), 'B (N H) -> B N H', H=width)
    blocks = rearrange(recurrent, 'H (X N K) -> X N H K', K=width, N=heads.shape[1])
    return rearrange(jnp.einsum('BNH,XNHK->BXNK', heads, blocks), 'B X N K -> B (X N K)').astype(jnp.float32)
