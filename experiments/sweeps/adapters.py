# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Sweep over ways to fine-tune an encoder: all weights, LoRA, prefix tuning, prompt tuning, or only the head.

    python launch/sweep.py --config=experiments/finetune/classify.py --sweep=experiments/sweeps/adapters.py \
        --workdir=runs/adapters --jobs=2 --config.init_from=runs/pieces --config.data.path=FILE \
        --config.data.text=0 --config.data.label=1 --config.data.context_length=120

The pretrained encoder has a context of 128 tokens:

    python launch/train.py --config=experiments/masked_lm/quickstart.py --workdir=runs/pieces \
        --config.model.context_length=128

Li, Liang 2021, "Prefix-Tuning", https://arxiv.org/abs/2101.00190; Lester et al. 2021, prompt tuning,
https://arxiv.org/abs/2104.08691. A prefix is trained keys and values of each layer. The prompt takes 8 places of the
context, so rows have 8 tokens fewer than it, in all variants.
"""

COUNT = 8
HEADS = r'(^|/)\w+_head/'


def get_sweep() -> dict:
    def only(match: str, **fields: object) -> dict:
        """Return the fields of a run that trains the heads and what the regex finds, and starts these anew."""
        new = f'{HEADS}|{match}'
        frozen = dict(use='train.rates:Frozen', match=f'^(?!.*({new}))')
        return {'adapt': dict(use='train.init.partial:body', heads=new), 'optimizer.rates': frozen, **fields}

    mixer = 'model.block.mixer'
    memory = {f'{mixer}.use': 'attention.persistent_memory:PersistentMemory', f'{mixer}.count': COUNT}
    prompt = dict(use='embed.prompt:Prompt', count=COUNT, embed=dict(use='embed.token:TokenEmbedding'))
    variants = dict(
        whole={},
        low_rank=dict(low_rank=dict(use='train.low_rank:LowRank', rank=4, alpha=8.0)),
        prefix=only('memory_(key|value)$', **memory),
        prompt=only('embed/prompt$', **{'model.embed': prompt}),
        head=only(r'(?!)'),
    )
    points = [{'name': name, **fields} for name, fields in variants.items()]
    needs = dict(init_from='a run of experiments/masked_lm/quickstart.py with a context of 8 tokens more than the data')
    return dict(runs=dict(list=points), seeds=3, needs=needs)
