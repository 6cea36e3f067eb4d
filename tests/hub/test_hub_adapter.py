# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Adapters: a base and its update, added by the rule of PEFT, are the merged model, tensor by tensor."""

import json
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.traverse_util import flatten_dict
from safetensors.numpy import load_file
from test_hub_export import SMALL, made

from saccade.axes import AxesByPath, declared, recorded_axes
from saccade.hub.adapter import Adapter, Update
from saccade.hub.export import Format, Source, export, export_adapter
from saccade.hub.family import find_family
from saccade.train.low_rank import LowRank
from saccade.types import Params, Part, UserError

RANK, ALPHA = 2, 3.0
PREFIX = 'base_model.model.'
# The ones with new heads save these whole; those of towers and of constants have no LoRA of one model.
CASES = {
    'llama': 'layers/', 'gpt2': 'layers/', 'phi3': 'layers/', 'phi3, of queries': 'mixer/(query|output)$',
    'gpt2, of queries and values': 'mixer/(query|value)$', 'qwen3': 'layers/', 't5': 'layers/', 'marian': 'layers/',
    'bert, BertForSequenceClassification': 'layers/', 'vit': 'layers/',
    'distilbert, DistilBertForSequenceClassification': 'layers/',
}  # fmt: skip

QUICK = ('llama', 'gpt2')


def axes_of(model: Part, config: dict[str, Any]) -> AxesByPath:
    family = find_family(config['model_type'])
    inputs = jax.tree.map(jnp.asarray, family.inputs_of(family.keys.settings(config)))
    with recorded_axes():
        return declared(jax.eval_shape(lambda: model().init(jax.random.key(0), *inputs, False)))


def written(config: dict[str, Any], match: str, folder: Path) -> tuple[Part, Params]:
    """Write a base, its adapter and the merged model; return the model and the merged parameters."""
    model, params = made(config)
    axes, low_rank = axes_of(model, config), LowRank(RANK, ALPHA, match)
    tuned = low_rank.init(jax.random.key(0), params, axes)
    random = np.random.default_rng(1)
    factors = jax.tree.map(lambda leaf: random.normal(size=leaf.shape).astype(np.float32), tuned['low_rank'])
    tuned = jax.tree.map(jnp.asarray, params | {'low_rank': factors})
    merged = jax.tree.map(np.asarray, low_rank.merged(tuned))
    # Heads are trained whole, so those of the base differ.
    base = {
        name: jax.tree.map(lambda leaf: leaf + 1, tree) if name.endswith('_head') else tree
        for name, tree in params.items()
    }
    ending, form = (config.get('architectures') or [''])[0], Format(config['model_type'])
    export(Source(model, base, ending=ending), folder / 'base', form)
    source = Source(model, merged, ending=ending)
    export(source, folder / 'merged', form)
    updates = {path: Update(*update) for path, update in low_rank.updates(tuned, axes).items()}
    adapter = Adapter(updates, low_rank.whole(tuned), RANK, ALPHA, 'lab/base')
    export_adapter(source, adapter, folder / 'adapter', form, '# adapter\n')
    return model, merged


def applied(folder: Path) -> dict[str, np.ndarray]:
    """The tensors of the base with the adapter added, as PEFT's documentation says."""
    tensors, adapter = (
        load_file(folder / name) for name in ('base/model.safetensors', 'adapter/adapter_model.safetensors')
    )
    config = json.loads((folder / 'adapter/adapter_config.json').read_text())
    for name, A in adapter.items():
        short = name.removeprefix(PREFIX)
        assert short != name
        if short.endswith('.lora_A.weight'):
            module = short.removesuffix('.lora_A.weight')
            assert module in config['target_modules']
            B = adapter[f'{PREFIX}{module}.lora_B.weight']
            rank, alpha = (
                next((value for key, value in config[pattern].items() if re.fullmatch(key, module)), config[usual])
                for pattern, usual in (('rank_pattern', 'r'), ('alpha_pattern', 'lora_alpha'))
            )
            assert A.shape[0] == B.shape[1] == rank
            update = alpha / rank * B @ A
            tensors[f'{module}.weight'] = tensors[f'{module}.weight'] + (
                update.T if config['fan_in_fan_out'] else update
            )
        elif not short.endswith('.lora_B.weight'):
            assert short.rpartition('.')[0] in config['modules_to_save']
            tensors[short] = A
    return tensors


@pytest.mark.parametrize(
    'name', [pytest.param(name, marks=() if name in ('llama', 'gpt2') else pytest.mark.long) for name in CASES]
)
def test_a_base_with_its_adapter_is_the_merged_model(name, tmp_path):
    known = name.partition(', of ')[0]
    written(SMALL[known], CASES[name], tmp_path)
    found, wanted = applied(tmp_path), load_file(tmp_path / 'merged/model.safetensors')
    base = load_file(tmp_path / 'base/model.safetensors')
    assert found.keys() == wanted.keys()
    changed = {tensor for tensor in found if not np.array_equal(base[tensor], wanted[tensor])}
    assert len(changed) >= 2
    for tensor, value in wanted.items():
        np.testing.assert_allclose(found[tensor], value, atol=1e-5, err_msg=tensor)


def test_the_config_of_an_adapter(tmp_path):
    written(SMALL['llama'], 'mixer/query', tmp_path)
    assert json.loads((tmp_path / 'adapter/adapter_config.json').read_text()) == {
        'peft_type': 'LORA', 'task_type': 'CAUSAL_LM', 'base_model_name_or_path': 'lab/base', 'revision': None,
        'inference_mode': True, 'r': 2, 'lora_alpha': 3.0, 'rank_pattern': {}, 'alpha_pattern': {}, 'lora_dropout': 0.0,
        'bias': 'none', 'fan_in_fan_out': False, 'use_rslora': False, 'modules_to_save': None,
        'target_modules': [f'model.layers.{layer}.self_attn.q_proj' for layer in range(2)],
    }  # fmt: skip
    found = load_file(tmp_path / 'adapter/adapter_model.safetensors')
    stem = 'base_model.model.model.layers.1.self_attn.q_proj'
    assert found[f'{stem}.lora_A.weight'].shape == (2, 12)
    assert found[f'{stem}.lora_B.weight'].shape == (24, 2)
    assert len(found) == 4


def test_a_fused_module_has_the_ranks_of_its_parts(tmp_path):
    written(SMALL['gpt2'], 'mixer/(query|value|output)$', tmp_path)
    config = json.loads((tmp_path / 'adapter/adapter_config.json').read_text())
    assert (config['r'], config['lora_alpha'], config['fan_in_fan_out']) == (4, 6.0, True)
    assert config['rank_pattern'] == {rf'transformer\.h\.{layer}\.attn\.c_proj': 2 for layer in range(2)}
    assert config['alpha_pattern'] == {rf'transformer\.h\.{layer}\.attn\.c_proj': 3.0 for layer in range(2)}


def test_an_update_that_no_module_has_is_refused(tmp_path):
    model, params = made(SMALL['llama'])
    adapter = Adapter({'layers/other': Update(np.zeros((2, 3, 1)), np.zeros((2, 1, 3)), 1)}, {}, 1, 1.0, 'base')
    with pytest.raises(UserError, match='no module of this family has the update of layers/other'):
        export_adapter(Source(model, params), adapter, tmp_path / 'out', Format('llama'), '')
    assert flatten_dict(params)
    assert not any(tmp_path.iterdir())
