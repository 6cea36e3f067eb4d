# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""LoRA factors as an adapter of PEFT: adapter_config.json and adapter_model.safetensors.

In PEFT, `base_model.model.MODULE.lora_A.weight` [r in] and `lora_B.weight` [out r] add (lora_alpha / r) B A to the
weight [out in] of a module: https://huggingface.co/docs/peft/developer_guides/checkpoint. A tensor of theirs that holds
several kernels of ours, such as queries, keys and values, gets one update with the sum of the ranks: A is that of each
kernel in turn, and B has a block for each.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
from einops import rearrange
from scipy.linalg import block_diag

from saccade.hub.describe import Description
from saccade.hub.place import layouts_of, weights_of
from saccade.hub.store import Outgoing, full_name, tensors_in
from saccade.types import UserError

FILE = 'adapter_model.safetensors'
_PREFIX = 'base_model.model.'
_TASKS = {
    'CAUSAL_LM': ('ForCausalLM', 'LMHeadModel'),
    'SEQ_2_SEQ_LM': ('ForConditionalGeneration', 'MarianMTModel'),
    'SEQ_CLS': ('ForSequenceClassification',),
    'TOKEN_CLS': ('ForTokenClassification',),
    'QUESTION_ANS': ('ForQuestionAnswering',),
}


@dataclass(frozen=True)
class Update:
    """Low-rank update A B of a kernel.

    Attributes: A, [... in R] with the layers first; B, [... R out]; inputs, number of the kernel's input axes.
    """

    A: Any
    B: Any
    inputs: int


@dataclass(frozen=True)
class Adapter:
    """Trained part of a LoRA run.

    Attributes:
        updates: by path of their kernels.
        whole: other trained parameters by path, as the weights of new heads.
        rank, alpha: r, and the constant factor of the updates.
        base: name or folder of the model that the updates are of.
        revision: of a name; None for the newest.
    """

    updates: Mapping[str, Update]
    whole: Mapping[str, Any]
    rank: int
    alpha: float
    base: str
    revision: str | None = None


def adapter_tensors(adapter: Adapter, description: Description) -> tuple[dict[str, Any], list[Outgoing]]:
    """Return adapter_config.json, and the tensors of an adapter.

    Raises:
        UserError: an update is of a kernel that PEFT does not adapt.
    """
    pairs = [*_pairs(adapter, description)]
    saved = [
        tensor
        for weight in weights_of(description.family, description.heads, description.shapes)
        if adapter.whole.keys() >= {*weight.ours} and not weight.read_only
        for tensor in tensors_in(weight, adapter.whole, description)
    ]
    (architecture,) = description.config['architectures']
    most = max(pair.parts for pair in pairs)
    fewer = {re.escape(pair.module): pair.parts for pair in pairs if pair.parts < most}
    config = {
        'peft_type': 'LORA',
        'task_type': next((task for task, ends in _TASKS.items() if architecture.endswith(ends)), None),
        'base_model_name_or_path': adapter.base,
        'revision': adapter.revision,
        'inference_mode': True,
        'r': most * adapter.rank,
        'lora_alpha': most * adapter.alpha,  # their factor is of the sum of the ranks
        'rank_pattern': {name: count * adapter.rank for name, count in fewer.items()},
        'alpha_pattern': {name: count * adapter.alpha for name, count in fewer.items()},
        'lora_dropout': 0.0,
        'bias': 'none',
        'fan_in_fan_out': any(pair.input_first for pair in pairs),
        'use_rslora': False,
        'target_modules': [pair.module for pair in pairs],
        'modules_to_save': sorted({each.name.rpartition('.')[0] for each in saved}) or None,
    }
    tensors = [Outgoing(f'{_PREFIX}{each.name}', each.shape, each.make) for each in saved]
    return config, [*(tensor for pair in pairs for tensor in pair.tensors()), *tensors]


