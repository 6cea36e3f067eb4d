# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy references of mixers, score terms, softmax variants and blocks, written from the papers' equations.

They share no code with the parts and need only NumPy. The reference of a mixer takes one sequence x [T, D] in float64
and the parameters of the part by their names, and returns [T, D]. That of a block takes the embedded tokens and the
parameters of a decoder, and returns logits [T, V]. They loop over tokens and heads where the papers do.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

Params = Any  # nested dicts of float64 arrays


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def silu(x: np.ndarray) -> np.ndarray:
    return x * sigmoid(x)


def gelu(x: np.ndarray) -> np.ndarray:
    """GELU by the hyperbolic tangent."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, x)


def softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True))


def rms(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return scale * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


def layer_norm(x: np.ndarray, p: Params, epsilon: float) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    return p.get('scale', 1) * centred / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon) + p.get('bias', 0)


def heads_of(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    return np.einsum('TD,DNH->TNH', x, kernel)


def low_rank(x: np.ndarray, p: Params, name: str) -> np.ndarray:
    return np.einsum('TR,RNH->TNH', x @ p[f'{name}_down'], p[f'{name}_up'])


def merged(y: np.ndarray, p: Params) -> np.ndarray:
    return np.einsum('TNH,NHD->TD', y, p['output'])


def norm_of_all_heads(y: np.ndarray, p: Params) -> np.ndarray:
    return rms(y.reshape(len(y), -1), p['output_norm']['scale']).reshape(y.shape)


def convolved(x: np.ndarray, p: Params) -> np.ndarray:
    """Causal depthwise convolution of [T, C], with zeros before the first token."""
    taps, y = p['output'], np.zeros_like(x)
    for t, back in np.ndindex(len(x), len(taps)):
        if t >= back:
            y[t] += taps[len(taps) - 1 - back] * x[t - back]
    return y + p.get('bias', 0)


def projected(x: np.ndarray, p: Params) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries, keys and values, convolved next to each other where there is a convolution."""
    heads = [heads_of(x, p[name]) for name in ('query', 'key', 'value')]
    if 'convolution' not in p:
        return tuple(heads)
    flat = convolved(np.concatenate([y.reshape(len(x), -1) for y in heads], axis=-1), p['convolution'])
    parts = np.split(flat, np.cumsum([y[0].size for y in heads])[:-1], axis=-1)
    return tuple(part.reshape(y.shape) for part, y in zip(parts, heads, strict=True))


