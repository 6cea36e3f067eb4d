# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""CANINE against transformers on copied random weights.

transformers drops the last molecule of a row, and masks a molecule by the characters after its own. Both are replaced
here by what `model.canine:Canine` does; all else is transformers' own. Rows have no padding, which transformers'
convolutions read and ours do not.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

torch = pytest.importorskip('torch')
transformers = pytest.importorskip('transformers')

pytestmark = pytest.mark.oracle

WIDTH, HEADS, RATE, LOCAL = 16, 2, 4, 8
NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': 1e-12}


def theirs():
    torch.manual_seed(0)
    config = transformers.CanineConfig(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        num_hidden_layers=2,
        intermediate_size=4 * WIDTH,
        downsampling_rate=RATE,
        upsampling_kernel_size=3,
        num_hash_functions=4,
        num_hash_buckets=64,
        type_vocab_size=2,
        local_transformer_stride=LOCAL,
        initializer_range=0.5,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = transformers.CanineModel(config, add_pooling_layer=False).eval()
    down = model.chars_to_molecules.forward
    model.chars_to_molecules.forward = lambda x: down(torch.nn.functional.pad(x, (0, 0, 0, RATE)))
    mask, repeat = model._downsample_attention_mask, model._repeat_molecules
    model._downsample_attention_mask = lambda real, downsampling_rate: torch.cat(
        [real[:, :1].float(), mask(real, downsampling_rate)], dim=1
    )
    model._repeat_molecules = lambda molecules, char_seq_length: repeat(molecules, char_seq_length)[:, :char_seq_length]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if 'LayerNorm' in name or name.endswith('bias'):
                weight.add_(0.3 * torch.randn_like(weight))
    return model


def ours():
    def block(mask):
        mixer = {
            'use': 'attention.multi_head:MultiHead',
            'heads': HEADS,
            'bias': True,
            'output_bias': True,
            'mask': mask,
        }
        feedforward = {'use': 'feedforward.mlp:MLP', 'bias': True, 'activation': {'use': 'ops.activation:gelu'}}
        return {'use': 'block.post_norm:PostNorm', 'norm': NORM, 'mixer': mixer, 'feedforward': feedforward}

    spec = {
        'use': 'model.canine:Canine',
        'context_length': 16384,
        'width': WIDTH,
        'layers': 2,
        'rate': RATE,
        'reach': 3,
        'block': block({'use': 'ops.mask:Full'}),
        'first': block({'use': 'ops.mask:Chunked', 'length': LOCAL}),
        'embed': {'use': 'embed.hashed:HashedEmbedding', 'hashes': 4, 'buckets': 64},
        'position': {'use': 'position.learned:Learned', 'length': 64},
        'types': 2,
        'embedding_norm': NORM,
        'inner_norm': NORM,
        'norm': {'use': 'norm.none:NoNorm'},
    }
    return build(spec)()


def converted(weights):
    array = lambda name: jnp.array(weights[name].numpy())  # noqa: E731
    kernel = lambda name: array(f'{name}.weight').T  # noqa: E731
    norm = lambda name: {'scale': array(f'{name}.weight'), 'bias': array(f'{name}.bias')}  # noqa: E731

    def layer(name):
        mixer = {}
        for part in ('query', 'key', 'value'):
            mixer[part] = kernel(f'{name}.attention.self.{part}').reshape(WIDTH, HEADS, -1)
            mixer[f'{part}_bias'] = array(f'{name}.attention.self.{part}.bias').reshape(HEADS, -1)
        mixer['output'] = kernel(f'{name}.attention.output.dense').reshape(HEADS, -1, WIDTH)
        mixer['output_bias'] = array(f'{name}.attention.output.dense.bias')
        feedforward = {'up': kernel(f'{name}.intermediate.dense'), 'up_bias': array(f'{name}.intermediate.dense.bias')}
        feedforward |= {'down': kernel(f'{name}.output.dense'), 'down_bias': array(f'{name}.output.dense.bias')}
        norms = {
            'mixer_norm': norm(f'{name}.attention.output.LayerNorm'),
            'feedforward_norm': norm(f'{name}.output.LayerNorm'),
        }
        return {'mixer': mixer, 'feedforward': feedforward, **norms}

    def stack(name, layers):
        return {
            'pattern_0': jax.tree.map(
                lambda *each: jnp.stack(each), *(layer(f'{name}.layer.{n}') for n in range(layers))
            )
        }

    tables = [array(f'char_embeddings.HashBucketCodepointEmbedder_{k}.weight') for k in range(4)]
    return {
        'embed': {'tables': jnp.stack(tables)},
        'position': {'positions': array('char_embeddings.char_position_embeddings.weight')},
        'types': array('char_embeddings.token_type_embeddings.weight'),
        'embedding_norm': norm('char_embeddings.LayerNorm'),
        'first_layers': stack('initial_char_encoder', 1),
        'molecule_kernel': array('chars_to_molecules.conv.weight').transpose(2, 1, 0),
        'molecule_bias': array('chars_to_molecules.conv.bias'),
        'molecule_norm': norm('chars_to_molecules.LayerNorm'),
        'layers': stack('encoder', 2),
        'character_kernel': array('projection.conv.weight').transpose(2, 1, 0),
        'character_bias': array('projection.conv.bias'),
        'character_norm': norm('projection.LayerNorm'),
        'last_layers': stack('final_char_encoder', 1),
    }


@pytest.mark.oracle_of('embed.hashed:HashedEmbedding', 'ops.mask:Chunked', by='transformers, CANINE')
@pytest.mark.parametrize('length', [4, 16, 24])
def test_characters_are_those_of_transformers(length):
    their_model, model = theirs(), ours()
    codes = np.random.default_rng(0).integers(1, 0x10FFFF, (2, length))
    types = np.broadcast_to(np.arange(length) // 5 % 2, codes.shape)
    with torch.no_grad():
        given = {'input_ids': torch.tensor(codes), 'token_type_ids': torch.tensor(types)}
        expected = their_model(**given, attention_mask=torch.ones(codes.shape)).last_hidden_state.numpy()
    context = LayerContext(jnp.broadcast_to(jnp.arange(length), codes.shape), types=jnp.array(types))
    params = {'params': converted(their_model.state_dict())}
    found, _ = model.apply(params, jnp.array(codes), context, False, method='encode')
    np.testing.assert_allclose(found, expected, atol=1e-4)
