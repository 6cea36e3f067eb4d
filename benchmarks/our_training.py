# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of the training benchmark: nanoGPT's model from our parts, and the step that a run takes, on one device."""

import time
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from flax.traverse_util import flatten_dict, unflatten_dict

from benchmarks.nanogpt import FAMILY
from benchmarks.products import Product, products
from benchmarks.size import BETAS, CLIP_NORM, LEARNING_RATE, WEIGHT_DECAY, Size, rows
from saccade.build import build
from saccade.hub.leaves import Leaves
from saccade.hub.place import place
from saccade.hub.tensors import open_tensors
from saccade.ops.remat import compiler_options
from saccade.task.causal_lm import CausalLM
from saccade.train.learner import Learner, TrainState
from saccade.types import Batch, Params, Task


class Training:
    """Training steps of our model. Weights are the peer's, loaded before anything else is asked for."""

    task: ClassVar[Task] = CausalLM()
    size_type: ClassVar[type[Size]] = Size

    def __init__(self, size: dict[str, Any], run: str) -> None:
        self._size, self._run = self.size_type(**size), run
        self._taken = 0

    def load(self, folder: str) -> None:
        """Start from the weights that the peer has saved; every one finds its place, or it is an error."""
        batch, key = self._batch(0), jax.random.key(0)
        model, params = self._read(Path(folder))
        learner = _learner(model, self.task, params)
        self._state: TrainState = learner.init(jax.random.key_data(key), batch).replace(params=params)
        start = time.perf_counter()
        options = compiler_options(jax.default_backend())
        traced = jax.jit(learner.train_step, donate_argnums=0).trace(self._state, batch)
        self._products = products(traced.jaxpr)
        self._step = traced.lower().compile(options)
        self._compile_seconds = time.perf_counter() - start

    def _read(self, folder: Path) -> tuple[Any, Params]:
        """The model, and its weights."""
        model = build(FAMILY.spec({**asdict(self._size), 'run': self._run}), 'model')()
        like = jax.eval_shape(lambda: self.task.init(model, jax.random.key(0), self._batch(0)))
        shapes = {path: leaf.shape for path, leaf in flatten_dict(like, sep='/').items()}
        leaves = Leaves({}, 'float32')
        with open_tensors(folder) as tensors:
            place(tensors, FAMILY, shapes, (), leaves)
        return model, unflatten_dict(leaves.arrays, sep='/')

    def check(self) -> dict[str, Any]:
        """Take two steps on batch 0; return losses in nats, number of parameters, seconds to compile, and threads."""
        losses = []
        for _ in range(2):
            self._state, metrics = self._step(self._state, self._batch(0))
            losses.append(float(metrics['loss']))
        return {
            'losses': losses,
            'parameters': sum(leaf.size for leaf in jax.tree.leaves(self._state.params)),
            'compile_seconds': self._compile_seconds,
            'threads': None,
        }

    def step(self, count: int) -> float:
        """Take steps on new batches; return seconds."""
        batches = [self._batch(self._taken + number + 1) for number in range(count)]
        self._taken += count
        jax.block_until_ready((self._state, batches))
        start = time.perf_counter()
        for batch in batches:
            self._state, metrics = self._step(self._state, batch)
        jax.block_until_ready((self._state, metrics))
        return time.perf_counter() - start

    def products(self) -> list[tuple[int, ...]]:
        """Return sizes and number of the matrix products of a step: batch, rows, inner, columns, times."""
        return [(*product, times) for product, times in self._products.items()]

    def multiply(self, product: Product, runs: int) -> float:
        """Return the median of the seconds of a matrix product."""
        batch, rows, inner, columns = product
        left, right = jnp.ones((batch, rows, inner)), jnp.ones((batch, inner, columns))
        program = jax.jit(jnp.matmul).lower(left, right).compile()
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            jax.block_until_ready(program(left, right))
            seconds.append(time.perf_counter() - start)
        return median(seconds)

    def _batch(self, number: int) -> Batch:
        tokens = jnp.asarray(rows(self._size, number), jnp.int32)
        positions = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
        return {'tokens': tokens, 'segments': jnp.ones_like(tokens), 'positions': positions}


def _learner(model: Any, task: Task, params: Params) -> Learner:
    rule = {'use': 'optax:scale_by_adam', 'b1': BETAS[0], 'b2': BETAS[1]}
    optimizer = build(
        {
            'use': 'train.optimizer:Optimizer',
            'rule': rule,
            'weight_decay': WEIGHT_DECAY,
            'clip_norm': CLIP_NORM,
        },
        'optimizer',
    )()
    schedule = optax.constant_schedule(LEARNING_RATE)
    return Learner(model, task, optimizer(schedule, params, {}), schedule, 'float32')  # Adam needs no axes
