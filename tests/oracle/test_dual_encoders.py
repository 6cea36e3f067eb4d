# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loaded dual encoders, CLIP and SigLIP, against transformers itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from theirs import torch, transformers

from saccade.build import build
from saccade.hub.load import load
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-4  # greatest difference of a logit
COMMON = dict(num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)
IMAGE = dict(hidden_size=24, image_size=12, patch_size=4, **COMMON)
TEXT = dict(hidden_size=16, vocab_size=60, max_position_embeddings=9, **COMMON)
ENDS = dict(bos_token_id=57, eos_token_id=59, pad_token_id=0)
DRAW = np.random.default_rng(0)
LENGTHS = np.array([9, 5, 2, 7])


def random_model(name, scale):
    torch.manual_seed(0)
    made = getattr(transformers, name)
    shared = {'projection_dim': 12} if name == 'CLIPModel' else {}
    text = TEXT | ENDS | ({} if name == 'CLIPModel' else {'projection_size': 24, 'pad_token_id': 1})
    theirs = made(made.config_class(vision_config=IMAGE, text_config=text, **shared)).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():  # so that logits differ
            parameter.add_(0.2 * torch.randn(parameter.shape))
        if scale is not None:
            theirs.logit_scale.fill_(scale)
    return theirs


def texts():
    """Tokens of texts that end in 59, and which places hold one."""
    there = np.arange(9) < LENGTHS[:, None]
    tokens = np.where(there, DRAW.integers(2, 57, there.shape), 1)
    tokens[np.arange(4), LENGTHS - 1] = 59
    return tokens, there


@pytest.mark.parametrize(
    ('name', 'scale'), [('CLIPModel', None), ('SiglipModel', None), ('CLIPModel', 5.0), ('SiglipModel', 5.0)]
)
def test_logits_are_those_of_transformers(name, scale, tmp_path, record_property):
    """With a logit_scale above log(100) too, which it does not bound in the forward pass."""
    theirs, (tokens, there) = random_model(name, scale), texts()
    theirs.save_pretrained(tmp_path)
    images = DRAW.normal(size=(3, 12, 12, 3)).astype(np.float32)
    # SigLIP reads padding, and has no mask for it.
    mask = {'attention_mask': torch.tensor(there.astype(int))} if name == 'CLIPModel' else {}
    with torch.no_grad():
        wanted = theirs(torch.tensor(tokens), torch.tensor(images).permute(0, 3, 1, 2), **mask).logits_per_image.numpy()
    found = load(tmp_path)
    model, params = build(found.spec, 'model')(), {'params': jax.tree.map(jnp.asarray, found.params)}
    context = LayerContext(jnp.asarray(np.where(there, np.arange(9), 0)), jnp.asarray(there.astype(int)))
    image = model.apply(params, jnp.asarray(images), method='encode_image')
    text = model.apply(params, jnp.asarray(np.where(there, tokens, 0)), context, method='encode_text')
    scale, bias = model.apply(params, method='logit_line')
    assert wanted.std() > 100 * TOLERANCE
    logits = scale * image @ text.T + bias
    np.testing.assert_allclose(logits, wanted, atol=TOLERANCE)
    record_property(f'{theirs.config.model_type} in', float(np.abs(logits - wanted).max()))
