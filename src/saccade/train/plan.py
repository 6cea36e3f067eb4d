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

# Dense bf16 peak of one chip in FLOP/s, by the start of JAX's device_kind; from the vendors' data sheets.
PEAKS = {
    'TPU v4': 275e12,
    'TPU v5 lite': 197e12,
    'TPU v5e': 197e12,
    'TPU v5p': 459e12,
    'TPU v5': 459e12,
    'TPU v6': 918e12,
    'NVIDIA A100': 312e12,
    'NVIDIA H100': 989e12,
    'NVIDIA H200': 989e12,
    'NVIDIA B200': 2250e12,
}
FEW = 3  # paths that a line names
LARGE = 0.9  # share of a device's memory above which a plan warns
# By a word of a name on the path of a parameter; the first that is there.
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
class Plan:
    """Plan of a run: its parameters, FLOPs and memory.

    Attributes: what is printed; FLOPs and tokens are of one step over all devices, bytes are of one device.

    flops is what the model needs, hardware_flops what the step does, which may compute some of it again. peak_bytes is
    all that a step needs, temp_bytes what it needs beside its arguments and results; state_bytes is what one row as
    long as the context leaves to decode with, None where the model does not decode. limit is the memory of a device in
    bytes, None where it is not known.
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
    def of(cls, what: str, backend: Backend, model: Part, tokens: int) -> 'Plan':
        """Count parameters, FLOPs, and bytes of a compiled step; `tokens` are those of one step."""
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
        """Parameters in all."""
        return sum(self.parameters.values())

    def metrics(self) -> dict[str, int]:
        """The plan in numbers, as it stands in metrics.jsonl."""
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
        """The plan in words."""
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
    """Return the FLOPs that a model needs, and those that the step does where it computes something again."""
    again = '' if hardware == model else f'; {hardware:.3g} with what is computed again'
    return f'{model:.3g} FLOPs in matrix products{again}'


def state_bytes(learner: Learner, params: Params) -> int | None:
    """Bytes of the state of one row as long as the context; None where the model does not decode."""
    model, tokens = learner.model, jnp.zeros((1, 1), jnp.int32)
    if not hasattr(model, 'init_state'):
        return None

    def init(params: Params) -> Any:
        return model.apply({'params': cast(params, learner.dtype)}, tokens, model.context_length, method='init_state')

    try:
        state = jax.eval_shape(init, params)
    except UserError:  # its kernel has no state
        return None
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))


def peak_flops() -> float | None:
    """Peak of all devices together in FLOP/s; None where the chip is not known."""
    kind = jax.devices()[0].device_kind
    peak = next((peak for name, peak in PEAKS.items() if kind.startswith(name)), None)
    return None if peak is None else peak * jax.device_count()


def by_role(params: Params) -> dict[str, int]:
    """Count parameters by what they are for."""
    counts: dict[str, int] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        role = role_of(path_of(path))
        counts[role] = counts.get(role, 0) + int(np.prod(leaf.shape))
    return counts


def kernel_lines(made: Sequence[Choice]) -> list[str]:
    """Which kernel was chosen for each layer, and why none before it, in words; nothing where the config names it."""
    why = {choice: f' ({"; ".join(choice.reasons)})' if choice.reasons else '' for choice in made}
    return [f'kernel      {choice.path}: {choice.name}{reasons}' for choice, reasons in why.items()]


def token_lines(devices: Devices | None, model: Part, tokens: int) -> list[str]:
    """How the tokens of a row are split over devices, in words; nothing where they are not.

    Args:
        devices: for which programs are traced; None where each has rows of its own.
        tokens: of a row.
    """
    parts = 1 if devices is None else devices.parts
    if parts == 1:
        return []
    if not splits_tokens(model):
        return [f'sequence    whole rows on each of {parts} devices: {model.name} has no stack of layers']
    return [f'sequence    {tokens:,} tokens a row, {tokens // parts:,} on each of {parts} devices']


def row_lines(parts: Mapping[str, Part], rows: int, accumulate: int, devices: int) -> list[str]:
    """Which parts see fewer rows together than a batch has, in words; nothing where none declares `mixes_rows`.

    Args:
        parts: by their path in the config, as 'config.model'.
        rows: of a batch.
        accumulate: microbatches a step.
        devices: each of which sees its own rows alone, as under `pmap`; 1 where a step sees those of all.
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
        f'rows        {name} ({_few(where)}): {what} are those of {rows // own} rows, not of the whole batch of {rows} '
        f'({", ".join(cause)})'
        for (name, what, own), where in paths.items()
    ]


def undeclared_lines(params: Params, axes: AxesByPath) -> list[str]:
    """Which parameters declare no axes, in words, and what follows; nothing where all of them do."""
    paths = [path_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(params)]
    undeclared = [path for path in paths if path not in axes]
    return [f'no axes     {_few(undeclared)}: replicated, and no kernels to Muon, muP and LoRA'] if undeclared else []


def expert_lines(params: Params, axes: AxesByPath) -> list[str]:
    """How many experts of mixtures each device has, in words; nothing where it has all of them.

    Args:
        params: shapes, with how they lie.
        axes: that they declare, by path.
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
    """What every device has whole, in words; nothing where the mesh has no axis along which parameters are split.

    Args:
        params: shapes, with how they lie.
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
    """The first few of some paths."""
    more = f' and {len(paths) - FEW} more' if len(paths) > FEW else ''
    return f'{", ".join(paths[:FEW])}{more}'


def role_of(path: str) -> str:
    """What a parameter is for, as in ROLES."""
    words = {word for name in path.split('/') for word in name.split('_')}
    return next((role for word, role in ROLES.items() if word in words), 'other')
