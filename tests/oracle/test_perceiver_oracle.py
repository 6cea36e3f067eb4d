# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Perceiver IO against transformers on copied random weights, with padding; its outputs keep their query's residual."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

torch = pytest.importorskip('torch')
perceiver = pytest.importorskip('transformers.models.perceiver.modeling_perceiver')
pytestmark = pytest.mark.oracle

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N, M, V = 2, 11, 16, 2, 5, 13
NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': 1e-5}


def theirs():
    torch.manual_seed(0)
    config = perceiver.PerceiverConfig(
        num_latents=M,
        d_latents=D,
        d_model=D,
        num_blocks=2,
        num_self_attends_per_block=2,
        num_self_attention_heads=N,
        num_cross_attention_heads=N,
        vocab_size=V,
        max_position_embeddings=T,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.5,
    )
    decoder = perceiver.PerceiverBasicDecoder(
        config,
        output_num_channels=D,
        output_index_dims=T,
        num_channels=D,
        qk_channels=D,
        v_channels=D,
        num_heads=N,
        use_query_residual=True,
        final_project=False,
        trainable_position_encoding_kwargs={'num_channels': D, 'index_dims': T},
    )
    preprocessor = perceiver.PerceiverTextPreprocessor(config)
    model = perceiver.PerceiverModel(config, decoder=decoder, input_preprocessor=preprocessor).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


def ours():
    mixer = {'use': 'attention.multi_head:MultiHead', 'heads': N, 'bias': True, 'output_bias': True}
    gelu = {'use': 'ops.activation:gelu'}
    feedforward = {'use': 'feedforward.mlp:MLP', 'bias': True, 'activation': gelu, 'ratio': 1.0}
    spec = {
        'use': 'model.perceiver:Perceiver',
        'vocabulary': V,
        'context_length': T,
        'width': D,
        'layers': 2,
        'passes': 2,
        'latents': M,
        'source_norm': NORM,
        'block': {'use': 'block.pre_norm:PreNorm', 'norm': NORM, 'mixer': mixer, 'feedforward': feedforward},
        'position': {'use': 'position.learned:Learned', 'length': T},
        'norm': {'use': 'norm.none:NoNorm'},
    }
    return build(spec)()


def converted(weights):
    def array(name):
        return jnp.array(weights[name].numpy())

    def norm(name):
        return {'scale': array(f'{name}.weight'), 'bias': array(f'{name}.bias')}

    def stacked(*names):
        return {'pattern_0': jax.tree.map(lambda *each: jnp.stack(each), *map(layer, names))}

    def layer(name):
        mixer = {}
        for part in ('query', 'key', 'value'):
            mixer[part] = array(f'{name}.attention.self.{part}.weight').T.reshape(D, N, -1)
            mixer[f'{part}_bias'] = array(f'{name}.attention.self.{part}.bias').reshape(N, -1)
        mixer['output'] = array(f'{name}.attention.output.dense.weight').T.reshape(N, -1, D)
        mixer['output_bias'] = array(f'{name}.attention.output.dense.bias')
        feedforward = {}
        for part, dense in (('up', 'dense1'), ('down', 'dense2')):
            feedforward[part] = array(f'{name}.mlp.{dense}.weight').T
            feedforward[f'{part}_bias'] = array(f'{name}.mlp.{dense}.bias')
        return {
            'mixer': mixer,
            'mixer_norm': norm(f'{name}.attention.self.layernorm1'),
            'feedforward': feedforward,
            'feedforward_norm': norm(f'{name}.layernorm'),
        }

    read, write = 'encoder.cross_attention', 'decoder.decoding_cross_attention'
    return {
        'embedding': array('input_preprocessor.embeddings.weight'),
        'position': {'positions': array('input_preprocessor.position_embeddings.weight')},
        'latents': array('embeddings.latents'),
        'inputs_norm': norm(f'{read}.attention.self.layernorm2'),
        'read_layers': stacked(read),
        'layers': stacked(*(f'encoder.self_attends.{number}' for number in range(2))),
        'latents_norm': norm(f'{write}.attention.self.layernorm2'),
        'queries': array('decoder.output_position_encodings.position_embeddings'),
        'write_layers': stacked(write),
    }


def test_outputs_are_those_of_transformers():
    their_model, model = theirs(), ours()
    tokens = np.random.default_rng(0).integers(0, V, (B, T))
    real = np.arange(T) < np.array([[T], [7]])
    with torch.no_grad():
        expected = their_model(torch.tensor(tokens), attention_mask=torch.tensor(real)).logits.numpy()
    context = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)), jnp.array(real, jnp.int32))
    params = {'params': converted(their_model.state_dict())}
    found, _ = model.apply(params, jnp.array(tokens), context, False, method='encode')
    np.testing.assert_allclose(found[real], expected[real], rtol=0, atol=F32_RELATIVE * np.abs(expected).max())
