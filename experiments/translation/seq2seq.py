# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training and evaluation settings of the sequence-to-sequence experiments.

An experiment imports it with `from .seq2seq import ...`, and gives the model, the data and the metrics of generated
texts. The sizes of both sides are references shared by model and data, so that one override changes both.
"""

from typing import Any

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder
from saccade.experiments.run_settings import settings

GREEDY = dict(use='decode.greedy:Greedy', max_tokens=0)
BLEU = dict(use='metric.translation:BLEU', tokenize='13a', lowercase=False)
CHRF = dict(use='metric.translation:ChrF', characters=6, words=0, beta=2, lowercase=False)
BUCKETS = (16, 24, 32, 48, 64, 96)  # only buckets below the context length of an experiment are used
EXACT = dict(use='metric.exact:ExactMatch')
ROUGE = dict(use='metric.rouge:ROUGE', orders=[1, 2])


def beams(count: int, alpha: float) -> dict[str, Any]:
    """Return beam search with `count` beams and the exponent `alpha` of the length penalty."""
    return dict(use='decode.beam:Beam', beams=count, alpha=alpha, max_tokens=0, groups=1, diversity=0.0)


def pairs(
    tokenizer: dict[str, Any],
    name: str | None,
    buckets: tuple[int, ...],
    source: str = 'en',
    target: str = 'de',
    **data: Any,
) -> dict[str, Any]:
    """Return the data of pairs, with one vocabulary for both sides: a TFDS dataset by name, or files by `data.path`.

    Args:
        buckets: bucket lengths for batching pairs, in tokens.
        source, target: languages, or columns.
    """
    return dict(
        use='data.pairs.parallel:Parallel',
        name=placeholder(str) if name is None else name,
        path=placeholder(str),
        source=source,
        target=target,
        tokenizer=tokenizer,
        start=None,
        buckets=buckets,
        source_tokenizer=None,
        mode=placeholder(str),
        **data,
    )


def seq2seq(
    model: dict[str, Any],
    data: dict[str, Any],
    metrics: list[dict[str, Any]],
    label_smoothing: float = 0.0,
    search: dict[str, Any] | None = None,
) -> ConfigDict:
    """Return an experiment with this model on these data; decoding is greedy unless a search is given."""
    config = settings(steps=2000)
    config.batch_size = 64
    config.task = dict(
        use='task.translation:Translation',
        label_smoothing=label_smoothing,
        search=search or dict(GREEDY),
        metrics=metrics,
    )
    config.data = data
    config.model = model
    # Vaswani et al. 2017, section 5.3.
    config.optimizer.rule = dict(use='optax:scale_by_adam', b1=0.9, b2=0.98, eps=1e-9)
    config.optimizer.weight_decay = 0.0
    return config
