# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Sweep over recurrent decoders, from the fixed context vector to attention.

    python launch/sweep.py --config=experiments/translation/dates_recurrent.py --sweep=experiments/sweeps/decoders.py \
        --workdir=runs/decoders --jobs=2

Luong et al. 2015, section 3, https://arxiv.org/abs/1508.04025, compare most of these. Encoder, cell and width
are the same throughout.
"""

GENERAL = dict(use='recurrent.score.general:General')


def get_sweep() -> dict:
    return side_by_side(decoders(width=128, dropout=0.0), seeds=3)


def side_by_side(found: dict[str, dict], seeds: int) -> dict:
    """Return the sweep over decoders by name."""
    return dict(runs=dict(list=[{'name': name, 'model.decoder': each} for name, each in found.items()]), seeds=seeds)


def decoders(width: int, dropout: float) -> dict[str, dict]:
    """Return all decoders of a width, by name."""
    cells = dict(cell=dict(use='recurrent.cell.lstm:LSTM', width=width), layers=1, dropout=dropout)
    additive = dict(use='recurrent.score.additive:Additive', width=width)
    found = dict(
        context_as_state=dict(use='recurrent.decoder.fixed_context:FixedContext', fed=False),
        context_at_every_step=dict(use='recurrent.decoder.fixed_context:FixedContext', fed=True),
        bahdanau=dict(
            use='recurrent.decoder.bahdanau:Bahdanau', attention=dict(use='recurrent.decoder.soft:Soft', score=additive)
        ),
        luong=_luong(dict(use='recurrent.decoder.soft:Soft', score=GENERAL)),
        luong_fed=_luong(dict(use='recurrent.decoder.soft:Soft', score=GENERAL)) | dict(input_feeding=True),
        local_monotonic=_luong(dict(use='recurrent.decoder.local_monotonic:LocalMonotonic', score=GENERAL, reach=5)),
        local_predictive=_luong(dict(use='recurrent.decoder.local_predictive:LocalPredictive', score=GENERAL, reach=5)),
        hard_reinforce=_hard(dict(use='recurrent.decoder.reinforce:Reinforce', learned=True)),
        hard_gumbel=_hard(dict(use='recurrent.decoder.gumbel:Gumbel', temperature=1.0)),
        hard_straight_through=_hard(dict(use='recurrent.decoder.straight_through:StraightThrough')),
    )
    return {name: each | cells for name, each in found.items()}


def _luong(attention: dict) -> dict:
    return dict(use='recurrent.decoder.luong:Luong', attention=attention, input_feeding=False)


def _hard(estimator: dict) -> dict:
    return _luong(dict(use='recurrent.decoder.hard:Hard', score=GENERAL, estimator=estimator))
