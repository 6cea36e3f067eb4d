# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""From the fixed context vector to attention: every way in which a recurrent decoder may know its source.

    python launch/sweep.py --config=experiments/translation/dates_recurrent.py --sweep=experiments/sweeps/decoders.py \
        --workdir=runs/decoders --jobs=2

Luong et al. 2015, section 3, https://arxiv.org/abs/1508.04025, has most of these side by side. Encoder, cell and width
are the same throughout.
"""

CELLS = dict(cell=dict(use='recurrent.lstm:LSTM', width=128), layers=1, dropout=0.0)
GENERAL = dict(use='recurrent.general:General')
ADDITIVE = dict(use='recurrent.additive:Additive', width=128)


def get_sweep() -> dict:
    soft, additive = dict(use='recurrent.soft:Soft', score=GENERAL), dict(use='recurrent.soft:Soft', score=ADDITIVE)
    decoders = dict(
        context_as_state=dict(use='recurrent.fixed_context:FixedContext', fed=False),
        context_at_every_step=dict(use='recurrent.fixed_context:FixedContext', fed=True),
        bahdanau=dict(use='recurrent.bahdanau:Bahdanau', attention=additive),
        luong=_luong(soft),
        luong_fed=_luong(soft) | dict(input_feeding=True),
        local_monotonic=_luong(dict(use='recurrent.local_monotonic:LocalMonotonic', score=GENERAL, reach=5)),
        local_predictive=_luong(dict(use='recurrent.local_predictive:LocalPredictive', score=GENERAL, reach=5)),
        hard_reinforce=_hard(dict(use='recurrent.reinforce:Reinforce', learned=True)),
        hard_gumbel=_hard(dict(use='recurrent.gumbel:Gumbel', temperature=1.0)),
        hard_straight_through=_hard(dict(use='recurrent.straight_through:StraightThrough')),
    )
    points = [dict(name=name, **{'model.decoder': each | CELLS}) for name, each in decoders.items()]
    return dict(runs=dict(list=points), seeds=3)


def _luong(attention: dict) -> dict:
    return dict(use='recurrent.luong:Luong', attention=attention, input_feeding=False)


def _hard(estimator: dict) -> dict:
    return _luong(dict(use='recurrent.hard:Hard', score=GENERAL, estimator=estimator))
