# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Published models that experiments make by config alone, against those of `transformers`, on copied random weights."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle
ROOT = Path(__file__).parents[2] / 'experiments'
RELATIVE = 1e-4  # of the largest logit
B, T, WORDS = 2, 21, 17


def model_of(name, **sizes):
    """The experiment's model of these sizes; a field of blocks is given as block__0__mixer__heads."""
    sizes = {'vocabulary': WORDS, 'context_length': T, **sizes}
    overrides = [f'--config.model.{name.replace("__", ".")}={size}' for name, size in sizes.items()]
    return Experiment.of(load_config(str(ROOT / name), overrides)).model()


def randomised(torch, module):
    """Their parameters by name, drawn anew: large enough that every part shows in the logits."""
    torch.manual_seed(0)
    for name, leaf in module.named_parameters():
        torch.nn.init.normal_(leaf, mean=float('norm' in name), std=0.2)
    return {name: np.asarray(leaf.detach()) for name, leaf in module.named_parameters()}


def assert_near(module, params, theirs, torch):
    tokens = np.random.default_rng(0).integers(0, WORDS, (B, T))
    context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
    params = jax.tree.map(jnp.asarray, params)
    given = jax.jit(lambda params: module.apply({'params': params}, jnp.asarray(tokens), context, False))(params)
    with torch.no_grad():
        expected = np.asarray(theirs.eval()(torch.tensor(tokens)).logits)
    (given,) = given.values() if isinstance(given, dict) else (given,)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def heads_of(weight, heads):
    """A torch linear layer's [N H, D] as [D N H]."""
    return weight.T.reshape(weight.shape[1], heads, -1)


def merged(weight, heads):
    """A torch linear layer's [D, N H] as [N H D]."""
    return weight.T.reshape(heads, -1, weight.shape[0])


def stacked(layers):
    """Parameters of layers, by group, place and repeat, with the repeats stacked."""
    return {name: jax.tree.map(lambda *leaves: np.stack(leaves), *repeats) for name, repeats in layers.items()}


def gated(p, at):
    return {name: p[f'{at}.{name}_proj.weight'].T for name in ('gate', 'up', 'down')}


def experts(p, at):
    """The experts of a mixture, stacked."""
    gate, up = np.split(p[f'{at}.gate_up_proj'], 2, axis=1)
    return {name: x.transpose(0, 2, 1) for name, x in (('gate', gate), ('up', up), ('down', p[f'{at}.down_proj']))}


