# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exported folders opened by TransformerLens, BertViz and lm-eval, each where it is installed.

pip install transformer-lens bertviz lm-eval && make oracle
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from theirs import torch, transformers

from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.hub.export import Source, export
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.types import LayerContext

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-4  # greatest difference of a logit, of a logarithm of a probability, and of an attention weight
TEXT = 'the model reads a token after every word'


class Exported(NamedTuple):
    """Decoder of ours.

    Attributes: its folder; its tokenizer; ids of a text; their logits [T V] and attention weights [L N T T] of ours.
    """

    folder: Path
    tokenizer: Tokenizer
    ids: list[int]
    logits: np.ndarray
    weights: np.ndarray


@pytest.fixture(scope='module')
def exported(tmp_path_factory) -> Exported:
    config = load_config(
        str(ROOT / 'experiments/causal_lm/quickstart.py'),
        [f'--config.model.{size}' for size in ('width=24', 'layers=2', 'block.mixer.heads=2', 'vocabulary=300')],
    )
    tokenizer, model = BPE(vocabulary=300).train([TEXT] * 5), Experiment.of(config).model
    ids = tokenizer.encode(TEXT)
    tokens, context = jnp.array([ids]), LayerContext(jnp.arange(len(ids))[None])
    params = model().init(jax.random.key(0), tokens, context, False)['params']
    params = jax.tree.map(lambda leaf: leaf + 0.3 * jax.random.normal(jax.random.key(leaf.size), leaf.shape), params)
    folder = tmp_path_factory.mktemp('exported') / 'out'
    export(Source(model, params, tokenizer), folder)
    (logits,), found = model().apply({'params': params}, tokens, context, False, mutable=['pattern'])
    assert logits.std() > 100 * TOLERANCE
    (weights,) = jax.tree.leaves(found)
    return Exported(folder, tokenizer, ids, np.asarray(logits), np.asarray(weights)[:, 0])


def imported(name: str) -> Any:
    return pytest.importorskip(name, reason=f'{name.partition(".")[0]} is not installed')


def test_transformer_lens(exported):
    bridge = imported('transformer_lens.model_bridge').TransformerBridge
    model = bridge.boot_transformers(str(exported.folder), device='cpu')
    with torch.no_grad():
        logits, cache = model.run_with_cache(torch.tensor([exported.ids]))
    np.testing.assert_allclose(logits[0].numpy(), exported.logits, atol=TOLERANCE)
    for layer, wanted in enumerate(exported.weights):
        pattern = cache[f'blocks.{layer}.attn.hook_pattern'][0].numpy()
        np.testing.assert_allclose(pattern, wanted, atol=TOLERANCE)
    assert model.to_str_tokens(TEXT, prepend_bos=False)[0] == 'the'


def test_bertviz(exported):
    view = imported('bertviz').head_view
    model = transformers.AutoModelForCausalLM.from_pretrained(exported.folder, attn_implementation='eager')
    with torch.no_grad():
        weights = model(torch.tensor([exported.ids]), output_attentions=True).attentions
    tokens = transformers.AutoTokenizer.from_pretrained(exported.folder).convert_ids_to_tokens(exported.ids)
    html = view(weights, tokens, html_action='return').data
    (shown,), _ = json.JSONDecoder().raw_decode(html.partition('"attention": ')[2])
    np.testing.assert_allclose(np.array(shown['attn']), exported.weights, atol=TOLERANCE)
    assert len(shown['left_text']) == len(exported.ids)


def test_lm_eval(exported):
    lm = imported('lm_eval.models.huggingface').HFLM(pretrained=str(exported.folder), device='cpu', batch_size=1)
    instance = imported('lm_eval.api.instance').Instance
    cut = 3
    before = exported.tokenizer.decode(exported.ids[:cut])
    after = TEXT.removeprefix(before)
    assert exported.tokenizer.encode(before) == exported.ids[:cut]
    ((found, greedy),) = lm.loglikelihood([instance('loglikelihood', {}, (before, after), 0)])
    logits = jax.nn.log_softmax(exported.logits[cut - 1 : -1])
    wanted = logits[np.arange(len(exported.ids) - cut), np.array(exported.ids[cut:])].sum()
    assert found == pytest.approx(float(wanted), abs=10 * TOLERANCE)
    assert greedy == bool((exported.logits[cut - 1 : -1].argmax(-1) == exported.ids[cut:]).all())
