# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""ModernBERT base: pre-norm without biases, GeGLU, rotary positions, a window of 128 tokens in two of three layers.

    python launch/train.py --config=experiments/masked_lm/modernbert.py --workdir=runs/modernbert \
        --config.data.path=FOLDER

Warner et al. 2024, "Smarter, Better, Faster, Longer: A Modern Bidirectional Encoder for Fast, Memory Efficient, and
Long Context Finetuning and Inference", https://arxiv.org/abs/2412.13663, section 2 and appendices A and B. Layers with
a window rotate by a base of 10,000, the others by 160,000 (10,000 until the context grows from 1024 to 8192 tokens).
30% of the tokens are predicted. 149,655,232 parameters. AdamW replaces StableAdamW, and the batch size is constant. For
accelerators.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.masked_lm.base import GELU, MASKED, NO_POSITION, STARTS, masked_lm


def get_config() -> ConfigDict:
    vocabulary, heads, width = FieldReference(50368), FieldReference(12), FieldReference(1152)
    norm = dict(use='norm.layer:LayerNorm', epsilon=1e-5, bias=False)

    def block(mask: dict[str, Any], base: float, norms: dict[str, Any]) -> dict[str, Any]:
        return dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            norms=norms,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=heads,
                kernel=dict(use='attention.plain:Plain'),
                mask=mask,
                position=dict(use='position.rotary:Rotary', base=base),
                **STARTS,
            ),
            feedforward=dict(use='feedforward.gated:Gated', activation=GELU, width=width, **STARTS),
        )

    def local() -> dict[str, Any]:
        return block(dict(use='ops.mask:Window', left=64, right=64), 1e4, {})

    def everywhere(norms: dict[str, Any]) -> dict[str, Any]:
        return block(dict(use='ops.mask:Full'), 1.6e5, norms)

    config = masked_lm(
        vocabulary=vocabulary,
        context_length=FieldReference(1024),
        width=768,
        layers=22,
        types=0,
        embedding_norm=norm,
        position=NO_POSITION,
        first_blocks=[everywhere(dict(mixer=dict(use='norm.none:NoNorm')))],  # the embedding has a norm already
        block=[local(), local(), everywhere({})],
        norm=norm,
        heads=dict(masked=MASKED | dict(norm=norm, hidden_bias=False)),
    )
    config.task.share = 0.3
    config.data.pairing = dict(use='data.encoder.pairing:OnePassage')
    config.data.tokenizer = dict(
        use='data.tokenizer.bpe:BPE',
        vocabulary=vocabulary,
        end=None,
        specials=['[CLS]', '[PAD]', '[SEP]', '[UNK]', '[MASK]'],
    )
    config.steps = 400_000
    config.batch_size = 4608
    config.accumulate = 72
    config.dtype = 'bfloat16'
    config.eval_every = 5000
    config.checkpoint_every = 5000
    config.optimizer.rule.b2 = 0.98
    config.optimizer.weight_decay = 1e-5
    config.schedule = dict(use='train.schedule:WarmupStableDecay', peak=8e-4, warmup=2000, decay=12_000)
    return config
