# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of programs by what XLA says of them, also where it will not compile one, or cannot print it."""

from dataclasses import asdict, replace
from types import SimpleNamespace

import jax
import pytest

from saccade.analysis.preflight import peak_rates, scaling
from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.collectives import Sent
from saccade.analysis.preflight.measured import MeasuredStep
from saccade.analysis.preflight.peak_rates import PeakRates
from saccade.analysis.preflight.preflight import Preflight, Way
from saccade.analysis.preflight.roofline import Roofline
from saccade.train.backend import OnMesh
from saccade.train.device_memory import peak_bytes
from saccade.train.plan import PEAKS, chip_of
from saccade.types import UserError

RATES = asdict(PeakRates.of_chip('h100'))
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
    assert [table.title for table in report.tables][-1] == 'Peak memory of a chip during a step'
    assert any('cannot print it' in note for note in report.notes)


def test_the_peak_is_what_the_compiler_of_the_platform_goes_by():
    memory = SimpleNamespace(**MEMORY | dict(output_size_in_bytes=550, alias_size_in_bytes=500), peak_memory_in_bytes=9)
    assert peak_bytes(memory, 'cpu') == 600 + 550 - 500 + 400
    assert peak_bytes(memory, 'tpu') == 9


def test_what_was_said_of_each_chip_stands_beside_what_all_of_them_took():
    way = Way('', 100 * 2**20, True, [])
    found = Preflight('it', CHIPS, {}, 900, 1000, 1, {}, [way], MeasuredStep(1000, 220 * 2**20, 0.5))
    assert found.report().tables[-1].rows == [
        ('MiB at the peak', '200.0', '220.0', '1.100'),
        ('FLOPs in matrix products', '1,000', '1,000', '1.000'),
    ]
    (row,) = replace(found, measured=MeasuredStep(None, 1, 0.5)).report().tables[-1].rows  # where products are not read
    assert row[0] == 'MiB at the peak'


def test_a_step_is_predicted_by_the_rates_of_a_chip_and_set_beside_what_it_took():
    sent = [Sent('all-gather', 1, 45_000_000), Sent('all-reduce', 2, 45_000_000)]
    way = Way('', 2**20, True, sent, traffic=6_700_000_000)
    chips = replace(
        CHIPS,
        devices=(SimpleNamespace(platform='cuda', device_kind='NVIDIA H100 80GB'),) * 2,
        rates=PeakRates.of_kind('NVIDIA H100 80GB'),
    )
    found = Preflight(
        'it', chips, {}, 2 * 494_500_000_000, 2 * 989_000_000_000, 1, {}, [way], MeasuredStep(1, 1, 0.004)
    )
    figures = found.figures()['roofline']
    assert figures.pop('rates') == RATES
    assert figures == pytest.approx({
        'flops': 494.5e9, 'products': 1e-3, 'memory': 2e-3, 'links': 0.2e-3, 'least': 2e-3,
        'most': 3.2e-3, 'bound': 'memory traffic', 'mfu_most': 0.25, 'mfu_least': 0.15625,
    })  # fmt: skip
    *_, predicted, beside = found.report().tables
    assert [row[-1] for row in predicted.rows] == ['1', '2', '0.2']
    assert beside.rows[0] == ('ms', '2', '4', '2.000')
    assert any(
        '2 ms at least, bound by memory traffic' in note and 'MFU 25% at most' in note for note in found._notes()
    )


def test_of_a_program_for_another_chip_neither_the_traffic_nor_the_memory_here_is_the_chips():
    """A step of GPT-2 124M takes 40 ms on an H100; the traffic of the program for a CPU would take 121."""
    here = replace(CHIPS, devices=(SimpleNamespace(platform='cpu', device_kind='cpu'),))
    way = Way('', 2**20, True, [], traffic=404_500_000_000)
    found = Preflight('it', here.like('h100'), {}, 13_300_000_000_000, 13_690_000_000_000, 1, {}, [way])
    assert (found.chips.memory, here.like('a100').memory) == (80 * 2**30, None)
    figures = found.figures()['roofline']
    assert (figures['memory'], figures['bound']) == (0, 'matrix products')
    assert figures['least'] == pytest.approx(0.01384, rel=1e-3)
    assert [row[0] for row in found.report().tables[-1].rows] == ['matrix products', 'communication']
    notes = ' '.join(found.report().notes)
    assert 'compiled for cpu' in notes
    assert 'if nothing overlaps' not in notes


