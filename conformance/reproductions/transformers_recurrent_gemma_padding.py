# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""transformers 5.24: the recurrent blocks of RecurrentGemma read the padding in front of a sequence.

attention_mask is documented as a mask against attention to padding; the documentation does not speak of recurrent
blocks.

Covers transformers: recurrent_gemma; left_padding, padding_not_read
"""

import torch
from transformers import AutoConfig, AutoModel

torch.manual_seed(0)
config = AutoConfig.for_model('recurrent_gemma', hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
                              lru_width=32, num_key_value_heads=2, head_dim=8, intermediate_size=48,
                              vocab_size=64)  # fmt: skip
model, x = AutoModel.from_config(config).eval(), torch.randn(1, 8, 32)
for leaf in model.parameters():
    leaf.data += 0.1 * torch.randn(leaf.shape)
mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]])
with torch.no_grad():
    first, second = (model(inputs_embeds=given, attention_mask=mask, use_cache=False)[0][:, 3:]
                     for given in (x, torch.cat([x[:, :3] + 100, x[:, 3:]], dim=1)))  # fmt: skip
print('outputs by what the padding holds:', (first - second).abs().max().item())
