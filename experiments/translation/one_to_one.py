# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Word-by-word translation, for decomposing cross-attention into components of time and of words.

    python launch/train.py --config=experiments/translation/one_to_one.py --workdir=runs/one_to_one
    python launch/decompose.py --workdir=runs/one_to_one --out=report.html

This is the "AED" of Aitken et al. 2021, https://arxiv.org/abs/2110.15253: recurrent, unidirectional, with dot-product
scores of hidden states. attention_only.py is their "AO"; their "VED" (the first override) has no attention. In two
other tasks (the other overrides) the alignment depends on the words:

    --config.model.decoder="{'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': False, 'layers': 1, \
        'cell': {'use': 'recurrent.cell.gru:GRU', 'width': 128}}"
    --config.data.generator="{'use': 'data.synthetic.one_to_one:Permuted', 'symbols': 20, 'shortest': 10, \
        'longest': 10}"
    --config.data.generator="{'use': 'data.synthetic.scan:Scan'}" --config.data.source_context_length=12 \
        --config.data.context_length=49
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation import generated
from saccade.experiments.translation.recurrent import recurrent


def get_config() -> ConfigDict:
    config = generated.get_config()
    config.data.generator = dict(use='data.synthetic.one_to_one:OneToOne', symbols=20, shortest=10, longest=10)
    config.data.source_context_length = 11
    config.data.context_length = 11
    config.model = recurrent(
        vocabulary=config.model.decoder.get_ref('vocabulary'),
        context_length=config.data.get_ref('context_length'),
        source_context_length=config.data.get_ref('source_context_length'),
        width=FieldReference(128),
        decoder=dict(
            use='recurrent.decoder.luong:Luong',
            attention=dict(use='recurrent.decoder.soft:Soft', score=dict(use='recurrent.score.dot:Dot')),
            input_feeding=False,
        ),
        dropout=0.0,
        cell='recurrent.cell.gru:GRU',
    )
    config.model.encoder.bidirectional = False
    config.model.bridge = dict(use='recurrent.decoder.copied:Copied')
    config.steps = 600
    return config
