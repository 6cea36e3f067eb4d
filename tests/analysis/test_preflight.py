# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of programs by what XLA says of them, also where it will not compile one, or cannot print it."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import pytest

from saccade.analysis.preflight import scaling
from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.measured import Measured
from saccade.analysis.preflight.preflight import Preflight, Way
from saccade.train.backend import OnMesh
from saccade.train.plan import peak_bytes
from saccade.types import UserError

CHIPS = Chips('2 x chip', (SimpleNamespace(platform='cpu'),) * 2, 2**30)
MEMORY = dict(argument_size_in_bytes=600, output_size_in_bytes=0, temp_size_in_bytes=400, alias_size_in_bytes=0)


def fails(message):
    def fail(*given):
        raise jax.errors.JaxRuntimeError(message)

    return fail


class Step(OnMesh):
    """A step that is spread over chips, as far as it is only compiled."""

    def __init__(self, compile):
        self.batches, self._compile = [None], compile

    def train_step(self, batch):
        return SimpleNamespace(compile=self._compile)


def unprintable():
    analysis = SimpleNamespace(**MEMORY, peak_memory_in_bytes=1000)
    return SimpleNamespace(memory_analysis=lambda: analysis, as_text=fails('INTERNAL: RET_CHECK failure'))


def test_of_a_program_that_cannot_be_printed_the_memory_is_known():
    way = Way.of('', Step(unprintable), CHIPS)
    assert (way.fits, way.sent) == (True, None)
    assert way.peak_bytes > 0
    report = Preflight('it', CHIPS, {'embedding': 1}, 1, 1, 1, {'batch': 1}, [way]).report()
    assert [table.title for table in report.tables][-1] == 'What a step needs of a chip at the peak'
    assert any('cannot print it' in note for note in report.notes)


def test_the_peak_is_what_the_compiler_of_the_platform_goes_by():
    memory = SimpleNamespace(**MEMORY | dict(output_size_in_bytes=550, alias_size_in_bytes=500), peak_memory_in_bytes=9)
    assert peak_bytes(memory, 'cpu') == 600 + 550 - 500 + 400
    assert peak_bytes(memory, 'tpu') == 9


def test_what_was_said_of_each_chip_stands_beside_what_all_of_them_took():
    way = Way('', 100 * 2**20, True, [])
    found = Preflight('it', CHIPS, {}, 900, 1000, 1, {}, [way], Measured(1000, 220 * 2**20))
    assert found.report().tables[-1].rows == [
        ('MiB at the peak', '200.0', '220.0', '1.100'),
        ('FLOPs in matrix products', '1,000', '1,000', '1.000'),
    ]
    (row,) = replace(found, measured=Measured(None, 1)).report().tables[-1].rows  # where products are not read
    assert row[0] == 'MiB at the peak'


@pytest.mark.parametrize(
    ('message', 'peak'),
    [
        ('RESOURCE_EXHAUSTED: Used 26.1G of 15.7G hbm', int(26.1 * 2**30)),
        ('RESOURCE_EXHAUSTED: HLO temporaries (3.50G) exceeds 1.0G', int(3.5 * 2**30)),
    ],
)
def test_of_a_program_that_is_too_large_it_is_said_how_large(message, peak):
    way = Way.of('', Step(fails(message)), CHIPS)
    assert (way.peak_bytes, way.fits, way.sent) == (peak, False, [])


def test_another_failure_is_no_want_of_memory():
    with pytest.raises(jax.errors.JaxRuntimeError, match='UNIMPLEMENTED'):
        Way.of('', Step(fails('UNIMPLEMENTED: it')), CHIPS)


@pytest.mark.parametrize('compile', [unprintable, fails('Used 26.1G of 15.7G hbm')])
def test_what_is_not_known_is_not_compared_with_a_formula(monkeypatch, compile):
    monkeypatch.setattr(scaling, 'Experiment', SimpleNamespace(of=lambda config: None))
    monkeypatch.setattr(scaling, 'spread', lambda experiment, chips: Step(compile))
    with pytest.raises(UserError, match='2 x chip: what a chip sends is not known'):
        scaling.Scaling.of('it', {}, 'data', 1, [CHIPS])
