# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers that need whole rows of one length, compared with attention on images of digits.

    python launch/sweep.py --config=experiments/vision/digits.py --sweep=experiments/sweeps/mixers_of_images.py \\
        --workdir=runs/mixers_of_images --jobs=2
    python launch/report.py --workdir=runs/mixers_of_images

None can be causal or leave out padding, which images do not have. All have as many parameters as the config's own
model, to 1%. The 17 tokens of an image are 16 patches and the class token.
"""

MIXER = 'model.block.mixer'
LENGTH = 17  # tokens of an image


def get_sweep() -> dict:
    points = [{'name': 'attention'}, *({'name': name, **fields} for name, fields in variants().items())]
    return dict(
        runs=dict(list=points), seeds=3, match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01})
    )


def variants() -> dict[str, dict]:
    kernels = dict(
        linformer=dict(use='attention.linformer:Linformer', length=LENGTH, slots=4),
        nystromformer=dict(use='attention.nystromformer:Nystromformer', landmarks=4, convolution=3),
    )
    mixers = dict(
        fourier=dict(use='attention.fourier:Fourier'),
        token_mixing=dict(use='attention.token_mixing:TokenMixing', length=LENGTH, hidden=32),
        luna=dict(use='attention.luna:Luna', heads=4, slots=4),
        spatial_gating=dict(use='attention.spatial_gating:SpatialGating', length=LENGTH, ratio=1.0),
    )
    return {
        **{name: {f'{MIXER}.kernel': kernel} for name, kernel in kernels.items()},
        **{name: {MIXER: mixer} for name, mixer in mixers.items()},
    }
