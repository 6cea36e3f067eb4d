# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Word vectors by skip-grams with negative sampling (Mikolov et al. 2013), of this machine's Python documentation.

    python launch/train.py --config=experiments/embedding/skip_gram.py --workdir=runs/words
    python launch/embed.py --workdir=runs/words --nearest=return

Nothing is downloaded; --config.data.path=FILE takes a text of your own. What is learned is the table `embedding`, from
which any other model starts whose table is as large, with its tokenizer; learned on, or as it is:

    python launch/train.py --config=experiments/causal_lm/quickstart.py --workdir=runs/started \
        --config.init_from=runs/words --config.adapt="{'use': 'train.partial:only', 'match': '^embedding$'}" \
        --config.model.vocabulary=4096 --config.model.width=96 \
        --config.optimizer.rates="{'use': 'train.rates:Frozen', 'match': '^embedding$'}"
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder


def get_config() -> ConfigDict:
    vocabulary, context, steps = FieldReference(4096), FieldReference(128), FieldReference(2000)

    config = ConfigDict()
    config.seed = 0
    config.steps = steps
    config.batch_size = 32
    config.log_every = 100
    config.eval_every = 500
    config.eval_batches = 0
    config.checkpoint_every = 500
    config.logging = []
    config.backend = 'jit'
    config.mesh = dict(data=-1, fsdp=1, tensor=1)
    config.dtype = 'float32'
    config.accumulate = 1
    config.ema = 0.0
    config.init_from = ''
    config.adapt = None
    config.low_rank = None
    config.task = dict(use='task.skip_gram:SkipGram', window=5, negatives=5, subsample=1e-3)  # 1e-5 for large corpora
    config.data = dict(
        use='data.skip_gram:SkipGramText',
        name='pydocs',
        path=placeholder(str),
        context=context,
        tokenizer=dict(use='data.tokenizer:Word', vocabulary=vocabulary),
        pack=dict(use='data.pack:Packed'),
        noise=64,
        power=0.75,
    )
    config.model = dict(use='model.word_vectors:WordVectors', vocabulary=vocabulary, context=context, width=96)
    config.optimizer = dict(
        use='train.optimizer:Optimizer',
        rule=dict(use='optax:scale_by_adam', b1=0.9, b2=0.999),
        weight_decay=0.0,
        clip_norm=None,
        rates=None,
    )
    config.schedule = dict(use='train.schedule:Cosine', peak=3e-3, floor=0.0, warmup=steps // 50)
    return config
