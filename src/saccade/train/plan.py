# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Plan of a run before it starts: parameters, FLOPs and memory of the compiled step that it will run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from saccade.attention.auto import Choice
from saccade.axes import AxesByPath, letters_of
from saccade.ops.devices import Devices
from saccade.train.backend import Backend
from saccade.train.device_memory import device_limit, peak_bytes, readable
from saccade.train.learner import Learner, cast
from saccade.train.mesh import SPLIT
from saccade.train.optimizer import path_of
from saccade.train.split_tokens import splits_tokens
from saccade.train.variant import variant_lines
from saccade.types import Metric, Params, Part, UserError

# Dense bf16 peak of one chip in FLOP/s, by the start of JAX's device_kind, the first that matches; from the vendors'
# data sheets.
PEAKS = {
    'TPU v4': 275e12,
    'TPU v5 lite': 197e12,
    'TPU v5e': 197e12,
    'TPU v5p': 459e12,
    'TPU v5': 459e12,
    'TPU v6': 918e12,
    'NVIDIA A100': 312e12,
    'NVIDIA H100 PCIe': 756e12,
    'NVIDIA H100 NVL': 835e12,
    'NVIDIA H200 NVL': 835e12,
    'NVIDIA H100': 989e12,
    'NVIDIA H200': 989e12,
    'NVIDIA B200': 2250e12,
}
FEW = 3  # paths that a line lists
LARGE = 0.9  # share of a device's memory above which a plan warns
# By a word in the names of a parameter's path; the first match counts.
ROLES = {
    'low_rank': 'low rank',
    'norm': 'norms',
    'embed': 'embedding',
    'embedding': 'embedding',
    'types': 'embedding',
    'position': 'positions',
    'mixer': 'mixer',
    'cross': 'cross-attention',
    'feedforward': 'feed-forward',
    'shared': 'positions',
    'head': 'heads',
}


