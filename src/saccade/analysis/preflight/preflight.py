# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Preflight of a run: memory and communication of its step on the target chips, before data is read.

The actual training step is compiled, unchanged and with memory savings: rematerialised layers and microbatches.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import jax
import numpy as np

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.collectives import Sent, collectives
from saccade.analysis.preflight.measured import STEPS, MeasuredStep
from saccade.analysis.preflight.roofline import Roofline
from saccade.analysis.preflight.traffic import traffic
from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.train.backend import OnMesh
from saccade.train.device_memory import peak_bytes, refused_bytes
from saccade.train.experiment import Experiment
from saccade.train.mesh import make_mesh
from saccade.train.plan import by_role, in_words
from saccade.train.setup import batches_like, learner_on
from saccade.types import UserError

REMAT = 'nothing_saveable'
_RUNNERS = 'model.stack:'

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Way:
    """Variant of the step, for example with rematerialised layers.

    Attributes:
        changes: changes of the config, as flags; empty for the unchanged config.
        peak_bytes: peak memory of one chip.
        fits: a chip has enough memory; None if unknown.
        sent: communication of one chip; empty for a program that is too large to compile, None for one that XLA
            compiles but cannot print.
        traffic: bytes that one chip reads from and writes to its memory; None if `sent` is None or empty.
    """

    changes: str
    peak_bytes: int
    fits: bool | None
    sent: list[Sent] | None
    traffic: int | None = None

    @classmethod
    def of(cls, changes: str, step: OnMesh, chips: Chips) -> 'Way':
        """Compile the step of an experiment, sharded over these chips."""
        try:
            compiled = step.train_step(step.batches[0]).compile()
        except jax.errors.JaxRuntimeError as error:
            if (needed := refused_bytes(error)) is None:
                raise
            return cls(changes, needed, False, [])
        peak = peak_bytes(compiled.memory_analysis(), chips.platform)
        fits = None if chips.memory is None else peak <= chips.memory
        try:
            hlo = compiled.as_text()
        except jax.errors.JaxRuntimeError:  # an internal check of XLA, which programs for many chips fail
            return cls(changes, peak, fits, None)
        return cls(changes, peak, fits, collectives(hlo, step.whole.mesh.shape), traffic(hlo))


