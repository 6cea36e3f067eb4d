# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""One step of plain gradient descent, from the same parameters and batch, on one device and spread over several.

A process with eight simulated devices: it reads the name of a pair, or the kind and name of a part, one JSON list a
line, and writes for each, as one line of JSON, what differs by how the step was spread, or why it is refused.
"""

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from einops import rearrange
from wholes import Pair, Swap, batch_of, by_name, config_of, drawn, narrow, swaps

from saccade.train.backend import OnMesh
from saccade.train.experiment import Experiment
from saccade.train.learner import Learner, TrainState
from saccade.train.mesh import make_mesh
from saccade.train.optimizer import path_of
from saccade.train.plan import row_lines
from saccade.train.setup import learner_on, make_learner
from saccade.types import IGNORED, AcrossRows, Batch, Params, Task, Total, UserError

DEVICES = 8
MESHES = {
    'data=2 x tensor=2 x sequence=2': {'data': 2, 'tensor': 2, 'sequence': 2},
    'fsdp=2 x sequence=4': {'fsdp': 2, 'sequence': 4},
}
FILLED = (1, 0.8, 1 / 3, 1, 1 / 8, 1 / 2, 1 / 24, 1 / 4)  # shares of the places of each row
RATE = 2.0**20  # so that a step is all gradient: beside it the parameters are less than its rounding
SAME_NUMBERS = 3e-5  # of the norm of a leaf's gradient, and of a metric: float32 leaves 1.2e-5 with jax 0.12
ROUNDING = 5e-7  # of the largest norm of a leaf: what float32 leaves of gradients that are 0


class Stepped:
    """Result of a step. Attributes: gradient of each parameter by its path; metrics."""

    def __init__(self, before: Params, state: TrainState, metrics: Mapping[str, jax.Array]) -> None:
        change = jax.tree.map(lambda old, new: (np.float64(old) - np.float64(new)) / RATE, before, state.params)
        self.gradient = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(change)}
        self.metrics = {name: np.float64(value) for name, value in metrics.items() if name != 'squares'}

    def differences(self, other: 'Stepped') -> Iterator[str]:
        """Yield what another step has otherwise, in words."""
        norms = {path: np.linalg.norm(leaf) for path, leaf in self.gradient.items()}
        for path, leaf in self.gradient.items():
            error = np.linalg.norm(other.gradient[path] - leaf)
            if not error <= SAME_NUMBERS * norms[path] + ROUNDING * max(norms.values()):
                factor = (other.gradient[path] * leaf).sum() / np.square(leaf).sum()
                yield f'gradient of {path}: off by {error / norms[path]:.1e} of its norm; times {factor:.6g}'
        for name, value in self.metrics.items():
            if not abs(other.metrics[name] - value) <= SAME_NUMBERS * abs(value) + ROUNDING:
                yield f'{name}: {other.metrics[name]:.7g}, not {value:.7g}'


@dataclasses.dataclass(frozen=True)
class WithoutChance:
    """A task whose draws depend on the row, and not on the microbatch or device that it is in."""

    task: Task

    def init(self, model: Any, key: Any, batch: Batch) -> Params:
        return self.task.init(model, key, batch)

    def loss(self, model: Any, params: Params, batch: Batch, key: Any, train: bool) -> dict[str, Total]:
        return self.task.loss(model, params, batch, jax.random.key(0), train)


class Whole:
    """Shrunk experiment of a pair, with a part swapped in, whose step is plain gradient descent.

    Attributes: parts that may declare `mixes_rows`, by their path.
    """

    def __init__(self, pair: Pair, swap: Swap | None = None) -> None:
        config = narrow(config_of(pair.file)) | {'batch_size': len(FILLED)}
        config['model'] = swap.into(config['model']) if swap else config['model']
        self._experiment = Experiment.of(config)
        self._batch = jax.tree.map(np.asarray, batch_of(self._experiment, FILLED))
        if 'types' in self._batch:
            self._batch['types'] = np.where(np.arange(self._batch['types'].shape[-1]) < 8, 0, self._batch['segments'])
        if 'label' in self._batch:
            self._batch['label'] = np.where(np.arange(len(FILLED)) % 3, self._batch['label'], IGNORED)
        self._params = drawn(self._experiment, self._batch)
        self.parts = {'config.model': self._experiment.model, 'config.task': self._experiment.task}

    def on_mesh(self, sizes: Mapping[str, int], accumulate: int = 1) -> Stepped:
        """Take a step by `jit`, over all devices, or on the first where there are no sizes."""
        mesh = make_mesh(sizes, jax.devices() if sizes else jax.devices()[:1])
        learner = learner_on(mesh, dataclasses.replace(self._experiment, accumulate=accumulate))
        spread = OnMesh(_descending(learner, learner.task), [self._batch], mesh)
        state = jax.device_put(self._state(spread.learner), spread.places)
        step = spread.train_step(spread.batches[0]).compile()
        return Stepped(self._params, *step(state, jax.device_put(self._batch, spread.rows), np.float32(RATE), {}))

    def on_replicas(self) -> Stepped:
        """Take a step by `pmap`, over all devices."""
        learner = make_learner(self._experiment)
        task = learner.task.across('devices') if isinstance(learner.task, AcrossRows) else learner.task
        learner = dataclasses.replace(_descending(learner, task), axis='devices')
        shares = jax.tree.map(lambda rows: rearrange(rows, '(D B) ... -> D B ...', D=DEVICES), self._batch)
        step = jax.pmap(learner.train_step, axis_name='devices', in_axes=(None, 0, None), out_axes=None)
        return Stepped(self._params, *step(self._state(learner), shares, np.float32(RATE)))

    def _state(self, learner: Learner) -> TrainState:
        params = jax.tree.map(jnp.copy, self._params)  # a step takes its state over
        key = jax.random.key_data(jax.random.key(0))
        return TrainState(jnp.int32(0), params, learner.optimizer.init(params), key, None)


def _descending(learner: Learner, task: Task) -> Learner:
    return dataclasses.replace(learner, optimizer=optax.sgd(RATE), task=WithoutChance(task), scales={}, initial=None)


def whole_with(kind: str, name: str) -> Whole:
    """A decoder with a part, or an encoder where the part cannot be causal."""
    (swap,) = (swap for swap in swaps() if (swap.kind, swap.name) == (kind, name))
    try:
        return Whole(by_name('CausalLM Decoder'), swap)
    except UserError:
        return Whole(by_name('MaskedLM Encoder'), swap)


def split(whole: Whole, sizes: Mapping[str, int]) -> Stepped:
    """Take a step over a mesh; what needs whole rows has heads and widths split in place of the sequence."""
    try:
        return whole.on_mesh(sizes)
    except UserError as error:
        if 'config.mesh.sequence' not in str(error):
            raise
        tensor = sizes.get('tensor', 1) * sizes['sequence']
        return whole.on_mesh({**sizes, 'sequence': 1, 'tensor': tensor})


def differences(whole: Whole) -> dict[str, Any]:
    """Return, by how the step was spread: `found`, what is not one device's; `said`, which parts say so at the start of
    a run; `compared`, the number of gradients.
    """
    one = whole.on_mesh({})
    ways: dict[str, tuple[tuple[int, int], Callable[[], Stepped]]] = {
        'accumulate=2': ((2, 1), lambda: whole.on_mesh({}, accumulate=2)),
        f'pmap over {DEVICES} devices': ((1, DEVICES), whole.on_replicas),
        **{words: ((1, 1), lambda sizes=sizes: split(whole, sizes)) for words, sizes in MESHES.items()},
    }
    return {
        how: {
            'said': row_lines(whole.parts, len(FILLED), *parts),
            'found': [*one.differences(step())],
            'compared': len(one.gradient),
        }
        for how, (parts, step) in ways.items()
    }


def main() -> None:
    for line in sys.stdin:
        names = json.loads(line)
        try:
            answer = differences(whole_with(*names) if len(names) == 2 else Whole(by_name(*names)))
        except UserError as error:
            answer = {'refused': str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == '__main__':
    main()