@dataclass(frozen=True)
class RunPlan:
    """Plan of a run: its parameters, FLOPs and memory.

    Attributes: the printed facts; FLOPs and tokens are of one step over all devices, bytes are of one device. flops
    is the FLOPs that the model needs, hardware_flops the FLOPs of the step, which may repeat some. peak_bytes is the
    whole memory of a step, temp_bytes the part besides arguments and results; state_bytes is the decoding state of one
    row as long as the context, None if the model does not decode. limit is the memory of a device in bytes, None if
    unknown.
    """

    what: str
    devices: str
    parameters: dict[str, int]
    flops: int
    hardware_flops: int
    tokens: int
    peak_bytes: int
    temp_bytes: int
    state_bytes: int | None
    variant: list[str]
    trained: list[str]
    replicated: list[str]
    split: list[str] = field(default_factory=list)
    limit: int | None = None

    reports: ClassVar[tuple[Metric, ...]] = (
        Metric('parameters', None, 0.0),
        Metric('flops', 'lowest', 0.0, unit='FLOPs'),
        Metric('hardware_flops', 'lowest', 0.0, unit='FLOPs'),
        Metric('tokens', None, 0.0),
        Metric('peak_bytes', 'lowest', 0.0, unit='bytes'),
        Metric('temp_bytes', 'lowest', 0.0, unit='bytes'),
        Metric('state_bytes', 'lowest', 0.0, unit='bytes'),
    )

    @classmethod
    def of(cls, what: str, backend: Backend, model: Part, tokens: int) -> 'RunPlan':
        """Count parameters, FLOPs, and bytes of a compiled step; `tokens` is the number of tokens in a step."""
        counts, memory = backend.train_step.counts, backend.train_step.memory_analysis()
        return cls(
            what=what,
            devices=f'{backend.devices} x {jax.devices()[0].device_kind} ({type(backend).__name__})',
            parameters=by_role(backend.like.params),
            flops=counts.model_flops,
            hardware_flops=counts.flops,
            tokens=tokens,
            peak_bytes=peak_bytes(memory, jax.default_backend()),
            temp_bytes=memory.temp_size_in_bytes,
            state_bytes=state_bytes(backend.learner, backend.like.params),
            variant=[*variant_lines(model), *kernel_lines(counts.choices)],
            split=token_lines(backend.traced, model, tokens // jax.tree.leaves(backend.rows_like)[0].shape[0]),
            trained=backend.learner.adapter.lines(backend.like.params),
            replicated=[
                *expert_lines(backend.like.params, backend.learner.axes),
                *replicated_lines(backend.like.params),
                *undeclared_lines(backend.like.params, backend.learner.axes),
            ],
            limit=device_limit(),
        )

    @property
    def total(self) -> int:
        """Total number of parameters."""
        return sum(self.parameters.values())

    def metrics(self) -> dict[str, int]:
        """Return the plan as numbers, as metrics.jsonl holds it."""
        bytes_of_state = {} if self.state_bytes is None else {'state_bytes': self.state_bytes}
        return {
            'parameters': self.total,
            'flops': self.flops,
            'hardware_flops': self.hardware_flops,
            'tokens': self.tokens,
            'peak_bytes': self.peak_bytes,
            'temp_bytes': self.temp_bytes,
            **bytes_of_state,
        }

    def lines(self) -> list[str]:
        """Return the plan as lines of text."""
        roles = ', '.join(f'{role} {count:,}' for role, count in self.parameters.items())
        return [
            f'train       {self.what}',
            *self.variant,
            f'devices     {self.devices}',
            *self.split,
            f'parameters  {self.total:,} ({roles})',
            *self.trained,
            *self.replicated,
            f'a step      {self.tokens:,} tokens, {in_words(self.flops, self.hardware_flops)}',
            f'memory      {readable(self.peak_bytes)} a device at the peak{self._of_limit()}{self._decoding()}',
            *self._warning(),
        ]

    def _of_limit(self) -> str:
        return '' if self.limit is None else f', of {readable(self.limit)}'

    def _warning(self) -> list[str]:
        if self.limit is None or self.peak_bytes <= LARGE * self.limit:
            return []
        share = self.peak_bytes / self.limit
        return [f'warning     a step needs {share:.0%} of the memory of a device: the run may be killed']

    def _decoding(self) -> str:
        return '' if self.state_bytes is None else f'; {self.state_bytes / 2**10:,.0f} KiB to decode a row'


def in_words(model: int, hardware: int) -> str:
    """Return the FLOPs of the model in words, and of the step if it computes something again."""
    again = '' if hardware == model else f'; {hardware:.3g} with what is computed again'
    return f'{model:.3g} FLOPs in matrix products{again}'


def state_bytes(learner: Learner, params: Params) -> int | None:
    """Return the bytes of the decoding state of one row as long as the context; None if the model does not decode."""
    model, tokens = learner.model, jnp.zeros((1, 1), jnp.int32)
    if not hasattr(model, 'init_state'):
        return None

    def init(params: Params) -> Any:
        return model.apply(
            {'params': cast(params, learner.dtype, learner.exact)}, tokens, model.context_length, method='init_state'
        )

    try:
        state = jax.eval_shape(init, params)
    except UserError:  # its kernel has no state
        return None
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))


def peak_flops() -> float | None:
    """Return the peak of all devices together in FLOP/s; None if the chip is unknown."""
    kind = chip_of(jax.devices()[0].device_kind)
    return None if kind is None else PEAKS[kind] * jax.device_count()


def chip_of(kind: str) -> str | None:
    """Return the key of `PEAKS` for a device kind of JAX; None if the chip is unknown."""
    return next((name for name in PEAKS if kind.startswith(name)), None)


def by_role(params: Params) -> dict[str, int]:
    """Count parameters by role."""
    counts: dict[str, int] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        role = role_of(path_of(path))
        counts[role] = counts.get(role, 0) + int(np.prod(leaf.shape))
    return counts


def kernel_lines(made: Sequence[Choice]) -> list[str]:
    """Return lines with the kernel chosen for each layer, and the reasons against earlier ones; none if it is named."""
    why = {choice: f' ({"; ".join(choice.reasons)})' if choice.reasons else '' for choice in made}
    return [f'kernel      {choice.path}: {choice.name}{reasons}' for choice, reasons in why.items()]


