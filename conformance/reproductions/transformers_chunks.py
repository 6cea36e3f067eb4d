# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""transformers 5.24: a second chunk of several tokens does not continue from the state of the first.

One token at a time is right. A later chunk of more than one token, as in chunked prefill or speculative decoding, is
not. The same was mended for the Mamba-2 families in https://github.com/huggingface/transformers/pull/46084 and
https://github.com/huggingface/transformers/pull/46741: mamba2, shown last, is right.

Covers transformers: mamba; chunks
Covers transformers: falcon_mamba; chunks
Covers transformers: jamba; chunks
"""

import torch
from transformers import AutoConfig, AutoModel

for family in ('mamba', 'falcon_mamba', 'mamba2'):
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, hidden_size=32, num_hidden_layers=1, state_size=8, vocab_size=64, num_heads=8,
                                  head_dim=8, n_groups=1, expand=2)  # fmt: skip
    model, x = AutoModel.from_config(config).eval(), torch.randn(2, 12, 32)
    for leaf in model.parameters():
        leaf.data += 0.1 * torch.randn(leaf.shape)
    with torch.no_grad():
        whole = model(inputs_embeds=x)[0]
        state = model(inputs_embeds=x[:, :4], use_cache=True).cache
        rest = model(inputs_embeds=x[:, 4:], use_cache=True, cache=state)[0]
    print(family, 'second chunk, and whole:', ((rest - whole[:, 4:]).abs().max() / whole.abs().max()).item())
