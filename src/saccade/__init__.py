# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Saccade: attention and its variants, from 2014 on, in one JAX/Flax codebase.

Names are imported at first access. Mixers, kernels, blocks and models are available here by name, the rest in its
package:

    saccade.MultiHead(heads=4)      a Linen module, to use in any Linen model; fields with a convention have defaults
    saccade.norm.RMSNorm()          any part of a package; saccade.mask.Causal() and saccade.term.Softcap(cap=50.0) too
    saccade.part_of(spec)           the factory of a part, from its dict in a config
    saccade.train(config, 'runs/a') training of a config in a folder, which resumes
    saccade.load('runs/a')          a trained model with its tokenizer, to generate, embed and predict
"""

from saccade.lazy import lazy_names

_FLAT = ('saccade.attention', 'saccade.recurrent.mixer', 'saccade.block', 'saccade.model')
_OTHERS = {
    'mask': 'saccade.ops.mask',
    'term': 'saccade.ops.term',
    'part_of': 'saccade.build:part_of',
    'train': 'saccade.train',
    'load': 'saccade.loaded:load',
}

__getattr__, __dir__ = lazy_names('saccade', _FLAT, _OTHERS)
