# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Record outputs and gradients of layers of flash-linear-attention, for drawn parameters, in `flash_linear.npz`.

    python tests/oracle/recorded/flash_linear.py CHECKOUT

CHECKOUT is a copy of https://github.com/fla-org/flash-linear-attention at COMMIT. Its layers run with its own kernels,
interpreted on the CPU by triton 3.9.0; a kernel has several settings, the first of which is taken untried. Where a
kernel has no gradient, or is not for float32 or heads as narrow, its plain torch code takes its place.
"""

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ['TRITON_INTERPRET'] = '1'
warnings.simplefilter('ignore')
sys.path.insert(0, sys.argv[1])

import numpy as np  # noqa: E402
import torch  # noqa: E402
from triton.runtime.autotuner import Autotuner  # noqa: E402

tuned = Autotuner.__init__
Autotuner.__init__ = lambda self, fn, names, configs, _, *more, **named: tuned(
    self, fn, names, configs[:1], [], *more, **named
)

from fla import layers  # noqa: E402
from fla.layers import gated_deltaproduct, gdn2, nsa, path_attn, rwkv7  # noqa: E402
from fla.modules.l2norm import l2norm  # noqa: E402
from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule  # noqa: E402
from fla.ops.gdn2.naive import naive_recurrent_gdn2  # noqa: E402
from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence  # noqa: E402
from fla.ops.nsa import naive as nsa_naive  # noqa: E402
from fla.ops.path_attn.naive import naive_path_attn  # noqa: E402

COMMIT = 'bc3b101dcb713ddc5bd8924b66754eb68b5ccf89'
B, T, D, N, H = 2, 21, 16, 2, 8
LAYERS = {
    'gated_linear': lambda: layers.GatedLinearAttention(hidden_size=D, num_heads=N, gate_low_rank_dim=3),
    'hgrn2': lambda: layers.HGRN2Attention(hidden_size=D, expand_ratio=H),
    'retention': lambda: layers.MultiScaleRetention(hidden_size=D, num_heads=N, expand_v=1.5),
    'delta_product': lambda: layers.GatedDeltaProduct(
        hidden_size=D, head_dim=H, num_heads=N, expand_v=0.75, num_householder=3
    ).eval(),
    'gated_delta2': lambda: layers.GatedDeltaNet2(hidden_size=D, head_dim=H, num_heads=N, expand_v=0.75).eval(),
    'native_sparse': lambda: layers.NativeSparseAttention(
        hidden_size=D, num_heads=16, num_kv_heads=1, head_dim=H, block_size=4, block_counts=4, window_size=5
    ),
    'path': lambda: layers.PaTHAttention(hidden_size=D, num_heads=N),
    'forgetting': lambda: layers.ForgettingAttention(hidden_size=D, num_heads=N, num_kv_heads=1),
    'rwkv7': lambda: layers.RWKV7Attention(
        hidden_size=D, head_dim=H, decay_low_rank_dim=3, gate_low_rank_dim=4, a_low_rank_dim=5, v_low_rank_dim=6,
        layer_idx=0, num_hidden_layers=2,
    ),
}  # fmt: skip


def plain(recurrence: Callable[..., Any]) -> Callable[..., Any]:
    """Return the recurrence with the arguments of its kernel."""

    def run(*, q: Any, k: Any, use_qk_l2norm_in_kernel: bool, cu_seqlens: None, **more: Any) -> Any:
        return recurrence(q=l2norm(q), k=l2norm(k), **more)

    return run


def rwkv(*, r: Any, w: Any, k: Any, v: Any, a: Any, b: Any, scale: float, **_: Any) -> Any:
    """Return their plain recurrence, which has heads before tokens and divides by the root of their width."""
    y, state = dplr_recurrence(*(x.transpose(1, 2) for x in (r * scale * H**0.5, k, v, a, b, w)))
    return y.transpose(1, 2), state


def path(*, g: None, cu_seqlens: None, **given: Any) -> Any:
    """Return their plain PaTH attention, which needs log gates."""
    return naive_path_attn(**given, g=torch.zeros(B, T, N), scale=H**-0.5), None


def window(q: Any, k: Any, v: Any, causal: bool, window_size: tuple[int, int]) -> Any:
    """Return torch's attention in place of FlashAttention's."""
    near = torch.ones(T, T, dtype=torch.bool).tril().triu(-window_size[0])
    heads = (x.transpose(1, 2) for x in (q, k, v))
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(*heads, attn_mask=near, enable_gqa=True).transpose(1, 2)


def softmax(x: Any, dim: int) -> Any:
    """Return zeros for a row of -inf, of which torch's gradient is NaN."""
    none = (x == -torch.inf).all(dim=dim, keepdim=True)
    return torch.softmax(x.masked_fill(none, 0), dim).masked_fill(none, 0)


gated_deltaproduct.fused_recurrent_gated_delta_rule = plain(naive_recurrent_gated_delta_rule)
gdn2.fused_recurrent_gdn2 = plain(naive_recurrent_gdn2)
path_attn.parallel_path_attn = path
rwkv7.chunk_rwkv7 = rwkv
nsa.parallel_nsa, nsa_naive.flash_attn_func = nsa_naive.naive_nsa, window
nsa_naive.torch = SimpleNamespace(**vars(torch) | {'softmax': softmax})


def record() -> dict[str, np.ndarray]:
    """Return x, dy, and by the name of a layer its parameters, y, and the gradient of sum(y * dy) with respect to x."""
    torch.manual_seed(0)
    x, dy = torch.randn(B, T, D), torch.randn(B, T, D)
    found = {'commit': np.array(COMMIT), 'x': x, 'dy': dy}
    for name, make in LAYERS.items():
        layer, own = make(), x.clone().requires_grad_()
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.normal_(std=0.5)
            # The papers have neither this bias nor this SiLU.
            if name == 'gated_delta2':
                layer.g_proj[1].bias.zero_()
            if name == 'path':
                layer.w_conv1d.activation = None
            if name == 'native_sparse':  # ours compresses unrotated keys, and can take a mean of half of the features
                layer.rotary.forward = lambda q, k, **_: (q, k)
                layer.k_proj.weight[H // 2 :] = layer.v_proj.weight[H // 2 :] = 0
        y = layer(own)[0]
        (dx,) = torch.autograd.grad(y, own, dy)
        found |= {f'{name}/params/{path}': leaf.detach() for path, leaf in layer.named_parameters()}
        found |= {f'{name}/y': y.detach(), f'{name}/dx': dx}
    return found


if __name__ == '__main__':
    arrays = {name: np.asarray(leaf) for name, leaf in record().items()}
    np.savez_compressed(Path(__file__).with_suffix('.npz'), **arrays)