@dataclass(frozen=True)
class _Pair:
    """Update of one module.

    Attributes:
        module: its name.
        A, B: the factors, [r in] and [out r].
        parts: number of updates of ours that it holds.
        input_first: True if the module keeps its weight as [in, out].
    """

    module: str
    A: np.ndarray
    B: np.ndarray
    parts: int
    input_first: bool

    def tensors(self) -> Iterator[Outgoing]:
        """Yield A and B under the names of PEFT."""
        for name, array in (('lora_A', self.A), ('lora_B', self.B)):
            yield Outgoing(f'{_PREFIX}{self.module}.{name}.weight', array.shape, partial(np.asarray, array))


def _pairs(adapter: Adapter, description: Description) -> Iterator[_Pair]:
    left = {*adapter.updates}
    for weight in weights_of(description.family, description.heads, description.shapes):
        updates = [adapter.updates.get(path) for path in weight.ours]
        present = [update for update in updates if update is not None]
        if not present or weight.read_only:
            continue
        left -= {*weight.ours}
        shapes = [description.shapes[path] for path in weight.ours]
        order = weight.order and weight.order(description.shapes, weight.ours[0])
        for short, index in weight.tensors(shapes[0]):
            sides = [
                _Sides.of(layout, shape[len(index) :], present[0].inputs, short)
                for layout, shape in zip(layouts_of(weight), shapes, strict=True)
            ]
            factors = [side.turned(update, index) for side, update in zip(sides, updates, strict=True)]
            B = block_diag(*(B for _, B in factors))
            yield _Pair(
                full_name(short, description).removesuffix('.weight'),
                np.concatenate([A for A, _ in factors]),
                B if order is None else B[np.argsort(order)],
                len(present),
                sides[0].input_first,
            )
    if left:
        raise UserError(f'no module of this family has the update of {min(left)}; export without --adapter')


@dataclass(frozen=True)
class _Sides:
    """Input axes and output axes of a kernel.

    Attributes:
        ours, theirs: of our kernel and of the tensor, as einops writes them.
        sizes: of each axis.
        input_first: True if the tensor is [in, out].
    """

    ours: tuple[str, str]
    theirs: tuple[str, str]
    sizes: tuple[dict[str, int], dict[str, int]]
    input_first: bool

    @classmethod
    def of(cls, layout: str, shape: tuple[int, ...], inputs: int, name: str) -> '_Sides':
        """Return the axes of a kernel. Args: shape, without layers; inputs, number of input axes; name, for errors."""
        theirs, _, ours = layout.partition('->')
        letters = ours.split()
        groups = re.findall(r'\([^)]*\)|\S+', theirs)
        are_inputs = [{*group.strip('()').split()} <= {*letters[:inputs]} for group in groups]
        if sorted(are_inputs) != [False, True]:
            raise UserError(f'PEFT has no update of tensor {name}, which is no matrix; export without --adapter')
        sizes = (
            dict(zip(letters[:inputs], shape, strict=False)),
            dict(zip(letters[inputs:], shape[inputs:], strict=True)),
        )
        first, last = groups if are_inputs[0] else groups[::-1]
        return cls((f'({" ".join(sizes[0])})', f'({" ".join(sizes[1])})'), (first, last), sizes, are_inputs[0])

    def turned(self, update: Update | None, index: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return A [r in] and B [out r] of a layer; of rank 0 without an update."""
        if update is None:
            reads, makes = (prod(sizes.values()) for sizes in self.sizes)
            return np.zeros((0, reads), np.float32), np.zeros((makes, 0), np.float32)
        A, B = np.asarray(update.A[index]), np.asarray(update.B[index])
        (ours_in, ours_out), (theirs_in, theirs_out) = self.ours, self.theirs
        return (
            rearrange(A, f'{ours_in} rank -> rank {theirs_in}', **self.sizes[0]),
            rearrange(B, f'rank {ours_out} -> {theirs_out} rank', **self.sizes[1]),
        )
