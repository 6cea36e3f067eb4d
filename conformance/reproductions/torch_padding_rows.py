# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch 2.13: a sequence of padding alone is NaN in nn.MultiheadAttention and TransformerEncoderLayer.

A key_padding_mask that hides every key of a row is a softmax of nothing. scaled_dot_product_attention gives 0 there.
The documentation of key_padding_mask does not speak of such a row; https://github.com/pytorch/pytorch/issues/41508
does, and in it such rows are called an error of the input.

Covers PyTorch: MultiheadAttention, both directions; padding_alone
Covers PyTorch: TransformerEncoderLayer, causal; padding_alone
Covers PyTorch: TransformerEncoderLayer, both directions; padding_alone
Covers PyTorch: TransformerEncoderLayer, norm first; padding_alone
"""

import torch

torch.manual_seed(0)
layer, x = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval(), torch.randn(2, 5, 16)
padded = torch.tensor([[True] * 5, [False] * 5])
with torch.no_grad():
    y, _ = layer(x, x, x, key_padding_mask=padded, need_weights=False)
print('rows finite:', y.isfinite().all(dim=(1, 2)).tolist())
