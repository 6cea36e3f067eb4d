# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""transformers 5.24: gpt_oss and opt take position ids, but the mask of these models sees one document in a packed row.

Other families give position_ids to create_causal_mask, which detects documents by them, also with eager attention
(llama: difference 1e-7). The documentation (https://huggingface.co/docs/transformers/padding_free) says that position
ids work for standard attention models, and that packing relies on FlashAttention, which was not tried here.

Covers transformers: gpt_oss; packed_values, packed_gradients
Covers transformers: opt; packed_values, packed_gradients
"""

import torch
from transformers import AutoConfig, AutoModel

for family in ('llama', 'gpt_oss', 'opt'):
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, head_dim=8,
                                  num_key_value_heads=2, intermediate_size=48, vocab_size=64, num_local_experts=2,
                                  num_experts_per_tok=2, word_embed_proj_dim=32, ffn_dim=48)  # fmt: skip
    model = AutoModel.from_config(config, attn_implementation='eager').eval()
    x = torch.randn(1, 8, 32)
    for leaf in model.parameters():
        leaf.data += 0.1 * torch.randn(leaf.shape)
    with torch.no_grad():
        packed = model(inputs_embeds=x, position_ids=torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3]]), use_cache=False)
        alone = model(inputs_embeds=x[:, 4:], use_cache=False)
    print(family, 'second document, packed or alone:', (packed[0][:, 4:] - alone[0]).abs().max().item())
