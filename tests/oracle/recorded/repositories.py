# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Record outputs and gradients of layers in public repositories, for drawn parameters, in `repositories.npz`.

    python tests/oracle/recorded/repositories.py CHECKOUTS

CHECKOUTS is a folder with a copy of each repository of `COMMITS`, by its name without the owner. Most are by a paper's
authors. Only the classes and functions that are named here run. Where they call FlashAttention, torch's attention runs;
bfloat16 is float32. `x_transformers` is the package of that name, 2.31.10.
"""

import ast
import math
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from einops import repeat
from torch import nn
from torch.nn import functional
from transformers.models.llama import modeling_llama
from x_transformers.x_transformers import Attention

COMMITS = {
    '10-zin/Synthesizer': '1414f454032a45a194831984a4ba63d0648323bb',
    'Dao-AILab/grouped-latent-attention': '17889dbb4612182a4b7b92315ca11bf76ddaadef',
    'MoonshotAI/MoBA': '61e456bc956c5a25fd9c84e5496b661329cb1b72',
    'NVIDIA/ngpt': 'ed19eb232380d41a9d71024b58d2403937d8f2c9',
    'Zcchill/Value-Residual-Learning': '95652f64aba7db6c095f4e92eafb9e76e6ed9e02',
    'epfml/DenseFormer': 'c99a623bdb5f6611bf0d37e964c67ecbf15c3c19',
    'facebookresearch/RAM': 'e6f051fbcfaef4cab69bf2ea1b25f500f94c0c64',
    'openai/parameter-golf': '4908dc46f21ed3fdd08d2fdca285deb2194b9599',
    'tensorgi/TPA': '3d7f51deb97b8f51cd799c632fe2e417a3c2662c',
}
B, T, D, N, H, R = 2, 13, 16, 4, 6, 2
LLAMA = {
    'attention_bias': False, 'attention_dropout': 0.0, 'head_dim': H, 'hidden_size': D, 'max_position_embeddings': T,
    'num_attention_heads': N, 'num_key_value_heads': 2, 'pretraining_tp': 1, 'rope_theta': 1e4, 'rms_norm_eps': 1e-5,
}  # fmt: skip


def flash(q: Any, k: Any, v: Any, causal: bool = True, softmax_scale: float | None = None, **_: Any) -> Any:
    """Return attention of heads after tokens."""
    heads = (x.transpose(1, 2) for x in (q, k, v))
    options = {'is_causal': causal, 'scale': softmax_scale, 'enable_gqa': True}
    return functional.scaled_dot_product_attention(*heads, **options).transpose(1, 2)


def taken(file: str, names: str, **more: Any) -> SimpleNamespace:
    """Return these definitions of a file, which find these names in place of what the file imports."""
    source = (Path(sys.argv[1]) / file).read_text()
    for given, replaced in (('torch.bfloat16', 'torch.float32'), ('.bfloat16()', ''), (', device="cuda"', '')):
        source = source.replace(given, replaced)
    body = [node for node in ast.parse(source).body if getattr(node, 'name', '') in names.split()]
    found = {'torch': torch, 'nn': nn, 'F': functional, 'math': math, 'repeat': repeat, **vars(typing), **more}
    exec(compile(ast.Module(body, []), file, 'exec'), found)
    return SimpleNamespace(**found)


def turned(width: int) -> tuple[Any, Any]:
    """Return cosines and sines of rotary positions, halves together."""
    config = modeling_llama.LlamaConfig(head_dim=width)
    return modeling_llama.LlamaRotaryEmbedding(config)(torch.zeros(B, T, 1), torch.arange(T)[None])


def grouped(name: str) -> tuple[nn.Module, Callable[[Any], Any]]:
    made = taken(
        f'grouped-latent-attention/modeling_llama_{name}.py',
        f'LlamaRMSNorm rotate_half apply_rotary_pos_emb repeat_kv LlamaAttention LlamaFlash{name}',
        Cache=None,
        LlamaConfig=None,
        LlamaRotaryEmbedding=lambda config: None,
        flash_attn_func=lambda q, k, v, causal: (flash(q, k, v, causal), None),
    )
    config = SimpleNamespace(**LLAMA, rope_dim=R, qk_rope_dim=R)
    layer = getattr(made, f'LlamaFlash{name}')(config, 0)
    return layer, lambda x: layer(x, position_embeddings=turned(R))[0]


def tensor_product() -> tuple[nn.Module, Callable[[Any], Any]]:
    made = taken('TPA/model/T6.py', 'Rotary apply_rotary_emb CPLinear CausalSelfAttention')
    config = SimpleNamespace(n_head=N, head_dim=H, n_embd=D, rank=2, q_rank=3)
    layer = made.CausalSelfAttention(config)
    return layer, layer


def multi_token() -> tuple[nn.Module, Callable[[Any], Any]]:
    """Without rotary positions, which are another library's; weights are copied before they are changed in place."""
    made = taken(
        'RAM/projects/mta/mta_transformer.py',
        'RMSNorm MTATransformerArgs Attention',
        BlockMask=None,
        AttentionBias=None,
        dataclass=lambda made: made,
        apply_rotary_emb=lambda q, k, *_: (q, k),
        repeat_kv=lambda x, groups, dim: torch.repeat_interleave(x, groups, dim),
    )
    args = SimpleNamespace(
        use_mta=True, query_kernel_size=3, key_kernel_size=5, after_sm_query_kernel_size=2, after_sm_key_kernel_size=3,
        head_kernel_size=2, pre_sm_linear_head=False, post_sm_linear_head=False, pad_key='both', init_method='normal',
        group_norm=True, layer_norm_rescale=False, add_gating=False, gate_1d=False,
    )  # fmt: skip
    layer = made.Attention(D, H, N, 2, 1e4, None, T, args, 0.0, 0)
    normalize = layer.normalize_attention
    layer.normalize_attention = lambda att_type: lambda scores: normalize(att_type)(scores).clone()
    return layer, lambda x: layer(x, torch.zeros(T))


