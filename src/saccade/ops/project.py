# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linear maps with a backward pass that XLA lowers well.

JAX's transpose of a dense layer contracts to a [F D] product and transposes it; on the CPU XLA fuses the
activation's backward pass into a strided copy for that transpose and computes it twice. Writing the kernel's
gradient as x^T dy over one flat token axis avoids both.
"""

import itertools
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from einops import rearrange, repeat
from jaxtyping import Array, Float

from saccade.types import Norm, Real, UserError


@jax.custom_vjp
def project(x: Float[Array, '*batch D'], kernel: Float[Array, 'D *out']) -> Float[Array, '...']:
    """Contract the last axis of x with the first of the kernel."""
    x2d = x.reshape(x.size // x.shape[-1], x.shape[-1])
    kernel2d = kernel.reshape(kernel.shape[0], kernel.size // kernel.shape[0])
    return jnp.einsum('td,df->tf', x2d, kernel2d).reshape(*x.shape[:-1], *kernel.shape[1:])


def _project_forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return project.fun(x, kernel), (x, kernel)


def _project_backward(saved: tuple[Array, Array], dy: Array) -> tuple[Array, Array]:
    x, kernel = saved
    x2d = x.reshape(x.size // x.shape[-1], x.shape[-1])
    kernel2d = kernel.reshape(kernel.shape[0], kernel.size // kernel.shape[0])
    dy2d = dy.reshape(len(x2d), kernel2d.shape[1])
    dx, dkernel = jnp.einsum('tf,df->td', dy2d, kernel2d), jnp.einsum('td,tf->df', x2d, dy2d)
    return dx.reshape(x.shape).astype(x.dtype), dkernel.reshape(kernel.shape).astype(kernel.dtype)


project.defvjp(_project_forward, _project_backward)


def project_together(
    inputs: Mapping[str, Float[Array, '*batch D']], kernels: Mapping[str, Float[Array, 'D _ _']]
) -> dict[str, Float[Array, '*batch _ _']]:
    """Project each input with the kernel of its name; inputs that are the same array share one product."""
    found = {}
    for _, group in itertools.groupby(inputs, lambda name: id(inputs[name])):
        names = list(group)
        widths = [kernels[name].shape[1:] for name in names]
        flat = [rearrange(kernels[name], 'D N H -> D (N H)') for name in names]
        ends = np.cumsum([kernel.shape[-1] for kernel in flat])[:-1]
        made = jnp.split(project(inputs[names[0]], jnp.concatenate(flat, axis=1)), ends, axis=-1)
        for name, y, (_, H) in zip(names, made, widths, strict=True):
            found[name] = rearrange(y, '... (N H) -> ... N H', H=H)
    return found


def each_head(norm: Norm, x: Float[Array, 'B T N H'], real: Real | None) -> Float[Array, 'B T N H']:
    """Normalise every head of every token."""
    of_heads = None if real is None else repeat(real, 'B T -> B (T N)', N=x.shape[-2])
    y = norm(rearrange(x, 'B T N H -> B (T N) H'), of_heads)
    return rearrange(y, 'B (T N) H -> B T N H', N=x.shape[-2])


def all_heads(norm: Norm, x: Float[Array, 'B T N H'], real: Real | None) -> Float[Array, 'B T N H']:
    """Normalise the heads of a token together, as one vector of width N H."""
    return rearrange(norm(rearrange(x, 'B T N H -> B T (N H)'), real), 'B T (N H) -> B T N H', N=x.shape[-2])


def merge_heads(x: Float[Array, 'B T N H'], kernel: Float[Array, 'N H D']) -> Float[Array, 'B T D']:
    """Concatenate the heads and project them: sum over n and h of x[..., n, h] kernel[n, h, :]."""
    return project(rearrange(x, 'B T N H -> B T (N H)'), rearrange(kernel, 'N H D -> (N H) D'))


def width_of_heads(D: int, heads: int, given: int | None) -> int:
    """Return the width of a head (H): the given one, or an equal share of the width.

    Raises:
        UserError: H is not given, and the heads do not divide the width.
    """
    if given is None and D % heads:
        raise UserError(f'width {D} is not divisible by {heads} heads: choose a width that is, or give head_width')
    return D // heads if given is None else given