@dataclass(frozen=True)
class Preflight:
    """Preflight of a run: memory, FLOPs and collectives of a step.

    Attributes: name of the config; chips; parameters by role; FLOPs of a step over all chips, needed by the model and
    executed by the step; its tokens; bytes that one chip holds between steps, by kind; variants of the step, the first
    with the unchanged config; measurements, None if it was not run.
    """

    what: str
    chips: Chips
    parameters: dict[str, int]
    flops: int
    hardware_flops: int
    tokens: int
    held: dict[str, int]
    ways: list[Way]
    measured: MeasuredStep | None = None

    @classmethod
    def of(cls, what: str, config: Config, chips: Chips) -> 'Preflight':
        """Compile the step of an experiment for some chips.

        Raises:
            UserError: the parts are incompatible, or the mesh does not fit the chips.
        """
        experiment = Experiment.of(config)
        if experiment.backend != 'jit':
            raise UserError("config.backend: a preflight needs one program over all devices: use 'jit'")
        step = spread(experiment, chips)
        batch = step.batches[0]
        counts = step.traced(batch).counts
        return cls(
            what=what,
            chips=chips,
            parameters=by_role(step.like.params),
            flops=counts.model_flops,
            hardware_flops=counts.flops,
            tokens=experiment.tokens,
            held={
                'parameters': _on_one(step.like.params),
                'optimizer': _on_one(step.like.opt_state),
                'average': _on_one(step.like.ema),
                'batch': _on_one(batch),
            },
            ways=[Way.of('', step, chips)],
        )

    def with_alternatives(self, config: Config) -> 'Preflight':
        """Also compile variants that need less memory."""
        step = spread(Experiment.of(config), self.chips)
        leaf = jax.tree.leaves(step.batches[0])[0]
        rows = leaf.sharding.shard_shape(leaf.shape)[0]
        return replace(self, ways=[*self.ways, *_saving(config, self.chips, rows)])

    def with_measured(self, config: Config) -> 'Preflight':
        """Run some steps on the local devices.

        Raises:
            UserError: memory cannot be measured on this platform.
        """
        return replace(self, measured=MeasuredStep.of(spread(Experiment.of(config), self.chips)))

    @functools.cached_property
    def roofline(self) -> Roofline | None:
        """Return the roofline of a step; None if the rates of the chips or the traffic are unknown."""
        way, rates, count = self.ways[0], self.chips.rates, len(self.chips.devices)
        if way.traffic is None or rates is None:
            return None
        sent = sum(each.bytes for each in way.sent)
        # Another chip's compiler fuses differently, so that it has other traffic.
        read = 0 if self.chips.foreign else way.traffic
        return Roofline.of(rates, self.flops / count, self.hardware_flops / count, read, sent)

    def report(self) -> MeasurementReport:
        """Return the report of the preflight."""
        roles = [(role, f'{count:,}') for role, count in self.parameters.items()]
        held = [(name, mib(size)) for name, size in self.held.items() if size]
        ways = [(way.changes or 'as it is', mib(way.peak_bytes), _YES[way.fits]) for way in self.ways]
        sent = [(each.kind, each.along, f'{each.count:,}', mib(each.bytes)) for each in self.ways[0].sent or ()]
        tables = [
            Table(f'{self.what} on {self.chips.name}: parameters', ('role', 'parameters'), roles),
            Table('Memory of a chip between steps', ('', 'MiB'), held),
            Table('Peak memory of a chip during a step', ('', 'MiB', 'fits'), ways),
        ]
        if sent:
            tables.append(Table('Communication of a chip per step', ('collective', 'along', 'times', 'MiB'), sent))
        if self.roofline:
            tables.append(self._at_full_rate(self.roofline))
        if self.measured:
            tables.append(self._comparison(self.measured))
        return MeasurementReport(self.what, self.figures(), tuple(tables), tuple(self._notes()))

    def _at_full_rate(self, of: Roofline) -> Table:
        memory = 'memory traffic', f'{mib(self.ways[0].traffic)} MiB', milliseconds(of.memory)
        rows = [
            (
                'matrix products',
                f'{self.hardware_flops / len(self.chips.devices):.4g} FLOPs',
                milliseconds(of.products),
            ),
            *([] if self.chips.foreign else [memory]),
            ('communication', f'{mib(sum(each.bytes for each in self.ways[0].sent))} MiB', milliseconds(of.links)),
        ]
        return Table(f'Roofline of a step on {of.rates.kind}', ('per chip', 'amount', 'ms'), rows)

    def _comparison(self, found: MeasuredStep) -> Table:
        """Compare predicted memory, FLOPs and time with the measurements."""
        time = {'ms': (self.roofline.least, found.seconds, milliseconds)} if self.roofline else {}
        figures = time | {
            'MiB at the peak': (self.ways[0].peak_bytes * len(self.chips.devices), found.peak_bytes, mib),
            'FLOPs in matrix products': (self.hardware_flops, found.flops, '{:,}'.format),
        }
        rows = [
            (name, shown(said), shown(took), f'{took / said:.3f}')
            for name, (said, took, shown) in figures.items()
            if took is not None
        ]
        return Table(f'{STEPS} steps on all local devices', ('', 'predicted', 'measured', 'measured / predicted'), rows)

    def figures(self) -> dict[str, Any]:
        """Return the preflight for JSON output."""
        return {
            'chips': {'name': self.chips.name, 'count': len(self.chips.devices), 'memory': self.chips.memory},
            'parameters': self.parameters,
            'flops': self.flops,
            'hardware_flops': self.hardware_flops,
            'tokens': self.tokens,
            'held': self.held,
            'ways': [asdict(way) for way in self.ways],
            'roofline': self.roofline and self.roofline.figures(),
            'measured': self.measured and asdict(self.measured),
        }

    def _notes(self) -> Iterator[str]:
        yield f'A step: {self.tokens:,} tokens, {in_words(self.flops, self.hardware_flops)}, over all chips.'
        if self.ways[0].sent is None:
            yield 'The communication is unknown: XLA compiled the program, but cannot print it.'
        if of := self.roofline:
            apart = '' if self.chips.foreign else f', {of.mfu(of.most):.0%} if nothing overlaps'
            yield (
                f'A step of {milliseconds(of.least)} ms at least, bound by {of.bound}, at the rates {of.rates.source}: '
                f'MFU {of.mfu(of.least):.0%} at most{apart}.'
            )
            if self.chips.foreign:
                yield (
                    f'The program is compiled for {self.chips.platform}, and the compiler of {of.rates.kind} fuses '
                    f'differently: memory traffic is left out, so a step takes longer; the peak memory is an estimate.'
                )
        if self.ways[0].fits is False:
            needs = f'It needs {mib(self.ways[0].peak_bytes)} MiB, and a chip has {mib(self.chips.memory or 0)}.'
            changes = next((way.changes for way in self.ways if way.fits), '')
            yield f'{needs} ' + (f'It fits with {changes}' if changes else 'Use more chips along fsdp.')


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds, as text."""
    return f'{1000 * seconds:,.3g}'


_YES = {True: 'yes', False: 'no', None: 'not known'}


def spread(experiment: Experiment, chips: Chips) -> OnMesh:
    """Return the step of an experiment over a mesh of these chips, before compilation.

    Raises:
        UserError: the parts are incompatible, or the mesh does not fit the chips.
    """
    mesh = make_mesh(dict(experiment.mesh), chips.devices)
    return OnMesh(learner_on(mesh, experiment), batches_like(experiment), mesh)


def _saving(config: Config, chips: Chips, rows: int) -> Iterator[Way]:
    """Yield variants that save memory: twice the microbatches, rematerialised layers, both; then more microbatches.

    The last variant is the first one with both that fits.
    """
    given = config.get('accumulate', 1)

    def way(flags: str, config: Config) -> Way:
        return Way.of(flags, spread(Experiment.of(config), chips), chips)

    accumulates = [given * 2**power for power in range(1, rows.bit_length()) if rows % (given * 2**power) == 0]
    flags, saving = _rematerialised(config)
    for accumulate in accumulates[:1]:
        yield way(*_in_microbatches('', config, accumulate))
    if flags:
        yield way(flags, saving)
    for accumulate in accumulates if flags else accumulates[1:]:
        found = way(*_in_microbatches(flags, saving, accumulate))
        yield found
        if found.fits is not False:
            return


def _in_microbatches(flags: str, config: Config, accumulate: int) -> tuple[str, Config]:
    return f'{flags} --config.accumulate={accumulate}'.strip(), {**config, 'accumulate': accumulate}


def _rematerialised(config: Config, path: str = 'config') -> tuple[str, Config]:
    """Return the flags that rematerialise the layers, and the config with them."""
    if str(config.get('use', '')).startswith(_RUNNERS):
        changed = config.get('remat') != REMAT
        return (f'--{path}.remat={REMAT}' if changed else ''), {**config, 'remat': REMAT}
    inner = {name: value for name, value in config.items() if isinstance(value, Mapping)}
    found = {name: _rematerialised(value, f'{path}.{name}') for name, value in inner.items()}
    flags = ' '.join(flag for flag, _ in found.values() if flag)
    return flags, {**config, **{name: changed for name, (_, changed) in found.items()}}


def _on_one(tree: Any) -> int:
    """Return the bytes of a sharded tree that one device holds."""
    leaves = jax.tree.leaves(tree)
    return sum(int(np.prod(leaf.sharding.shard_shape(leaf.shape))) * leaf.dtype.itemsize for leaf in leaves)


def mib(size: int) -> str:
    """Return a number of bytes in MiB, as text."""
    return f'{size / 2**20:,.1f}'