def token_lines(devices: Devices | None, model: Part, tokens: int) -> list[str]:
    """Return a line on how the tokens of a row are split over devices; none if they are not.

    Args:
        devices: that programs are traced for; None if each has rows of its own.
        tokens: of a row.
    """
    parts = 1 if devices is None else devices.parts
    if parts == 1:
        return []
    if not splits_tokens(model):
        return [f'sequence    whole rows on each of {parts} devices: {model.name} has no stack of layers']
    return [f'sequence    {tokens:,} tokens a row, {tokens // parts:,} on each of {parts} devices']


def row_lines(parts: Mapping[str, Part], rows: int, accumulate: int, devices: int) -> list[str]:
    """Return lines on the parts that see fewer rows together than a batch has; none if no part declares `mixes_rows`.

    Args:
        parts: by their path in the config, as 'config.model'.
        rows: of a batch.
        accumulate: microbatches per step.
        devices: number of devices that see only their own rows, as under `pmap`; 1 if a step sees the rows of all.
    """
    paths: dict[tuple[str, str, int], list[str]] = {}
    for root, whole in parts.items():
        for path, part in whole.by_path(root):
            # A task that is AcrossRows gathers the rows of all devices.
            own = accumulate if hasattr(part.target, 'across') else accumulate * devices
            if own > 1 and (what := getattr(part.target, 'mixes_rows', '')):
                paths.setdefault((part.target.__qualname__, what, own), []).append(path)
    cause = [*([f'accumulate={accumulate}'] if accumulate > 1 else []), *(["backend='pmap'"] if devices > 1 else [])]
    return [
        f'rows        {name} ({_few(where)}): {what} come from {rows // own} rows, not from the whole batch of {rows} '
        f'({", ".join(cause)})'
        for (name, what, own), where in paths.items()
    ]


def undeclared_lines(params: Params, axes: AxesByPath) -> list[str]:
    """Return a line on the parameters that declare no axes, and the consequence; none if all declare them."""
    paths = [path_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(params)]
    undeclared = [path for path in paths if path not in axes]
    effect = 'a whole copy on every device, and Muon, muP and LoRA do not see kernels in them'
    return [f'no axes     {_few(undeclared)}: {effect}'] if undeclared else []


def expert_lines(params: Params, axes: AxesByPath) -> list[str]:
    """Return lines on the number of experts of mixtures on each device; none if each has all of them.

    Args:
        params: shapes, with their shardings.
        axes: declared axes by path.
    """
    leaves = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(params)}
    mesh = next(getattr(leaf.sharding, 'mesh', None) for leaf in leaves.values())
    split = 1 if mesh is None else mesh.shape['expert']
    letters = {path: letters_of(axes[path]) for path in leaves if path in axes}
    counts = {leaves[path].shape[own.index('E')] for path, own in letters.items() if 'E' in own}
    lines = (
        f'{count} over {split} devices, {count // split} each: tokens go to theirs by all-to-all' for count in counts
    )
    return [f'experts     {line}' for line in sorted(lines)] if split > 1 else []


def replicated_lines(params: Params) -> list[str]:
    """Return a line on the replicated parameters; none if the mesh has no axis along which parameters are split.

    Args:
        params: shapes, with their shardings.
    """
    leaves = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(params)}
    mesh = next(getattr(leaf.sharding, 'mesh', None) for leaf in leaves.values())
    if mesh is None or all(mesh.shape[axis] == 1 for axis in SPLIT):
        return []
    whole = {path: leaf for path, leaf in leaves.items() if leaf.sharding.is_fully_replicated}
    count, total = (sum(leaf.size for leaf in each.values()) for each in (whole, leaves))
    held = sum(leaf.size * leaf.dtype.itemsize for leaf in whole.values())
    largest = sorted(whole, key=lambda path: whole[path].size, reverse=True)
    shares = f'{count:,} of the parameters ({count / total:.1%}), {held / 2**10:,.0f} KiB a device'
    return [f'replicated  {shares}: {_few(largest)}' if largest else f'replicated  {shares}']


def _few(paths: Sequence[str]) -> str:
    """Return the first few of the paths, and the number of the others."""
    more = f' and {len(paths) - FEW} more' if len(paths) > FEW else ''
    return f'{", ".join(paths[:FEW])}{more}'


def role_of(path: str) -> str:
    """Return the role of a parameter, as in ROLES."""
    words = {word for name in path.split('/') for word in name.split('_')}
    return next((role for word, role in ROLES.items() if word in words), 'other')
