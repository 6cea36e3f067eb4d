# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Fine-tuning from a pretrained encoder and from scratch.

    python launch/sweep.py --config=experiments/finetune/classify.py --sweep=experiments/sweeps/pretraining.py \
        --workdir=runs/pretraining --jobs=2 --config.init_from=runs/bert \
        --config.data.path=FILE --config.data.text=0 --config.data.label=1

`init_from` is a run of experiments/masked_lm, or a Hugging Face directory. Both variants have its architecture and its
tokenizer, and see the same examples in the same order: only the initial weights differ.
"""


def get_sweep() -> dict:
    points = [
        dict(name='scratch', adapt=dict(use='train.init.partial:nothing')),
        dict(name='pretrained', adapt=dict(use='train.init.partial:body')),
    ]
    needs = dict(init_from='a run of experiments/masked_lm/quickstart.py, or a Hugging Face directory of an encoder')
    return dict(runs=dict(list=points), seeds=5, needs=needs)
