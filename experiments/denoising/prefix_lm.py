# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A prefix LM: a decoder with bidirectional attention in a prefix of any length, trained to generate the rest.

    python launch/train.py --config=experiments/denoising/prefix_lm.py --workdir=runs/prefix
    python launch/translate.py --workdir=runs/prefix --text="Return the number of"

Liu et al. 2018, https://arxiv.org/abs/1801.10198; Dong et al. 2019, https://arxiv.org/abs/1905.03197; Raffel et al.
2020, sections 3.2.1 and 3.2.3, https://arxiv.org/abs/1910.10683. Their prefix LM for an encoder-decoder is t5.py with
`--config.task.denoisers="[{'use': 'ops.denoising:Sequential'}]"`.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.denoising.base import denoising, one_decoder, sequential


def get_config() -> ConfigDict:
    vocabulary, context_length = FieldReference(2048), FieldReference(128)
    model = one_decoder(vocabulary, context_length, width=128, heads=4, layers=4)
    config = denoising(model, [sequential(least=0.0, most=1.0)], vocabulary, context_length)
    config.data.sentinels = 0
    config.data.tokenizer.specials = []
    config.sample = dict(use='decode.translator:Translated', text='Return the number of', start=None, mode=None)
    return config
