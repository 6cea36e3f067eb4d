# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Load a Hugging Face folder: config.json becomes a spec of our parts, the safetensors our parameters."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax.traverse_util import flatten_dict, unflatten_dict

from saccade.build import build
from saccade.hub.family import find_family
from saccade.hub.place import Shapes, place
from saccade.hub.setting import read, require
from saccade.hub.tensors import open_tensors, read_json
from saccade.types import Params, Scope, UserError


@dataclass(frozen=True, eq=False)
class Pretrained:
    """A model of another library, as one of ours.

    Attributes:
        spec: of the model, as it stands under config.model.
        params: in our layout, float32.
        tokenizer: the folder's tokenizer.json, if it has one.
        name: of the folder.
    """

    spec: dict[str, Any]
    params: Params
    tokenizer: Path | None
    name: str


def load(path: str | Path) -> Pretrained:
    """Read `config.json` and `model.safetensors`, or its shards, from a folder.

    Raises:
        UserError: a file is missing or damaged; the model is of a family or has a setting that cannot be
            represented; a tensor is missing, left over, or of the wrong shape or type.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise UserError(f'{folder}: there is no such folder')
    try:
        config = read_json(folder / 'config.json')
        family = find_family(read(config, 'model_type', str))
        require(config, 'quantization_config', None)
        spec = family.spec(config)
        with open_tensors(folder) as tensors:
            params = place(tensors, family, _shapes(spec))
    except UserError as error:
        raise UserError(f'{folder}: {error}') from None
    tokenizer = folder / 'tokenizer.json'
    return Pretrained(
        spec,
        unflatten_dict(params, sep='/'),
        tokenizer if tokenizer.is_file() else None,
        folder.resolve().name,
    )


def _shapes(spec: dict[str, Any]) -> Shapes:
    """Shapes of the parameters by path, 'layers/pattern_0/mixer/query', without making any."""
    model = build(spec, 'model')()
    tokens = jnp.zeros((1, 1), jnp.int32)
    variables = jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, Scope(tokens), False))
    return {path: leaf.shape for path, leaf in flatten_dict(variables['params'], sep='/').items()}