def test_qwen3_next_has_the_logits_of_transformers():
    torch = pytest.importorskip('torch')
    from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

    D, N, K, H, V, A, KV, width = 12, 4, 2, 5, 6, 2, 1, 8
    sizes = {'hidden_size': D, 'num_hidden_layers': 4, 'vocab_size': WORDS, 'linear_num_value_heads': N}
    sizes |= {'linear_num_key_heads': K, 'linear_key_head_dim': H, 'linear_value_head_dim': V, 'head_dim': width}
    sizes |= {'num_attention_heads': A, 'num_key_value_heads': KV, 'num_experts': 4, 'num_experts_per_tok': 2}
    sizes |= {'moe_intermediate_size': 7, 'shared_expert_intermediate_size': 7}
    rope = {'rope_type': 'default', 'rope_theta': 1e7, 'partial_rotary_factor': 0.25}
    theirs = Qwen3NextForCausalLM(Qwen3NextConfig(**sizes, rope_parameters=rope))
    theirs.set_experts_implementation('eager')
    p = randomised(torch, theirs)

    def scale(name):
        """Their norms scale by 1 + w."""
        return {'scale': 1 + p[f'{name}.weight']}

    def linear(at):
        G = N // K
        together = p[f'{at}.in_proj_qkvz.weight'].T.reshape(D, K, 2 * H + 2 * G * V)
        query, key, value, gate = np.split(together, np.cumsum([H, H, G * V]), axis=-1)
        write, step = np.split(p[f'{at}.in_proj_ba.weight'].T.reshape(D, K, 2 * G), 2, axis=-1)
        return {
            **{'query': query, 'key': key, 'value': value.reshape(D, N, V), 'gate': gate.reshape(D, N, V)},
            **{'write': write.reshape(D, N), 'step': step.reshape(D, N)},
            'convolution': {'output': p[f'{at}.conv1d.weight'][:, 0].T},
            **{'log_rate': p[f'{at}.A_log'], 'step_bias': p[f'{at}.dt_bias']},
            'head_norm': {'scale': p[f'{at}.norm.weight']},
            'output': merged(p[f'{at}.out_proj.weight'], N),
        }

    def softmax(at):
        query, gate = np.split(heads_of(p[f'{at}.q_proj.weight'], A), 2, axis=-1)
        return {
            **{'query': query, 'gate': gate},
            **{name: heads_of(p[f'{at}.{name[0]}_proj.weight'], KV) for name in ('key', 'value')},
            **{'query_norm': scale(f'{at}.q_norm'), 'key_norm': scale(f'{at}.k_norm')},
            'output': merged(p[f'{at}.o_proj.weight'], A),
        }

    def layer(number):
        at = f'model.layers.{number}'
        return {
            'mixer_norm': scale(f'{at}.input_layernorm'),
            'mixer': softmax(f'{at}.self_attn') if number == 3 else linear(f'{at}.linear_attn'),
            'feedforward_norm': scale(f'{at}.post_attention_layernorm'),
            'feedforward': {
                'router': {'kernel': p[f'{at}.mlp.gate.weight'].T},
                'expert': experts(p, f'{at}.mlp.experts'),
                'shared': {
                    'gate': p[f'{at}.mlp.shared_expert_gate.weight'].T,
                    'expert': gated(p, f'{at}.mlp.shared_expert'),
                },
            },
        }

    params = {
        'embedding': p['model.embed_tokens.weight'],
        'layers': stacked({f'pattern_{number}': [layer(number)] for number in range(4)}),
        'norm': scale('model.norm'),
        'head': p['lm_head.weight'].T,
    }
    ours = model_of(
        'causal_lm/qwen3_next_tiny.py',
        width=D,
        block__0__mixer__heads=N,
        block__0__mixer__key_heads=K,
        block__0__mixer__head_width=H,
        block__0__mixer__value_width=V,
        block__3__mixer__heads=A,
        block__3__mixer__key_value_heads=KV,
        block__3__mixer__head_width=width,
        block__0__feedforward__experts=4,
        block__0__feedforward__active=2,
        block__0__feedforward__expert__width=7,
    )
    assert_near(ours, params, theirs, torch)


def test_kimi_linear_has_the_logits_of_transformers():
    torch = pytest.importorskip('torch')
    from transformers import KimiLinearConfig, KimiLinearForCausalLM

    D, N, H, R, shared, F, L = 12, 2, 4, 5, 2, 7, 7
    attending = (3, 6)
    kinds = ['full_attention' if number in attending else 'linear_attention' for number in range(L)]
    sizes = {
        'hidden_size': D,
        'num_hidden_layers': L,
        'vocab_size': WORDS,
        'intermediate_size': 9,
        'layer_types': kinds,
    }
    sizes |= {'moe_intermediate_size': F, 'num_local_experts': 4, 'num_experts_per_tok': 2, 'num_attention_heads': N}
    sizes |= {'num_key_value_heads': N, 'kv_lora_rank': R, 'qk_rope_head_dim': shared, 'qk_nope_head_dim': H}
    sizes |= {'v_head_dim': H, 'linear_head_dim': H, 'linear_num_heads': N, 'linear_conv_kernel_dim': 4}
    tokens = {'pad_token_id': 0, 'bos_token_id': 1, 'eos_token_id': 2}
    theirs = KimiLinearForCausalLM(KimiLinearConfig(**sizes, **tokens))
    theirs.set_experts_implementation('eager')
    p = randomised(torch, theirs)

    def scale(name):
        return {'scale': p[f'{name}.weight']}

    def delta(at):
        return {
            **{name: heads_of(p[f'{at}.{name[0]}_proj.weight'], N) for name in ('query', 'key', 'value')},
            'convolution': {'output': p[f'{at}.conv1d.weight'][:, 0].T},
            'write': p[f'{at}.b_proj.weight'].T,
            'step_down': p[f'{at}.forget_gate.f_a_proj.weight'].T,
            'step_up': heads_of(p[f'{at}.forget_gate.f_b_proj.weight'], N),
            'step_bias': p[f'{at}.forget_gate.dt_bias'].reshape(N, H),
            'log_rate': p[f'{at}.forget_gate.A_log'].reshape(N),
            'gate_down': p[f'{at}.g_a_proj.weight'].T,
            'gate_up': heads_of(p[f'{at}.g_b_proj.weight'], N),
            'head_norm': scale(f'{at}.o_norm'),
            'output': merged(p[f'{at}.o_proj.weight'], N),
        }

    def latent(at):
        down = p[f'{at}.kv_a_proj_with_mqa.weight'].T
        key, value = np.split(heads_of(p[f'{at}.kv_b_proj.weight'], N), 2, axis=-1)
        return {
            **{'query': heads_of(p[f'{at}.q_proj.weight'], N), 'key': key, 'value': value},
            **{'latent': down[:, :R], 'rotated_key': down[:, R:], 'latent_norm': scale(f'{at}.kv_a_layernorm')},
            'output': merged(p[f'{at}.o_proj.weight'], N),
        }

    def mixture(at):
        router = {'kernel': p[f'{at}.gate.weight'].T, 'balance_bias': np.zeros(4, np.float32)}
        return {'router': router, 'expert': experts(p, f'{at}.experts'), 'shared': gated(p, f'{at}.shared_experts')}

    def layer(number):
        at = f'model.layers.{number}'
        return {
            'mixer_norm': scale(f'{at}.input_layernorm'),
            'mixer': latent(f'{at}.self_attn') if number in attending else delta(f'{at}.self_attn'),
            'feedforward_norm': scale(f'{at}.post_attention_layernorm'),
            'feedforward': mixture(f'{at}.mlp') if number else gated(p, f'{at}.mlp'),
        }

    places = ['first_0', 'pattern_0', 'pattern_1', 'pattern_2', 'pattern_3', 'last_0', 'last_1']
    params = {
        'embedding': p['model.embed_tokens.weight'],
        'layers': stacked({name: [layer(number)] for number, name in enumerate(places)}),
        'norm': scale('model.norm'),
        'head': p['lm_head.weight'].T,
    }
    ours = model_of(
        'causal_lm/kimi_linear_tiny.py',
        width=D,
        block__0__mixer__heads=N,
        block__0__mixer__head_width=H,
        block__2__mixer__rank=R,
        block__2__mixer__rotated_width=shared,
        first_blocks__0__feedforward__width=9,
        block__0__feedforward__experts=4,
        block__0__feedforward__active=2,
        block__0__feedforward__expert__width=F,
    )
    assert_near(ours, params, theirs, torch)