def test_a_step_that_sends_more_than_it_computes_is_bound_by_the_links_of_its_chips():
    """1 ms of products, 0.5 ms of memory traffic, and 3 + 1 ms to send the bytes of two kinds of collectives."""
    sent = [Sent('all-gather', 7, 1_350_000_000), Sent('all-reduce', 2, 450_000_000)]
    way = Way('', 2**20, True, sent, traffic=1_675_000_000)
    chips = replace(
        CHIPS,
        devices=(SimpleNamespace(platform='cuda', device_kind='NVIDIA H100'),) * 2,
        rates=PeakRates.of_kind('NVIDIA H100'),
    )
    found = Preflight(
        'it', chips, {}, 2 * 494_500_000_000, 2 * 989_000_000_000, 1, {}, [way], MeasuredStep(1, 1, 0.005)
    )
    figures = found.figures()['roofline']
    assert figures.pop('rates') == RATES
    assert figures == pytest.approx({
        'flops': 494.5e9, 'products': 1e-3, 'memory': 0.5e-3, 'links': 4e-3, 'least': 4e-3,
        'most': 5.5e-3, 'bound': 'communication', 'mfu_most': 0.125, 'mfu_least': 1 / 11,
    })  # fmt: skip
    *_, predicted, beside = found.report().tables
    assert [row[-1] for row in predicted.rows] == ['1', '0.5', '4']
    assert beside.rows[0] == ('ms', '4', '5', '1.250')
    assert any('4 ms at least, bound by communication' in note and 'MFU 12% at most' in note for note in found._notes())


@pytest.mark.parametrize(
    ('rates', 'bound'),
    [((3.0, 2.0, 1.0), 'matrix products'), ((2.0, 3.0, 1.0), 'memory traffic'), ((1.0, 2.0, 3.0), 'communication')],
)
def test_a_roofline_is_bound_by_what_takes_longest(rates, bound):
    found = Roofline(PeakRates.of_chip('h100'), 1.0, *rates)
    assert (found.least, found.most, found.bound) == (3, 6, bound)


@pytest.mark.parametrize('changes', [dict(rates=None), dict(rates=PeakRates.of_chip('h100'))], ids=['chip', 'traffic'])
def test_where_the_rates_of_a_chip_or_the_traffic_are_not_known_nothing_is_predicted(changes):
    way = Way('', 1, True, [], traffic=None if changes['rates'] else 1)
    found = Preflight('it', replace(CHIPS, **changes), {}, 1, 1, 1, {}, [way])
    assert found.figures()['roofline'] is None
    assert len(found.report().tables) == 3


def test_the_rates_of_a_cpu_are_measured_and_shared_by_its_simulated_devices(monkeypatch):
    """A product of 2 * 1024^3 FLOPs in 2 ms, 2 * 128 MiB of memory in 4 ms; two devices have half of each."""
    took = iter((2e-3, 4e-3))
    monkeypatch.setattr(peak_rates, '_seconds', lambda kernel, x: next(took))
    monkeypatch.setattr(jax, 'device_count', lambda: 2)
    found = PeakRates.of_host()
    assert (found.flops, found.memory, found.links) == (2**30 / 2e-3, 2**27 / 4e-3, 2**27 / 4e-3)


def test_a_step_is_predicted_on_this_cpu_by_what_its_kernels_reach_now():
    chips = Chips.here()
    found = Preflight('it', chips, {}, 10**9, 10**9, 1, {}, [Way('', 1, True, [], traffic=1)])
    assert found.figures()['roofline']['products'] == 1e9 / len(chips.devices) / chips.rates.flops
    assert any('at the rates of float32 measured here' in note for note in found.report().notes)
    assert 1e8 < chips.rates.memory < 1e13


def test_a_smaller_part_of_a_family_has_its_own_peak():
    kinds = 'NVIDIA H100 80GB HBM3', 'NVIDIA H100 PCIe', 'NVIDIA H200 NVL', 'NVIDIA L4'
    assert [PEAKS.get(chip_of(kind)) for kind in kinds] == [989e12, 756e12, 835e12, None]
    assert PeakRates.of_kind(kinds[1]) is None
    assert PeakRates.of_kind(kinds[0]).flops == 989e12


def test_a_chip_is_named_in_short_or_the_names_that_there_are_are_said():
    assert [PeakRates.of_chip(name).kind for name in ('h100', 'V5P')] == ['NVIDIA H100', 'TPU v5p']
    with pytest.raises(UserError, match=r'--chip=h900: .* a100, .*h100.*v5e'):
        PeakRates.of_chip('h900')


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
    with pytest.raises(UserError, match='2 x chip: the communication is unknown'):
        scaling.Scaling.of('it', {}, 'data', 1, [CHIPS])
