# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over optimizers: AdamW, Muon, Hyperball around both, and schedule-free AdamW, each at the best rate of its own.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/recipes.py \
        --workdir=runs/recipes --jobs=2

Wen et al. 2026, https://arxiv.org/abs/2606.16899, report that Hyperball reaches the loss of its rule in fewer steps;
Defazio et al. 2024, https://arxiv.org/abs/2405.15682, that a schedule-free optimizer does as well as one whose rate
decays. All but the latter have the rate of the config, which decays over the last quarter of the steps. Four rates are
tried on two seeds, and a rate at the edge is extended once; the comparison has five other seeds.
"""

ADAM = dict(use='optax:scale_by_adam', b1=0.9, b2=0.99)
MUON = dict(use='train.optimizer:muon', others=ADAM)


def get_sweep() -> dict:
    rules = dict(
        adamw=ADAM,
        muon=MUON,
        adam_hyperball=dict(use='train.hyperball:hyperball', rule=ADAM),
        muon_hyperball=dict(use='train.hyperball:hyperball', rule=MUON),
    )
    points = [{'name': name, 'optimizer.rule': rule} for name, rule in rules.items()]
    free = {'optimizer.rule': ADAM | dict(b1=0.0), 'schedule_free': 0.9, 'schedule.use': 'train.schedule:Constant'}
    return dict(
        runs=dict(list=[*points, {'name': 'schedule_free_adamw', **free}]),
        metric='loss',
        baseline='adamw',
        margin=0.02,  # nats
        seeds=5,
        tune=dict(by={'schedule.peak': [1e-3, 3e-3, 1e-2, 3e-2]}, seeds=[100, 101], extend=3),
    )
