# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The cuDNN kernel lowered for a GPU that is nowhere near: which of cuDNN's kernels is called, and with what.

JAX asks the machine for cuDNN's version and the GPU's capability before it lowers; here it is told. Nothing is
compiled, as that takes a GPU.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from saccade.attention.auto import choices
from saccade.attention.cudnn import CuDNN
from saccade.ops.mask import Causal, Full, SameSegment, Window
from saccade.ops.scoring import Scoring
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import batches_like, make_learner

THERE = 'jax._src.cudnn.fused_attention_stablehlo'
CONFIG = Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py'
FORWARD, BACKWARD = '@__cudnn$fmhaSoftmax(', '@__cudnn$fmhaSoftmaxBackward('
T = 512  # two blocks
ROWS = jnp.array([[1] * T, [1] * 300 + [0] * 212])
PADDED = SameSegment(ROWS, ROWS)


@pytest.fixture(autouse=True)
def a_gpu(monkeypatch):
    pytest.importorskip(THERE)
    told = {'check_cudnn_version': 91200, 'check_compute_capability': True, 'is_cuda_compute_capability_equal': False}
    for name, answer in told.items():
        monkeypatch.setattr(f'{THERE}.{name}', lambda *asked, answer=answer: answer)
    device = SimpleNamespace(platform='gpu', device_kind='NVIDIA H100', compute_capability='9.0')
    monkeypatch.setattr('saccade.attention.cudnn.device', lambda: device)


def lowered(function, *given):
    return jax.jit(function).trace(*given).lower(lowering_platforms=('cuda',)).as_text()


def told(text, name):
    """The values of a field of cuDNN's calls."""
    return set(re.findall(rf'\\22{name}\\22: (?:\\22)?([\w.]+)', text))


@pytest.mark.parametrize(
    ('mask', 'kind', 'window'),
    [
        (Full(), 'NO_MASK', '0'),
        (Causal(), 'CAUSAL', '0'),
        (Causal() & Window(7), 'CAUSAL', '8'),  # which counts the query
        (Causal() & Window(7) & PADDED, 'CAUSAL', '8'),
        (Full() & PADDED, 'PADDING', '0'),
    ],
)
def test_cudnn_is_told_what_the_mask_is_and_gets_no_array_of_it(mask, kind, window):
    def loss(q, k, v):
        y = CuDNN(parent=None).attend(q, k, v, Scoring(mask, scale=0.375))
        return jnp.square(y.astype(jnp.float32)).sum()

    given = [jax.ShapeDtypeStruct((2, T, heads, 20), jnp.bfloat16) for heads in (4, 2, 2)]
    text = lowered(jax.grad(loss, (0, 1, 2)), *given)
    assert (text.count(FORWARD), text.count(BACKWARD)) == (1, 1)
    assert 'Bias' not in text
    assert (told(text, 'mask_type'), told(text, 'sliding_window_length')) == ({kind}, {window})
    assert told(text, 'fmha_scale') == {'0.375'}
    assert told(text, 'dropout_rate') == {'0.0'}
    assert f'{T}x{T}x' not in text


def test_the_branch_for_other_rows_keeps_the_order_in_memory_that_the_kernel_needs():
    def run(q, k, v):
        return CuDNN(parent=None).attend(q, k, v, Scoring(Causal() & PADDED))

    text = lowered(run, *[jax.ShapeDtypeStruct((2, T, 4, 64), jnp.bfloat16)] * 3)
    assert text.count('@LayoutConstraint') == 4  # queries, keys, values and the result


@pytest.mark.long
def test_every_layer_of_a_language_model_gets_it_forward_and_backward():
    flags = [f'model.context_length={T}', 'batch_size=2', 'model.layers=3', 'dtype=bfloat16']
    flags.append("model.block.mixer.kernel={'use': 'attention.auto:Auto'}")
    experiment = Experiment.of(load_config(str(CONFIG), [f'--config.{flag}' for flag in flags]))
    learner, (like,) = make_learner(experiment), batches_like(experiment)
    state = jax.eval_shape(learner.init, jax.random.key_data(jax.random.key(0)), like)
    with choices() as made:
        text = lowered(lambda *step: learner.train_step(*step), state, like)
    assert {choice.name for choice in made if choice.path} == {'attention.cudnn:CuDNN'}
    assert (text.count(FORWARD), text.count(BACKWARD)) == (3, 3)
    assert f'6x{T}x{T}x' not in text  # heads
    assert told(text, 'mask_type') == {'CAUSAL'}
