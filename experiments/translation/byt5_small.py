# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ByT5 small, 299,637,760 parameters: T5 version 1.1 on bytes, with a deep encoder and a shallow decoder.

    python launch/train.py --config=experiments/translation/byt5_small.py --workdir=runs/byt5

Xue et al. 2022, "ByT5: Towards a Token-Free Future with Pre-trained Byte-to-Byte Models", table 1,
https://arxiv.org/abs/2105.13626. Its 384 tokens are 256 bytes and special tokens, so embedding and output have only
0.4% of the parameters, and no tokenizer needs to be trained. For accelerators.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation import t5_small
from saccade.experiments.translation.t5 import t5


def get_config() -> ConfigDict:
    config = t5_small.get_config()
    config.data.tokenizer = dict(use='data.tokenizer.byte:Byte')
    config.data.source_context_length = config.data.context_length = 512
    config.model = t5(
        vocabulary=FieldReference(384),
        source_context_length=config.data.get_ref('source_context_length'),
        context_length=config.data.get_ref('context_length'),
        width=1472,
        heads=6,
        layers=12,
        decoder_layers=4,
        inner=3584,
        dropout=0.1,
        first=False,
    )
    return config
