# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Adapters that PEFT puts on a model of transformers: the logits of the merged model of ours."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from theirs import peft, torch, transformers

from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.hub.adapter import Adapter, Update
from saccade.hub.export import Format, Source, export_adapter
from saccade.hub.load import load
from saccade.train.low_rank import LowRank
from saccade.types import LayerContext

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

TOLERANCE = 1e-4  # greatest difference of a logit
TOKENS = jnp.arange(18).reshape(2, 9)
SIZES = {'vocab_size': 32, 'hidden_size': 24, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'intermediate_size': 20}
BASES = {
    'LlamaForCausalLM': SIZES | {'num_key_value_heads': 2},
    'GPT2LMHeadModel': {'vocab_size': 32, 'n_embd': 24, 'n_layer': 2, 'n_head': 4},
    'Phi3ForCausalLM': SIZES | {'num_key_value_heads': 2, 'pad_token_id': 0},
    'Qwen3ForCausalLM': SIZES | {'num_key_value_heads': 2, 'head_dim': 8},
}
MATCHES = {'all': 'layers/', 'queries and values': 'mixer/(query|value)$'}


def exported(name: str, match: str, folder: Path) -> np.ndarray:
    """Write a base of transformers and an adapter of ours; return the logits of our merged model."""
    torch.manual_seed(0)
    made = getattr(transformers, name)
    made(made.config_class(**BASES[name])).save_pretrained(folder / 'base')
    pretrained = load(folder / 'base')
    model, context = build(pretrained.spec, 'model'), LayerContext(jnp.tile(jnp.arange(9), (2, 1)))
    with recorded_axes():
        axes = declared(jax.eval_shape(lambda: model().init(jax.random.key(0), TOKENS, context, False)))
    low_rank = LowRank(3, 8.0, match)
    params = low_rank.init(jax.random.key(0), pretrained.params, axes)
    params['low_rank'] = jax.tree.map(
        lambda leaf: jax.random.normal(jax.random.key(leaf.size), leaf.shape) / 4, params['low_rank']
    )
    merged = low_rank.merged(params)
    updates = {path: Update(*update) for path, update in low_rank.updates(params, axes).items()}
    adapter = Adapter(updates, low_rank.whole(params), 3, 8.0, str(folder / 'base'))
    family = Format(json.loads((folder / 'base/config.json').read_text())['model_type'])
    export_adapter(Source(model, merged), adapter, folder / 'adapter', family, '')
    return np.asarray(model().apply({'params': merged}, TOKENS, context, False))


def logits(model: 'torch.nn.Module') -> np.ndarray:
    with torch.no_grad():
        return model.eval()(torch.tensor(np.asarray(TOKENS))).logits.numpy()


@pytest.mark.parametrize('match', MATCHES)
@pytest.mark.parametrize('name', BASES)
def test_peft_opens_an_adapter(name, match, tmp_path):
    wanted = exported(name, MATCHES[match], tmp_path)
    model = getattr(transformers, name).from_pretrained(tmp_path / 'base')
    assert np.abs(logits(model) - wanted).max() > 100 * TOLERANCE
    opened = peft.PeftModel.from_pretrained(model, tmp_path / 'adapter')
    np.testing.assert_allclose(logits(opened), wanted, atol=TOLERANCE)
