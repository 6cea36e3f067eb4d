# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Inherited architecture: the model of `init_from` replaces the config field that `inherit` names.

    inherit = 'model'             fine-tune a run of ours or a Hugging Face directory, whatever its sizes
    inherit = 'model.teacher'     learn from such a model as a teacher

Without `init_from` the config trains its own model from scratch.
"""

from typing import Any

from ml_collections import ConfigDict

from saccade.build import fields, load_target, shortened
from saccade.train.trained import spec_of, under_heads
from saccade.types import UserError


def inherit(config: ConfigDict) -> None:
    """Put the model of `init_from` into the config field that `inherit` names; the heads of that field stay.

    Raises:
        UserError: there is no such field, or it holds no model; it is empty and stays so; the field has heads and the
            model has none; or one of the three fields that say where from is not text.
    """
    if not config.get('inherit'):
        return
    for field in ('inherit', 'init_from', 'init_part'):
        if not isinstance(config.get(field, ''), str):
            raise UserError(f'config.{field}: must be text, not {shortened(config[field])}')
    init_from = config.get('init_from')
    *parents, name = config.inherit.split('.')
    node = config
    for parent in parents:
        node = _fields(node).get(parent)
    if name not in _fields(node):
        raise UserError(f"config.inherit: the config has no field '{config.inherit}'")
    if not init_from and node[name] is None:
        raise UserError(f'config.init_from: give the run or the Hugging Face directory of {config.inherit}')
    if not init_from:
        return
    if not isinstance(node[name], ConfigDict | None):
        raise UserError(f'config.inherit: config.{config.inherit} is {shortened(node[name])}, not a model')
    own = {key: value for key, value in (node[name] or {}).items() if key == 'heads'}
    part = config.get('init_part', '')
    if not own:
        node[name] = ConfigDict(spec_of(init_from, part))
        return
    spec, part = under_heads(init_from, part, own['heads'], _ending(_fields(config.get('task'))))
    if 'heads' not in fields(load_target(spec['use'])):
        raise UserError(f'config.init_from={init_from}: {spec["use"]} has no heads; this takes an encoder')
    node[name] = ConfigDict(spec | own)
    if part:
        with config.unlocked():
            config.init_part = part


def _ending(task: ConfigDict) -> str:
    """Return the ending of the names of architectures for a task."""
    return getattr(load_target(task.use), 'architecture', '') if 'use' in task else ''


def _fields(node: Any) -> ConfigDict:
    return node if isinstance(node, ConfigDict) else ConfigDict()
