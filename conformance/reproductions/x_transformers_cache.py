# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""x-transformers 2.31: a cache changes the output of the forget gate and of shifted tokens.

The gates of earlier tokens are not cached, and neither is the token before the chunk. can_cache_kv is true for both;
for `selective`, where it is false, nothing is tried. The README speaks of neither option together with a cache.

Covers x-transformers: Decoder, forgetting (data-dependent ALiBi); steps, chunks, prompt, decoding_padded
Covers x-transformers: Decoder, shifted tokens; steps, chunks, prompt, decoding_padded
"""

import torch
from x_transformers import Decoder

for option in ({'attn_data_dependent_alibi': True}, {'shift_tokens': 1}):
    torch.manual_seed(0)
    layer, x = (
        Decoder(dim=16, depth=1, heads=4, attn_dim_head=8, only_attn=True, **option).eval(),
        torch.randn(1, 8, 16),
    )
    with torch.no_grad():
        whole, (y, cache) = layer(x), layer(x[:, :7], return_hiddens=True)
        last, _ = layer(x[:, 7:], cache=cache, return_hiddens=True)
    print(option, layer.can_cache_kv, 'last token, cached or whole:', (last - whole[:, 7:]).abs().max().item())
