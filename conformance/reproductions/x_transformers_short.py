# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""x-transformers 2.31: sparse top-k needs as many keys as it chooses; two options do not run in bfloat16.

With fewer keys than it chooses top-k raises, so decoding cannot begin with one token. l2_distance needs cdist, which
PyTorch does not have in bfloat16 on the CPU; the dynamic position bias gives float32 distances to layers in bfloat16.
The README does not speak of these cases.

Covers x-transformers: Decoder, sparse top-k; steps, one_token
Covers x-transformers: Decoder, l2 distance; bfloat16
Covers x-transformers: Decoder, dynamic position bias; bfloat16
"""

import torch
from x_transformers import Decoder

options = ({'attn_sparse_topk': 3}, torch.float32), ({'attn_l2_distance': True}, torch.bfloat16)
for option, dtype in (*options, ({'dynamic_pos_bias': True}, torch.bfloat16)):
    layer = Decoder(dim=16, depth=1, heads=4, attn_dim_head=8, only_attn=True, **option).to(dtype).eval()
    try:
        print(option, layer(torch.randn(1, 2, 16, dtype=dtype)).shape)
    except (RuntimeError, NotImplementedError) as error:
        print(option, dtype, error)
