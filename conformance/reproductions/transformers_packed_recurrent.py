# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""transformers 5.24: Jamba and RecurrentGemma mix packed documents, also with the boundaries of the data collator.

The state of Jamba's recurrent layers, and the short convolutions of both, continue from one document to the next. The
documentation (https://huggingface.co/docs/transformers/padding_free) says that models with linear attention or
convolutions ignore position ids and need the data collator; given its boundaries these two accept and ignore them.
Bamba, like Falcon-H1, Granite-MoE-Hybrid, Qwen3-Next, Qwen3.5 and OLMo-Hybrid, refuses them clearly without
causal_conv1d.

Covers transformers: jamba; packed_values, packed_gradients
Covers transformers: recurrent_gemma; packed_values, packed_gradients
"""

import torch
from transformers import AutoConfig, AutoModel

ends = torch.tensor([0, 4, 8], dtype=torch.int32)
boundaries = {'seq_idx': torch.tensor([[0] * 4 + [1] * 4], dtype=torch.int32), 'cu_seq_lens_q': ends,
              'cu_seq_lens_k': ends, 'max_length_q': 4, 'max_length_k': 4}  # fmt: skip
for family in ('jamba', 'recurrent_gemma', 'bamba'):
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, head_dim=8,
                                  num_key_value_heads=2, intermediate_size=48, vocab_size=64, lru_width=32,
                                  attn_layer_period=2, attn_layer_offset=1,
                                  mamba_n_heads=8, mamba_d_head=8)  # fmt: skip
    model, x = AutoModel.from_config(config).eval(), torch.randn(1, 8, 32)
    for leaf in model.parameters():
        leaf.data += 0.1 * torch.randn(leaf.shape)
    with torch.no_grad():
        alone = model(inputs_embeds=x[:, 4:], use_cache=False)[0]
        for given in ({}, boundaries):
            try:
                packed = model(inputs_embeds=x, position_ids=torch.arange(8)[None] % 4, use_cache=False, **given)[0]
                found = (packed[:, 4:] - alone).abs().max().item()
            except ValueError as refusal:
                found = refusal
            print(family, 'with boundaries:' if given else 'with position ids:', found)
