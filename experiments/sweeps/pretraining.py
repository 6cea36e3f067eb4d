# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Fine-tuning from a pretrained model and from scratch: classification, summaries and questions.

    python launch/sweep.py --config=experiments/finetune/classify.py --sweep=experiments/sweeps/pretraining.py \
        --workdir=runs/pretraining --jobs=2 --config.init_from=runs/bert \
        --config.data.path=FILE --config.data.text=0 --config.data.label=1

    python launch/train.py --config=experiments/denoising/t5.py --workdir=runs/t5
    python launch/sweep.py --config=experiments/translation/summarize.py --sweep=experiments/sweeps/pretraining.py \
        --workdir=runs/summaries --jobs=2 --config.init_from=runs/t5 --config.inherit=model --config.steps=600 \
        --config.batch_size=16 --config.data.name=docstrings --config.data.source=body --config.data.target=summary

    python launch/sweep.py --config=experiments/finetune/answer.py --sweep=experiments/sweeps/pretraining.py \
        --workdir=runs/answers --jobs=2 --config.init_from=runs/bert --config.data.context_length=64

`init_from` is a run of experiments/masked_lm, for summaries one of experiments/denoising, or a Hugging Face directory.
Both variants have its architecture and its tokenizer, and see the same examples in the same order: only the initial
weights differ.
"""


def get_sweep() -> dict:
    points = [
        dict(name='scratch', adapt=dict(use='train.init.partial:nothing')),
        dict(name='pretrained', adapt=dict(use='train.init.partial:body')),
    ]
    needs = dict(init_from='a run of experiments/masked_lm or denoising, or a Hugging Face directory')
    return dict(runs=dict(list=points), seeds=5, needs=needs)
