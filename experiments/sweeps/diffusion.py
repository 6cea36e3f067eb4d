# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over two objectives for the same rows: masked diffusion, and the causal language model of the same size.

    python launch/sweep.py --config=experiments/masked_lm/diffusion_tiny.py --sweep=experiments/sweeps/diffusion.py \
        --config.steps=1100 --workdir=runs/diffusion_sweep

The loss of both is in nats per token of the same tokenizer: that of diffusion is an upper bound. A causal model also
predicts the token that ends each row. In Sahoo et al. 2024, https://arxiv.org/abs/2406.07524, diffusion comes near the
perplexity of a causal Transformer and stays above it.
"""

from saccade.experiments.masked_lm import diffusion_tiny


def get_sweep() -> dict:
    encoder = diffusion_tiny.get_config().model
    block = encoder.block.to_dict()
    block['mixer']['mask'] = dict(use='ops.mask:Causal')
    decoder = dict(
        use='model.decoder:Decoder',
        vocabulary=encoder.vocabulary,
        context_length=encoder.context_length,
        width=encoder.width,
        layers=encoder.layers,
        tied=True,
        dropout=0.0,
        embedding_init=encoder.embedding_init.to_dict(),
        position=encoder.position.to_dict(),
        norm=encoder.norm.to_dict(),
        block=block,
        run=encoder.run.to_dict(),
    )
    causal = {'task': dict(use='task.causal_lm:CausalLM', label_smoothing=0.0), 'model': decoder, 'sample': None}
    return dict(
        runs=dict(list=[{'name': 'causal', **causal}, {'name': 'diffusion'}]),
        metric='loss',
        baseline='causal',
        seeds=3,
    )