def normalized() -> tuple[nn.Module, Callable[[Any], Any]]:
    """A whole block, without their positions: these do not rotate, since no features of a pair are added."""
    made = taken(
        'ngpt/model.py',
        'Block',
        flash_attn_func=flash,
        get_sinusoidal_embeddings=lambda *_: torch.zeros(0),
        apply_rotary_position_embeddings=lambda _, q, k: (q, k),
    )
    config = SimpleNamespace(n_embd=D, n_head=2, bias=False, use_nGPT=1, base_scale=D**-0.5)
    block = made.Block(config, 0)
    return block, block


def value_residual() -> tuple[nn.Module, Callable[[Any], Any]]:
    """Three layers, each added to its input."""
    made = taken(
        'Value-Residual-Learning/src/modeling/modeling_llama_resformer.py',
        'rotate_half apply_rotary_pos_emb repeat_kv LlamaAttention',
        Cache=None,
        LlamaConfig=None,
        LlamaRotaryEmbedding=lambda config: None,
    )
    layers = nn.ModuleList(made.LlamaAttention(SimpleNamespace(**LLAMA), number) for number in range(3))
    mask = torch.full((B, 1, T, T), -torch.inf).triu(1)

    def run(x: Any) -> Any:
        values = []
        for layer in layers:
            x = x + layer(x, mask, position_embeddings=turned(H), formal_layer_values=values)[0]
        return x

    return layers, run


def dense_former() -> tuple[nn.Module, Callable[[Any], Any]]:
    """Three linear layers, each added to its input and averaged with what was before."""
    made = taken('DenseFormer/denseformer/denseformer.py', 'InPlaceSetSlice apply_inplace_set DWAModules')
    layer = nn.ModuleDict({'depth': made.DWAModules(3), 'layers': nn.ModuleList(nn.Linear(D, D) for _ in range(3))})

    def run(x: Any) -> Any:
        layer['depth'].init_accumulators(x)
        for number, each in enumerate(layer['layers']):
            x = layer['depth'](x + each(x), number)
        return x

    return layer, run


def exclusive() -> tuple[nn.Module, Callable[[Any], Any]]:
    """With gains of 1."""
    made = taken(
        'parameter-golf/records/track_10min_16mb/2026-03-20_11L_EfficientPartialXSA_FA3_SWA120/train_gpt.py',
        'Rotary apply_rotary_emb CastedLinear CausalSelfAttention',
        Tensor=torch.Tensor,
        flash_attn_3_func=flash,
    )
    layer = made.CausalSelfAttention(D, N, 2, 1e4, 1.0)
    layer.use_xsa = True
    layer.q_gain.requires_grad_(False)
    return layer, layer