def rotated(x: np.ndarray) -> np.ndarray:
    """RoPE of [T, N, H]: feature i is paired with i + H/2, at the angle t 10000^(-2i/H). Su et al. 2021, 2104.09864."""
    half = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None, None] * 10000.0 ** (-np.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate(
        [first * np.cos(angles) - second * np.sin(angles), second * np.cos(angles) + first * np.sin(angles)], axis=-1
    )


def shared_by_groups(x: np.ndarray, heads: int) -> np.ndarray:
    return np.repeat(x, heads // x.shape[1], axis=1)


def causal(length: int) -> np.ndarray:
    return np.tril(np.ones((length, length), bool))


def pairs(length: int) -> Iterator[tuple[int, int]]:
    """Query i and each key j that it may attend to."""
    return ((i, j) for i in range(length) for j in range(i + 1))


def dot_products(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return np.einsum('TNH,SNH->NTS', q, k) / np.sqrt(q.shape[-1])


def attended(scores: np.ndarray, v: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    allowed = causal(len(v)) if allowed is None else allowed
    return np.einsum('NTS,SNH->TNH', softmax(np.where(allowed, scores, -1e30)), v)


def scores_and_values(x: np.ndarray, p: Params, rotate: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Scaled dot products [N, T, T] of (rotated) queries and keys, and the values of each query head."""
    q, k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    q, k = (rotated(q), rotated(k)) if rotate else (q, k)
    return dot_products(q, shared_by_groups(k, q.shape[1])), shared_by_groups(v, q.shape[1])


# Attention


def attention(x: np.ndarray, p: Params) -> np.ndarray:
    """Vaswani et al. 2017, 1706.03762, with rotary positions."""
    return merged(attended(*scores_and_values(x, p)), p)


def forget_gate(x: np.ndarray, p: Params) -> np.ndarray:
    """Sum of log f after token j up to i. Lin et al. 2025, Forgetting Transformer, 2503.02130."""
    totals = np.cumsum(np.log(sigmoid(x @ p['kernel'] + p['bias'])), axis=0).T
    return totals[:, :, None] - totals[:, None, :]


def forgetting(x: np.ndarray, p: Params) -> np.ndarray:
    scores, v = scores_and_values(x, p, rotate=False)
    return merged(attended(scores + forget_gate(x, p['term_0']), v), p)


def path_scores(x: np.ndarray, p: Params) -> tuple[np.ndarray, np.ndarray]:
    """q_i^T (product of I - b_t w_t w_t^T, t from j + 1 to i) k_j. Yang et al. 2025, PaTH attention, 2505.16381."""
    q, k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    T, N, H = q.shape
    w = low_rank(x, p, 'reflect')
    w = unit(convolved(w.reshape(T, -1), p['convolution']).reshape(w.shape))
    b = 2 * sigmoid(x @ p['write'] + p['write_bias'])
    scores = np.zeros((N, T, T))
    for n, j in np.ndindex(N, T):
        product = np.eye(H)
        for i in range(j, T):
            if i > j:
                product = (np.eye(H) - b[i, n] * np.outer(w[i, n], w[i, n])) @ product
            scores[n, i, j] = q[i, n] @ product @ k[j, n] / np.sqrt(H)
    return scores, v


def path(x: np.ndarray, p: Params) -> np.ndarray:
    return merged(attended(*path_scores(x, p)), p)


def path_with_forget_gate(x: np.ndarray, p: Params) -> np.ndarray:
    scores, v = path_scores(x, p)
    return merged(attended(scores + forget_gate(x, p['term_0']), v), p)


def selective(x: np.ndarray, p: Params) -> np.ndarray:
    """Positive scores of the first head mask later ones, but not the first token. Leviathan 2024, 2410.02703."""
    scores, v = scores_and_values(x, p)
    selected = np.maximum(scores[0], 0) * causal(len(x))
    np.fill_diagonal(selected, 0)
    selected[:, 0] = 0
    masked = np.vstack([np.zeros(len(x)), np.cumsum(selected, axis=0)[:-1]])
    return merged(attended(scores - masked, v), p)


def multi_token(x: np.ndarray, p: Params) -> np.ndarray:
    """Scores and weights are convolved over queries and keys. Golovneva et al. 2025, 2504.00927."""
    scores, v = scores_and_values(x, p)
    allowed = causal(len(x))

    def over_pairs(y: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        """Convolve with [N, queries back, keys around]: the last query and the middle key are the pair's own."""
        (_, back, around), made = kernel.shape, np.zeros_like(y)
        for i, j in pairs(len(x)):
            for a, c in np.ndindex(min(back, i + 1), around):
                key = j + c - around // 2
                if 0 <= key <= i - a:
                    made[:, i, j] += kernel[:, back - 1 - a, c] * y[:, i - a, key]
        return made

    weights = softmax(np.where(allowed, over_pairs(scores * allowed, p['scores_kernel']), -1e30))
    weights = over_pairs(weights * allowed, p['weights_kernel']) * allowed
    weights = np.einsum('MTS,MN->NTS', weights, p['weights_heads'][0])
    return merged(rms(np.einsum('NTS,SNH->TNH', weights, v), p['output_norm']['scale']), p)


def moba(x: np.ndarray, p: Params, block: int, chosen: int) -> np.ndarray:
    """A query reads its own block and those whose mean key fits it best. Lu et al. 2025, 2502.13189."""
    q, k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    q, k = rotated(q), rotated(k)
    T, N, _ = q.shape
    allowed = np.zeros((N, T, T), bool)
    for n, i in np.ndindex(N, T):
        own = i // block
        fits = [q[i, n] @ k[b * block : (b + 1) * block, n].mean(axis=0) for b in range(own)]
        read = {own, *sorted(range(own), key=fits.__getitem__, reverse=True)[: chosen - 1]}
        allowed[n, i] = [j <= i and j // block in read for j in range(T)]
    return merged(attended(dot_products(q, k), v, allowed), p)


def native_sparse(
    x: np.ndarray, p: Params, length: int, stride: int, block: int, chosen: int, window: int
) -> np.ndarray:
    """Compressed, selected and sliding keys, with a gate of each. Yuan et al. 2025, 2502.11089."""
    q = heads_of(x, p['query'])
    T, N, H = q.shape
    compressed_k, selected_k, sliding_k = np.split(heads_of(x, p['key']), 3, axis=1)
    compressed_v, selected_v, sliding_v = np.split(heads_of(x, p['value']), 3, axis=1)
    count, group = max((T - length) // stride + 1, 0), N // compressed_k.shape[1]

    def compressed(y: np.ndarray, name: str) -> np.ndarray:
        made = []
        for m in range(count):
            tokens = y[m * stride : m * stride + length] + p[f'compressed_{name}_places'][:, None]
            hidden = gelu(np.einsum('XKH,XHD->KD', tokens, p[f'compressed_{name}_1']))
            made.append(np.einsum('KD,DH->KH', hidden, p[f'compressed_{name}_2']))
        return np.stack(made)

    keys, values = compressed(compressed_k, 'key'), compressed(compressed_v, 'value')
    heads, weights = np.zeros((T, N, 3, H)), np.zeros((N, T, count))
    for n, i in np.ndindex(N, T):
        whole = [m for m in range(count) if m * stride + length - 1 <= i]
        if whole:
            weights[n, i, whole] = softmax(keys[whole, n // group] @ q[i, n] / np.sqrt(H))
            heads[i, n, 0] = weights[n, i] @ values[:, n // group]
    q, selected_k, sliding_k = rotated(q), rotated(selected_k), rotated(sliding_k)
    for kv, i in np.ndindex(keys.shape[1], T):
        group_heads, own = range(kv * group, (kv + 1) * group), i // block
        fit = np.zeros(own + 1)
        for m, token in np.ndindex(count, length):
            if (m * stride + token) // block <= own:
                fit[(m * stride + token) // block] += weights[group_heads, i, m].sum()
        fit[[0, own, max(own - 1, 0)]] = np.inf
        read = np.argsort(-fit, kind='stable')[:chosen]
        selected = [j for j in range(i + 1) if j // block in read]
        near = [j for j in range(i + 1) if i - j < window]
        for n in group_heads:
            heads[i, n, 1] = softmax(selected_k[selected, kv] @ q[i, n] / np.sqrt(H)) @ selected_v[selected, kv]
            heads[i, n, 2] = softmax(sliding_k[near, kv] @ q[i, n] / np.sqrt(H)) @ sliding_v[near, kv]
    gates = sigmoid(np.einsum('TD,DNA->TNA', x, p['branch_gate']))
    return merged(np.einsum('TNA,TNAH->TNH', gates, heads), p)


def lightning_indexer(x: np.ndarray, p: Params, chosen: int, pool: int = 1) -> np.ndarray:
    """A query reads the keys of the highest index scores. DeepSeek-AI 2025, DeepSeek-V3.2-Exp, equation 1.

    With a pool, these are blocks of tokens with a mean key, and the tokens after the last whole one are read too.
    """
    scores, v = scores_and_values(x, p)
    q, k = rotated(heads_of(x, p['index_query'])), rotated((x @ p['index_key'])[:, None])[:, 0]
    k = np.stack([k[at : at + pool].mean(axis=0) for at in range(0, len(x) - pool + 1, pool)])
    fits = np.maximum(np.einsum('TMH,SH->TMS', q, k), 0)
    index = np.einsum('TM,TMS->TS', x @ p['index_weight'], fits)
    allowed = np.zeros((len(x), len(x)), bool)
    for i in range(len(x)):
        whole = (i + 1) // pool
        allowed[i, whole * pool : i + 1] = True
        for block in np.argsort(-index[i, :whole], kind='stable')[: chosen // pool]:
            allowed[i, block * pool : (block + 1) * pool] = True
    return merged(attended(scores, v, allowed), p)


def tensor_product(x: np.ndarray, p: Params) -> np.ndarray:
    """Heads are means of outer products of factors. Zhang et al. 2025, Tensor Product Attention, 2501.06425."""
    made = {}
    for name in ('query', 'key', 'value'):
        of_heads = np.einsum('TD,DRN->TRN', x, p[f'{name}_heads'])
        of_features = np.einsum('TD,DRH->TRH', x, p[f'{name}_features'])
        of_features = of_features if name == 'value' else rotated(of_features)
        made[name] = np.einsum('TRN,TRH->TNH', of_heads, of_features) / of_heads.shape[1]
    return merged(attended(dot_products(made['query'], made['key']), made['value']), p)


def grouped_tied(x: np.ndarray, p: Params, rotated_width: int) -> np.ndarray:
    """Keys are values' first features and a rotated part that all heads share. Zadouri et al. 2025, 2505.21487."""
    q, rotary_k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    N, plain = q.shape[1], q.shape[-1] - rotated_width
    v = shared_by_groups(v, N)
    q = np.concatenate([q[..., :plain], rotated(q[..., plain:])], axis=-1)
    k = np.concatenate([v[..., :plain], shared_by_groups(rotated(rotary_k), N)], axis=-1)
    return merged(attended(dot_products(q, k), v), p)


def grouped_latent(x: np.ndarray, p: Params) -> np.ndarray:
    """Keys and values of a group of heads are made of its own latent vector. Zadouri et al. 2025, 2505.21487."""
    latents = rms(np.einsum('TD,DKR->TKR', x, p['latent']), p['latent_norm']['scale'])
    N = p['key'].shape[1]
    latents = shared_by_groups(latents, N)
    plain_k, v = (np.einsum('TNR,RNH->TNH', latents, p[name]) for name in ('key', 'value'))
    shared_k = rotated((x @ p['rotated_key'])[:, None])
    k = np.concatenate([plain_k, np.repeat(shared_k, N, axis=1)], axis=-1)
    q, plain = heads_of(x, p['query']), plain_k.shape[-1]
    q = np.concatenate([q[..., :plain], rotated(q[..., plain:])], axis=-1)
    return merged(attended(dot_products(q, k), v), p)


def normalized_heads(x: np.ndarray, p: Params) -> np.ndarray:
    """Unit queries and keys with a gain, scores times sqrt(H). Loshchilov et al. 2024, nGPT, 2410.01131."""
    q, k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    gain, H = p['gain'] * np.sqrt(p['gain'].size), q.shape[-1]
    q, k = gain * unit(rotated(q)), gain * unit(rotated(k))
    return merged(attended(H * dot_products(q, k), v), p)


# Softmax variants and positions


def entmax(x: np.ndarray, p: Params) -> np.ndarray:
    """1.5-entmax by sorting. Peters, Niculae, Martins 2019, 1905.05702, algorithm 2."""
    scores, v = scores_and_values(x, p)
    weights = np.zeros_like(scores)
    for n, i in np.ndindex(scores.shape[:2]):
        z = scores[n, i, : i + 1] / 2
        z = z - z.max()
        falling, count = -np.sort(-z), np.arange(1, i + 2)
        mean, square = np.cumsum(falling) / count, np.cumsum(falling**2) / count
        thresholds = mean - np.sqrt(np.maximum((1 - count * (square - mean**2)) / count, 0))
        support = (thresholds <= falling).sum()
        weights[n, i, : i + 1] = np.maximum(z - thresholds[support - 1], 0) ** 2
    return merged(np.einsum('NTS,SNH->TNH', weights, v), p)


def scalable_softmax(x: np.ndarray, p: Params) -> np.ndarray:
    """Scores times s log(number of keys). Nakanishi 2025, Scalable-Softmax, 2501.19399."""
    scores, v = scores_and_values(x, p)
    sharpness = p['kernel']['softmax']['sharpness'][:, None, None]
    return merged(attended(sharpness * np.log(np.arange(1, len(x) + 1))[:, None] * scores, v), p)


def cope(x: np.ndarray, p: Params) -> np.ndarray:
    """Positions count gates, and lie between two entries of a table. Golovneva et al. 2024, CoPE, 2405.18719."""
    q, k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    scores, table = dot_products(q, k), p['position']['table']
    biases = np.zeros_like(scores)
    for n in range(len(scores)):
        for i, j in pairs(len(x)):
            place = min(sigmoid(scores[n, i, j : i + 1]).sum(), len(table) - 1)
            low, high = int(np.floor(place)), int(np.ceil(place))
            entry = (place - low) * table[high] + (1 - place + low) * table[low]
            biases[n, i, j] = q[i, n] @ entry / np.sqrt(q.shape[-1])
    return merged(attended(scores + biases, v), p)


def xpos(x: np.ndarray, p: Params) -> np.ndarray:
    """Rotary positions whose features decay with distance. Sun et al. 2022, 2212.10554, with scale base 512."""
    q, k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    half = q.shape[-1] // 2
    share = np.arange(half) / half
    decay, frequency, scores = (share + 0.4) / 1.4, 10000.0**-share, np.zeros((q.shape[1], len(x), len(x)))
    for n in range(len(scores)):
        for i, j in pairs(len(x)):
            (a, b), (c, d) = np.split(q[i, n], 2), np.split(k[j, n], 2)
            angle = (i - j) * frequency
            turned = (a * c + b * d) * np.cos(angle) + (a * d - b * c) * np.sin(angle)
            scores[n, i, j] = (decay ** ((i - j) / 512) * turned).sum() / np.sqrt(2 * half)
    return merged(attended(scores, v), p)


# Fixed states


def fading(q: np.ndarray, k: np.ndarray, v: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """y_t = S_t^T q_t of S_t = diag(kept_t) S_(t-1) + k_t v_t^T, kept [T, N, 1 or H]."""
    y = np.zeros_like(v)
    for n in range(q.shape[1]):
        state = np.zeros((q.shape[-1], v.shape[-1]))
        for t in range(len(q)):
            state = kept[t, n][:, None] * state + np.outer(k[t, n], v[t, n])
            y[t, n] = state.T @ q[t, n]
    return y


def corrected(q: np.ndarray, k: np.ndarray, v: np.ndarray, share: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The delta rule: S = diag(kept_t) S, then S + b k (v - S^T k)^T for each update of a token [T, M, N, .]."""
    y = np.zeros((len(q), *v.shape[2:]))
    for n in range(q.shape[1]):
        state = np.zeros((q.shape[-1], v.shape[-1]))
        for t in range(len(q)):
            state = kept[t, n][:, None] * state
            for m in range(k.shape[1]):
                state = state + share[t, m, n] * np.outer(k[t, m, n], v[t, m, n] - state.T @ k[t, m, n])
            y[t, n] = state.T @ q[t, n]
    return y


def gated_linear(x: np.ndarray, p: Params) -> np.ndarray:
    """Yang et al. 2023, Gated Linear Attention, 2312.06635, with decay = sigmoid^(1/16)."""
    q, k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    kept = sigmoid(low_rank(x, p, 'decay') + p['decay_bias']) ** (1 / 16)
    y = rms(fading(q / np.sqrt(q.shape[-1]), k, v, kept), p['head_norm']['scale'])
    return merged(y * silu(heads_of(x, p['gate'])), p)


def hgrn2(x: np.ndarray, p: Params) -> np.ndarray:
    """Qin et al. 2024, HGRN2, 2404.07904, equation 6, with lower bound 0."""
    q, k, v = (heads_of(x, p[name]) for name in ('query', 'key', 'value'))
    return merged(norm_of_all_heads(fading(silu(q), 1 - sigmoid(k), v, sigmoid(k)), p), p)


def mamba2(x: np.ndarray, p: Params) -> np.ndarray:
    """Dao and Gu 2024, 2405.21060."""
    q, k, v = (silu(y) for y in projected(x, p))
    q, k = (shared_by_groups(y, v.shape[1]) for y in (q, k))
    step = softplus(x @ p['step'] + p['step_bias'])[..., None]
    y = fading(q, step * k, v, np.exp(-step * np.exp(p['log_rate'])[:, None])) + p['skip'][:, None] * v
    return merged(norm_of_all_heads(y * silu(heads_of(x, p['gate'])), p), p)


def mlstm(x: np.ndarray, p: Params, cap: float) -> np.ndarray:
    """Beck et al. 2024, xLSTM, 2405.04517, equations 19 to 27, and the capped gates of xLSTM 7B, 2503.13427."""
    q, k, v = projected(x, p)
    gates, forget = (cap * np.tanh((x @ p[name] + p[f'{name}_bias']) / cap) for name in ('input_gate', 'forget_gate'))
    k, kept = np.exp(gates)[..., None] * k, sigmoid(forget)[..., None]
    values, weights = (fading(q / np.sqrt(q.shape[-1]), k, y, kept) for y in (v, np.ones_like(v[..., :1])))
    y = layer_norm(values / np.maximum(np.abs(weights), 1), p['head_norm'], epsilon=1e-5)
    return merged(y * sigmoid(heads_of(x, p['gate'])), p)


def kimi_delta(x: np.ndarray, p: Params) -> np.ndarray:
    """Kimi Team 2025, Kimi Linear, 2510.26692: the delta rule with a decay of each feature."""
    q, k, v = (silu(y) for y in projected(x, p))
    steps = softplus(low_rank(x, p, 'step') + p['step_bias'])
    kept = np.exp(-np.exp(p['log_rate'])[:, None] * steps)
    y = corrected(unit(q), unit(k)[:, None], v[:, None], sigmoid(x @ p['write'])[:, None], kept)
    return merged(rms(y, p['head_norm']['scale']) * sigmoid(low_rank(x, p, 'gate')), p)


def delta_product(x: np.ndarray, p: Params, updates: int) -> np.ndarray:
    """Siems et al. 2025, DeltaProduct, 2502.10297: several updates a token, of eigenvalues from -1 to 1."""
    q, k, v = (silu(y) for y in projected(x, p))
    T, N = q.shape[:2]
    k, v = (y.reshape(T, updates, N, -1) for y in (k, v))
    share = 2 * sigmoid(x @ p['write']).reshape(T, updates, N)
    kept = np.exp(-np.exp(p['log_rate']) * softplus(x @ p['step'] + p['step_bias']))[..., None]
    return merged(rms(corrected(unit(q), unit(k), v, share, kept), p['head_norm']['scale']), p)


def rwkv7(x: np.ndarray, p: Params) -> np.ndarray:
    """Peng et al. 2025, RWKV-7, 2503.14456, first layer: S_t = S (diag(w) - kk^T (a kk)) + v k^T, values by keys."""
    before = np.vstack([np.zeros(x.shape[-1]), x[:-1]])

    def shifted(name: str) -> np.ndarray:
        return x + (1 - p[f'{name}_share']) * (before - x)

    r, k, v = (heads_of(shifted(name), p[name]) for name in ('query', 'key', 'value'))
    decay = np.einsum('TR,RNH->TNH', np.tanh(shifted('decay') @ p['decay_down']), p['decay_up'])
    w = np.exp(-np.exp(-0.5) * sigmoid(p['decay_bias'] + decay))
    a = sigmoid(p['rate_bias'] + low_rank(shifted('rate'), p, 'rate'))
    removed, written, y = unit(k * p['find']), k * (1 + (a - 1) * p['write']), np.zeros_like(v)
    for n in range(r.shape[1]):
        state = np.zeros((v.shape[-1], r.shape[-1]))
        for t in range(len(x)):
            change = np.diag(w[t, n]) - np.outer(removed[t, n], a[t, n] * removed[t, n])
            state = state @ change + np.outer(v[t, n], written[t, n])
            y[t, n] = state @ r[t, n]
    y = layer_norm(y, p['head_norm'], epsilon=64e-5) + (r * p['bonus'] * written).sum(axis=-1, keepdims=True) * v
    gate = np.einsum('TR,RNH->TNH', sigmoid(shifted('gate') @ p['gate_down']), p['gate_up'])
    return merged(y * gate, p)


# Blocks, in a decoder of some layers


def layers_of(p: Params) -> list[Params]:
    """Parameters of each layer, which are stacked on axis 0."""

    def at(tree: Params, layer: int) -> Params:
        return {name: at(leaf, layer) if isinstance(leaf, dict) else leaf[layer] for name, leaf in tree.items()}

    stacked = p['layers']['pattern_0']
    return [at(stacked, layer) for layer in range(len(stacked['mixer']['query']))]


def gated(x: np.ndarray, p: Params) -> np.ndarray:
    """Shazeer 2020, GLU variants, 2002.05202, with SiLU."""
    return (silu(x @ p['gate']) * (x @ p['up'])) @ p['down']


def logits_of(x: np.ndarray, p: Params) -> np.ndarray:
    return rms(x, p['norm']['scale']) @ p['head']


def sublayers(p: Params) -> dict[str, Any]:
    """The mixer and the feed-forward of a layer, each after its norm where it has one."""
    functions = {'mixer': attention, 'feedforward': gated}

    def of(name: str) -> Any:
        norm = p.get(f'{name}_norm', {})
        return lambda x: functions[name](rms(x, norm['scale']) if norm else x, p[name])

    return {name: of(name) for name in functions}


def attention_residuals(x: np.ndarray, p: Params) -> np.ndarray:
    """A sublayer reads a weighted mean of all earlier outputs. Kimi Team 2026, Attention Residuals, 2603.15031."""
    made = [x]
    for layer in layers_of(p):
        for place, (name, sublayer) in enumerate(sublayers(layer).items()):
            earlier = np.stack(made)
            fits = np.einsum('D,LTD->TL', layer['queries'][place], rms(earlier, 1))
            y = sublayer(np.einsum('TL,LTD->TD', softmax(fits), earlier))
            made = [*made, y] if name == 'mixer' else [*made[:-1], made[-1] + y]
    return logits_of(sum(made), p)


def manifold_hyper_connections(x: np.ndarray, p: Params, streams: int) -> np.ndarray:
    """Streams mixed by doubly stochastic matrices, 20 rounds of Sinkhorn. Xie et al. 2025, mHC, 2512.24880."""
    h = np.repeat(x[:, None], streams, axis=1)
    for layer in layers_of(p):
        for name, sublayer in sublayers(layer).items():
            q = layer[f'{name}_connection']
            z = rms(h.reshape(len(h), -1), q['norm']['scale'])
            read, mix, add = (
                q[f'{part}_bias'] + q[f'{part}_scale'] * np.einsum('TD,D...->T...', z, q[part])
                for part in ('read', 'keep', 'add')
            )
            mix = np.exp(mix)
            for _ in range(20):
                mix = mix / mix.sum(axis=-2, keepdims=True)
                mix = mix / mix.sum(axis=-1, keepdims=True)
            y = sublayer(np.einsum('TR,TRD->TD', sigmoid(read), h))
            h = np.einsum('TMR,TRD->TMD', mix, h) + 2 * sigmoid(add)[..., None] * y[:, None]
    return logits_of(h.sum(axis=1), p)


def dense_former(x: np.ndarray, p: Params) -> np.ndarray:
    """A weighted sum of the outputs of all layers so far, the newest first. Pagliardini et al. 2024, 2402.02622."""
    outputs = [x]
    for layer in layers_of(p):
        for sublayer in sublayers(layer).values():
            x = x + sublayer(x)
        outputs = [x, *outputs]
        x = np.einsum('L,LTD->TD', layer['depth']['weights'][: len(outputs)], np.stack(outputs))
    return logits_of(x, p)


def normalized_residual(x: np.ndarray, p: Params) -> np.ndarray:
    """Steps along the unit sphere, of rates that begin at 0.05. Loshchilov et al. 2024, nGPT, 2410.01131."""
    for layer in layers_of(p):
        for name, sublayer in sublayers(layer).items():
            rate = np.abs(layer[f'{name}_rate']) * 0.05 * np.sqrt(x.shape[-1])
            y, here = unit(sublayer(x)), unit(x)
            x = unit(here + rate * (y - here))
    return logits_of(x, p)


# Others


def sigmoid_pair_losses(texts: np.ndarray, images: np.ndarray, scale: float, bias: float) -> np.ndarray:
    """Loss of each text against all images. Zhai et al. 2023, SigLIP, 2303.15343, algorithm 1."""
    signs = 2 * np.eye(len(texts)) - 1
    return softplus(-signs * (scale * texts @ images.T + bias)).sum(axis=1)


def patches(images: np.ndarray, p: Params) -> np.ndarray:
    """Patches [rows, columns, channels] times a kernel, in reading order. Dosovitskiy et al. 2020, 2010.11929."""
    size, _, _, width = p['kernel'].shape
    B, rows, columns = images.shape[0], images.shape[1] // size, images.shape[2] // size
    y = np.zeros((B, rows * columns, width))
    for row, column in np.ndindex(rows, columns):
        patch = images[:, row * size : (row + 1) * size, column * size : (column + 1) * size]
        y[:, row * columns + column] = np.einsum('BXYC,XYCD->BD', patch, p['kernel']) + p['bias']
    return y
