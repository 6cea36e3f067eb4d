# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Published sparse attention patterns, composed of the masks of `ops.mask`. `& Causal()` makes any of them causal."""

from saccade.ops.mask import Causal, Chunked, Global, MaskBase, Prefix, RandomBlocks, Strided, Summary, Window
from saccade.types import require_positive

__all__ = ['big_bird', 'dilated_window', 'longformer', 'prefix_lm', 'sparse_fixed', 'sparse_strided']


def dilated_window(left: int, right: int, dilation: int) -> MaskBase:
    """Dilated window: every `dilation`-th key, `left` of them before the query and `right` after it.

    Beltagy et al. 2020, "Longformer: The Long-Document Transformer", section 3.1, https://arxiv.org/abs/2004.05150
    """
    require_positive('ops.pattern:dilated_window', dilation=dilation)
    return Window(left * dilation, right * dilation) & Strided(dilation)


def longformer(left: int, right: int, tokens: int) -> MaskBase:
    """Longformer: a window, and global tokens at the start.

    Beltagy et al. 2020, "Longformer: The Long-Document Transformer", section 3.1, https://arxiv.org/abs/2004.05150
    """
    return Window(left, right) | Global(tokens)


def big_bird(side: int, tokens: int, size: int, count: int, length: int, seed: int) -> MaskBase:
    """BigBird: a window, global tokens, and random blocks of keys for each block of queries.

    Zaheer et al. 2020, "Big Bird: Transformers for Longer Sequences", section 2, https://arxiv.org/abs/2007.14062
    The authors' code draws among blocks that are neither in the window nor global; ours among all others.

    Args:
        side: tokens of the window on either side.
        tokens: number of global tokens at the start.
        size, count, length, seed: as for `ops.mask:RandomBlocks`.
    """
    return Window(side, side) | Global(tokens) | RandomBlocks(size, count, length, seed)


def sparse_strided(stride: int) -> MaskBase:
    """Strided pattern: the last `stride` keys, and every `stride`-th key before them; causal.

    Child et al. 2019, "Generating Long Sequences with Sparse Transformers", section 4.3, https://arxiv.org/abs/1904.10509
    The paper assigns the two sets to different heads or layers, or, as here, both to all heads ("merged").
    """
    return Causal() & (Window(stride) | Strided(stride))


def sparse_fixed(length: int, count: int) -> MaskBase:
    """Fixed pattern: the keys of the query's own chunk, and the last `count` keys of every earlier chunk; causal.

    Child et al. 2019, "Generating Long Sequences with Sparse Transformers", section 4.3, https://arxiv.org/abs/1904.10509
    """
    return Causal() & (Chunked(length) | Summary(length, count))


def prefix_lm(count: int) -> MaskBase:
    """Prefix LM: bidirectional attention among the first tokens, causal attention for the others.

    Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section
    3.2.1, https://arxiv.org/abs/1910.10683
    """
    return Causal() | Prefix(count)
