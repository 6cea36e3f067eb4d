# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over gradient estimators of hard attention: how fast does it learn to follow a pointer?

    python launch/sweep.py --config=experiments/translation/pointer.py --sweep=experiments/sweeps/estimators.py \\
        --workdir=runs/estimators --jobs=2
    python launch/report.py --workdir=runs/estimators --metric=exact_match

The sweep also has soft attention and no attention; `launch/claims.py --what=estimators` gives bias and variance.
"""

CELLS = dict(cell=dict(use='recurrent.cell.lstm:LSTM', width=64), layers=1, dropout=0.0)
SCORE = dict(use='recurrent.score.general:General')


def get_sweep() -> dict:
    decoders = dict(
        reinforce=_hard(dict(use='recurrent.decoder.reinforce:Reinforce', learned=True)),
        gumbel=_hard(dict(use='recurrent.decoder.gumbel:Gumbel', temperature=1.0)),
        straight_through=_hard(dict(use='recurrent.decoder.straight_through:StraightThrough')),
        soft=_luong(dict(use='recurrent.decoder.soft:Soft', score=SCORE)),
        none=dict(use='recurrent.decoder.fixed_context:FixedContext', fed=False),
    )
    points = [dict(name=name, **{'model.decoder': each | CELLS}) for name, each in decoders.items()]
    return dict(runs=dict(list=points), seeds=3)


def _hard(estimator: dict) -> dict:
    return _luong(dict(use='recurrent.decoder.hard:Hard', score=SCORE, estimator=estimator))


def _luong(attention: dict) -> dict:
    return dict(use='recurrent.decoder.luong:Luong', attention=attention, input_feeding=False)
