# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Products in a compiled program: counted by hand, and as many as the trace of the same step has."""

import jax
import jax.numpy as jnp
import pytest

from saccade.analysis.preflight.products import product_flops
from saccade.ops.flops import flops

# A product within a fusion within a loop, of operands with their shapes beside them and without.
PROGRAM = """
HloModule jit_f, is_scheduled=true

%product (a: f32[2,3,5], b: f32[2,7,5]) -> f32[2,3,7] {
  %a = f32[2,3,5]{2,1,0} parameter(0)
  %b = f32[2,7,5]{2,1,0} parameter(1)
  ROOT %dot.1 = f32[2,3,7]{2,1,0} dot(%a, %b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}
}

%body (state: (s32[], f32[2,3,5])) -> (s32[], f32[2,3,5]) {
  %whole = f32[2,3,7]{2,1,0} fusion(%part, %other), kind=kCustom, calls=%product
}

ENTRY %main (x: f32[16,32]) -> f32[] {
  %loop = (s32[], f32[2,3,5]) while(%start), body=%body, backend_config={"known_trip_count":{"n":"4"}}
  %v = f32[1,11]{1,0} parameter(0)
  ROOT %dot.2 = f32[1,1] dot(f32[1,11]{1,0} %v, f32[1,11]{1,0} %v), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}
"""


def test_products_are_counted_by_hand():
    assert product_flops(PROGRAM) == 4 * (2 * 2 * 3 * 7 * 5) + 2 * 11


@pytest.mark.parametrize('remat', [lambda function: function, jax.checkpoint], ids=['kept', 'rematerialised'])
def test_a_compiled_loop_has_the_products_of_its_trace(remat):
    def loss(w, x):
        out, _ = jax.lax.scan(remat(lambda x, w: (jnp.tanh(jnp.tanh(x @ w) @ w), None)), x, w)
        return jnp.sum(jnp.square(out))

    w, x = jnp.ones((6, 32, 32)), jnp.ones((48, 32))
    compiled = jax.jit(jax.grad(loss)).lower(w, x).compile()
    assert product_flops(compiled.as_text()) == flops(jax.grad(loss), w, x)
