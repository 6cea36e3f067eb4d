# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Record outputs and gradients of the authors' log-linear attention for drawn inputs in `log_linear.npz`.

    python tests/oracle/recorded/log_linear.py CHECKOUT

CHECKOUT is a copy of https://github.com/HanGuo97/log-linear-attention at COMMIT, of which `hattention/base.py` runs.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import torch

COMMIT = '7f8644159c1406fae1ad863829a5b3a4fbf63022'
B, T, N, R, H, LEVELS = 2, 37, 2, 3, 4, 7

spec = importlib.util.spec_from_file_location('base', Path(sys.argv[1]) / 'hattention' / 'base.py')
base = importlib.util.module_from_spec(spec)
spec.loader.exec_module(base)
random = np.random.default_rng(0)
inputs = {
    'q': random.normal(size=(B, T, N, R)),
    'k': random.normal(size=(B, T, N, R)),
    'v': random.normal(size=(B, T, N, H)),
    'decay': random.random((B, T, N)),
    'weights': random.normal(size=(B, T, N, LEVELS)),
}
dy = random.normal(size=(B, T, N, H))
given = [torch.tensor(x, requires_grad=True) for x in inputs.values()]
y, _ = base.hattention_materialized(*given, base=2, htype=base.HType.WEAK)
gradients = torch.autograd.grad(y, given, torch.tensor(dy))
found = {f'd_{name}': x.numpy() for name, x in zip(inputs, gradients, strict=True)}
np.savez_compressed(
    Path(__file__).with_suffix('.npz'), commit=np.array(COMMIT), y=y.detach().numpy(), dy=dy, **inputs, **found
)