def test_modernbert_has_the_logits_of_transformers():
    torch = pytest.importorskip('torch')
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    D, N, F, L = 12, 2, 7, 4
    sizes = {'hidden_size': D, 'num_hidden_layers': L, 'vocab_size': WORDS, 'num_attention_heads': N}
    sizes |= {'intermediate_size': F, 'local_attention': 8}
    tokens = {'pad_token_id': 0, 'bos_token_id': 1, 'eos_token_id': 2, 'cls_token_id': 1, 'sep_token_id': 2}
    theirs = ModernBertForMaskedLM(ModernBertConfig(**sizes, **tokens))
    p = randomised(torch, theirs)

    def scale(name):
        return {'scale': p[f'{name}.weight']}

    def layer(number):
        at = f'model.layers.{number}'
        made = np.split(p[f'{at}.attn.Wqkv.weight'], 3)
        gate, up = np.split(p[f'{at}.mlp.Wi.weight'].T, 2, axis=-1)
        heads = {name: heads_of(y, N) for name, y in zip(('query', 'key', 'value'), made, strict=True)}
        return {
            **({'mixer_norm': scale(f'{at}.attn_norm')} if number else {}),
            'mixer': {**heads, 'output': merged(p[f'{at}.attn.Wo.weight'], N)},
            'feedforward_norm': scale(f'{at}.mlp_norm'),
            'feedforward': {'gate': gate, 'up': up, 'down': p[f'{at}.mlp.Wo.weight'].T},
        }

    places = ['first_0', 'pattern_0', 'pattern_1', 'pattern_2']
    params = {
        'embedding': p['model.embeddings.tok_embeddings.weight'],
        'embedding_norm': scale('model.embeddings.norm'),
        'layers': stacked({name: [layer(number)] for number, name in enumerate(places)}),
        'norm': scale('model.final_norm'),
        'masked_head': {
            'hidden': p['head.dense.weight'].T,
            'norm': scale('head.norm'),
            'bias': p['decoder.bias'],
        },
    }
    ours = model_of(
        'masked_lm/modernbert.py',
        width=D,
        layers=L,
        block__0__mixer__heads=N,
        block__0__feedforward__width=F,
        block__0__mixer__mask__left=4,
        block__0__mixer__mask__right=4,
        block__1__mixer__mask__left=4,
        block__1__mixer__mask__right=4,
    )
    assert_near(ours, params, theirs, torch)
