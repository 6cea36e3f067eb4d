# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""x-transformers 2.31: three options with an attention mask that keeps packed documents apart.

Selective attention never hides the first token of the row; it may hide the first token of a later document, or after
padding on the left. Shifting takes half of a token's channels from the token before, of whichever document. With
memory key/values an attention mask of the tokens is refused for its shape. The README does not speak of packed
documents.

Covers x-transformers: Decoder, selective; packed_values, packed_gradients, left_padding
Covers x-transformers: Decoder, shifted tokens; packed_values, packed_gradients
Covers x-transformers: Decoder, memory key/values; packed_values, packed_gradients, kernel
"""

import torch
from x_transformers import Decoder

mask = torch.block_diag(torch.ones(5, 5), torch.ones(7, 7)).bool()
for option in ({}, {'attn_selective': True}, {'shift_tokens': 1}, {'attn_num_mem_kv': 2}):
    torch.manual_seed(0)
    layer, x = (
        Decoder(dim=16, depth=1, heads=4, attn_dim_head=8, only_attn=True, **option).eval(),
        torch.randn(1, 12, 16),
    )
    for leaf in layer.parameters():
        leaf.data += 0.1 * torch.randn(leaf.shape)
    try:
        difference = (layer(x, attn_mask=mask)[:, 5:] - layer(x[:, 5:])).abs().max().item()
    except RuntimeError as error:
        difference = error
    print(option, 'second document, packed or alone:', difference)
