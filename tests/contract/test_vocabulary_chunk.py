# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every shipped task of tokens with every model: logits in chunks give the totals and gradients of whole logits."""

import dataclasses

import jax
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params
from wholes import ROWS, VOCABULARY, batch_of, drawn, experiment_of, pairs

from saccade.build import load
from saccade.task.base import PredictsTokens

KEY = jax.random.key(0)
SAME_NUMBERS = 1e-5  # of the largest number of an array; whatever differs is the order of sums
OF_TOKENS = [pair for pair in pairs() if issubclass(load(pair.task), PredictsTokens)]
CHUNK = 2  # of the few tokens that are hidden, several chunks are made


def shapes(jaxpr):
    """The shapes of all values of a program, at any depth."""
    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)
        for inner in jaxprs_in_params(equation.params):
            yield from shapes(inner)


def test_every_task_of_tokens_is_here():
    assert {pair.name for pair in OF_TOKENS} >= {
        'CausalLM Decoder', 'Translation EncoderDecoder', 'Translation RecurrentSeq2Seq', 'MaskedLM Encoder',
        'Denoising EncoderDecoder', 'Denoising PrefixDecoder', 'Distillation Distilled', 'Answering Decoder',
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize('train', [True, False])
@pytest.mark.parametrize('pair', OF_TOKENS, ids=lambda pair: pair.name)
def test_totals_and_gradients_are_those_of_whole_logits(pair, train):
    experiment = experiment_of(pair)
    batch, model = batch_of(experiment), experiment.model()
    batch = {**batch, 'labels': batch['tokens']} if 'labels' in batch else batch
    params = drawn(experiment, batch)
    whole = dataclasses.replace(experiment.task(), label_smoothing=0.1, z_loss=1e-3)

    def of(task):
        def loss(params):
            totals = task.loss(model, params, batch, KEY, train)
            return totals['loss'].mean(), totals

        return jax.value_and_grad(loss, has_aux=True)

    chunked = of(dataclasses.replace(whole, vocabulary_chunk=CHUNK))
    found, expected = jax.jit(chunked)(params), jax.jit(of(whole))(params)
    jax.tree.map(assert_near, found, expected)
    assert not [shape for shape in shapes(jax.make_jaxpr(chunked)(params).jaxpr) if is_of_whole_rows(shape)]
    assert [shape for shape in shapes(jax.make_jaxpr(of(whole))(params).jaxpr) if is_of_whole_rows(shape)]


def is_of_whole_rows(shape):
    """Whether an array holds a number of each word for all places of all rows, however it is laid out."""
    return VOCABULARY in shape and np.prod(shape) > ROWS * CHUNK * VOCABULARY and ROWS in shape


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=SAME_NUMBERS * max(float(np.abs(expected).max()), 1e-3))
