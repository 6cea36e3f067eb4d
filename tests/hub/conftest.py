# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tiny folders as transformers writes them, made with safetensors alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

GPT2 = {
    'model_type': 'gpt2',
    'vocab_size': 11,
    'n_positions': 7,
    'n_embd': 12,
    'n_layer': 2,
    'n_head': 3,
    'n_inner': 20,
    'activation_function': 'gelu_new',
    'layer_norm_epsilon': 1e-4,
    'resid_pdrop': 0.25,
    'embd_pdrop': 0.5,
    'attn_pdrop': 0.75,
}
LLAMA = {
    'model_type': 'llama',
    'vocab_size': 13,
    'max_position_embeddings': 9,
    'hidden_size': 12,
    'intermediate_size': 10,
    'num_hidden_layers': 2,
    'num_attention_heads': 4,
    'num_key_value_heads': 2,
    'head_dim': 6,
    'hidden_act': 'silu',
    'rms_norm_eps': 1e-5,
    'rope_theta': 100.0,
    'attention_bias': True,
    'attention_dropout': 0.125,
    'mlp_bias': True,
    'tie_word_embeddings': False,
}

BERT = {
    'model_type': 'bert',
    'architectures': ['BertForPreTraining'],
    'vocab_size': 11,
    'max_position_embeddings': 7,
    'hidden_size': 12,
    'num_hidden_layers': 2,
    'num_attention_heads': 3,
    'intermediate_size': 20,
    'hidden_act': 'gelu',
    'hidden_dropout_prob': 0.125,
    'attention_probs_dropout_prob': 0.25,
    'type_vocab_size': 2,
    'layer_norm_eps': 1e-3,
}

# What stands beside a trunk, and has not its prefix.
HEADS = ('lm_head.', 'cls.', 'classifier.', 'qa_outputs.')


def gpt2_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    D, F = config['n_embd'], config['n_inner']
    layer = {
        'ln_1.weight': (D,), 'ln_1.bias': (D,), 'ln_2.weight': (D,), 'ln_2.bias': (D,),
        'attn.c_attn.weight': (D, 3 * D), 'attn.c_attn.bias': (3 * D,),
        'attn.c_proj.weight': (D, D), 'attn.c_proj.bias': (D,),
        'mlp.c_fc.weight': (D, F), 'mlp.c_fc.bias': (F,), 'mlp.c_proj.weight': (F, D), 'mlp.c_proj.bias': (D,),
    }  # fmt: skip
    ends = {'wte.weight': (config['vocab_size'], D), 'wpe.weight': (config['n_positions'], D)}
    norm = {'ln_f.weight': (D,), 'ln_f.bias': (D,)}
    return ends | norm | _each_layer('h', config['n_layer'], layer)


def llama_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    V, D, F = config['vocab_size'], config['hidden_size'], config['intermediate_size']
    N, K, H = config['num_attention_heads'], config['num_key_value_heads'], config['head_dim']
    linear = {
        'self_attn.q_proj': (N * H, D), 'self_attn.k_proj': (K * H, D), 'self_attn.v_proj': (K * H, D),
        'self_attn.o_proj': (D, N * H), 'mlp.gate_proj': (F, D), 'mlp.up_proj': (F, D), 'mlp.down_proj': (D, F),
    }  # fmt: skip
    layer = _affine(linear) | {'input_layernorm.weight': (D,), 'post_attention_layernorm.weight': (D,)}
    ends = {'embed_tokens.weight': (V, D), 'norm.weight': (D,), 'lm_head.weight': (V, D)}
    return ends | _each_layer('layers', config['num_hidden_layers'], layer)


def bert_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Those of the trunk, without its prefix, and of the heads that the original was trained with."""
    V, D, F = config['vocab_size'], config['hidden_size'], config['intermediate_size']
    linear = {'attention.output.dense': (D, D), 'intermediate.dense': (F, D), 'output.dense': (D, F)}
    linear |= {f'attention.self.{name}': (D, D) for name in ('query', 'key', 'value')}
    layer = _affine(linear) | _norms(D, 'attention.output.LayerNorm', 'output.LayerNorm')
    tables = {'word': V, 'position': config['max_position_embeddings'], 'token_type': config['type_vocab_size']}
    ends = {f'embeddings.{name}_embeddings.weight': (rows, D) for name, rows in tables.items()}
    heads = _affine({'pooler.dense': (D, D), 'cls.predictions.transform.dense': (D, D), 'cls.seq_relationship': (2, D)})
    norms = _norms(D, 'embeddings.LayerNorm', 'cls.predictions.transform.LayerNorm')
    layers = _each_layer('encoder.layer', config['num_hidden_layers'], layer)
    return ends | heads | norms | layers | {'cls.predictions.bias': (V,)}


def _affine(kernels: dict[str, tuple[int, int]]) -> dict[str, tuple[int, ...]]:
    biases = {f'{name}.bias': shape[:1] for name, shape in kernels.items()}
    return {f'{name}.weight': shape for name, shape in kernels.items()} | biases


def _norms(width: int, *names: str) -> dict[str, tuple[int, ...]]:
    return {f'{name}.{part}': (width,) for name in names for part in ('weight', 'bias')}


def _each_layer(stem: str, count: int, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {f'{stem}.{number}.{name}': shape for number in range(count) for name, shape in shapes.items()}


class Folder:
    """A model's folder, to be spoilt in whatever way a test needs before it is written."""

    def __init__(self, path: Path, config: dict[str, Any], shapes: dict[str, tuple[int, ...]]):
        random = np.random.default_rng(0)
        self.path, self.config = path, dict(config)
        self.tensors = {
            name: random.normal(0.1, 0.4, shape).astype(np.float32) for name, shape in sorted(shapes.items())
        }

    def write(self, prefix: str = '') -> Path:
        self.path.mkdir(exist_ok=True)
        (self.path / 'config.json').write_text(json.dumps(self.config))
        save_file(
            {name if name.startswith(HEADS) else prefix + name: array for name, array in self.tensors.items()},
            self.path / 'model.safetensors',
        )
        return self.path

    def write_shards(self) -> Path:
        """Two shards and the index, in place of the one file."""
        (self.write() / 'model.safetensors').unlink()
        names = sorted(self.tensors)
        shards = {'model-1.safetensors': names[::2], 'model-2.safetensors': names[1::2]}
        for file, part in shards.items():
            save_file({name: self.tensors[name] for name in part}, self.path / file)
        index = {name: file for file, part in shards.items() for name in part}
        (self.path / 'model.safetensors.index.json').write_text(json.dumps({'weight_map': index}))
        return self.path


@pytest.fixture
def gpt2(tmp_path: Path) -> Folder:
    return Folder(tmp_path / 'tiny-gpt2', GPT2, gpt2_shapes(GPT2))


@pytest.fixture
def llama(tmp_path: Path) -> Folder:
    return Folder(tmp_path / 'tiny-llama', LLAMA, llama_shapes(LLAMA))


@pytest.fixture
def bert(tmp_path: Path) -> Folder:
    return Folder(tmp_path / 'tiny-bert', BERT, bert_shapes(BERT))