def synthesizer(kind: str) -> tuple[nn.Module, Callable[[Any], Any]]:
    """For T + 2 positions; without the residual connection and its norm."""
    names = 'DenseAttention RandomAttention'
    attention = taken('Synthesizer/synth/synthesizer/modules.py', names)
    made = taken('Synthesizer/synth/synthesizer/sub_layers.py', 'MultiHeadAttention', **vars(attention))
    layer = made.MultiHeadAttention(T + 2, 1, N, D, H, H, kind).eval()
    layer.layer_norm = nn.Identity()
    if kind == 'dense':
        layer.attention = attention.DenseAttention(T + 2, H, H).eval()
    else:
        layer.attention.random_attn = nn.Parameter(layer.attention.random_attn)
    mask = torch.ones(1, T, T).tril()
    return layer, lambda x: layer(x, x, x, mask)[0] - x


def moba() -> tuple[nn.Module, Callable[[Any], Any]]:
    """Between projections."""
    attend = taken('MoBA/moba/moba_naive.py', 'moba_attn_varlen_naive').moba_attn_varlen_naive
    layer = nn.ModuleDict({name: nn.Linear(D, N * H, bias=False) for name in ('q_proj', 'k_proj', 'v_proj')})
    layer['o_proj'] = nn.Linear(N * H, D, bias=False)
    ends = torch.arange(B + 1) * T

    def run(x: Any) -> Any:
        heads = (layer[f'{name}_proj'](x).reshape(B * T, N, H) for name in 'qkv')
        return layer['o_proj'](attend(*heads, ends, T, 3, 3).reshape(B, T, N * H))

    return layer, run


def x_transformers(**settings: Any) -> tuple[nn.Module, Callable[[Any], Any]]:
    layer = Attention(D, heads=N, dim_head=H, causal=True, **settings)
    return layer, layer


LAYERS = {
    'contextual': lambda: x_transformers(use_cope=True, cope_max_pos=5),
    'dense_former': dense_former,
    'exclusive': exclusive,
    'grouped_latent': lambda: grouped('GLA'),
    'grouped_tied': lambda: grouped('GTA'),
    'moba': moba,
    'multi_token': multi_token,
    'normalized': normalized,
    'selective': lambda: x_transformers(selective=True),
    'synthesizer/dense': lambda: synthesizer('dense'),
    'synthesizer/random': lambda: synthesizer('random'),
    'talking_heads': lambda: x_transformers(pre_talking_heads=True, post_talking_heads=True),
    'tensor_product': tensor_product,
    'value_residual': value_residual,
}


def record() -> dict[str, np.ndarray]:
    """Return x, dy, and by the name of a layer its parameters, y, and the gradient of sum(y * dy) with respect to x."""
    torch.manual_seed(0)
    x, dy = torch.randn(B, T, D), torch.randn(B, T, D)
    found = {'commits': np.array([f'{name} {commit}' for name, commit in COMMITS.items()]), 'x': x, 'dy': dy}
    for name, make in LAYERS.items():
        (layer, run), own = make(), x.clone().requires_grad_()
        with torch.no_grad():
            for path, parameter in layer.named_parameters():
                # The papers have no biases.
                if parameter.requires_grad:
                    parameter.normal_(std=0.0 if path.endswith('.bias') else 0.3)
            if name == 'grouped_latent':
                layer.kv_norm_2.weight.copy_(layer.kv_norm_1.weight)
        y = run(own)
        (dx,) = torch.autograd.grad(y, own, dy)
        used = {path: leaf.detach() for path, leaf in layer.named_parameters() if not path.endswith('.bias')}
        found |= {f'{name}/params/{path}': leaf for path, leaf in used.items()}
        found |= {f'{name}/y': y.detach(), f'{name}/dx': dx}
    return found


if __name__ == '__main__':
    arrays = {name: np.asarray(leaf) for name, leaf in record().items()}
    np.savez_compressed(Path(__file__).with_suffix('.npz'), **arrays)
