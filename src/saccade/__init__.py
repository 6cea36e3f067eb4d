# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Saccade: the whole line of attention in one JAX/Flax codebase.

Nothing is imported before it is asked for. Mixers, kernels, blocks and models stand here by name; all else in its room:

    saccade.MultiHead(heads=4)      a Linen module; parts that are not given are the usual ones (`saccade.conventional`)
    saccade.norm.RMSNorm()          any part of a room; saccade.mask.Causal() and saccade.term.Softcap(cap=50.0) too
    saccade.part_of(spec)           the factory of a part, from the dict that a config has for it
    saccade.load('runs/a')          a trained model, with its tokenizer, to generate, embed and predict
"""

from saccade.lazy import lazy_names

_FLAT = ('saccade.attention', 'saccade.recurrent.mixer', 'saccade.block', 'saccade.model')
_OTHERS = {
    'mask': 'saccade.ops.mask',
    'term': 'saccade.ops.term',
    'part_of': 'saccade.conventional:part_of',
    'load': 'saccade.train.loaded:load',
}

__getattr__, __dir__ = lazy_names('saccade', _FLAT, _OTHERS)
