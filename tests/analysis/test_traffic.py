# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memory traffic read off a program, beside a count by hand and XLA's own."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.preflight import spread
from saccade.analysis.preflight.traffic import traffic
from saccade.train.config import load_config
from saccade.train.experiment import Experiment

ROOT = Path(__file__).parents[2]
LOOP = """HloModule it, num_partitions=1

%sliced (param_0: f32[5,8], param_1: s32[]) -> f32[8] {
  %param_0 = f32[5,8]{1,0} parameter(0)
  %param_1 = s32[] parameter(1)
  %zero = s32[] constant(0)
  %slice = f32[1,8]{1,0} dynamic-slice(%param_0, %param_1, %zero), dynamic_slice_sizes={1,8}
  ROOT %flat = f32[8]{0} bitcast(%slice)
}

%written (param_0.1: f32[5,8], param_1.1: f32[8], param_2: s32[]) -> f32[5,8] {
  %param_0.1 = f32[5,8]{1,0} parameter(0)
  %param_1.1 = f32[8]{0} parameter(1)
  %row = f32[1,8]{1,0} bitcast(%param_1.1)
  %param_2 = s32[] parameter(2)
  %zero.1 = s32[] constant(0)
  ROOT %update = f32[5,8]{1,0} dynamic-update-slice(%param_0.1, %row, %param_2, %zero.1)
}

%body (state: (s32[], f32[5,8], f32[5,8])) -> (s32[], f32[5,8], f32[5,8]) {
  %state = (s32[], f32[5,8]{1,0}, f32[5,8]{1,0}) parameter(0)
  %at = s32[] get-tuple-element(%state), index=0
  %given = f32[5,8]{1,0} get-tuple-element(%state), index=1
  %made = f32[5,8]{1,0} get-tuple-element(%state), index=2
  %one = f32[8]{0} fusion(%given, %at), kind=kLoop, calls=%sliced
  %sine = f32[8]{0} sine(/*index=5*/f32[8]{0} %one)
  %all = f32[5,8]{1,0} fusion(%made, %sine, %at), kind=kLoop, calls=%written
  ROOT %after = (s32[], f32[5,8]{1,0}, f32[5,8]{1,0}) tuple(%at, %given, %all)
}

%condition (state.1: (s32[], f32[5,8], f32[5,8])) -> pred[] {
  %state.1 = (s32[], f32[5,8]{1,0}, f32[5,8]{1,0}) parameter(0)
  ROOT %more = pred[] constant(true)
}

ENTRY %main (a: f32[5,8]) -> (s32[], f32[5,8], f32[5,8]) {
  %a = f32[5,8]{1,0} parameter(0)
  %begin = s32[] constant(0)
  %copied = f32[5,8]{1,0} copy(%a)
  %start = (s32[], f32[5,8]{1,0}, f32[5,8]{1,0}) tuple(%begin, %a, %copied)
  ROOT %loop = (s32[], f32[5,8]{1,0}, f32[5,8]{1,0}) while(%start), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"5"}}
}
"""  # noqa: E501


def test_a_loop_counts_as_often_as_it_runs_and_slices_of_an_array_for_what_they_are():
    row, whole, number = 8 * 4, 5 * 8 * 4, 4
    turn = (row + row + number) + (row + row) + (row + row + number)  # slice; sine; update
    assert traffic(LOOP) == 2 * whole + 5 * turn


def test_a_product_reads_both_matrices_and_writes_the_result():
    a, b = jnp.zeros((64, 32)), jnp.zeros((32, 16))
    compiled = jax.jit(lambda a, b: a @ b).lower(a, b).compile()
    assert traffic(compiled.as_text()) == 4 * (64 * 32 + 32 * 16 + 64 * 16)


@pytest.mark.long
def test_a_step_without_loops_moves_what_xla_says_and_one_with_them_more():
    """XLA counts a loop once; it counts what is within a fusion as we do."""

    def step(run):
        fields = [
            f"--config.model.run={{'use': 'model.stack:{run}'}}",
            '--config.batch_size=2',
            '--config.model.layers=4',
        ]
        config = load_config(str(ROOT / 'experiments/causal_lm/quickstart.py'), fields)
        found = spread(Experiment.of(config), Chips.here())
        compiled = found.train_step(found.batches[0]).compile()
        return traffic(compiled.as_text()), compiled.cost_analysis()['bytes accessed']

    ours, theirs = step('Unrolled')
    assert ours == pytest.approx(theirs, rel=0.01)
    ours, theirs = step('Scanned')
    assert ours > 1.5 * theirs
