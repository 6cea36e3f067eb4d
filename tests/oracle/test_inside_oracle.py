# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Activations by name against `transformers`: patterns of every layer, hidden states; folders of random weights."""

import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip('torch')
transformers = pytest.importorskip('transformers')

from saccade.build import build  # noqa: E402
from saccade.hub.load import load  # noqa: E402
from saccade.inside.activations import Inside  # noqa: E402
from saccade.inside.circuits import patch  # noqa: E402
from saccade.inside.reading import Reading  # noqa: E402
from saccade.types import LayerContext  # noqa: E402

pytestmark = pytest.mark.oracle

CLOSE = 1e-5
T, S, V = 7, 9, 60
TOKENS = np.random.default_rng(0).integers(5, V, (2, T))
SOURCE = np.random.default_rng(1).integers(5, V, (2, S))
SMALL = dict(hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48)
CASES = {
    'bert': (transformers.BertConfig(vocab_size=V, **SMALL), 'BertForMaskedLM'),
    'gpt2': (transformers.GPT2Config(vocab_size=V, n_embd=32, n_layer=3, n_head=4, n_positions=32), 'GPT2LMHeadModel'),
    't5': (
        transformers.T5Config(
            vocab_size=V, d_model=32, d_kv=8, num_heads=4, num_layers=3, d_ff=48, decoder_start_token_id=0,
            pad_token_id=0, eos_token_id=1,
        ),
        'T5ForConditionalGeneration',
    ),
    'vit': (
        transformers.ViTConfig(image_size=12, patch_size=4, num_labels=3, **SMALL),
        'ViTForImageClassification',
    ),
}  # fmt: skip


def perturbed(family):
    """Return their model with weights that are all random."""
    config, name = CASES[family]
    torch.manual_seed(0)
    theirs = getattr(transformers, name)._from_config(config, attn_implementation='eager').eval()
    with torch.no_grad():
        for leaf in theirs.parameters():
            leaf.add_(0.2 * torch.randn_like(leaf))
    return theirs


def context(tokens):
    return LayerContext(jnp.tile(jnp.arange(tokens.shape[1]), (len(tokens), 1)), jnp.ones(tokens.shape, jnp.int32))


def inputs(family):
    """Return the arguments of their model and of ours."""
    if family == 't5':
        theirs = {'input_ids': torch.tensor(SOURCE), 'decoder_input_ids': torch.tensor(TOKENS)}
        return theirs, (jnp.array(SOURCE), context(SOURCE), jnp.array(TOKENS), context(TOKENS))
    if family == 'vit':
        images = np.random.default_rng(2).normal(size=(2, 12, 12, 3)).astype(np.float32)
        place = LayerContext(jnp.zeros((2, 1), jnp.int32), jnp.ones((2, 1), jnp.int32))
        return {'pixel_values': torch.tensor(images.transpose(0, 3, 1, 2))}, (jnp.array(images), place)
    return {'input_ids': torch.tensor(TOKENS)}, (jnp.array(TOKENS), context(TOKENS))


@pytest.mark.parametrize('family', CASES)
def test_patterns_and_states_are_theirs(family, tmp_path):
    theirs = perturbed(family)
    theirs.save_pretrained(tmp_path)
    pretrained = load(tmp_path)
    given, arguments = inputs(family)
    with torch.no_grad():
        output = theirs(**given, output_attentions=True, output_hidden_states=True)
    inside = Inside(build(pretrained.spec)(), pretrained.params, arguments)
    _, found = inside.run(['*.pattern', '*.residual_before', '*.mixer.heads'])
    if family == 't5':
        attentions = {
            'encoder.layers.{}.mixer': output.encoder_attentions,
            'decoder.layers.{}.mixer': output.decoder_attentions,
            'decoder.layers.{}.cross': output.cross_attentions,
        }
        states = {'encoder.': output.encoder_hidden_states, 'decoder.': output.decoder_hidden_states}
    else:
        attentions, states = {'layers.{}.mixer': output.attentions}, {'': output.hidden_states}
    for named, layers in attentions.items():
        for number, expected in enumerate(layers):
            ours = found[f'{named.format(number)}.pattern']
            np.testing.assert_allclose(ours, expected.numpy(), atol=CLOSE)
            assert np.std(ours) > 0.01
    for tower, layers in states.items():
        for number, expected in enumerate(layers[:-1]):
            ours = found[f'{tower}layers.{number}.residual_before']
            scale = float(expected.abs().max())
            np.testing.assert_allclose(ours, expected.numpy(), atol=CLOSE * scale)


def test_patching_is_that_of_hooks_in_torch(tmp_path):
    """By layer and token, and by layer and head: hooks on GPT-2's blocks and on the input of each output projection."""
    theirs = perturbed('gpt2')
    theirs.save_pretrained(tmp_path)
    clean, corrupted, answer, other = TOKENS[:1], TOKENS[1:], 3, 4

    @torch.no_grad()
    def ends(tokens):
        logits = theirs(torch.tensor(tokens)).logits[0, -1]
        return float(logits[answer] - logits[other])

    blocks, kept = theirs.transformer.h, {}

    def keep(name):
        return lambda module, inputs, output: kept.update({name: (inputs[0], output)})

    hooks = [block.register_forward_hook(keep(number)) for number, block in enumerate(blocks)]
    hooks += [block.attn.c_proj.register_forward_hook(keep(f'{number}.z')) for number, block in enumerate(blocks)]
    high = ends(clean)
    for hook in hooks:
        hook.remove()
    low = ends(corrupted)

    def stream(number, token):
        def hook(module, inputs, output):
            output[:, token] = kept[number][1][:, token]
            return output

        return blocks[number].register_forward_hook(hook)

    def head(number, each):
        def hook(module, inputs):
            inputs[0][..., 8 * each : 8 * (each + 1)] = kept[f'{number}.z'][0][..., 8 * each : 8 * (each + 1)]
            return inputs

        return blocks[number].attn.c_proj.register_forward_pre_hook(hook)

    def restored(place, number, at):
        hook = place(number, at)
        share = (ends(corrupted) - low) / (high - low)
        hook.remove()
        return share

    expected = [
        [[restored(place, number, at) for at in range(count)] for number in range(3)]
        for place, count in ((stream, T), (head, 4))
    ]
    pretrained = load(tmp_path)
    model = build(pretrained.spec)()
    insides = [Inside(model, pretrained.params, (jnp.array(row), context(row))) for row in (clean, corrupted)]
    grids = patch(*insides, Reading((), {'': tuple('abcdefg')}), (answer, other))
    for grid, each in zip(grids, expected, strict=True):
        np.testing.assert_allclose(grid.values, each, atol=1e-4)
        assert np.ptp(grid.values) > 0.1
