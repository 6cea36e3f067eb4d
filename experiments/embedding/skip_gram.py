# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Word vectors by skip-grams with negative sampling (Mikolov et al. 2013) on this machine's Python documentation.

    python launch/train.py --config=experiments/embedding/skip_gram.py --workdir=runs/words
    python launch/embed.py --workdir=runs/words --nearest=return

Nothing is downloaded; --config.data.path=FILE takes your own text. The result is the table `embedding`. Any other model
with a table of the same size can start from it, with its tokenizer; the table may be trained or, as here, frozen:

    python launch/train.py --config=experiments/causal_lm/quickstart.py --workdir=runs/started \
        --config.init_from=runs/words --config.adapt="{'use': 'train.init.partial:only', 'match': '^embedding$'}" \
        --config.model.vocabulary=4096 --config.model.width=96 \
        --config.optimizer.rates="{'use': 'train.rates:Frozen', 'match': '^embedding$'}"
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.run_settings import settings


def get_config() -> ConfigDict:
    vocabulary, context_length = FieldReference(4096), FieldReference(128)

    config = settings(steps=2000)
    config.log_every = 100
    config.task = dict(use='task.skip_gram:SkipGram', window=5, negatives=5, subsample=1e-3)  # 1e-5 for large corpora
    config.data = dict(
        use='data.text.skip_gram:SkipGramText',
        name='pydocs',
        path=placeholder(str),
        context_length=context_length,
        tokenizer=dict(use='data.tokenizer.word:Word', vocabulary=vocabulary),
        pack=dict(use='data.rows.pack:Packed'),
        noise=64,
        power=0.75,
    )
    config.model = dict(
        use='model.word_vectors:WordVectors', vocabulary=vocabulary, context_length=context_length, width=96
    )
    config.optimizer.update(weight_decay=0.0, clip_norm=None)
    config.schedule.peak = 3e-3
    config.schedule.warmup = config.get_ref('steps') // 50
    return config
